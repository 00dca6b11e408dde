// A loop whose steps the blocks of a cluster share: after it they add up their parts of the sums,
// in a fixed order, each block for its own columns or the first one for all of them.
#include <algorithm>
#include <numeric>

#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::Value;

constexpr int64_t kGatherBytes = 32 * 1024;  // of parts that one block takes in rather than share

/// Coordinates along an axis that a warp covers, and whether its registers divide them among
/// `blocks` into runs of neighbours.
struct Span {
  int64_t length = 1;
  bool divides = false;
};

Span span_of(const Layout& layout, int axis, int blocks) {
  std::vector<Digit> digits;
  const Digit* last_register = nullptr;
  for (const Digit& digit : layout.digits) {
    if (digit.axis != axis || digit.holder == Holder::warp || digit.radix == 1) continue;
    digits.push_back(digit);
    if (digit.holder == Holder::reg) last_register = &digit;
  }
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
  Span span;
  for (const Digit& digit : digits) {
    if (digit.stride != span.length) return span;
    span.length *= digit.radix;
  }
  span.divides = last_register != nullptr && digits.back() == *last_register &&
                 last_register->radix % blocks == 0;
  return span;
}

/// The dimension of `tile` that the loop's shared axis has become; -1 when it is not made of the
/// loop's sums.
int shared_dimension(const LoopSplit& split, const Value* tile) {
  const auto& sums = split.loop->results;
  if (std::find(sums.begin(), sums.end(), tile) != sums.end()) return split.axis;
  if (tile->def == nullptr) return -1;
  for (const Value* operand : tile->def->operands) {
    if (!operand->type.is_tile()) continue;
    const int axis = shared_dimension(split, operand);
    if (axis < 0) continue;
    if (tile->def->kind != ir::OpKind::permute) return axis;
    const auto& dims = tile->def->integers(ir::AttrKey::dims);
    return static_cast<int>(std::find(dims.begin(), dims.end(), axis) - dims.begin());
  }
  return -1;
}

ExprRef part_element(const std::string& buffer, const ExprRef& slot, const ExprRef& reg) {
  return shared(buffer, {slot, reg, name("threadIdx.x")});
}

}  // namespace

namespace {

std::string declare_barrier(Lowering& lowering, const char* hint, const std::string& comment) {
  SharedBuffer barrier;
  barrier.name = lowering.names.unique(hint);
  barrier.type = "tw::Barrier";
  barrier.type_bytes = barrier.alignment = 8;
  barrier.extents = {1};
  barrier.comment = comment;
  lowering.kernel.buffers.push_back(barrier);
  return barrier.name;
}

}  // namespace

void plan_split(Lowering& lowering, const Op& loop) {
  LoopSplit split;
  split.loop = &loop;
  split.blocks = lowering.config.split_k;
  const ir::LoopView view(loop);
  const Layout& layout = lowering.layout(view.carried.front());
  int64_t registers = 0;
  for (const Value* carried : view.carried) registers += lowering.layout(carried).registers();
  const int64_t bytes = registers * lowering.threads() * 4 * (split.blocks - 1);
  for (int axis = 0; axis < layout.rank; ++axis)
    if (span_of(layout, axis, split.blocks).divides) split.axis = axis;
  const bool alike = std::all_of(view.carried.begin(), view.carried.end(),
                                 [&](const Value* x) { return lowering.layout(x) == layout; });
  if (bytes <= kGatherBytes || !alike) split.axis = -1;
  if (split.axis >= 0) split.span = span_of(layout, split.axis, split.blocks).length;
  const int owners = split.axis >= 0 ? split.blocks : 1;

  SharedBuffer parts;
  parts.name = lowering.names.unique("parts");
  parts.dtype = view.carried.front()->type.dtype;
  parts.extents = {split.blocks - 1, registers / owners, lowering.threads()};
  parts.comment = "[block][register][thread], from the cluster's other blocks";
  parts.after_rings = split.axis >= 0;
  lowering.kernel.buffers.push_back(parts);
  split.parts = parts.name;
  if (parts.after_rings)
    split.drained = declare_barrier(lowering, "drained", "every block is done with its rings");
  split.ready = declare_barrier(lowering, "parts_ready", "all parts have come");
  lowering.split = std::move(split);
}

namespace {

/// Runs `body` for each register that block `owner` sums up: its element, and its number among
/// them.
void for_owned(Lowering& lowering, const LoopSplit& split, const Value* tile, const ExprRef& owner,
               const std::function<void(const ExprRef& element, const ExprRef& number)>& body) {
  const Layout& layout = lowering.layout(tile);
  const int axis = split.axis < 0 ? layout.rank - 1 : split.axis;
  const int other = 1 - axis;
  const int all = layout.registers(axis);
  const int each = split.axis < 0 ? all : all / split.blocks;
  for_axis(lowering, other, layout.registers(other), 1, [&](const ExprRef& i) {
    for_axis(lowering, axis, each, 1, [&](const ExprRef& j) {
      RegIndex at(2);
      at[other] = i;
      at[axis] = split.axis < 0 ? j : owner * integer(each) + j;
      body(register_element(lowering.arrays.at(tile), layout, at), i * integer(each) + j);
    });
  });
}

ExprRef is_rank(const Lowering& lowering, const char* comparison, const ExprRef& owner) {
  return binary(comparison, lowering.cluster_rank, owner);
}

}  // namespace

void lower_split_sum(Lowering& lowering, const std::vector<const Value*>& sums) {
  const LoopSplit& split = *lowering.split;
  const std::string owner = lowering.names.unique("owner");
  const int owners = split.axis >= 0 ? split.blocks : 1;
  const ExprRef ready = address(shared(split.ready, {integer(0)}));
  const auto each_owner = [&](const std::function<void(const ExprRef&)>& body) {
    if (owners == 1) return body(integer(0));
    std::vector<Stmt> inner = lowering.collect([&] { body(name(owner)); });
    lowering.emit(loop(owner, integer(0), integer(owners), integer(1), true, std::move(inner)));
  };
  lowering.emit(comment(owners == 1
                            ? "the blocks of the cluster send their parts of the sum to the first"
                            : "the blocks of the cluster send each other their parts of the sum"));
  lowering.emit(order("acquire", {split.parts}));
  if (!split.drained.empty()) {
    const ExprRef drained = address(shared(split.drained, {integer(0)}));
    const ExprRef lane = name("threadIdx.x") % integer(32);
    lowering.emit(call_stmt(call("__syncwarp", {})));
    lowering.emit(branch(lane < integer(split.blocks),
                         {call_stmt(call("tw::barrier_release_at", {drained, lane}))}));
    Stmt wait = call_stmt(call("tw::barrier_acquire", {drained, integer(0)}));
    wait.comment = "the parts take the memory of the rings";
    lowering.emit(std::move(wait));
  }
  each_owner([&](const ExprRef& to) {
    std::vector<Stmt> send = lowering.collect([&] {
      // Parts arrive in the order of the blocks that they come from.
      const ExprRef slot = owners == 1
                               ? lowering.cluster_rank - integer(1)
                               : conditional(is_rank(lowering, "<", to), lowering.cluster_rank,
                                             lowering.cluster_rank - integer(1));
      int64_t first = 0;
      for (const Value* sum : sums) {
        for_owned(lowering, split, sum, to, [&](const ExprRef& element, const ExprRef& number) {
          const ExprRef there = address(part_element(split.parts, slot, integer(first) + number));
          lowering.emit(call_stmt(call("tw::store_at", {there, to, element})));
        });
        first += lowering.layout(sum).registers() / owners;
      }
      lowering.emit(call_stmt(call("__syncwarp", {})));
      lowering.emit(branch(binary("==", name("threadIdx.x") % integer(32), integer(0)),
                           {call_stmt(call("tw::barrier_release_at", {ready, to}))}));
    });
    lowering.emit(branch(is_rank(lowering, "!=", to), std::move(send)));
  });
  std::vector<Stmt> add = lowering.collect([&] {
    lowering.emit(call_stmt(call("tw::barrier_acquire", {ready, integer(0)})));
    const std::string block = lowering.names.unique("other");
    each_owner([&](const ExprRef& to) {
      std::vector<Stmt> sum_up = lowering.collect([&] {
        int64_t first = 0;
        for (const Value* sum : sums) {
          for_owned(lowering, split, sum, to, [&](const ExprRef& element, const ExprRef& number) {
            Stmt plus = assign(
                element, part_element(split.parts, name(block), integer(first) + number), "+=");
            lowering.emit(loop(block, integer(0), integer(split.blocks - 1), integer(1), true,
                               {std::move(plus)}));
          });
          first += lowering.layout(sum).registers() / owners;
        }
      });
      if (owners == 1)
        for (Stmt& stmt : sum_up) lowering.emit(std::move(stmt));
      else
        lowering.emit(branch(is_rank(lowering, "==", to), std::move(sum_up)));
    });
  });
  if (owners > 1) {
    for (Stmt& stmt : add) lowering.emit(std::move(stmt));
    return;
  }
  lowering.emit(branch(is_rank(lowering, "==", integer(0)), std::move(add)));
}

ExprRef split_guard(const Lowering& lowering, const Value* tile, const std::vector<ExprRef>& at) {
  if (!lowering.split || lowering.role == Role::producer) return nullptr;
  const LoopSplit& split = *lowering.split;
  if (split.axis < 0) return is_rank(lowering, "==", integer(0));
  const int axis = shared_dimension(split, tile);
  if (axis < 0) return nullptr;
  ExprRef position = at.at(axis);
  const int64_t extent = lowering.extents(tile)[axis];
  if (extent > split.span) position = position % integer(split.span);
  return binary("==", position / integer(split.span / split.blocks), lowering.cluster_rank);
}

}  // namespace tilewright::codegen
