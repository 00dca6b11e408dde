// Loads, stores and copies of tiles between global memory and the interpreter's buffers.
#include <array>
#include <cstring>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_elements.h"
#include "tilewright/runtime/interpreter_frame.h"
#include "tilewright/runtime/interpreter_overlap.h"

namespace tilewright::interpreter {
namespace {

/// One dimension of an accessed tile: its first `extent` positions, of which [low, high) are in
/// bounds.
struct Range {
  int64_t extent = 1;
  int64_t low = 0, high = 1;
  int64_t stride = 0;  ///< in memory, in elements
};

/// Where a tile lies in a tensor.
struct Window {
  int64_t offset = 0;  ///< of the tile's position 0, in elements; may be out of bounds itself
  std::vector<Range> ranges;
  bool empty = false;  ///< no position is in bounds
  bool whole = true;   ///< every position is
};

Range range_of(const SliceValue& slice, int64_t size, int64_t stride) {
  const int64_t bound = std::min(slice.limit, size);
  Range range{slice.extent, 0, 0, stride};
  range.low = std::clamp<int64_t>(-slice.begin, 0, slice.extent);
  range.high = std::clamp<int64_t>(bound - slice.begin, range.low, slice.extent);
  return range;
}

/// The window of an access whose index operands start at operand `first`.
Window window_of(const Step& step, const Frame& frame, const HostTensor& tensor, size_t first) {
  Window window;
  const ir::Op& op = *step.op;
  window.ranges.reserve(tensor.spec.sizes.size());
  for (size_t d = 0; d < tensor.spec.sizes.size(); ++d) {
    const int64_t size = tensor.spec.sizes[d], stride = size == 1 ? 0 : tensor.spec.strides[d];
    bool inside;
    if (op.operand(first + d)->type.kind == ir::Type::Kind::slice) {
      const SliceValue& slice = frame.cells[step.in[first + d]].slice;
      const Range range = range_of(slice, size, stride);
      window.offset += slice.begin * stride;
      window.empty |= range.low == range.high;
      inside = range.low == 0 && range.high == range.extent;
      window.ranges.push_back(range);
    } else {
      const int64_t index = frame.integer(step, first + d);
      inside = index >= 0 && index < size;
      window.offset += index * stride;
      window.empty |= !inside;
    }
    window.whole &= inside;
    if (!inside && !guarded(op, static_cast<int64_t>(d)))
      fail(step, fmt::format("index {} leaves its bounds, but has no guard", d));
  }
  return window;
}

/// Calls visit(memory offset, tile offset, row length, memory stride) for every row in bounds; rows
/// run along the last dimension.
template <class Visit>
void for_each_row(const Window& window, const Visit& visit) {
  if (window.empty) return;
  const size_t rank = window.ranges.size();
  const Range row = rank == 0 ? Range{} : window.ranges.back();
  const size_t outer = rank == 0 ? 0 : rank - 1;
  std::vector<int64_t> at(outer), tile_strides(outer);
  int64_t memory = window.offset + row.low * row.stride, tile = row.low, stride = row.extent;
  for (size_t d = outer; d-- > 0;) {
    const Range& range = window.ranges[d];
    tile_strides[d] = stride;
    stride *= range.extent;
    at[d] = range.low;
    memory += range.low * range.stride;
    tile += range.low * tile_strides[d];
  }
  while (true) {
    visit(memory, tile, row.high - row.low, row.stride);
    size_t d = outer;
    while (d-- > 0) {
      const Range& range = window.ranges[d];
      memory += range.stride;
      tile += tile_strides[d];
      if (++at[d] < range.high) break;
      const int64_t back = range.high - range.low;
      memory -= back * range.stride;
      tile -= back * tile_strides[d];
      at[d] = range.low;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

void load_tile(const Step& step, const Frame& frame, const HostTensor& tensor, size_t first,
               void* to, size_t bytes) {
  const Window window = window_of(step, frame, tensor, first);
  if (!window.whole) std::memset(to, 0, bytes);
  const DType dtype = tensor.spec.dtype;
  const numeric::LoadKernel load = numeric::load_kernel(dtype);
  const auto* memory = static_cast<const std::byte*>(tensor.data);
  const int64_t size = size_of(dtype), stored = numeric::storage_size(dtype);
  for_each_row(window, [&](int64_t offset, int64_t tile, int64_t n, int64_t stride) {
    load(memory + offset * size, stride, static_cast<std::byte*>(to) + tile * stored, n);
  });
}

}  // namespace

void run_load(const Step& step, Frame& frame) {
  const HostTensor& tensor = *frame.cells[step.in[0]].tensor;
  const size_t bytes = count(step.out_extents) * numeric::storage_size(step.out_dtype());
  if (!ir::is_plain_access(*step.op)) return load_elements(step, frame, tensor, bytes);
  load_tile(step, frame, tensor, 1, frame.result(step), bytes);
}

void run_copy(const Step& step, Frame& frame) {
  const Cell& cell = frame.cells[step.in[0]];
  Ring::Slot& slot = cell.ring->slot(cell.ring_number);
  if (slot.state != Ring::State::acquired && slot.state != Ring::State::filled)
    fail(step, "the slot is not one being filled");
  const HostTensor& tensor = *frame.cells[step.in[1]].tensor;
  load_tile(step, frame, tensor, 2, slot.tile->data(), cell.ring->bytes);
  slot.state = Ring::State::filled;
}

void run_store(const Step& step, Frame& frame) {
  const HostTensor& tensor = *frame.cells[step.in[0]].tensor;
  if (!ir::is_plain_access(*step.op)) return store_elements(step, frame, tensor);
  const Window window = window_of(step, frame, tensor, 2);
  const DType dtype = tensor.spec.dtype;
  const numeric::StoreKernel store = numeric::store_kernel(dtype);
  auto* memory = static_cast<std::byte*>(tensor.data);
  const auto* from = frame.operand<std::byte>(step, 1);
  const int64_t size = size_of(dtype), stored = numeric::storage_size(dtype);
  for_each_row(window, [&](int64_t offset, int64_t tile, int64_t n, int64_t stride) {
    if (frame.overlap != nullptr)
      frame.overlap->claim(step, tensor, offset, stride, n, frame.program_id);
    store(from + tile * stored, memory + offset * size, stride, n);
  });
}

}  // namespace tilewright::interpreter
