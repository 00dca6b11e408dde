// Groups of consumers that take a block's tiles in turns: while one stores, another multiplies.
#include <algorithm>

#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

/// Steps of a loop whose number is known, else 0.
int64_t known_steps(const Lowering& lowering, const Op& loop) {
  const ir::LoopView view(loop);
  const auto begin = known_value(lowering.fn, view.begins[0]);
  const auto end = known_value(lowering.fn, view.limits[0]);
  if (!begin || !end || *begin >= *end) return 0;
  const int64_t block = lowering.fn.axes[loop.integers(AttrKey::axes)[0]].block;
  return (*end - *begin + block - 1) / block;
}

/// What a group's statements become: names replaced, buffers of its own indexed by its turn.
class Sharing {
 public:
  Sharing(const Lowering& lowering, const std::unordered_set<std::string>& others,
          std::string thread)
      : others_(others), turn_(lowering.turn), thread_(std::move(thread)) {}

  void operator()(std::vector<Stmt>& body) const {
    for (Stmt& stmt : body) {
      for (ExprRef* x : {&stmt.target, &stmt.value, &stmt.begin, &stmt.limit, &stmt.step})
        *x = shared_by_turns(*x);
      (*this)(stmt.body);
      (*this)(stmt.otherwise);
    }
  }

 private:
  ExprRef shared_by_turns(const ExprRef& x) const {
    if (!x) return x;
    if (x->kind == Expr::Kind::name && x->text == "threadIdx.x") return name(thread_);
    std::vector<ExprRef> args;
    const bool own = x->kind == Expr::Kind::shared && !others_.contains(x->text);
    if (own) args.push_back(turn_);
    for (const ExprRef& arg : x->args) args.push_back(shared_by_turns(arg));
    if (!own && args == x->args) return x;
    Expr copy = *x;
    copy.args = std::move(args);
    return std::make_shared<const Expr>(std::move(copy));
  }

  const std::unordered_set<std::string>& others_;
  ExprRef turn_;
  std::string thread_;
};

ExprRef begin_of(const Lowering& lowering, ExprRef turn) {
  return address(shared(lowering.turn_begin, {std::move(turn)}));
}

}  // namespace

void check_turns(const Lowering& lowering, const std::vector<const Op*>& loops) {
  if (lowering.config.turns == 1) return;
  const char* why = nullptr;
  if (loops.empty()) {
    why = "no loop's tiles are loaded by bulk copies";
  } else if (loops.size() > 1) {
    why = "several loops' tiles are loaded by bulk copies";
  } else {
    const Op* around = loops[0]->parent->parent;
    if (around == nullptr || around->kind != OpKind::tile_loop ||
        around->integer(AttrKey::parallel) == 0)
      why = "the loop is not one of the grid's tiles, each of which runs it once";
    else if (known_steps(lowering, *loops[0]) == 0)
      why = "the loop's number of steps is not known before the launch";
  }
  if (why == nullptr) return;
  raise(ErrorId::config_unsupported, loops.empty() ? lowering.fn.loc : loops[0]->loc, "turns",
        std::to_string(lowering.config.turns), why, "1");
}

void declare_turns(Lowering& lowering, const std::vector<const Op*>& loops) {
  if (lowering.config.turns == 1) return;
  SharedBuffer buffer;
  buffer.name = lowering.turn_begin = lowering.names.unique("turn_begin");
  buffer.type = "tw::Barrier";
  buffer.type_bytes = 8;
  buffer.alignment = 8;
  buffer.extents = {lowering.config.turns};
  buffer.comment = "the group before has issued its tile's products";
  lowering.kernel.buffers.push_back(std::move(buffer));
  lowering.kernel.turn = lowering.names.unique("turn");
  lowering.turn = name(lowering.kernel.turn);
  lowering.turn_phase = lowering.names.unique("turn_phase");
  lowering.turn_steps = known_steps(lowering, *loops[0]);
}

void share_by_turns(Lowering& lowering, const std::unordered_set<std::string>& others,
                    std::vector<Stmt>& body) {
  if (!lowering.turn) return;
  const std::string thread = lowering.names.unique("thread");
  Sharing(lowering, others, thread)(body);
  for (SharedBuffer& buffer : lowering.kernel.buffers) {
    if (others.contains(buffer.name)) continue;
    buffer.extents.insert(buffer.extents.begin(), lowering.config.turns);
    buffer.comment = "[turn]" + buffer.comment;
  }
  const ExprRef threads = integer(lowering.threads());
  body.insert(body.begin(), declare("int", thread, name("threadIdx.x") % threads));
  body.insert(body.begin(), declare("int", lowering.kernel.turn, name("threadIdx.x") / threads));
}

void begin_turns(Lowering& lowering) {
  if (!lowering.turn) return;
  lowering.emit(
      declare("unsigned", lowering.turn_phase, binary("==", lowering.turn, integer(0)), false));
  lowering.emit(call_stmt(call("tw::skip_slots", {name(lowering.bulk.begin()->second.state),
                                                  lowering.turn * integer(lowering.turn_steps)})));
}

void await_turn(Lowering& lowering) {
  if (!lowering.turn) return;
  Stmt wait = call_stmt(
      call("tw::barrier_wait", {begin_of(lowering, lowering.turn), name(lowering.turn_phase)}));
  wait.comment = "the other group has issued its products";
  lowering.emit(std::move(wait));
  lowering.emit(assign(name(lowering.turn_phase), integer(1), "^="));
}

void end_turn(Lowering& lowering) {
  if (!lowering.turn) return;
  const ExprRef next = (lowering.turn + integer(1)) % integer(lowering.config.turns);
  lowering.emit(branch(binary("==", name("threadIdx.x") % integer(32), integer(0)),
                       {call_stmt(call("tw::barrier_arrive", {begin_of(lowering, next)}))}));
}

void pass_turn(Lowering& lowering) {
  if (!lowering.turn) return;
  Stmt skip = call_stmt(
      call("tw::skip_slots", {name(lowering.bulk.begin()->second.state),
                              integer(lowering.turn_steps * (lowering.config.turns - 1))}));
  skip.comment = "what the other group reads";
  lowering.emit(std::move(skip));
}

}  // namespace tilewright::codegen
