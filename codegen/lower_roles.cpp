// Kernels whose tiles are loaded by bulk copies: one thread, the producer, starts the copies, the
// consumers compute. Both walk the same tiles in the same order.
#include <algorithm>

#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/split_loop.h"
#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int kProducerThreads = 128;
constexpr const char* kBarrier = "tw::Barrier";

std::string declare_barriers(Lowering& lowering, const char* hint, int stages,
                             const std::string& comment) {
  SharedBuffer buffer;
  buffer.name = lowering.names.unique(hint);
  buffer.type = kBarrier;
  buffer.type_bytes = 8;
  buffer.alignment = 8;
  buffer.extents = {stages};
  buffer.comment = comment;
  lowering.kernel.buffers.push_back(buffer);
  return buffer.name;
}

bool is_fetched(const Lowering& lowering, const Value* ring) {
  bool found = false;
  ir::for_each_op(lowering.fn.body(), [&](const Op& op) {
    found |= op.kind == OpKind::fetch && op.operand(0)->def->operand(0) == ring;
  });
  return found;
}

void declare_bulk_rings(Lowering& lowering, const Op& loop) {
  BulkRings rings;
  for (const Op* copy : loop.regions[1]->ops) {
    if (copy->kind != OpKind::copy) continue;
    const Value* ring = copy->operand(0)->def->operand(0);
    RingBuffer& buffer = lowering.rings.at(ring);
    buffer.bulk_loop = &loop;
    for (SharedBuffer& shared : lowering.kernel.buffers)
      if (shared.name == buffer.name) shared.ring = true;
    rings.fetched |= is_fetched(lowering, ring);
    rings.stages = ring->type.stages;
    rings.bytes += lowering.in.bulk.at(copy).bytes;
    rings.shared_by_cluster |= is_shared_by_cluster(lowering, *copy);
  }
  rings.full = declare_barriers(lowering, "full", rings.stages, "a slot's copies have arrived");
  rings.empty = declare_barriers(lowering, "empty", rings.stages, "a slot has been read");
  rings.state = lowering.names.unique("ring");
  lowering.bulk.emplace(&loop, std::move(rings));
}

ExprRef barrier_of(const std::string& buffer, ExprRef slot) {
  return address(shared(buffer, {std::move(slot)}));
}

/// if (threadIdx.x == 0) { initialize every barrier }
void emit_barriers(Lowering& lowering, const std::vector<const Op*>& loops) {
  const std::string& i = lowering.register_loops[0];
  std::vector<Stmt> body = lowering.collect([&] {
    for (const Op* op : loops) {
      const BulkRings& rings = lowering.bulk.at(op);
      const int blocks = rings.shared_by_cluster ? lowering.config.cluster : 1;
      std::vector<Stmt> each;
      each.push_back(
          call_stmt(call("tw::barrier_init", {barrier_of(rings.full, name(i)), integer(1)})));
      each.push_back(
          call_stmt(call("tw::barrier_init", {barrier_of(rings.empty, name(i)),
                                              integer(lowering.config.warps * blocks)})));
      lowering.emit(loop(i, integer(0), integer(rings.stages), integer(1), false, std::move(each)));
    }
    if (lowering.turn) {
      std::vector<Stmt> each;
      each.push_back(call_stmt(call("tw::barrier_init", {barrier_of(lowering.turn_begin, name(i)),
                                                         integer(lowering.config.warps)})));
      lowering.emit(
          loop(i, integer(0), integer(lowering.config.turns), integer(1), false, std::move(each)));
    }
    if (lowering.split) {
      const LoopSplit& split = *lowering.split;
      const auto expect = [&](const std::string& barrier, int warps) {
        lowering.emit(
            call_stmt(call("tw::barrier_init", {barrier_of(barrier, integer(0)),
                                                integer(warps * lowering.config.warps)})));
      };
      expect(split.ready, split.blocks - 1);
      if (!split.drained.empty()) expect(split.drained, split.blocks);
    }
    lowering.emit(call_stmt(call("tw::barrier_init_fence", {})));
  });
  lowering.emit(branch(binary("==", name("threadIdx.x"), integer(0)), std::move(body)));
  lowering.emit(lowering.config.cluster * lowering.config.split_k > 1
                    ? barrier("every block's barriers are ready", call("tw::cluster_sync", {}))
                    : barrier("the barriers are ready"));
}

void emit_ring_states(Lowering& lowering, const std::vector<const Op*>& loops) {
  for (const Op* op : loops) {
    const BulkRings& rings = lowering.bulk.at(op);
    lowering.emit(declare(fmt::format("tw::Ring<{}>", rings.stages), rings.state, nullptr, false));
  }
}

/// Lowers the whole function as one role sees it.
std::vector<Stmt> lower_as(Lowering& lowering, Role role, const std::vector<const Op*>& loops) {
  lowering.role = role;
  lowering.last_source = {};
  return lowering.collect([&] {
    emit_ring_states(lowering, loops);
    if (role == Role::consumer) begin_turns(lowering);
    lower_region(lowering, lowering.fn.body());
    if (role == Role::consumer) finish_bulk_stores(lowering);
  });
}

std::vector<Stmt> producer_part(Lowering& lowering, const RegisterSplit& registers,
                                const std::vector<const Op*>& loops) {
  // What the producer names is of no concern to the consumers.
  const Names names = lowering.names;
  const auto scalars = lowering.scalars;
  std::vector<Stmt> walk = lower_as(lowering, Role::producer, loops);
  lowering.names = names;
  lowering.scalars = scalars;
  return lowering.collect([&] {
    if (registers.producer > 0)
      lowering.emit(call_stmt(call(fmt::format("tw::registers_down<{}>", registers.producer), {})));
    lowering.emit(
        branch(binary("==", name("threadIdx.x"), integer(32 * consumer_warps(lowering.config))),
               std::move(walk)));
    if (lowering.config.cluster > 1) lowering.emit(call_stmt(call("__syncwarp", {})));
  });
}

std::vector<Stmt> consumer_part(Lowering& lowering, const RegisterSplit& registers,
                                const std::vector<const Op*>& loops) {
  std::unordered_set<std::string> common;  // to all groups of consumers: not what threads write
  for (const SharedBuffer& buffer : lowering.kernel.buffers) common.insert(buffer.name);
  for (const auto& [value, ring] : lowering.rings)
    if (ring.bulk_loop == nullptr) common.erase(ring.name);
  std::vector<Stmt> walk = lower_as(lowering, Role::consumer, loops);
  std::vector<Stmt> part = lowering.collect([&] {
    if (registers.consumer > 0)
      lowering.emit(call_stmt(call(fmt::format("tw::registers_up<{}>", registers.consumer), {})));
    for (Stmt& stmt : lowering.prologue) lowering.emit(std::move(stmt));
    lowering.prologue.clear();
    for (Stmt& stmt : walk) lowering.emit(std::move(stmt));
  });
  share_by_turns(lowering, common, part);
  return part;
}

bool is_needed(const Op& op, const std::unordered_set<const Value*>& needed) {
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](const Value* result) { return needed.contains(result); });
}

void need(std::unordered_set<const Value*>& needed, const Value* value) {
  if (!needed.insert(value).second || value->def == nullptr) return;
  for (const Value* operand : value->def->operands) need(needed, operand);
}

/// Blocks of a cluster are neighbours along the axis of the grid that is walked first.
void find_cluster_slice(Lowering& lowering) {
  if (lowering.config.cluster == 1) return;
  for (const Op* op : lowering.fn.body().ops) {
    if (op->kind != OpKind::tile_loop || op->integer(AttrKey::parallel) == 0) continue;
    const int64_t first = op->has(AttrKey::dims) ? op->integers(AttrKey::dims)[0] : 0;
    lowering.cluster_slice = ir::LoopView(*op).slices[first];
  }
}

/// What the producer's copies and the control flow around them depend on.
void find_needed(Lowering& lowering, const std::vector<const Op*>& loops) {
  for (const Op* loop : loops) {
    ir::for_each_op(*loop->regions[1], [&](const Op& op) {
      for (const Value* operand : op.operands) need(lowering.producer_needs, operand);
    });
    for (const Op* op = loop; op != nullptr; op = op->parent->parent)
      for (const Value* operand : op->operands)
        if (!operand->type.is_tile()) need(lowering.producer_needs, operand);
  }
}

}  // namespace

std::string declare_map(Lowering& lowering, const Value* tensor, const TensorMapSpec& map,
                        bool written) {
  const std::string of = tensor_name(lowering, tensor);
  const auto source = static_cast<int>(lowering.fn.param_of(tensor) - lowering.fn.params.data());
  for (const KernelParam& param : lowering.kernel.params)
    if (param.source == source && param.map == map) return param.name;
  check_tensor_map(map, of, lowering.fn.param_of(tensor)->spec.alignment);
  KernelParam param;
  param.name = lowering.names.unique(of + "_map");
  param.dtype = map.dtype;
  param.written = written;
  param.source = source;
  param.map = map;
  lowering.kernel.params.push_back(param);
  return param.name;
}

void lower_producer_region(Lowering& lowering, const ir::Region& region) {
  for (const Op* op : region.ops) {
    const bool holds = std::any_of(op->regions.begin(), op->regions.end(), [&](const auto* inner) {
      return holds_bulk_loop(lowering.in, *inner);
    });
    if (is_bulk_loop(lowering.in, *op)) {
      lower_bulk_fill(lowering, *op);
    } else if (holds && op->kind == OpKind::tile_loop && op->integer(AttrKey::parallel) != 0) {
      lower_op(lowering, *op);
    } else if (holds && op->kind == OpKind::tile_loop) {
      lower_plain_loop(lowering, *op, [&] { lower_producer_region(lowering, *op->regions[0]); });
    } else if (holds) {
      std::vector<Stmt> sides[2];
      for (int side = 0; side < 2; ++side)
        sides[side] =
            lowering.collect([&] { lower_producer_region(lowering, *op->regions[side]); });
      lowering.emit(
          branch(scalar_value(lowering, op->operand(0)), std::move(sides[0]), std::move(sides[1])));
    } else if (is_needed(*op, lowering.producer_needs) && op->results[0]->type.is_scalar()) {
      lower_op(lowering, *op);
    } else if (is_needed(*op, lowering.producer_needs) &&
               op->results[0]->type.kind == ir::Type::Kind::slice) {
      lower_op(lowering, *op);
    }
  }
}

std::vector<Stmt> lower_roles(Lowering& lowering) {
  std::vector<const Op*> loops;
  ir::for_each_op(lowering.fn.body(), [&](const Op& op) {
    if (op.kind == OpKind::ring) lower_ring(lowering, op);
    if (is_bulk_loop(lowering.in, op)) loops.push_back(&op);
  });
  check_turns(lowering, loops);
  find_cluster_slice(lowering);
  if (const Op* loop = find_split_loop(lowering.in, lowering.config)) plan_split(lowering, *loop);
  for (const Op* loop : loops) declare_bulk_rings(lowering, *loop);
  declare_turns(lowering, loops);
  find_needed(lowering, loops);
  const RegisterSplit registers = split_registers(lowering.config);
  lowering.kernel.consumers = lowering.threads();
  const int consumers = 32 * consumer_warps(lowering.config);
  lowering.kernel.threads = consumers + kProducerThreads;
  std::vector<Stmt> producer = producer_part(lowering, registers, loops);
  std::vector<Stmt> consumer = consumer_part(lowering, registers, loops);
  return lowering.collect([&] {
    emit_barriers(lowering, loops);
    Stmt roles = branch(binary(">=", name("threadIdx.x"), integer(consumers)), std::move(producer),
                        std::move(consumer));
    roles.roles = true;
    roles.comment = "the producer: one thread starts all copies";
    lowering.emit(std::move(roles));
    if (lowering.config.cluster > 1) lowering.emit(call_stmt(call("tw::cluster_sync", {})));
  });
}

}  // namespace tilewright::codegen
