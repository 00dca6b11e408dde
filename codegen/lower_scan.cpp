// Scans: within each thread's run of neighbours, across the lanes of a warp, then across warps and
// from one run of a thread's registers to the next.
#include "tilewright/codegen/layout_axes.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/reduction_parts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;
using Exprs = std::vector<ExprRef>;

constexpr int kWarpSize = 32;

/// One scan being lowered. "Before" and "after" are meant in its direction.
class Scan {
 public:
  Scan(Lowering& lowering, const Op& op)
      : lowering_(lowering),
        op_(op),
        fn_(lowering, op),
        axis_(static_cast<int>(op.integer(AttrKey::axis))),
        layout_(lowering.layout(op.results[0])),
        reverse_(op.integer(AttrKey::reverse) != 0),
        exclusive_(op.integer(AttrKey::exclusive) != 0) {
    const auto split = split_of(layout_, axis_);
    internal_check(split.has_value(), "a scan across a layout that does not follow its axis");
    split_ = *split;
  }

  void run() {
    lowering_.at_source(op_);
    copy_operands();
    if (split_.warps == 1) {
      for_kept([&](RegIndex& index) { within_warp(index); });
      return;
    }
    declare_buffers();
    for_kept([&](RegIndex& index) {
      for_runs([&](const ExprRef& run) {
        const Exprs total = scan_run(index, run);
        publish(index, run, total);
      });
    });
    for_kept([&](RegIndex& index) { add_warps(index); });
  }

 private:
  // --- Where things are.

  /// Runs `body` for each register position of the other axes.
  void for_kept(const std::function<void(RegIndex&)>& body) {
    for_registers_across(lowering_, layout_, axis_, body);
  }

  /// Runs `body` for each of the thread's runs along the axis, the first one first.
  void for_runs(const std::function<void(const ExprRef&)>& body) {
    for_axis(lowering_, axis_, split_.runs, 1,
             [&](const ExprRef& at) { body(reverse_ ? integer(split_.runs - 1) - at : at); });
  }

  /// Position `i`, from 0 in the scan's direction, of `count`.
  ExprRef directed(const ExprRef& i, int count) const {
    return reverse_ ? integer(count - 1) - i : i;
  }

  /// The results' elements: number `i` of a run.
  Exprs elements(RegIndex index, const ExprRef& run, const ExprRef& i) const {
    index[axis_] = run * integer(split_.run) + directed(i, split_.run);
    Exprs all;
    for (const std::string& result : names_)
      all.push_back(register_element(result, layout_, index));
    return all;
  }
  Exprs last_of(const RegIndex& index, const ExprRef& run) const {
    return elements(index, run, integer(split_.run - 1));
  }

  /// This thread's number, from 0 in the scan's direction, among the lanes (warps) along the axis.
  ExprRef lane() const {
    return directed(thread_digit(lowering_.threads(), split_.lane_weight, split_.lanes),
                    split_.lanes);
  }
  ExprRef warp() const {
    return directed(thread_digit(lowering_.threads(), kWarpSize * split_.warp_weight, split_.warps),
                    split_.warps);
  }

  /// The lane that is `distance` before this one.
  ExprRef lane_before(const ExprRef& distance) const {
    const ExprRef away = distance * integer(split_.lane_weight);
    const ExprRef lane =
        reverse_ ? name("threadIdx.x") + away : name("threadIdx.x") + (integer(kWarpSize) - away);
    return lane % integer(kWarpSize);
  }

  /// The last of the lanes that this one scans with.
  ExprRef last_lane() const {
    const ExprRef digit = thread_digit(lowering_.threads(), split_.lane_weight, split_.lanes);
    const ExprRef away =
        (reverse_ ? digit : integer(split_.lanes - 1) - digit) * integer(split_.lane_weight);
    const ExprRef lane =
        reverse_ ? name("threadIdx.x") + (integer(kWarpSize) - away) : name("threadIdx.x") + away;
    return lane % integer(kWarpSize);
  }

  void loop_over(const std::string& variable, int first, int limit,
                 const std::function<void(const ExprRef&)>& body, ExprRef step = integer(1)) {
    if (limit - first == 1) return body(integer(first));
    std::vector<Stmt> stmts = lowering_.collect([&] { body(name(variable)); });
    lowering_.emit(
        loop(variable, integer(first), integer(limit), std::move(step), true, std::move(stmts)));
  }

  void assign_all(const Exprs& to, const Exprs& from) {
    for (size_t i = 0; i < to.size(); ++i) lowering_.emit(assign(to[i], from[i]));
  }

  Exprs identities() const {
    Exprs all;
    for (size_t i = 0; i < fn_.count(); ++i) all.push_back(fn_.identity(i));
    return all;
  }

  // --- Steps.

  /// The results' arrays start as what is scanned. What overhangs matters where it comes first.
  void copy_operands() {
    const Value* x = fn_.tile(0);
    const auto extents = lowering_.extents(x);
    std::vector<std::string> arrays;
    for (size_t i = 0; i < fn_.count(); ++i) {
      const Value* result = op_.results[i];
      if (result->name.empty())
        const_cast<Value*>(result)->name = name_of(fn_.tile(i), "value") + "_scan";
      names_.push_back(declare_tile(lowering_, result));
    }
    for_registers(lowering_, layout_, -1, 1, [&](const RegIndex& index) {
      const auto at = coordinates(lowering_, layout_, x->type.shape, index);
      const ExprRef inside = reverse_ ? overhang_guard(layout_, extents, at) : nullptr;
      for (size_t i = 0; i < fn_.count(); ++i) {
        const ExprRef value = element_value(lowering_, fn_.tile(i), index);
        lowering_.emit(assign(register_element(names_[i], layout_, index),
                              inside ? conditional(inside, value, fn_.identity(i)) : value));
      }
    });
  }

  /// Scans a run and the same run of the lanes before; returns this lane's total with theirs.
  Exprs scan_run(const RegIndex& index, const ExprRef& run) {
    const std::string& p = lowering_.vector_loop[0];
    if (split_.run > 1)
      loop_over(p, 1, split_.run, [&](const ExprRef& i) {
        const Exprs target = elements(index, run, i);
        fn_.apply(elements(index, run, i - integer(1)), target, target);
      });
    const Exprs total = fn_.declare_each(last_of(index, run), "total", false);
    Exprs before;
    if (split_.lanes > 1) {
      const std::string& distance = lowering_.vector_loop[1];
      loop_over(
          distance, 1, split_.lanes,
          [&](const ExprRef& away) {
            const Exprs other =
                fn_.declare_each(fn_.from_lane("tw::shuffle", total, lane_before(away)), "other");
            lowering_.emit_if(binary(">=", lane(), away), [&] { fn_.apply(other, total, total); });
          },
          name(distance));
      before =
          fn_.declare_each(fn_.from_lane("tw::shuffle", total, lane_before(integer(1))), "before");
    }
    add_before(index, run, before);
    return total;
  }

  /// Puts what lanes before sum up to into a run; of an exclusive scan, moves it on by one.
  void add_before(const RegIndex& index, const ExprRef& run, const Exprs& before) {
    const ExprRef first = binary("==", lane(), integer(0));
    if (!exclusive_) {
      if (before.empty()) return;
      lowering_.emit_if(binary(">", lane(), integer(0)), [&] { add_to_run(index, run, before); });
      return;
    }
    Exprs start = identities();
    if (!before.empty()) {
      for (size_t i = 0; i < start.size(); ++i) start[i] = conditional(first, start[i], before[i]);
      start = fn_.declare_each(start, "start");
    }
    const std::string& p = lowering_.vector_loop[0];
    if (split_.run > 1)
      loop_over(p, 0, split_.run - 1, [&](const ExprRef& i) {
        const ExprRef to = integer(split_.run - 1) - i;
        fn_.apply(start, elements(index, run, to - integer(1)), elements(index, run, to));
      });
    assign_all(elements(index, run, integer(0)), start);
  }

  /// Every element of a run becomes f(before, element).
  void add_to_run(const RegIndex& index, const ExprRef& run, const Exprs& before) {
    loop_over(lowering_.vector_loop[0], 0, split_.run, [&](const ExprRef& i) {
      const Exprs target = elements(index, run, i);
      fn_.apply(before, target, target);
    });
  }

  /// The whole scan where one warp has all of the axis.
  void within_warp(const RegIndex& index) {
    Exprs carry;
    if (split_.runs > 1) carry = fn_.declare_each(identities(), "carry", false);
    for_runs([&](const ExprRef& run) {
      Exprs total = scan_run(index, run);
      if (carry.empty()) return;
      add_to_run(index, run, carry);
      if (split_.lanes > 1)
        total = fn_.declare_each(fn_.from_lane("tw::shuffle", total, last_lane()), "of_warp");
      fn_.apply(carry, total, carry);
    });
  }

  void declare_buffers() {
    for (size_t i = 0; i < fn_.count(); ++i) {
      SharedBuffer buffer;
      buffer.name = lowering_.names.unique(names_[i] + "_of_warps");
      buffer.dtype = fn_.dtype(i);
      buffer.extents = {split_.runs, split_.warps};
      for (int axis = 0; axis < layout_.rank; ++axis)
        if (axis != axis_) buffer.extents.push_back(layout_.covered(axis));
      buffer.comment = "[run][warp]: what each warp sums up to";
      lowering_.kernel.buffers.push_back(buffer);
      buffers_.push_back(buffer.name);
    }
  }

  Exprs of_warp(const RegIndex& index, const ExprRef& run, const ExprRef& warp) {
    Exprs at = {run, warp};
    const auto all = coordinates(lowering_, layout_, op_.results[0]->type.shape, index);
    for (int axis = 0; axis < layout_.rank; ++axis)
      if (axis != axis_) at.push_back(all[axis]);
    Exprs elements;
    for (const std::string& buffer : buffers_) elements.push_back(shared(buffer, at));
    return elements;
  }

  /// The last lane along the axis writes its warp's total.
  void publish(const RegIndex& index, const ExprRef& run, const Exprs& total) {
    ExprRef writer = replica_guard(lowering_, layout_);
    if (split_.lanes > 1) {
      const ExprRef last = binary("==", lane(), integer(split_.lanes - 1));
      writer = writer ? writer && last : last;
    }
    lowering_.emit_if(writer, [&] { assign_all(of_warp(index, run, warp()), total); });
  }

  /// Adds to each run what warps before, and all runs before, sum up to.
  void add_warps(const RegIndex& index) {
    Exprs carry;
    if (split_.runs > 1) carry = fn_.declare_each(identities(), "carry", false);
    for_runs([&](const ExprRef& run) {
      const Exprs before =
          fn_.declare_each(carry.empty() ? identities() : carry, "before_warp", false);
      loop_over(lowering_.vector_loop[2], 0, split_.warps, [&](const ExprRef& at) {
        const Exprs other = fn_.declare_each(of_warp(index, run, at), "other");
        lowering_.emit_if(at < warp(), [&] { fn_.apply(before, other, before); });
        if (!carry.empty()) fn_.apply(carry, other, carry);
      });
      add_to_run(index, run, before);
    });
  }

  Lowering& lowering_;
  const Op& op_;
  CombineFunction fn_;
  const int axis_;
  const Layout& layout_;
  const bool reverse_, exclusive_;
  AxisSplit split_;
  std::vector<std::string> names_, buffers_;
};

}  // namespace

void lower_scan(Lowering& lowering, const Op& op) {
  internal_check(op.has(AttrKey::guard) && op.integers(AttrKey::guard).empty(),
                 "a scan with an implicit mask was lowered");
  Scan(lowering, op).run();
}

}  // namespace tilewright::codegen
