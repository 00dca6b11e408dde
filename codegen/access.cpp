#include "tilewright/codegen/access.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

bool is_slice(const ir::Value* index) { return index->type.kind == ir::Type::Kind::slice; }

/// Where a slice comes from: the bounds it walks and the distance between its positions.
struct SliceSource {
  const ir::Value* begin;
  const ir::Value* limit;
  int64_t step;  // 0: it stays at begin
};

SliceSource source_of(const ir::Function& fn, const ir::Value* slice) {
  if (slice->def != nullptr) return {slice->def->operand(0), slice->def->operand(1), 0};
  const ir::Op& loop = *slice->owner->parent;
  const ir::LoopView view(loop);
  return {view.begins.at(slice->index), view.limits.at(slice->index),
          fn.axes.at(loop.integers(ir::AttrKey::axes).at(slice->index)).block};
}

/// Whether adding index * stride keeps an offset a multiple of `vector` elements, for every
/// position the index can take outside the contiguous dimension.
bool keeps_multiple(const ir::Facts& facts, const ir::Value* index, int64_t size, int64_t stride,
                    int vector) {
  if (size <= 1 || stride % vector == 0) return true;
  if (is_slice(index)) return false;
  const int64_t divisor = facts.divisor(index);
  return divisor == 0 || (divisor * stride) % vector == 0;
}

bool aligned(const ir::Function& fn, const ir::Facts& facts, const ir::AccessView& access,
             const TensorSpec& spec, int contiguous_dim, int vector) {
  if (spec.alignment % (vector * size_of(spec.dtype)) != 0) return false;
  for (int d = 0; d < spec.rank(); ++d) {
    if (d == contiguous_dim) continue;
    if (!keeps_multiple(facts, access.indices[d], spec.sizes[d], spec.strides[d], vector))
      return false;
  }
  return begins_at_multiple(fn, facts, access.indices[contiguous_dim], vector);
}

/// Whether an aligned vector never straddles the end of the contiguous dimension.
bool never_straddles(const ir::Function& fn, const ir::Facts& facts, const ir::Op& op,
                     const ir::AccessView& access, const TensorSpec& spec, int dim, int vector) {
  const auto& guard = op.integers(ir::AttrKey::guard);
  if (std::find(guard.begin(), guard.end(), dim) == guard.end()) return true;
  const int64_t size = spec.dynamic && dim == 0 ? 1 : spec.sizes[dim];  // may be any, if dynamic
  return size % vector == 0 &&
         facts.divisor(source_of(fn, access.indices[dim]).limit) % vector == 0;
}

/// The largest offset an access can form, overhanging tiles included.
bool needs_wide_offsets(const ir::Function& fn, const ir::AccessView& access,
                        const TensorSpec& spec) {
  double largest = 0;
  for (int d = 0; d < spec.rank(); ++d) {
    const ir::Value* index = access.indices[d];
    const int64_t surplus = is_slice(index) ? 2 * fn.extent(index->type.shape[0]) : 0;
    largest += static_cast<double>(spec.sizes[d] + surplus) * static_cast<double>(spec.strides[d]);
  }
  return largest > static_cast<double>(std::numeric_limits<int32_t>::max());
}

}  // namespace

bool begins_at_multiple(const ir::Function& fn, const ir::Facts& facts, const ir::Value* slice,
                        int64_t n) {
  const SliceSource source = source_of(fn, slice);
  return facts.divisor(source.begin) % n == 0 && source.step % n == 0;
}

std::pair<int, int> contiguous_dimension(const ir::AccessView& access, const TensorSpec& spec) {
  std::pair<int, int> found = {-1, -1};
  for (int d = 0; d < spec.rank(); ++d) {
    if (!is_slice(access.indices[d])) continue;
    const bool better = found.first < 0 || spec.sizes[found.first] <= 1;
    if (spec.strides[d] == 1 && better) found = {d, access.axes_of(d).at(0)};
  }
  return found;
}

bool is_uniform_along(const ir::Value* value, int axis) {
  if (!value->type.is_tile()) return true;
  if (value->type.shape.at(axis) == ir::Dim::constant(1)) return true;
  const ir::Op* op = value->def;
  if (op == nullptr) return false;
  switch (op->kind) {
    case ir::OpKind::broadcast: {
      const auto& dims = op->integers(ir::AttrKey::dims);
      const auto from = std::find(dims.begin(), dims.end(), axis);
      return from == dims.end() ||
             is_uniform_along(op->operand(0), static_cast<int>(from - dims.begin()));
    }
    case ir::OpKind::permute:
      return is_uniform_along(op->operand(0),
                              static_cast<int>(op->integers(ir::AttrKey::dims).at(axis)));
    case ir::OpKind::unary:
    case ir::OpKind::binary:
    case ir::OpKind::compare:
    case ir::OpKind::select:
    case ir::OpKind::cast:
    case ir::OpKind::convert:
      return std::all_of(op->operands.begin(), op->operands.end(),
                         [&](const ir::Value* x) { return is_uniform_along(x, axis); });
    default:
      return false;
  }
}

AccessFacts analyze_access(const ir::Function& fn, const ir::Facts& facts, const ir::Op& op,
                           int max_bytes) {
  const ir::AccessView access(op);
  const ir::Param* param = fn.param_of(access.tensor);
  internal_check(param != nullptr, "a memory operation on something that is no parameter");
  const TensorSpec& spec = param->spec;
  AccessFacts result;
  result.wide = needs_wide_offsets(fn, access, spec);
  std::tie(result.contiguous_dim, result.contiguous_axis) = contiguous_dimension(access, spec);
  if (result.contiguous_dim < 0) return result;
  // Elements that one access moves are masked alike.
  if (access.mask != nullptr && !is_uniform_along(access.mask, result.contiguous_axis))
    return result;
  const int widest = std::min(max_bytes, 16) / size_of(spec.dtype);
  const int64_t extent = fn.extent(access.indices[result.contiguous_dim]->type.shape[0]);
  for (int vector = 2; vector <= widest; vector *= 2) {
    if (extent % vector != 0 || !aligned(fn, facts, access, spec, result.contiguous_dim, vector))
      break;
    result.vector = vector;
    if (never_straddles(fn, facts, op, access, spec, result.contiguous_dim, vector))
      result.whole_vector = vector;
  }
  return result;
}

}  // namespace tilewright::codegen
