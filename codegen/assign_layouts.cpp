#include "tilewright/codegen/assign_layouts.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tilewright/codegen/atomics.h"
#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/coalescing.h"
#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/layout_axes.h"
#include "tilewright/codegen/layout_classes.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Axes of a tile, fastest first, with `first` in front and the others from the last to the first.
std::vector<int> order_from(int rank, int first) {
  std::vector<int> order;
  if (first >= 0) order.push_back(first);
  for (int axis = rank - 1; axis >= 0; --axis)
    if (axis != first) order.push_back(axis);
  return order;
}

std::vector<bool> stretched_dims(const Op& broadcast) {
  const ir::Shape& from = broadcast.operand(0)->type.shape;
  const ir::Shape& to = broadcast.result()->type.shape;
  const auto& dims = broadcast.integers(AttrKey::dims);
  std::vector<bool> stretched;
  for (size_t i = 0; i < from.size(); ++i) stretched.push_back(!(from[i] == to[dims[i]]));
  return stretched;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& dims) {
  std::vector<int64_t> result(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) result[dims[i]] = static_cast<int64_t>(i);
  return result;
}

/// Dimensions of an accessed tile that index `i` does not have.
std::vector<int64_t> other_axes(const ir::AccessView& access, size_t i, int rank) {
  const std::vector<int> own = access.axes_of(i);
  std::vector<int64_t> others;
  for (int axis = 0; axis < rank; ++axis)
    if (std::find(own.begin(), own.end(), axis) == own.end()) others.push_back(axis);
  return others;
}

/// Chooses one layout per class.
class Chooser {
 public:
  Chooser(const ir::Function& fn, const ir::Facts& facts, const Config& config,
          const Target& target)
      : fn_(fn),
        facts_(facts),
        config_(config),
        target_(target),
        classes_(fn),
        chosen_(classes_.count()) {
    ir::for_each_op(fn.body(), [&](const Op& op) { visit(op); });
    choose_dots();
    choose_operands();
    choose_rest();
  }

  const Layout& of(const Value* value) const {
    const int cls = classes_.of(value);
    internal_check(cls >= 0 && chosen_[cls].has_value(), "a tile without a layout");
    return *chosen_[cls];
  }

 private:
  /// The wish to meet memory in runs along an axis.
  struct Anchor {
    int axis = -1;      // -1: none is contiguous
    int vector = 1;     // elements of one access
    int64_t bytes = 0;  // of an element
  };
  using Anchors = std::unordered_map<int, std::vector<Anchor>>;  // by class

  void visit(const Op& op) {
    if ((op.kind == OpKind::load || ir::is_atomic(op.kind)) && op.result()->type.is_tile())
      anchor(op, op.result());
    else if (op.kind == OpKind::store && op.operand(1)->type.is_tile())
      anchor(op, op.operand(1));
    else if (op.kind == OpKind::fetch)
      anchor_fetch(op);
    else if (op.kind == OpKind::dot)
      dots_.push_back(&op);
    else if (op.kind == OpKind::broadcast || op.kind == OpKind::reduce ||
             op.kind == OpKind::combine || op.kind == OpKind::permute || op.kind == OpKind::join ||
             op.kind == OpKind::pick)
      relations_.push_back(&op);
  }

  void anchor(const Op& op, const Value* value) {
    const AccessFacts facts = facts_of(op);
    if (ir::AccessView(op).gathers()) gathers_.push_back(&op);
    anchors_[classes_.of(value)].push_back({facts.contiguous_axis, facts.whole_vector,
                                            size_of(ir::AccessView(op).tensor->type.dtype)});
  }

  AccessFacts facts_of(const Op& op) const {
    return access_facts(fn_, facts_, op, config_, target_);
  }

  void anchor_fetch(const Op& op) {
    const Op& filler = filler_of(fn_, view_of(op.operand(0)).ring);
    const DType dtype = op.result()->type.dtype;
    const int axis = filler.kind == OpKind::copy
                         ? analyze_access(fn_, facts_, filler, config_.vector).contiguous_axis
                         : -1;
    fetches_[classes_.of(op.result())].push_back({axis, 16 / size_of(dtype), size_of(dtype)});
  }

  void choose_dots() {
    for (const Op* dot : dots_) {
      std::optional<Layout>& layout = chosen_[classes_.of(dot->result())];
      if (layout) continue;
      layout = layout_of_dot(*dot);
    }
  }

  /// Operands that dots take from registers.
  void choose_operands() {
    for (const Op* dot : dots_)
      for (int i = 0; i < 2; ++i) {
        if (is_shared(dot->operand(i))) continue;
        std::optional<Layout>& layout = chosen_[classes_.of(dot->operand(i))];
        if (!layout) layout = operand_layout(fn_, *dot, i, of(dot->result()), config_, target_);
      }
  }

  Layout layout_of_dot(const Op& dot) const {
    const auto extents = fn_.extents(dot.result()->type.shape);
    switch (unit_of(dot, config_, target_)) {
      case MatrixUnit::mma:
        return mma_layout(extents[0], extents[1], config_.warps);
      case MatrixUnit::wgmma:
        return wgmma_layout(extents[0], extents[1], config_.warps);
      case MatrixUnit::fma:
        break;
    }
    const auto [vector_m, vector_n] = dot_vectors(fn_, facts_, dot, config_);
    return dot_layout(extents[0], extents[1], config_.warps, vector_m, vector_n,
                      size_of(dot.operand(0)->type.dtype));
  }

  int64_t elements(int cls) const {
    int64_t n = 1;
    for (int64_t extent : fn_.extents(classes_.members(cls)[0]->type.shape)) n *= extent;
    return n;
  }

  void choose_rest() {
    std::vector<int> order(classes_.count());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return elements(a) > elements(b); });
    for (int cls : order)
      if (!chosen_[cls]) chosen_[cls] = derived(cls);
  }

  /// Whether one of the results is of the class.
  bool makes(const Op& op, int cls) const {
    return std::any_of(op.results.begin(), op.results.end(), [&](const Value* result) {
      return result->type.is_tile() && classes_.of(result) == cls;
    });
  }

  /// The class's layout from the other side of a join or pick; nothing when that has none.
  std::optional<Layout> derived_by_axis(const Op& op, int cls) const {
    const bool joins = op.kind == OpKind::join;
    const Value* wide = joins ? op.result() : op.operand(0);    // has the axis
    const Value* narrow = joins ? op.operand(0) : op.result();  // has not
    const int64_t axis = op.integer(AttrKey::axis);
    if (narrow->type.is_tile() && classes_.of(narrow) == cls && known(wide))
      return drop_axes(of(wide), {axis});
    if (classes_.of(wide) == cls && known(narrow))
      return with_axis(of(narrow), wide->type.shape, axis);
    return std::nullopt;
  }

 public:
  /// `layout` with a dimension of `shape` more, held by each thread.
  Layout with_axis(const Layout& layout, const ir::Shape& shape, int64_t axis) const {
    return insert_register_axis(layout, static_cast<int>(axis), fn_.extent(shape[axis]));
  }

 private:
  /// From a related class that has a layout; from memory when there is none.
  Layout derived(int cls) const {
    for (const Op* op : relations_) {
      const Value* from = op->operand(0);
      const Value* to = op->results[0];
      const bool reduces = op->kind == OpKind::reduce || op->kind == OpKind::combine;
      if (reduces && makes(*op, cls) && known(from))
        return drop_axes(of(from), op->integers(AttrKey::axes));
      if (op->kind == OpKind::join || op->kind == OpKind::pick)
        if (auto layout = derived_by_axis(*op, cls)) return *layout;
      if (op->kind == OpKind::broadcast && classes_.of(from) == cls && known(to))
        return operand_of_broadcast(of(to), op->integers(AttrKey::dims), stretched_dims(*op));
      if (op->kind == OpKind::permute && !anchors_.contains(cls)) {
        if (classes_.of(to) == cls && known(from))
          return permute(of(from), op->integers(AttrKey::dims));
        if (classes_.of(from) == cls && known(to))
          return permute(of(to), inverse(op->integers(AttrKey::dims)));
      }
    }
    for (const Op* op : gathers_) {
      const Value* tile = op->results.empty() ? op->operand(1) : op->result();
      if (!known(tile)) continue;
      const ir::AccessView access(*op);
      for (size_t i = 0; i < access.indices.size(); ++i)
        if (access.indices[i]->type.is_tile() && classes_.of(access.indices[i]) == cls)
          return drop_axes(of(tile), other_axes(access, i, of(tile).rank));
    }
    return anchored(cls);
  }

  bool known(const Value* value) const {
    const int cls = classes_.of(value);
    return cls >= 0 && chosen_[cls].has_value();
  }

  Layout anchored(int cls) const {
    const auto extents = fn_.extents(classes_.members(cls)[0]->type.shape);
    const int rank = static_cast<int>(extents.size());
    int axis = rank - 1, vector = 1;
    for (const Anchors* all : {&anchors_, &fetches_}) {
      const auto found = all->find(cls);
      if (found == all->end()) continue;
      std::vector<int64_t> bytes(rank, 0);
      for (const Anchor& anchor : found->second)
        if (anchor.axis >= 0) bytes[anchor.axis] += anchor.bytes;
      // Ties go to the last axis.
      for (int a = rank - 1; a >= 0; --a)
        if (bytes[a] > bytes[axis]) axis = a;
      for (const Anchor& anchor : found->second)
        if (anchor.axis == axis) vector = std::max(vector, anchor.vector);
      break;
    }
    return blocked_layout(extents, order_from(rank, axis), vector, config_.warps);
  }

  const ir::Function& fn_;
  const ir::Facts& facts_;
  const Config& config_;
  const Target& target_;
  LayoutClasses classes_;
  std::vector<std::optional<Layout>> chosen_;
  Anchors anchors_;  // of global memory
  Anchors fetches_;  // of rings
  std::vector<const Op*> dots_, relations_, gathers_;
};

/// Copies the function with the chosen layouts, inserting conversions.
class Assigner {
 public:
  Assigner(const ir::Function& fn, const ir::Facts& facts, const Config& config,
           const Target& target, LaidOut& out)
      : fn_(fn),
        facts_(facts),
        config_(config),
        target_(target),
        chooser_(fn, facts, config, target),
        out_(out) {}

  bool operator()(ir::Rewriter& rewriter, const Op& op) {
    switch (op.kind) {
      case OpKind::load:
        return op.result()->type.is_tile() && assign_load(rewriter, op);
      case OpKind::store:
        return op.operand(1)->type.is_tile() && assign_store(rewriter, op);
      case OpKind::atomic:
      case OpKind::atomic_exchange:
      case OpKind::atomic_cas:
        return op.operand(1)->type.is_tile() && assign_atomic(rewriter, op);
      case OpKind::copy:
        return assign_copy(rewriter, op);
      case OpKind::reduce:
      case OpKind::combine:
        return assign_reduce(rewriter, op);
      case OpKind::scan:
        return assign_scan(rewriter, op);
      case OpKind::sort:
        return assign_sort(rewriter, op);
      case OpKind::join:
        return assign_join(rewriter, op);
      case OpKind::pick:
        return assign_pick(rewriter, op);
      case OpKind::dot:
        return assign_dot(rewriter, op);
      case OpKind::broadcast:
        return assign_broadcast(rewriter, op);
      case OpKind::permute:
        return assign_permute(rewriter, op);
      default:
        return false;
    }
  }

  /// Gives every copied value that has no layout yet that of its class.
  void fill_in(const std::unordered_map<const Value*, const Value*>& map) {
    for (const auto& [from, to] : map)
      if (from->type.is_tile() && to->type.is_tile() && !out_.layouts.contains(to))
        out_.layouts.emplace(to, chooser_.of(from));
  }

 private:
  using Operands = std::vector<const Value*>;

  /// `value` in `wanted`, through a convert when it has another layout.
  const Value* in_layout(ir::Rewriter& rewriter, const Value* value, const Layout& has,
                         const Layout& wanted) {
    if (same_distribution(has, wanted)) return value;
    const Value* converted = rewriter.builder().convert(value);
    const_cast<Value*>(converted)->name = value->name;
    out_.layouts[converted] = wanted;
    return converted;
  }

  /// The layout in which a tile should meet memory: its class's, unless that runs across the
  /// contiguous direction, or is a store of runs too short for whole sectors (a load's other half
  /// is still in L1 when it is wanted).
  Layout memory_layout(const Op& op, const Layout& chosen, const ir::Type& type) {
    const AccessFacts access = access_facts(fn_, facts_, op, config_, target_);
    const auto extents = fn_.extents(type.shape);
    const int axis = access.contiguous_axis;
    if (axis < 0 || extents[axis] == 1) return chosen;
    int64_t others = 1;
    for (size_t a = 0; a < extents.size(); ++a)
      if (static_cast<int>(a) != axis) others *= extents[a];
    if (others == 1) return chosen;
    const Layout wide =
        blocked_layout(extents, order_from(chosen.rank, axis), access.whole_vector, config_.warps);
    if (!runs_along(chosen, axis)) return wide;
    const int bytes = size_of(type.dtype);
    const int64_t run = warp_run(access, chosen);
    const bool whole = run * bytes >= kSectorBytes || run >= extents[axis];
    if (!ir::writes_tensor(op.kind) || whole || warp_run(access, wide) <= run) return chosen;
    return take_shared(others * extents[axis] * bytes) ? wide : chosen;
  }

  /// Whether shared memory has room for `bytes` more of exchanged tiles beside the rings; they are
  /// taken then. Rings may turn out larger for their padding, those of matrix units have none.
  bool take_shared(int64_t bytes) {
    if (config_.copy == CopyKind::tma) return false;
    int64_t rings = 0;
    ir::for_each_op(fn_.body(), [&](const Op& op) {
      if (op.kind != OpKind::ring) return;
      const ir::Type& type = op.result()->type;
      int64_t elements = type.stages;
      for (int64_t extent : fn_.extents(type.shape)) elements *= extent;
      rings += elements * size_of(type.dtype);
    });
    if (config_.matrix == MatrixUnit::fma) rings += rings / 4;
    if (rings + exchanged_ + bytes > target_.shared_bytes) return false;
    exchanged_ += bytes;
    return true;
  }

  /// Whether neighbouring lanes or registers are neighbours along `axis`.
  static bool runs_along(const Layout& layout, int axis) {
    for (const Digit& digit : layout.digits)
      if ((digit.holder == Holder::lane || digit.holder == Holder::reg) && digit.axis == axis &&
          digit.stride == 1 && digit.radix > 1)
        return true;
    // A value every lane holds is read as a broadcast: any layout is as good.
    for (const Digit& digit : layout.digits)
      if (digit.holder == Holder::lane && digit.axis >= 0) return false;
    return true;
  }

  bool assign_load(ir::Rewriter& rewriter, const Op& op) {
    const Layout wanted = chooser_.of(op.result());
    const Layout layout = memory_layout(op, wanted, op.result()->type);
    const Operands operands = access_operands(rewriter, op, layout);
    Op* load = rewriter.clone(op);
    load->operands = operands;
    const Value* loaded = load->result();
    out_.layouts[loaded] = layout;
    rewriter.replace(op.result(), in_layout(rewriter, loaded, layout, wanted));
    return true;
  }

  bool assign_store(ir::Rewriter& rewriter, const Op& op) {
    const Value* value = op.operand(1);
    const Layout has = chooser_.of(value);
    // What a bulk copy stores is not seen by accesses of another tensor to the same memory.
    const auto bulk =
        out_.aliases ? std::nullopt : bulk_store(fn_, facts_, op, has, config_, target_);
    if (bulk) {
      out_.bulk_stores.emplace(rewriter.clone(op), *bulk);
      return true;
    }
    const Layout wanted = memory_layout(op, has, value->type);
    const Operands operands = access_operands(rewriter, op, wanted);
    rewriter.clone(op)->operands = operands;
    return true;
  }

  bool assign_atomic(ir::Rewriter& rewriter, const Op& op) {
    const Layout chosen = chooser_.of(op.result());
    const Layout layout = memory_layout(op, chosen, op.result()->type);
    const Operands operands = access_operands(rewriter, op, layout);
    Op* atomic = rewriter.clone(op);
    atomic->operands = operands;
    out_.layouts[atomic->result()] = layout;
    // Nobody needs the result elsewhere when nobody needs it.
    if (is_used(fn_, op.result()))
      rewriter.replace(op.result(), in_layout(rewriter, atomic->result(), layout, chosen));
    return true;
  }

  /// The operands of an access as it meets memory in `layout`: tiles as that layout asks for.
  Operands access_operands(ir::Rewriter& rewriter, const Op& op, const Layout& layout) {
    const ir::AccessView access(op);
    Operands operands;
    for (const Value* operand : op.operands) {
      if (!operand->type.is_tile()) {
        operands.push_back(rewriter(operand));
        continue;
      }
      const auto index = std::find(access.indices.begin(), access.indices.end(), operand);
      const Layout wanted =
          index == access.indices.end()
              ? layout
              : drop_axes(layout, other_axes(access, index - access.indices.begin(), layout.rank));
      operands.push_back(in_layout(rewriter, rewriter(operand), chooser_.of(operand), wanted));
    }
    return operands;
  }

  bool assign_copy(ir::Rewriter& rewriter, const Op& op) {
    const Op* copy = rewriter.clone(op);
    out_.copies[copy] = plan_copy(fn_, facts_, op, config_);
    return true;
  }

  /// The results of `op`, made in `natural`, each in the layout of its class.
  void place_results(ir::Rewriter& rewriter, const Op& op, const Layout& natural) {
    for (const Value* result : op.results) {
      if (!result->type.is_tile()) continue;
      const Value* made = rewriter(result);
      out_.layouts[made] = natural;
      rewriter.replace(result, in_layout(rewriter, made, natural, chooser_.of(result)));
    }
  }

  bool assign_reduce(ir::Rewriter& rewriter, const Op& op) {
    rewriter.clone(op);
    place_results(rewriter, op, drop_axes(chooser_.of(op.operand(0)), op.integers(AttrKey::axes)));
    return true;
  }

  /// A copy of `op` whose tiles are in `wanted`.
  void clone_in(ir::Rewriter& rewriter, const Op& op, const Layout& wanted) {
    std::vector<const Value*> operands = rewriter(op.operands);
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i]->type.is_tile())
        operands[i] = in_layout(rewriter, operands[i], chooser_.of(op.operand(i)), wanted);
    rewriter.clone(op)->operands = std::move(operands);
  }

  /// A scan goes along registers, lanes and warps in this order.
  bool assign_scan(ir::Rewriter& rewriter, const Op& op) {
    Layout wanted = chooser_.of(op.operand(0));
    if (!split_of(wanted, static_cast<int>(op.integer(AttrKey::axis))))
      wanted = blocked_layout(fn_.extents(op.operand(0)->type.shape), order_from(wanted.rank, -1),
                              1, config_.warps);
    clone_in(rewriter, op, wanted);
    place_results(rewriter, op, wanted);
    return true;
  }

  /// In registers by a network where they hold it; results of which only some positions are kept
  /// come from shared memory, into any layout.
  bool assign_sort(ir::Rewriter& rewriter, const Op& op) {
    const auto network =
        sorting_layout(fn_.extents(op.operand(0)->type.shape),
                       static_cast<int>(op.integer(AttrKey::axis)), config_.warps);
    if (!network) return false;
    clone_in(rewriter, op, *network);
    if (!op.has(AttrKey::count)) place_results(rewriter, op, *network);
    return true;
  }

  bool assign_join(ir::Rewriter& rewriter, const Op& op) {
    rewriter.clone(op);
    place_results(rewriter, op,
                  chooser_.with_axis(chooser_.of(op.operand(0)), op.result()->type.shape,
                                     op.integer(AttrKey::axis)));
    return true;
  }

  bool assign_pick(ir::Rewriter& rewriter, const Op& op) {
    const Layout has = chooser_.of(op.operand(0));
    const int64_t axis = op.integer(AttrKey::axis);
    const Layout result =
        op.result()->type.is_tile() ? chooser_.of(op.result()) : drop_axes(has, {axis});
    clone_in(rewriter, op, chooser_.with_axis(result, op.operand(0)->type.shape, axis));
    return true;
  }

  bool assign_dot(ir::Rewriter& rewriter, const Op& op) {
    const Value* operands[2];
    for (int i = 0; i < 2; ++i) {
      const Value* from = op.operand(i);
      operands[i] = rewriter(from);
      if (is_shared(from)) continue;
      const Layout wanted = operand_layout(fn_, op, i, chooser_.of(op.result()), config_, target_);
      operands[i] = in_layout(rewriter, operands[i], chooser_.of(from), wanted);
    }
    Op* dot = rewriter.clone(op);
    for (int i = 0; i < 2; ++i) dot->operands[i] = operands[i];
    return true;
  }

  bool assign_broadcast(ir::Rewriter& rewriter, const Op& op) {
    const Value* from = op.operand(0);
    if (!from->type.is_tile()) return false;
    const Layout wanted = operand_of_broadcast(chooser_.of(op.result()), op.integers(AttrKey::dims),
                                               stretched_dims(op));
    const Value* operand = in_layout(rewriter, rewriter(from), chooser_.of(from), wanted);
    rewriter.clone(op)->operands[0] = operand;
    return true;
  }

  bool assign_permute(ir::Rewriter& rewriter, const Op& op) {
    const Value* from = op.operand(0);
    if (!from->type.is_tile()) return false;
    const Layout wanted = permute(chooser_.of(op.result()), inverse(op.integers(AttrKey::dims)));
    const Value* operand = in_layout(rewriter, rewriter(from), chooser_.of(from), wanted);
    rewriter.clone(op)->operands[0] = operand;
    return true;
  }

  const ir::Function& fn_;
  const ir::Facts& facts_;
  const Config& config_;
  const Target& target_;
  int64_t exchanged_ = 0;  // bytes of tiles that change hands on the way to memory
  Chooser chooser_;
  LaidOut& out_;
};

}  // namespace

LaidOut assign_layouts(const ir::Function& fn, const Config& config, const Target& target,
                       bool aliases) {
  const ir::Facts facts(fn);
  LaidOut out;
  out.aliases = aliases;
  Assigner assigner(fn, facts, config, target, out);
  out.fn =
      ir::Rewriter::run(fn, std::ref(assigner), [&](const auto& map) { assigner.fill_in(map); });
  choose_ring_layouts(out, config, target);
  choose_bulk_copies(out, config, target);
  return out;
}

}  // namespace tilewright::codegen
