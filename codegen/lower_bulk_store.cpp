// Stores that go through shared memory, from where bulk copies write them.
#include <algorithm>
#include <functional>

#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/function_exprs.h"
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

constexpr int kFirstBarrier = 2;  // of the warpgroups; 0 is the block's, 1 the consumers'
constexpr int kThreads = 128;     // of a warpgroup
constexpr int64_t kRows = 64;

/// What the parts of one store need.
struct PanelStore {
  const Op& op;
  const BulkStore& bulk;
  const Value* value;
  const Layout& layout;
  std::string buffer;
  ExprRef group;        // number of the warpgroup
  int64_t columns;      // of a warpgroup
  int pieces = 1;       // of 64 rows, of a warpgroup
  int panels = 1;       // of a warpgroup's columns
  int slots = 2;        // panels of a warpgroup in shared memory
  bool by_rows = true;  // all warpgroups lie along the rows
  int rows_groups = 1;
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

/// Writes 16 columns of halves at a time: four matrices of 8 by 8, by one instruction.
void write_matrices(Lowering& lowering, const PanelStore& store, const ExprRef& first_row,
                    const ExprRef& first_column, const ExprRef& slot) {
  const int64_t width = store.bulk.panel.panel;
  const ExprRef lane = name("threadIdx.x") % integer(32);
  const ExprRef row =
      name("threadIdx.x") % integer(kThreads) / integer(32) * integer(16) + lane % integer(16);
  for_axis(lowering, 1, static_cast<int>(width / 16), 1, [&](const ExprRef& j) {
    const std::string words = lowering.names.unique("words");
    lowering.emit(array("unsigned", words, {4}));
    for (int i = 0; i < 4; ++i) {
      const ExprRef r = first_row + integer(i % 2);
      const ExprRef c = first_column + j * integer(4) + integer(i / 2 * 2);
      lowering.emit(assign(element(words, {integer(i)}),
                           word_of(lowering, store.value, at(r, c), at(r, c + integer(1)))));
    }
    std::vector<ExprRef> indices = slot_of(store, slot);
    const SharedLayout& panel = store.bulk.panel;
    const ExprRef pattern = row / integer(panel.swizzle_rows) % integer(panel.swizzle_period);
    indices.push_back(row);
    indices.push_back(binary("^", j * integer(2) + lane / integer(16), pattern) * integer(8));
    lowering.emit(call_stmt(
        call("tw::matrix_store<4>", {address(shared(store.buffer, indices)), name(words)})));
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
  Stmt stmt =
      call_stmt(call("tw::sync_warps", {store.group + integer(kFirstBarrier), integer(kThreads)}));
  stmt.comment = std::move(why);
  return stmt;
}

ExprRef first_of_warpgroup() {
  return binary("==", name("threadIdx.x") % integer(kThreads), integer(0));
}

/// The coordinates of a panel in the tensor.
std::vector<ExprRef> coordinates_of(Lowering& lowering, const PanelStore& store,
                                    const ExprRef& piece, const ExprRef& panel) {
  const ir::AccessView access(store.op);
  const ExprRef group_row = store.by_rows ? store.group : store.group % integer(store.rows_groups);
  const ExprRef group_column =
      store.by_rows ? integer(0) : store.group / integer(store.rows_groups);
  std::vector<ExprRef> result;
  for (size_t d = 0; d < store.bulk.dims.size(); ++d) {
    ExprRef position = scalar_value(lowering, access.indices[store.bulk.dims[d]]);
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
  PanelStore store{op, bulk, access.value, lowering.layout(access.value), {}, nullptr, 0};
  const auto extents = lowering.extents(access.value);
  const int groups = lowering.config.warps / 4;
  store.rows_groups = static_cast<int>(wgmma_groups_along_rows(extents[0], lowering.config.warps));
  store.by_rows = store.rows_groups == groups;
  store.pieces = static_cast<int>(extents[0] / (kRows * store.rows_groups));
  store.columns = extents[1] / (groups / store.rows_groups);
  store.panels = static_cast<int>(store.columns / bulk.panel.panel);
  store.group = warpgroup(lowering);
  return store;
}

/// As many slots as there are panels if shared memory has room for them, so that the next tile's
/// products begin while the hardware still reads; at least two, one being written while one is
/// read.
int choose_slots(const Lowering& lowering, const PanelStore& store) {
  int64_t taken = 2 * swizzle_alignment(store.bulk.panel, size_of(store.value->type.dtype));
  for (const SharedBuffer& buffer : lowering.kernel.buffers) taken += buffer.bytes();
  const auto stores = static_cast<int64_t>(lowering.in.bulk_stores.size());
  const int64_t bytes = int64_t{lowering.config.warps / 4} * kRows * store.bulk.panel.panel *
                        size_of(store.value->type.dtype);
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

void write_panel(Lowering& lowering, const PanelStore& store, const ExprRef& index) {
  const ExprRef first_row = piece_of(store, index) * integer(2);
  const ExprRef first_column = panel_of(store, index) * integer(store.bulk.panel.panel / 4);
  const ExprRef slot = index % integer(store.slots);
  if (size_of(store.value->type.dtype) == 2 && store.bulk.panel.panel % 16 == 0)
    write_matrices(lowering, store, first_row, first_column, slot);
  else
    write_pairs(lowering, store, first_row, first_column, slot);
}

Stmt start_store(Lowering& lowering, const PanelStore& store, const std::string& map,
                 const ExprRef& index) {
  std::vector<ExprRef> args = {name(map),
                               shared(store.buffer, slot_of(store, index % integer(store.slots)))};
  for (ExprRef& at :
       coordinates_of(lowering, store, piece_of(store, index), panel_of(store, index)))
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
               [&](const ExprRef& i) { lowering.emit(start_store(lowering, store, map, i)); });
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
    lowering.emit(branch(first_of_warpgroup(), {start_store(lowering, store, map, i),
                                                call_stmt(call("tw::tma_store_commit", {}))}));
  });
}

}  // namespace

void lower_bulk_store(Lowering& lowering, const Op& op, const BulkStore& bulk) {
  const ir::AccessView access(op);
  const DType dtype = access.value->type.dtype;
  lowering.at_source(op);
  record_access(lowering, op, "tma store", bulk.map.box[0] * size_of(dtype), true);
  const std::string map = declare_map(lowering, access.tensor, bulk.map, true);
  PanelStore store = inspect(lowering, op, bulk);
  declare_buffer(lowering, store);
  lowering.has_bulk_stores = true;
  // Warpgroups order what they do with their own panels themselves.
  lowering.emit(order("acquire", {store.buffer}));
  if (store.slots == store.panels * store.pieces)
    store_at_once(lowering, store, map);
  else
    store_in_turns(lowering, store, map);
}

void finish_bulk_stores(Lowering& lowering) {
  if (!lowering.has_bulk_stores) return;
  Stmt wait = branch(first_of_warpgroup(), {call_stmt(call("tw::tma_store_wait<0>", {}))});
  lowering.emit(std::move(wait));
}

}  // namespace tilewright::codegen
