#include "tilewright/codegen/synchronize.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>

#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using Buffers = std::set<std::string>;

/// What a piece of code touches.
struct Accesses {
  Buffers reads, writes, atomics;
};

/// What threads may have done since the last barrier.
struct State {
  Buffers reads, writes, atomics;
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

  /// Adds what evaluating `expr` reads; `written` when it is the target of a store.
  void scan(const ExprRef& expr, Accesses& found, Access access = Access::read) const {
    if (!expr) return;
    Buffers& touched = access == Access::read    ? found.reads
                       : access == Access::write ? found.writes
                                                 : found.atomics;
    if (expr->kind == Expr::Kind::shared && !rings_.contains(expr->text))
      touched.insert(expr->text);
    if (expr->kind == Expr::Kind::global) touched.insert(tensors_.at(expr->text));
    if (expr->kind == Expr::Kind::call) {
      scan_call(*expr, found);
      return;
    }
    for (const ExprRef& arg : expr->args)
      scan(arg, found, expr->kind == Expr::Kind::address ? access : Access::read);
  }

  void scan_call(const Expr& call, Accesses& found) const {
    const Helper* helper = find_helper(call.text);
    for (size_t i = 0; i < call.args.size(); ++i) {
      Access access = Access::read;
      if (helper != nullptr)
        for (const PointerUse& use : helper->pointers)
          if (use.argument == static_cast<int>(i)) access = use.access;
      scan(call.args[i], found, access);
    }
  }

  void scan(const Stmt& stmt, Accesses& found) const {
    scan(stmt.value, found);
    if (stmt.target) {
      if (stmt.op != "=") scan(stmt.target, found);
      scan(stmt.target, found, Access::write);
    }
    for (const Stmt& inner : stmt.body) scan(inner, found);
    for (const Stmt& inner : stmt.otherwise) scan(inner, found);
  }

  static bool conflicts(const State& state, const Accesses& next) {
    return intersect(next.reads, state.writes) || intersect(next.writes, state.writes) ||
           intersect(next.writes, state.reads) || intersect(next.reads, state.atomics) ||
           intersect(next.writes, state.atomics) || intersect(next.atomics, state.writes) ||
           intersect(next.atomics, state.reads);
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
    barrier_call_ = call("tw::sync_warps", {integer(1), integer(kernel_.consumers)});
    visit(stmt.otherwise, consumer);
    barrier_call_ = nullptr;
  }

  static std::string why(const State& state, const Accesses& next) {
    for (const std::string& buffer : next.reads)
      if (state.writes.contains(buffer) || state.atomics.contains(buffer))
        return buffer + " is complete";
    for (const Buffers* changed : {&next.writes, &next.atomics})
      for (const std::string& buffer : *changed)
        if (state.reads.contains(buffer) || state.writes.contains(buffer) ||
            state.atomics.contains(buffer))
          return "everybody is done with " + buffer;
    return "";
  }

  void forget_tensors(State& state) const {
    for (const auto& [name, group] : tensors_) {
      state.reads.erase(group);
      state.writes.erase(group);
      state.atomics.erase(group);
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
