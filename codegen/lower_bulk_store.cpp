// Stores that go through shared memory, from where bulk copies write them.
#include <algorithm>
#include <functional>

#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_operand.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int kThreads = 128;  // of a warpgroup
constexpr int64_t kRows = 64;
constexpr int64_t kOtherRegisters = 36;  // of a thread, beside tiles

/// What the parts of one store need.
struct PanelStore {
  const Op& op;
  const BulkStore& bulk;
  const Value* value;
  const Layout& layout;
  std::string buffer;
  ExprRef group;        // number of the warpgroup
  ExprRef barrier;      // its own
  int64_t columns;      // of a warpgroup
  int pieces = 1;       // of 64 rows, of a warpgroup
  int panels = 1;       // of a warpgroup's columns
  int slots = 2;        // panels of a warpgroup in shared memory
  bool by_rows = true;  // all warpgroups lie along the rows
  int rows_groups = 1;
  std::vector<ExprRef> at = {};  // where the tile begins, by dimension of the map
  std::string words = {};        // the tile, packed before; empty: it is packed as it is written
};

/// Two neighbouring elements as one word.
ExprRef word_of(Lowering& lowering, const Value* value, const RegIndex& low, const RegIndex& high) {
  const Op* op = value->def;
  const DType dtype = value->type.dtype;
  const bool rounded = op != nullptr && op->kind == OpKind::cast && is_inlined(lowering, value) &&
                       op->operand(0)->type.dtype == DType::f32 && is_half(dtype);
  if (rounded)
    return call(fmt::format("tw::pack<{}>", cuda_type(dtype)),
                {element_value(lowering, op->operand(0), low),
                 element_value(lowering, op->operand(0), high)});
  return call("tw::word",
              {element_value(lowering, value, low), element_value(lowering, value, high)});
}

RegIndex at(const ExprRef& row, const ExprRef& column) { return {row, column}; }

/// The panel's place in shared memory: [warpgroup][slot].
std::vector<ExprRef> slot_of(const PanelStore& store, const ExprRef& slot) {
  return {store.group, slot};
}

/// Packs 16 columns of halves, four matrices of 8 by 8, into `words` from `indices` on.
void pack_matrices(Lowering& lowering, const PanelStore& store, const ExprRef& first_row,
                   const ExprRef& first_column, const std::string& words,
                   std::vector<ExprRef> indices) {
  indices.push_back(nullptr);
  for (int i = 0; i < 4; ++i) {
    const ExprRef r = first_row + integer(i % 2);
    const ExprRef c = first_column + integer(i / 2 * 2);
    indices.back() = integer(i);
    lowering.emit(assign(element(words, indices),
                         word_of(lowering, store.value, at(r, c), at(r, c + integer(1)))));
  }
}

/// Writes 16 columns of halves at a time, by one instruction.
void write_matrices(Lowering& lowering, const PanelStore& store, const ExprRef& index,
                    const ExprRef& first_row, const ExprRef& first_column, const ExprRef& slot) {
  const int64_t width = store.bulk.panel.panel;
  const ExprRef lane = name("threadIdx.x") % integer(32);
  const ExprRef row =
      name("threadIdx.x") % integer(kThreads) / integer(32) * integer(16) + lane % integer(16);
  for_axis(lowering, 1, static_cast<int>(width / 16), 1, [&](const ExprRef& j) {
    ExprRef packed = store.words.empty() ? nullptr : element(store.words, {index, j});
    if (!packed) {
      const std::string words = lowering.names.unique("words");
      lowering.emit(array("unsigned", words, {4}));
      pack_matrices(lowering, store, first_row, first_column + j * integer(4), words, {});
      packed = name(words);
    }
    std::vector<ExprRef> indices = slot_of(store, slot);
    const SharedLayout& panel = store.bulk.panel;
    const ExprRef pattern = row / integer(panel.swizzle_rows) % integer(panel.swizzle_period);
    indices.push_back(row);
    indices.push_back(binary("^", j * integer(2) + lane / integer(16), pattern) * integer(8));
    lowering.emit(
        call_stmt(call("tw::matrix_store<4>", {address(shared(store.buffer, indices)), packed})));
  });
}

/// Writes pairs of elements.
void write_pairs(Lowering& lowering, const PanelStore& store, const ExprRef& first_row,
                 const ExprRef& first_column, const ExprRef& slot) {
  const SharedLayout& panel = store.bulk.panel;
  const ExprRef lane = name("threadIdx.x") % integer(32);
  const ExprRef warp_row = name("threadIdx.x") % integer(kThreads) / integer(32) * integer(16);
  for_axis(lowering, 0, 2, 1, [&](const ExprRef& i) {
    const ExprRef row = warp_row + lane / integer(4) + i * integer(8);
    for_axis(lowering, 1, static_cast<int>(panel.panel / 8), 1, [&](const ExprRef& j) {
      const ExprRef column = j * integer(8) + lane % integer(4) * integer(2);
      const ExprRef unit = integer(panel.swizzle_unit);
      const ExprRef pattern = row / integer(panel.swizzle_rows) % integer(panel.swizzle_period);
      const std::string pair = lowering.names.unique("pair");
      lowering.emit(array(cuda_type(store.value->type.dtype), pair, {2}));
      for (int p = 0; p < 2; ++p)
        lowering.emit(
            assign(element(pair, {integer(p)}),
                   element_value(lowering, store.value,
                                 at(first_row + i, first_column + j * integer(2) + integer(p)))));
      std::vector<ExprRef> indices = slot_of(store, slot);
      indices.push_back(row);
      indices.push_back(binary("^", column / unit, pattern) * unit + column % unit);
      lowering.emit(
          call_stmt(call("tw::store<2>", {address(shared(store.buffer, indices)), name(pair)})));
    });
  });
}

Stmt warpgroup_barrier(const PanelStore& store, std::string why) {
  Stmt stmt = call_stmt(call("tw::sync_warps", {store.barrier, integer(kThreads)}));
  stmt.comment = std::move(why);
  return stmt;
}

ExprRef first_of_warpgroup() {
  return binary("==", name("threadIdx.x") % integer(kThreads), integer(0));
}

/// The coordinates of a panel in the tensor.
std::vector<ExprRef> coordinates_of(const PanelStore& store, const ExprRef& piece,
                                    const ExprRef& panel) {
  const ExprRef group_row = store.by_rows ? store.group : store.group % integer(store.rows_groups);
  const ExprRef group_column =
      store.by_rows ? integer(0) : store.group / integer(store.rows_groups);
  std::vector<ExprRef> result;
  for (size_t d = 0; d < store.bulk.dims.size(); ++d) {
    ExprRef position = store.at[d];
    if (d == 0)
      position = position + group_column * integer(store.columns) +
                 panel * integer(store.bulk.panel.panel);
    if (d == 1)
      position = position + group_row * integer(kRows * store.pieces) + piece * integer(kRows);
    result.push_back(position);
  }
  return result;
}

PanelStore inspect(Lowering& lowering, const Op& op, const BulkStore& bulk) {
  const ir::AccessView access(op);
  PanelStore store{op, bulk, access.value, lowering.layout(access.value), {}, nullptr, nullptr, 0};
  const auto extents = lowering.extents(access.value);
  const int groups = lowering.config.warps / 4;
  store.rows_groups = static_cast<int>(wgmma_groups_along_rows(extents[0], lowering.config.warps));
  store.by_rows = store.rows_groups == groups;
  store.pieces = static_cast<int>(extents[0] / (kRows * store.rows_groups));
  store.columns = extents[1] / (groups / store.rows_groups);
  store.panels = static_cast<int>(store.columns / bulk.panel.panel);
  store.group = warpgroup(lowering);
  // 0 is the block's, those that follow are the consumers', by turn.
  const int turns = lowering.config.turns;
  store.barrier = store.group + integer(1 + turns);
  if (lowering.turn) store.barrier = lowering.turn * integer(groups) + store.barrier;
  return store;
}

/// As many slots as there are panels if shared memory has room for them, so that the next tile's
/// products begin while the hardware still reads; at least two, one being written while one is
/// read.
int choose_slots(const Lowering& lowering, const PanelStore& store) {
  int64_t taken = 2 * swizzle_alignment(store.bulk.panel, size_of(store.value->type.dtype));
  for (const SharedBuffer& buffer : lowering.kernel.buffers) taken += buffer.bytes();
  const auto stores = static_cast<int64_t>(lowering.in.bulk_stores.size());
  const int64_t bytes = int64_t{consumer_warps(lowering.config) / 4} * kRows *
                        store.bulk.panel.panel * size_of(store.value->type.dtype);
  const int64_t room = shared_available(lowering.config, lowering.target);
  const int panels = store.panels * store.pieces;
  int slots = panels;
  while (slots > 2 && (panels % slots != 0 || taken + bytes * slots * stores > room)) --slots;
  return std::min(slots, std::max(panels, 1));
}

void declare_buffer(Lowering& lowering, PanelStore& store) {
  store.slots = choose_slots(lowering, store);
  SharedBuffer buffer;
  const ir::AccessView access(store.op);
  buffer.name = lowering.names.unique(tensor_name(lowering, access.tensor) + "_out");
  buffer.dtype = store.value->type.dtype;
  buffer.alignment = swizzle_alignment(store.bulk.panel, size_of(buffer.dtype));
  buffer.extents = {lowering.config.warps / 4, store.slots, kRows, store.bulk.panel.panel};
  buffer.comment = "[warpgroup][slot][row][col], swizzled";
  lowering.kernel.buffers.push_back(buffer);
  store.buffer = buffer.name;
}

/// Runs `body` for each panel of a warpgroup's part of the tile.
void for_panels(Lowering& lowering, const PanelStore& store,
                const std::function<void(const ExprRef& index)>& body) {
  const std::string& chunk = lowering.register_loops[2];
  const int count = store.panels * store.pieces;
  if (count == 1) return body(integer(0));
  std::vector<Stmt> inner = lowering.collect([&] { body(name(chunk)); });
  lowering.emit(loop(chunk, integer(0), integer(count), integer(1), true, std::move(inner)));
}

ExprRef piece_of(const PanelStore& store, const ExprRef& index) {
  return store.pieces == 1 ? integer(0) : index / integer(store.panels);
}

ExprRef panel_of(const PanelStore& store, const ExprRef& index) {
  return store.pieces == 1 ? index : index % integer(store.panels);
}

/// Whether halves are written by the instruction that takes four matrices of 8 by 8.
bool takes_matrices(const BulkStore& bulk, DType dtype) {
  return size_of(dtype) == 2 && bulk.panel.panel % 16 == 0;
}

void write_panel(Lowering& lowering, const PanelStore& store, const ExprRef& index) {
  const ExprRef first_row = piece_of(store, index) * integer(2);
  const ExprRef first_column = panel_of(store, index) * integer(store.bulk.panel.panel / 4);
  const ExprRef slot = index % integer(store.slots);
  if (takes_matrices(store.bulk, store.value->type.dtype))
    write_matrices(lowering, store, index, first_row, first_column, slot);
  else
    write_pairs(lowering, store, first_row, first_column, slot);
}

Stmt start_store(const PanelStore& store, const std::string& map, const ExprRef& index) {
  std::vector<ExprRef> args = {name(map),
                               shared(store.buffer, slot_of(store, index % integer(store.slots)))};
  for (ExprRef& at : coordinates_of(store, piece_of(store, index), panel_of(store, index)))
    args.push_back(std::move(at));
  return call_stmt(call("tw::tma_store", std::move(args)));
}

void wait_for_slots(Lowering& lowering, const PanelStore& store, int pending,
                    const std::string& why) {
  lowering.emit(branch(first_of_warpgroup(),
                       {call_stmt(call(fmt::format("tw::tma_store_wait_read<{}>", pending), {}))}));
  lowering.emit(warpgroup_barrier(store, why));
}

/// Every panel has a slot: all are written, then all copies are started.
void store_at_once(Lowering& lowering, const PanelStore& store, const std::string& map) {
  wait_for_slots(lowering, store, 0, "the tile before has been read");
  for_panels(lowering, store, [&](const ExprRef& i) { write_panel(lowering, store, i); });
  lowering.emit(call_stmt(call("tw::fence_async_shared", {})));
  lowering.emit(warpgroup_barrier(store, "the panels are complete"));
  std::vector<Stmt> start = lowering.collect([&] {
    for_panels(lowering, store,
               [&](const ExprRef& i) { lowering.emit(start_store(store, map, i)); });
    lowering.emit(call_stmt(call("tw::tma_store_commit", {})));
  });
  lowering.emit(branch(first_of_warpgroup(), std::move(start)));
}

/// One panel is written while others are read.
void store_in_turns(Lowering& lowering, const PanelStore& store, const std::string& map) {
  // When the slots do not divide the panels, the next tile begins with one that is still read.
  const int pending = store.panels * store.pieces % store.slots == 0 ? store.slots - 1 : 0;
  for_panels(lowering, store, [&](const ExprRef& i) {
    wait_for_slots(lowering, store, pending, "the slot's last panel has been read");
    write_panel(lowering, store, i);
    lowering.emit(call_stmt(call("tw::fence_async_shared", {})));
    lowering.emit(warpgroup_barrier(store, "the panel is complete"));
    lowering.emit(branch(first_of_warpgroup(), {start_store(store, map, i),
                                                call_stmt(call("tw::tma_store_commit", {}))}));
  });
}

/// Declares what the store needs; where the tile begins is left to the caller.
PanelStore prepare(Lowering& lowering, const Op& op, const BulkStore& bulk, std::string& map) {
  const ir::AccessView access(op);
  record_access(lowering, op, "tma store", bulk.map.box[0] * size_of(access.value->type.dtype),
                true);
  map = declare_map(lowering, access.tensor, bulk.map, true);
  PanelStore store = inspect(lowering, op, bulk);
  declare_buffer(lowering, store);
  lowering.has_bulk_stores = true;
  // Warpgroups order what they do with their own panels themselves.
  lowering.emit(order("acquire", {store.buffer}));
  return store;
}

void store_panels(Lowering& lowering, const PanelStore& store, const std::string& map) {
  if (store.slots == store.panels * store.pieces)
    store_at_once(lowering, store, map);
  else
    store_in_turns(lowering, store, map);
}

/// Packs the tile for later.
void pack_tile(Lowering& lowering, const Op& op, const BulkStore& bulk, const LateStore& late) {
  const ir::AccessView access(op);
  const PanelStore store = inspect(lowering, op, bulk);
  for_panels(lowering, store, [&](const ExprRef& index) {
    for_axis(lowering, 1, static_cast<int>(bulk.panel.panel / 16), 1, [&](const ExprRef& j) {
      pack_matrices(lowering, store, piece_of(store, index) * integer(2),
                    panel_of(store, index) * integer(bulk.panel.panel / 4) + j * integer(4),
                    late.words, {index, j});
    });
  });
  for (size_t d = 0; d < late.at.size(); ++d)
    lowering.emit(assign(name(late.at[d]), scalar_value(lowering, access.indices[bulk.dims[d]])));
  Stmt waits = assign(name(late.waiting), name("true"));
  waits.comment = "for the next tile's products";
  lowering.emit(std::move(waits));
}

/// The loop whose products of the next tile hide the store that ends a tile of `grid`; null when it
/// should not wait.
const Op* hiding_loop(const Lowering& lowering, const Op& grid, const Op& store) {
  const Op* loop = nullptr;
  for (const Op* op : grid.regions[0]->ops) {
    if (is_bulk_loop(lowering.in, *op)) {
      if (loop != nullptr) return nullptr;
      loop = op;
    } else if (std::any_of(op->regions.begin(), op->regions.end(), [&](const auto* inner) {
                 return holds_bulk_loop(lowering.in, *inner);
               })) {
      return nullptr;
    }
  }
  if (loop == nullptr || !products_can_overlap(lowering, *loop)) return nullptr;
  // A tile without steps would leave the one before it unstored.
  const ir::LoopView view(*loop);
  const auto begin = known_value(lowering.fn, view.begins[0]);
  const auto end = known_value(lowering.fn, view.limits[0]);
  if (!begin || !end || *begin >= *end) return nullptr;
  // Two halves of the packed tile share a register; what it is computed from is there, too, and
  // addresses, descriptors and counters.
  const auto registers = [&](const Value* tile) {
    return tile->type.is_tile() ? int64_t{lowering.layout(tile).registers()} : 0;
  };
  const int64_t axes = ir::LoopView(grid).slices.size();
  const int64_t walk = 4 * (axes - 2) + (lowering.config.cluster > 1 ? 4 : 0);
  int64_t needed = kOtherRegisters + walk + registers(ir::AccessView(store).value) / 2;
  for (const Value* carried : view.carried) needed += registers(carried);
  std::unordered_set<const Value*> seen(loop->results.begin(), loop->results.end());
  const std::function<void(const Value*)> add = [&](const Value* value) {
    if (!value->type.is_tile() || !seen.insert(value).second) return;
    if (value->def == nullptr || !is_inlined(lowering, value)) {
      needed += registers(value);
      return;
    }
    for (const Value* operand : value->def->operands) add(operand);
  };
  add(ir::AccessView(store).value);
  return needed <= registers_available(lowering.config) ? loop : nullptr;
}

}  // namespace

void lower_bulk_store(Lowering& lowering, const Op& op, const BulkStore& bulk) {
  lowering.at_source(op);
  if (lowering.late_store && lowering.late_store->op == &op)
    return pack_tile(lowering, op, bulk, *lowering.late_store);
  std::string map;
  PanelStore store = prepare(lowering, op, bulk, map);
  const ir::AccessView access(op);
  for (const int dim : bulk.dims) store.at.push_back(scalar_value(lowering, access.indices[dim]));
  store_panels(lowering, store, map);
}

void begin_late_store(Lowering& lowering, const Op& grid) {
  if (lowering.role != Role::consumer || lowering.turn || lowering.in.bulk_stores.size() != 1)
    return;
  const auto& [op, bulk] = *lowering.in.bulk_stores.begin();
  const ir::Region& body = *grid.regions[0];
  const auto last = std::find_if(body.ops.rbegin(), body.ops.rend(),
                                 [](const Op* inner) { return inner->kind != OpKind::yield; });
  const ir::AccessView access(*op);
  if (last == body.ops.rend() || *last != op || !takes_matrices(bulk, access.value->type.dtype))
    return;
  const Op* loop = hiding_loop(lowering, grid, *op);
  if (loop == nullptr) return;
  std::string map;
  PanelStore store = prepare(lowering, *op, bulk, map);
  const std::string tensor = tensor_name(lowering, access.tensor);
  LateStore late{op,
                 loop,
                 lowering.names.unique("store_" + tensor),
                 lowering.names.unique(tensor + "_waits"),
                 lowering.names.unique(tensor + "_words"),
                 {}};
  Stmt words =
      array("unsigned", late.words, {store.panels * store.pieces, bulk.panel.panel / 16, 4});
  words.comment = "the tile before this one, until its store is hidden by products";
  lowering.emit(std::move(words));
  for (const int dim : bulk.dims) {
    late.at.push_back(lowering.names.unique(tensor + "_" + name_of(access.indices[dim], "at")));
    lowering.emit(declare("int", late.at.back(), integer(0), false));
    store.at.push_back(name(late.at.back()));
  }
  lowering.emit(declare("bool", late.waiting, name("false"), false));
  store.words = late.words;
  std::vector<Stmt> inside = lowering.collect([&] { store_panels(lowering, store, map); });
  lowering.emit(lambda(late.function, {}, std::move(inside)));
  lowering.late_store = std::move(late);
}

void run_late_store(Lowering& lowering, ExprRef condition) {
  if (!lowering.late_store) return;
  const LateStore& late = *lowering.late_store;
  lowering.emit(
      branch(std::move(condition) && name(late.waiting), {call_stmt(call(late.function, {}))}));
}

void finish_bulk_stores(Lowering& lowering) {
  if (!lowering.has_bulk_stores) return;
  Stmt wait = branch(first_of_warpgroup(), {call_stmt(call("tw::tma_store_wait<0>", {}))});
  lowering.emit(std::move(wait));
}

}  // namespace tilewright::codegen
