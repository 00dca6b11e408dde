// Scalars, slices, elementwise operations and changes of shape.
#include <cstring>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {
namespace {

using ir::AttrKey;

/// Copies a tile whose dimension i advances by strides[i] elements in the source; rows are the last
/// dimension. T stands for any element of its size.
template <class T>
void gather(const T* from, T* to, const Extents& extents, const std::vector<int64_t>& strides) {
  const size_t rank = extents.size();
  const int64_t row = rank == 0 ? 1 : extents[rank - 1], step = rank == 0 ? 1 : strides[rank - 1];
  std::vector<int64_t> at(rank);
  const int64_t rows = row == 0 ? 0 : count(extents) / row;
  for (int64_t r = 0; r < rows; ++r, to += row) {
    if (step == 1)
      std::memcpy(to, from, row * sizeof(T));
    else if (step == 0)
      std::fill_n(to, row, *from);
    else
      for (int64_t i = 0; i < row; ++i) to[i] = from[i * step];
    for (size_t d = rank < 1 ? 0 : rank - 1; d-- > 0;) {
      from += strides[d];
      if (++at[d] < extents[d]) break;
      from -= strides[d] * extents[d];
      at[d] = 0;
    }
  }
}

void gather_result(const Step& step, Frame& frame, const std::vector<int64_t>& strides) {
  const void* from = frame.operand(step, 0);
  void* to = frame.result(step);
  if (numeric::storage_size(step.out_dtype()) == 4)
    gather(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), step.out_extents,
           strides);
  else
    gather(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), step.out_extents,
           strides);
}

Extents row_major(const Extents& extents) {
  Extents strides(extents.size());
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) strides[d] = stride;
  return strides;
}

const SliceValue& slice_operand(const Step& step, const Frame& frame) {
  return frame.cells[step.in.at(0)].slice;
}

/// The operand again, under another shape or layout. Memory of a ring is copied, for the slot will
/// be filled again while the result lives.
void pass_on(const Step& step, Frame& frame) {
  if (count(step.in_extents) != count(step.out_extents))
    fail(step, "the shapes have different numbers of elements");
  if (step.op->operand(0)->type.kind == ir::Type::Kind::shared &&
      step.op->result()->type.kind != ir::Type::Kind::shared) {
    std::memcpy(frame.result(step), frame.operand(step, 0),
                count(step.in_extents) * numeric::storage_size(step.in_dtype()));
    return;
  }
  Cell source = frame.cells[step.in[0]];
  frame.cells[step.out[0]] = std::move(source);
}

}  // namespace

void run_constant(const Step& step, Frame& frame) {
  const ir::Attr* value = step.op->find(AttrKey::value);
  const DType dtype = step.out_dtype();
  numeric::Element element;
  if (const auto* integer = value ? std::get_if<int64_t>(value) : nullptr)
    element = numeric::from_int(dtype, *integer);
  else if (const auto* real = value ? std::get_if<double>(value) : nullptr)
    element = numeric::from_double(dtype, *real);
  else
    fail(step, "the value is not a number");
  void* to = frame.result(step);
  std::visit([to](auto x) { std::memcpy(to, &x, sizeof(x)); }, element);
}

void run_dim(const Step& step, Frame& frame) {
  const HostTensor* tensor = frame.cells[step.in[0]].tensor;
  *frame.result<int64_t>(step) = tensor->spec.sizes.at(step.op->integer(AttrKey::axis));
}

void run_slice(const Step& step, Frame& frame) {
  const int64_t begin = frame.integer(step, 0), limit = frame.integer(step, 1);
  const int64_t extent = step.out_extents.at(0);
  frame.cells[step.out[0]].slice = {begin, limit, extent, extent > 0 ? begin / extent : 0};
}

void run_slice_begin(const Step& step, Frame& frame) {
  *frame.result<int64_t>(step) = slice_operand(step, frame).begin;
}

void run_slice_end(const Step& step, Frame& frame) {
  *frame.result<int64_t>(step) = slice_operand(step, frame).end();
}

void run_slice_id(const Step& step, Frame& frame) {
  *frame.result<int64_t>(step) = slice_operand(step, frame).id;
}

void run_slice_index(const Step& step, Frame& frame) {
  const SliceValue slice = slice_operand(step, frame);
  int64_t* to = frame.result<int64_t>(step);
  for (int64_t i = 0; i < slice.extent; ++i) to[i] = slice.begin + i;
}

void run_iota(const Step& step, Frame& frame) {
  int64_t* to = frame.result<int64_t>(step);
  for (int64_t i = 0; i < count(step.out_extents); ++i) to[i] = i;
}

void run_unary(const Step& step, Frame& frame) {
  step.unary(frame.operand(step, 0), frame.result(step), count(step.out_extents));
}

void run_cast(const Step& step, Frame& frame) { run_unary(step, frame); }

void run_binary(const Step& step, Frame& frame) {
  step.binary(frame.operand(step, 0), frame.operand(step, 1), frame.result(step),
              count(step.out_extents));
}

void run_compare(const Step& step, Frame& frame) { run_binary(step, frame); }

void run_fma(const Step& step, Frame& frame) {
  step.ternary(frame.operand(step, 0), frame.operand(step, 1), frame.operand(step, 2),
               frame.result(step), count(step.out_extents));
}

void run_select(const Step& step, Frame& frame) {
  const int64_t* condition = frame.operand<int64_t>(step, 0);
  const int64_t n = count(step.out_extents);
  const auto choose = [&](auto* to, const auto* x, const auto* y) {
    for (int64_t i = 0; i < n; ++i) to[i] = condition[i] ? x[i] : y[i];
  };
  if (numeric::storage_size(step.out_dtype()) == 4)
    choose(frame.result<uint32_t>(step), frame.operand<uint32_t>(step, 1),
           frame.operand<uint32_t>(step, 2));
  else
    choose(frame.result<uint64_t>(step), frame.operand<uint64_t>(step, 1),
           frame.operand<uint64_t>(step, 2));
}

void run_broadcast(const Step& step, Frame& frame) {
  const auto& dims = step.op->integers(AttrKey::dims);
  const Extents from = row_major(step.in_extents);
  std::vector<int64_t> strides(step.out_extents.size());  // 0: repeated
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t in = step.in_extents[i], out = step.out_extents[dims[i]];
    if (in == out)
      strides[dims[i]] = from[i];
    else if (in != 1)
      fail(step, "a dimension is neither 1 nor the result's");
  }
  gather_result(step, frame, strides);
}

void run_permute(const Step& step, Frame& frame) {
  const Extents from = row_major(step.in_extents);
  std::vector<int64_t> strides;
  for (int64_t d : step.op->integers(AttrKey::dims)) strides.push_back(from.at(d));
  gather_result(step, frame, strides);
  // A view of a ring's slot lives as long as the slot does.
  const Cell& source = frame.cells[step.in[0]];
  frame.cells[step.out[0]].ring = source.ring;
  frame.cells[step.out[0]].ring_number = source.ring_number;
}

void run_reshape(const Step& step, Frame& frame) { pass_on(step, frame); }

void run_convert(const Step& step, Frame& frame) { pass_on(step, frame); }

}  // namespace tilewright::interpreter
