#include "tilewright/codegen/mma_read.h"

namespace tilewright::codegen {
namespace {

constexpr int kRowBytes = 16;  // of one row that ldmatrix reads

MmaLoad choose_load(const MmaRead& read, DType stored, DType used, int64_t outer, int64_t k) {
  const int bytes = size_of(used);
  if (!read.view.casts.empty() || stored != used || k * bytes % 32 != 0) return MmaLoad::elements;
  if (read.contiguous_axis == read.k_axis) return MmaLoad::matrices;
  return bytes == 2 && outer * bytes % kRowBytes == 0 ? MmaLoad::transposed : MmaLoad::elements;
}

}  // namespace

MmaRead mma_read(const ir::Function& fn, const ir::Op& dot, int operand, const Layout& accumulator,
                 int contiguous_axis) {
  const ir::Type& type = dot.operand(operand)->type;
  const int k_dim = operand == 0 ? 1 : 0;
  MmaRead read;
  read.view = view_of(dot.operand(operand));
  read.outer_axis = read.view.axis[1 - k_dim];
  read.k_axis = read.view.axis[k_dim];
  read.contiguous_axis = contiguous_axis;
  const int64_t k = fn.extent(type.shape[k_dim]);
  const MmaLoad load = choose_load(read, read.view.ring->type.dtype, type.dtype,
                                   fn.extent(type.shape[1 - k_dim]), k);
  read.operand = mma_operand(accumulator, operand == 0, load, size_of(type.dtype), k);
  read.layout = mma_operand_layout(accumulator, read.operand);
  return read;
}

std::vector<WarpAccess> mma_accesses(const MmaRead& read, const std::vector<int64_t>& extents) {
  const Layout by_ring_axes = read.outer_axis == 0 ? read.layout : permute(read.layout, {1, 0});
  return warp_accesses(by_ring_axes, extents, read.contiguous_axis, read.vector(),
                       size_of(read.view.ring->type.dtype));
}

}  // namespace tilewright::codegen
