// Sorting networks: elements are compared and exchanged at powers of two apart, first among the
// registers of a thread and the lanes of a warp, then between warps through shared memory. Each
// element takes its place along, so that no two are equal and the order is stable.
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/layout_axes.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/sort_order.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;
using Exprs = std::vector<ExprRef>;

constexpr int kWarpSize = 32;

/// What travels with an element: its key, its place, then the tiles that are sorted along.
struct Column {
  std::string type, array;
  std::string exchange = {};  ///< buffer through which warps exchange it
};

class Network {
 public:
  Network(Lowering& lowering, const Op& op)
      : lowering_(lowering),
        op_(op),
        axis_(static_cast<int>(op.integer(AttrKey::axis))),
        layout_(lowering.layout(op.operand(0))),
        split_(*split_of(layout_, axis_)),
        total_(split_.run * split_.lanes * split_.warps) {}

  void run() {
    lowering_.at_source(op_);
    declare_columns();
    load();
    for (int size = 2; size <= total_; size *= 2) merge(size);
    if (op_.has(AttrKey::count)) take_first();
  }

 private:
  // --- Where things are.

  void for_kept(const std::function<void(RegIndex&)>& body) {
    for_registers_across(lowering_, layout_, axis_, body);
  }

  Exprs elements(RegIndex index, const ExprRef& position) const {
    index[axis_] = position;
    Exprs all;
    for (const Column& column : columns_)
      all.push_back(register_element(column.array, layout_, index));
    return all;
  }

  ExprRef lane() const {
    return thread_digit(lowering_.threads(), split_.lane_weight, split_.lanes);
  }
  ExprRef warp() const {
    return thread_digit(lowering_.threads(), kWarpSize * split_.warp_weight, split_.warps);
  }

  /// Whether bit `bit` (a power of two) of an element's position is 0; null when it always is.
  /// `position`: its register, where the bit is one of those.
  ExprRef is_clear(int bit, const ExprRef& position) const {
    if (bit >= total_) return nullptr;
    ExprRef digit = position;
    if (bit >= split_.run * split_.lanes)
      digit = warp() / integer(bit / (split_.run * split_.lanes));
    else if (bit >= split_.run)
      digit = lane() / integer(bit / split_.run);
    else
      digit = position / integer(bit);
    return binary("==", digit % integer(2), integer(0));
  }

  // --- Steps.

  void declare_columns() {
    const auto extents = register_extents(layout_);
    const auto declare_array = [&](const std::string& type, const std::string& hint) {
      const std::string name = lowering_.names.unique(hint);
      lowering_.emit(extents.empty() ? declare(type, name, nullptr, false)
                                     : array(type, name, extents));
      columns_.push_back({type, name});
    };
    for (size_t v = 0; v < op_.results.size(); ++v) {
      const Value* result = op_.results[v];
      const std::string hint = name_of(op_.operand(v), "tile") + "_sorted";
      const std::string type = cuda_type(result->type.dtype);
      if (op_.has(AttrKey::count)) {
        declare_array(type, hint);
      } else {
        if (result->name.empty()) const_cast<Value*>(result)->name = hint;
        columns_.push_back({type, declare_tile(lowering_, result)});
      }
      if (v == 0) declare_array("int", "place");
    }
    if (split_.warps == 1) return;
    for (Column& column : columns_) {
      SharedBuffer buffer;
      buffer.name = column.exchange = lowering_.names.unique(column.array + "_exchange");
      buffer.dtype = &column == &columns_[1] ? DType::i32 : dtype_of(column);
      buffer.extents = extents;
      buffer.extents.push_back(lowering_.threads());
      buffer.comment = "from warp to warp";
      lowering_.kernel.buffers.push_back(buffer);
    }
  }

  DType dtype_of(const Column& column) const {
    const auto number = static_cast<size_t>(&column - columns_.data());
    return op_.operand(number == 0 ? 0 : number - 1)->type.dtype;
  }

  /// Positions past the tile get keys that come last.
  void load() {
    const Value* key = op_.operand(0);
    const auto extents = lowering_.extents(key);
    for_registers(lowering_, layout_, -1, 1, [&](const RegIndex& index) {
      const auto at = coordinates(lowering_, layout_, key->type.shape, index);
      const Exprs to = elements(index, index[axis_]);
      const ExprRef value = element_value(lowering_, key, index);
      const ExprRef inside = overhang_guard(layout_, extents, at);
      const bool descending = op_.integer(AttrKey::descending) != 0;
      lowering_.emit(
          assign(to[0], inside ? conditional(inside, value, last_key(key->type.dtype, descending))
                               : value));
      lowering_.emit(assign(to[1], at[axis_]));
      for (size_t v = 1; v < op_.operands.size(); ++v)
        lowering_.emit(assign(to[v + 1], element_value(lowering_, op_.operand(v), index)));
    });
  }

  /// Whether the element `x` comes before `y`.
  ExprRef earlier(const Exprs& x, const Exprs& y) const {
    const bool descending = op_.integer(AttrKey::descending) != 0;
    const DType dtype = op_.operand(0)->type.dtype;
    const ExprRef less = comes_before(dtype, descending, x[0], y[0]);
    const ExprRef greater = comes_before(dtype, descending, y[0], x[0]);
    return binary("||", less, binary("&&", unary("!", greater), x[1] < y[1]));
  }

  /// Runs of `size` elements, the halves of which are sorted one up and one down, are sorted, every
  /// second one down.
  void merge(int size) {
    lowering_.emit(comment(fmt::format("runs of {} in order", size)));
    for (int stride = size / 2; stride >= split_.run * split_.lanes; stride /= 2)
      exchange_warps(size, stride);
    const int in_warp = std::min(size, split_.run * split_.lanes);
    if (in_warp > split_.run) exchange_lanes(size, in_warp / 2 / split_.run);
    const int in_thread = std::min(size, split_.run);
    if (in_thread > 1) exchange_registers(size, in_thread / 2);
  }

  /// Emits `body` with top, top / 2, .. 1.
  void for_halves(int top, const char* hint, const std::function<void(const ExprRef&)>& body) {
    if (top == 1) return body(integer(1));
    const std::string part = lowering_.names.unique("part"), away = lowering_.names.unique(hint);
    std::vector<Stmt> stmts = lowering_.collect([&] {
      lowering_.emit(declare("int", away, binary("/", integer(top), name(part))));
      body(name(away));
    });
    lowering_.emit(loop(part, integer(1), integer(top + 1), name(part), true, std::move(stmts)));
  }

  void exchange_registers(int size, int top) {
    for_halves(top, "stride", [&](const ExprRef& stride) {
      for_kept([&](const RegIndex& index) {
        const std::string& p = lowering_.vector_loop[0];
        const ExprRef pair = split_.run > 2 ? name(p) : integer(0);
        std::vector<Stmt> body = lowering_.collect([&] {
          const ExprRef low = pair / stride * (integer(2) * stride) + pair % stride;
          order_pair(elements(index, low), elements(index, low + stride), is_clear(size, low));
        });
        if (split_.run > 2)
          lowering_.emit(
              loop(p, integer(0), integer(split_.run / 2), integer(1), true, std::move(body)));
        else
          for (Stmt& stmt : body) lowering_.emit(std::move(stmt));
      });
    });
  }

  void order_pair(const Exprs& low, const Exprs& high, const ExprRef& ascending) {
    ExprRef swap = earlier(high, low);
    if (ascending) swap = binary("==", swap, ascending);
    lowering_.emit_if(swap, [&] {
      for (size_t c = 0; c < columns_.size(); ++c) {
        const std::string kept = lowering_.names.unique("kept");
        lowering_.emit(declare(columns_[c].type, kept, low[c]));
        lowering_.emit(assign(low[c], high[c]));
        lowering_.emit(assign(high[c], name(kept)));
      }
    });
  }

  /// Keeps the element that belongs here of this one and the one `others` of a partner.
  void order_with(const Exprs& mine, const Exprs& others, const ExprRef& lower,
                  const ExprRef& ascending) {
    const ExprRef first = ascending ? binary("==", lower, ascending) : lower;
    lowering_.emit_if(binary("==", earlier(others, mine), first), [&] {
      for (size_t c = 0; c < columns_.size(); ++c) lowering_.emit(assign(mine[c], others[c]));
    });
  }

  /// Variables that hold what a partner has.
  Exprs declare_others(const Exprs& values) {
    Exprs others;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string other = lowering_.names.unique(c == 0   ? "other_key"
                                                       : c == 1 ? "other_place"
                                                                : "other_value");
      lowering_.emit(declare(columns_[c].type, other, values[c]));
      others.push_back(name(other));
    }
    return others;
  }

  void for_own(const std::function<void(const RegIndex&, const ExprRef&)>& body) {
    for_kept([&](const RegIndex& index) {
      for_axis(lowering_, axis_, split_.run, 1,
               [&](const ExprRef& position) { body(index, position); });
    });
  }

  void exchange_lanes(int size, int top) {
    for_halves(top, "away", [&](const ExprRef& away) {
      for_own([&](const RegIndex& index, const ExprRef& position) {
        const Exprs mine = elements(index, position);
        Exprs shuffled;
        for (const ExprRef& value : mine)
          shuffled.push_back(call("tw::shuffle_xor", {value, away * integer(split_.lane_weight)}));
        const ExprRef lower = binary("==", lane() / away % integer(2), integer(0));
        order_with(mine, declare_others(shuffled), lower, is_clear(size, position));
      });
    });
  }

  void exchange_warps(int size, int stride) {
    const int away = stride / (split_.run * split_.lanes);
    const ExprRef lower = is_clear(stride, integer(0));
    const ExprRef distance = integer(static_cast<int64_t>(away) * kWarpSize * split_.warp_weight);
    const ExprRef self = name("threadIdx.x");
    const ExprRef partner = conditional(lower, self + distance, self - distance);
    const auto slots = [&](RegIndex index, const ExprRef& position, const ExprRef& thread) {
      index[axis_] = position;
      Exprs at;
      for (int axis = 0; axis < layout_.rank; ++axis)
        if (layout_.registers(axis) > 1) at.push_back(index[axis]);
      at.push_back(thread);
      Exprs all;
      for (const Column& column : columns_) all.push_back(shared(column.exchange, at));
      return all;
    };
    for_own([&](const RegIndex& index, const ExprRef& position) {
      const Exprs to = slots(index, position, self), from = elements(index, position);
      for (size_t c = 0; c < to.size(); ++c) lowering_.emit(assign(to[c], from[c]));
    });
    for_own([&](const RegIndex& index, const ExprRef& position) {
      order_with(elements(index, position), declare_others(slots(index, position, partner)), lower,
                 is_clear(size, position));
    });
  }

  /// The first `count` positions, through shared memory to where the results want them.
  void take_first() {
    std::vector<std::string> buffers;
    for (const Value* result : op_.results)
      buffers.push_back(declare_line(lowering_, result, "_first", lowering_.extents(result),
                                     "the first in sorted order"));
    const auto count = integer(op_.integer(AttrKey::count));
    const auto extents = lowering_.extents(op_.operand(0));
    lowering_.emit_if(replica_guard(lowering_, layout_), [&] {
      for_registers(lowering_, layout_, -1, 1, [&](const RegIndex& index) {
        const auto at = coordinates(lowering_, layout_, op_.operand(0)->type.shape, index);
        auto within = extents;
        within[axis_] = layout_.covered(axis_);
        const ExprRef inside = overhang_guard(layout_, within, at);
        const ExprRef taken = at[axis_] < count;
        lowering_.emit_if(inside ? inside && taken : taken, [&] {
          const Exprs values = elements(index, index[axis_]);
          for (size_t v = 0; v < buffers.size(); ++v)
            lowering_.emit(assign(shared(buffers[v], at), values[v == 0 ? 0 : v + 1]));
        });
      });
    });
    for (size_t v = 0; v < buffers.size(); ++v) read_line(lowering_, op_.results[v], buffers[v]);
  }

  Lowering& lowering_;
  const Op& op_;
  const int axis_;
  const Layout& layout_;
  const AxisSplit split_;
  const int total_;
  std::vector<Column> columns_;
};

}  // namespace

bool sorts_by_network(const Lowering& lowering, const Op& op) {
  const Layout& layout = lowering.layout(op.operand(0));
  const auto extents = lowering.extents(op.operand(0));
  const auto network =
      sorting_layout(extents, static_cast<int>(op.integer(AttrKey::axis)), lowering.config.warps);
  if (!network || !same_distribution(layout, *network)) return false;
  return op.has(AttrKey::count) || same_distribution(lowering.layout(op.result(0)), *network);
}

void lower_bitonic_sort(Lowering& lowering, const Op& op) { Network(lowering, op).run(); }

}  // namespace tilewright::codegen
