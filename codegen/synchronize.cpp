#include "tilewright/codegen/synchronize.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/prelude_atomics.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using Buffers = std::set<std::string>;
/// What is done to each by atomics: "add", or "" for what does not commute with itself.
using Atomics = std::set<std::pair<std::string, std::string>>;

/// What a piece of code touches.
struct Accesses {
  Buffers reads, writes;
  Atomics atomics;
};

/// What threads may have done since the last barrier.
struct State {
  Buffers reads, writes;
  Atomics atomics;
  Buffers released;  // rings

  void merge(const State& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    atomics.insert(other.atomics.begin(), other.atomics.end());
    released.insert(other.released.begin(), other.released.end());
  }
  friend bool operator==(const State&, const State&) = default;
};

bool intersect(const Buffers& a, const Buffers& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

bool holds(const Atomics& atomics, const std::string& name) {
  return std::ranges::any_of(atomics, [&](const auto& atomic) { return atomic.first == name; });
}

bool intersect(const Atomics& atomics, const Buffers& b) {
  return std::ranges::any_of(atomics, [&](const auto& atomic) { return b.contains(atomic.first); });
}

/// Whether some element may get what is in `a` and what is in `b`, and the order matters. Layouts
/// of two atomics may differ, so it need not be one thread that does both.
bool intersect(const Atomics& a, const Atomics& b) {
  return std::ranges::any_of(a, [&](const auto& one) {
    return std::ranges::any_of(b, [&](const auto& other) {
      return one.first == other.first && (one.second.empty() || one.second != other.second);
    });
  });
}

/// The second part of `Atomics` for a call of `helper`, the result of which is used or not.
std::string commuting_kind(const Helper& helper, bool used) {
  const std::optional<AtomicForm> form = parse_atomic(helper.name);
  const bool commutes = form && !used && form->name != "exchange" && form->name != "cas";
  return commutes ? form->name : "";
}

/// How the memory an expression names is accessed; `kind` is that of an atomic.
struct Use {
  Access access = Access::read;
  std::string kind = {};
};

class Synchronizer {
 public:
  explicit Synchronizer(Kernel& kernel) : kernel_(kernel) {
    find_rings(kernel.body);
    for (const KernelParam& param : kernel.params)
      if (param.tensor) tensors_[param.name] = param.may_alias ? "aliased tensors" : param.name;
  }

  void run() {
    State state;
    visit(kernel_.body, state);
  }

 private:
  void find_rings(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      if (stmt.kind == Stmt::Kind::order) rings_.insert(stmt.params.begin(), stmt.params.end());
      find_rings(stmt.body);
      find_rings(stmt.otherwise);
    }
  }

  static void touch(const std::string& buffer, const Use& use, Accesses& found) {
    if (use.access == Access::atomic)
      found.atomics.emplace(buffer, use.kind);
    else
      (use.access == Access::read ? found.reads : found.writes).insert(buffer);
  }

  /// Adds what evaluating `expr` touches.
  void scan(const ExprRef& expr, Accesses& found, const Use& use = {}) const {
    if (!expr) return;
    if (expr->kind == Expr::Kind::shared && !rings_.contains(expr->text))
      touch(expr->text, use, found);
    if (expr->kind == Expr::Kind::global) touch(tensors_.at(expr->text), use, found);
    if (expr->kind == Expr::Kind::call) {
      scan_call(*expr, found, true);
      return;
    }
    for (const ExprRef& arg : expr->args)
      scan(arg, found, expr->kind == Expr::Kind::address ? use : Use{});
  }

  /// `used`: whether something is done with what the call returns.
  void scan_call(const Expr& call, Accesses& found, bool used) const {
    const Helper* helper = find_helper(call.text);
    for (size_t i = 0; i < call.args.size(); ++i) {
      Use use;
      if (helper != nullptr)
        for (const PointerUse& pointer : helper->pointers)
          if (pointer.argument == static_cast<int>(i)) use.access = pointer.access;
      if (use.access == Access::atomic) use.kind = commuting_kind(*helper, used);
      scan(call.args[i], found, use);
    }
  }

  void scan(const Stmt& stmt, Accesses& found) const {
    if (stmt.kind == Stmt::Kind::call)
      scan_call(*stmt.value, found, false);
    else
      scan(stmt.value, found);
    if (stmt.target) {
      if (stmt.op != "=") scan(stmt.target, found);
      scan(stmt.target, found, {Access::write});
    }
    for (const Stmt& inner : stmt.body) scan(inner, found);
    for (const Stmt& inner : stmt.otherwise) scan(inner, found);
  }

  static bool conflicts(const State& state, const Accesses& next) {
    return intersect(next.reads, state.writes) || intersect(next.writes, state.writes) ||
           intersect(next.writes, state.reads) || intersect(state.atomics, next.reads) ||
           intersect(state.atomics, next.writes) || intersect(next.atomics, state.writes) ||
           intersect(next.atomics, state.reads) || intersect(next.atomics, state.atomics);
  }

  static void apply(State& state, const Accesses& done) {
    state.reads.insert(done.reads.begin(), done.reads.end());
    state.writes.insert(done.writes.begin(), done.writes.end());
    state.atomics.insert(done.atomics.begin(), done.atomics.end());
  }

  /// Walks `body` from `state`, inserting barriers; `state` becomes that at its end.
  void visit(std::vector<Stmt>& body, State& state) {
    std::vector<Stmt> result;
    for (Stmt& stmt : body) {
      if (stmt.kind == Stmt::Kind::order) {
        visit_order(stmt, state, result);
        continue;
      }
      if (stmt.kind == Stmt::Kind::barrier) state = {};
      if (stmt.kind != Stmt::Kind::lambda) visit_statement(stmt, state, result);
      result.push_back(std::move(stmt));
    }
    body = std::move(result);
  }

  void visit_order(const Stmt& stmt, State& state, std::vector<Stmt>& result) {
    if (stmt.op == "release_all" || stmt.op == "acquire_all") {
      result.push_back(make_barrier(stmt.op == "release_all"
                                        ? "everything before is done by every thread"
                                        : "nothing after is begun by any thread"));
      state = {};
      return;
    }
    if (stmt.op == "release") {
      state.released.insert(stmt.params.begin(), stmt.params.end());
      return;
    }
    const bool stale =
        std::any_of(stmt.params.begin(), stmt.params.end(),
                    [&](const std::string& r) { return state.released.contains(r); });
    if (stmt.op == "acquire" && !stale) return;
    result.push_back(make_barrier(stmt.op == "wait"
                                      ? stale ? "these tiles are there, and nobody still reads the "
                                                "stage refilled next"
                                              : "these tiles are there for every thread"
                                      : "nobody still reads the tiles about to be replaced"));
    state = {};
  }

  void visit_statement(Stmt& stmt, State& state, std::vector<Stmt>& result) {
    if (stmt.uniform && stmt.kind == Stmt::Kind::loop) {
      visit_loop(stmt, state);
      return;
    }
    if (stmt.roles) {
      visit_roles(stmt);
      return;
    }
    if (stmt.uniform && stmt.kind == Stmt::Kind::branch) {
      State other = state;
      visit(stmt.body, state);
      visit(stmt.otherwise, other);
      state.merge(other);
      return;
    }
    Accesses next;
    scan(stmt, next);
    if (conflicts(state, next)) {
      result.push_back(make_barrier(why(state, next)));
      state = {};
    }
    apply(state, next);
  }

  /// The roles of a block meet at barriers of their rings only; what one side orders among its own
  /// threads is a barrier of those.
  void visit_roles(Stmt& stmt) {
    State producer, consumer;
    const std::vector<Stmt> before = stmt.body;
    visit(stmt.body, producer);
    internal_check(stmt.body.size() == before.size(), "the producer needs a barrier");
    barrier_call_ =
        call("tw::sync_warps", {kernel_.turn.empty() ? integer(1) : name(kernel_.turn) + integer(1),
                                integer(kernel_.consumers)});
    visit(stmt.otherwise, consumer);
    barrier_call_ = nullptr;
  }

  static std::string why(const State& state, const Accesses& next) {
    for (const std::string& buffer : next.reads)
      if (state.writes.contains(buffer) || holds(state.atomics, buffer))
        return buffer + " is complete";
    Buffers changed = next.writes;
    for (const auto& [buffer, kind] : next.atomics) changed.insert(buffer);
    for (const std::string& buffer : changed)
      if (state.reads.contains(buffer) || state.writes.contains(buffer) ||
          holds(state.atomics, buffer))
        return "everybody is done with " + buffer;
    return "";
  }

  void forget_tensors(State& state) const {
    for (const auto& [name, group] : tensors_) {
      state.reads.erase(group);
      state.writes.erase(group);
      std::erase_if(state.atomics, [&](const auto& atomic) { return atomic.first == group; });
    }
  }

  /// The state at the loop's head is what comes before it or what an iteration leaves behind.
  void visit_loop(Stmt& stmt, State& state) {
    State head = state;
    for (;;) {
      State end = head;
      std::vector<Stmt> trial = stmt.body;
      visit(trial, end);
      if (stmt.programs) forget_tensors(end);
      for (const std::string& tensor : stmt.params)
        if (tensors_.at(tensor) == tensor) end.writes.erase(tensor);
      State next = head;
      next.merge(end);
      if (next == head) break;
      head = next;
    }
    State end = head;
    visit(stmt.body, end);
    state.merge(end);
  }

  Stmt make_barrier(std::string why) const { return barrier(std::move(why), barrier_call_); }

  Kernel& kernel_;
  ExprRef barrier_call_;  // of the role that is visited; null: of the whole block
  std::unordered_set<std::string> rings_;
  std::unordered_map<std::string, std::string> tensors_;
};

}  // namespace

void synchronize(Kernel& kernel) { Synchronizer(kernel).run(); }

}  // namespace tilewright::codegen
