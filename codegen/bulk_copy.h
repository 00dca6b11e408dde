// Which copies to shared memory are made by bulk tensor copies (TMA), issued by one thread.
#pragma once

#include <optional>

#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/ir/facts.h"

namespace tilewright::codegen {

/// Fills LaidOut::bulk. A pipelined loop's copies are bulk copies when the config asks for tma, the
/// target has it and of every copy it is proven that a tensor map can express it: strides and base
/// are multiples of 16 bytes, what lies outside the tile's limits lies outside the tensor (where
/// the hardware writes zeros), and its slot is laid out as the hardware writes it. The loop must be
/// reached by control flow that a thread can follow which computes no tiles.
void choose_bulk_copies(LaidOut& out, const Config& config, const Target& target);

/// How `store` of a tile in `layout` is made by bulk copies from shared memory; none when it cannot
/// or should not be: the config asks for other copies, the layout is not that of warpgroups'
/// products, the tensor takes no map, what lies outside the tile's limits could lie inside the
/// tensor, or the kernel reads the tensor too or may store to a place of it again.
std::optional<BulkStore> bulk_store(const ir::Function& fn, const ir::Facts& facts,
                                    const ir::Op& store, const Layout& layout, const Config& config,
                                    const Target& target);

/// The shared memory that it needs at least: for each warpgroup a slot that is written while the
/// other is read. `bytes` of an element.
int64_t least_panel_bytes(const BulkStore& store, int bytes, const Config& config);

/// Whether `loop` is a pipelined loop filled by bulk copies.
bool is_bulk_loop(const LaidOut& laid_out, const ir::Op& loop);
/// Whether `region` holds such a loop, at any depth.
bool holds_bulk_loop(const LaidOut& laid_out, const ir::Region& region);

}  // namespace tilewright::codegen
