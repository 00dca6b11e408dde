#include "tilewright/codegen/assign_layouts.h"

#include <algorithm>
#include <optional>

#include "tilewright/codegen/atomics.h"
#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/coalescing.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/layout_axes.h"
#include "tilewright/codegen/layout_chooser.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

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

  /// Of all rings. They may turn out larger for their padding; those of matrix units have none.
  int64_t ring_bytes() const {
    int64_t rings = 0;
    ir::for_each_op(fn_.body(), [&](const Op& op) {
      if (op.kind != OpKind::ring) return;
      const ir::Type& type = op.result()->type;
      int64_t elements = type.stages;
      for (int64_t extent : fn_.extents(type.shape)) elements *= extent;
      rings += elements * size_of(type.dtype);
    });
    return rings;
  }

  /// Whether shared memory has room for `bytes` more of exchanged tiles beside the rings; they are
  /// taken then.
  bool take_shared(int64_t bytes) {
    if (config_.copy == CopyKind::tma) return false;
    int64_t rings = ring_bytes();
    if (config_.matrix == MatrixUnit::fma) rings += rings / 4;
    if (rings + exchanged_ + bytes > target_.shared_bytes) return false;
    exchanged_ += bytes;
    return true;
  }

  /// The same for what a tile passes through on its way to a bulk copy.
  bool take_panels(const BulkStore& store, DType dtype) {
    const int64_t bytes = least_panel_bytes(store, size_of(dtype), config_);
    constexpr int64_t kBarriers = 512;  // of rings, aligned
    const int64_t room = shared_available(config_, target_) - kBarriers;
    if (ring_bytes() + exchanged_ + bytes > room) return false;
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
    if (bulk && take_panels(*bulk, value->type.dtype)) {
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
    const auto network = sorting_layout(fn_.extents(op.operand(0)->type.shape),
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
  LayoutChooser chooser_;
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
