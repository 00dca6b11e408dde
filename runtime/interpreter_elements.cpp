#include "tilewright/runtime/interpreter_elements.h"

#include <cstring>
#include <unordered_set>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_overlap.h"

namespace tilewright::interpreter {
namespace {

/// One index of an access: where it is for each element of the accessed tile.
struct Index {
  enum class Kind { scalar, slice, tile } kind = Kind::scalar;
  int64_t first = 0;  // scalar: the position; slice: the first
  int64_t limit = 0;  // one past the last valid position
  const int64_t* positions = nullptr;
  std::vector<int64_t> steps;  // by axis of the accessed tile: how far to go in `positions`
  bool guarded = true;
};

/// An access taken apart.
class Elements {
 public:
  Elements(const Step& step, const Frame& frame, const HostTensor& tensor)
      : step_(step), access_(*step.op), spec_(tensor.spec) {
    const ir::Op& op = *step.op;
    extents_ = op.kind == ir::OpKind::load ? step.out_extents
                                           : frame.program->extents(access_.value->type.shape);
    const size_t mask = access_.mask != nullptr ? 1 : 0;
    const size_t first = op.operands.size() - access_.indices.size() - mask;
    if (mask != 0) mask_ = frame.operand<int64_t>(step, op.operands.size() - 1);
    for (size_t d = 0; d < access_.indices.size(); ++d)
      indices_.push_back(index_of(frame, first + d, d));
    for (size_t axis = 0; axis < step.lanes.size(); ++axis) {
      const int slot = step.lanes[axis];
      lanes_.push_back(slot < 0 ? extents_[axis] : frame.cells[slot].slice.size());
    }
  }

  /// Calls visit(number in the tile, offset in memory) for each element that is accessed, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::vector<int64_t> at(extents_.size());
    const int64_t n = count(extents_);
    for (int64_t i = 0; i < n; ++i) {
      int64_t offset = 0;
      if ((mask_ == nullptr || mask_[i] != 0) && locate(at, offset)) visit(i, offset);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < extents_[d]) break;
        at[d] = 0;
      }
    }
  }

 private:
  Index index_of(const Frame& frame, size_t operand, size_t dim) const {
    const ir::Value* value = access_.indices[dim];
    const int64_t size = spec_.sizes[dim];
    Index index;
    index.limit = size;
    index.guarded = guarded(*step_.op, static_cast<int64_t>(dim));
    index.steps.assign(extents_.size(), 0);
    const std::vector<int> axes = access_.axes_of(dim);
    if (value->type.kind == ir::Type::Kind::slice) {
      const SliceValue& slice = frame.cells[step_.in[operand]].slice;
      index.kind = Index::Kind::slice;
      index.first = slice.begin;
      index.limit = std::min(slice.limit, size);
      index.steps[axes.at(0)] = 1;
    } else if (value->type.is_tile()) {
      index.kind = Index::Kind::tile;
      index.positions = frame.operand<int64_t>(step_, operand);
      int64_t step = 1;
      for (size_t a = axes.size(); a-- > 0; step *= extents_[axes[a]]) index.steps[axes[a]] = step;
    } else {
      index.first = frame.integer(step_, operand);
    }
    return index;
  }

  bool lanes_exist(const std::vector<int64_t>& at) const {
    for (size_t axis = 0; axis < lanes_.size(); ++axis)
      if (at[axis] >= lanes_[axis]) return false;
    return true;
  }

  /// Whether the element at `at` is at valid positions, and where.
  bool locate(const std::vector<int64_t>& at, int64_t& offset) const {
    const bool lanes = lanes_exist(at);
    for (size_t d = 0; d < indices_.size(); ++d) {
      const Index& index = indices_[d];
      int64_t position = 0;
      for (size_t axis = 0; axis < at.size(); ++axis) position += at[axis] * index.steps[axis];
      const bool tile = index.kind == Index::Kind::tile;
      position = tile ? index.positions[position] : index.first + position;
      const bool inside = position >= 0 && position < index.limit && (!tile || lanes);
      if (!inside && !index.guarded)
        fail(step_, fmt::format("index {} leaves its bounds, but has no guard", d));
      if (!inside) return false;
      offset += spec_.sizes[d] == 1 ? 0 : position * spec_.strides[d];
    }
    return true;
  }

  const Step& step_;
  const ir::AccessView access_;
  const TensorSpec& spec_;
  Extents extents_;
  std::vector<Index> indices_;
  std::vector<int64_t> lanes_;  // by axis, how many there are; empty: no index tile
  const int64_t* mask_ = nullptr;
};

/// What an atomic does to one element: gives the element to write, or null to write nothing.
template <class Update>
void run_atomics(const Step& step, Frame& frame, const Update& update) {
  const HostTensor& tensor = *frame.cells[step.in[0]].tensor;
  const DType dtype = tensor.spec.dtype;
  const int64_t size = size_of(dtype), stored = numeric::storage_size(dtype);
  const numeric::LoadKernel load = numeric::load_kernel(dtype);
  const numeric::StoreKernel store = numeric::store_kernel(dtype);
  auto* memory = static_cast<std::byte*>(tensor.data);
  auto* result = frame.result<std::byte>(step);
  std::memset(result, 0, count(step.out_extents) * stored);
  const Elements elements(step, frame, tensor);
  elements.for_each([&](int64_t i, int64_t offset) {
    if (frame.overlap != nullptr)
      frame.overlap->claim_atomic(step, tensor, offset, frame.program_id);
    std::byte* element = memory + offset * size;
    load(element, 1, result + i * stored, 1);
    alignas(8) std::byte next[8];
    if (update(i, element, result + i * stored, next)) store(next, element, 1, 1);
  });
}

}  // namespace

bool guarded(const ir::Op& access, int64_t position) {
  if (!access.has(ir::AttrKey::guard)) return true;
  for (int64_t guard : access.integers(ir::AttrKey::guard))
    if (guard == position) return true;
  return false;
}

void load_elements(const Step& step, Frame& frame, const HostTensor& tensor, size_t bytes) {
  auto* to = frame.result<std::byte>(step);
  std::memset(to, 0, bytes);
  const DType dtype = tensor.spec.dtype;
  const numeric::LoadKernel load = numeric::load_kernel(dtype);
  const auto* memory = static_cast<const std::byte*>(tensor.data);
  const int64_t size = size_of(dtype), stored = numeric::storage_size(dtype);
  Elements(step, frame, tensor).for_each([&](int64_t i, int64_t offset) {
    load(memory + offset * size, 1, to + i * stored, 1);
  });
}

void store_elements(const Step& step, Frame& frame, const HostTensor& tensor) {
  const DType dtype = tensor.spec.dtype;
  const numeric::StoreKernel store = numeric::store_kernel(dtype);
  auto* memory = static_cast<std::byte*>(tensor.data);
  const auto* from = frame.operand<std::byte>(step, 1);
  const int64_t size = size_of(dtype), stored = numeric::storage_size(dtype);
  std::unordered_set<int64_t> written;  // by this store
  Elements(step, frame, tensor).for_each([&](int64_t i, int64_t offset) {
    if (!step.lanes.empty() && !written.insert(offset).second)
      raise(ErrorId::scatter_twice, step.op->loc,
            "[" + list_of(position_of(tensor.spec, offset)) + "]",
            frame.program->fn.param_of(step.op->operand(0))->name);
    if (frame.overlap != nullptr)
      frame.overlap->claim(step, tensor, offset, 1, 1, frame.program_id);
    store(from + i * stored, memory + offset * size, 1, 1);
  });
}

void run_atomic(const Step& step, Frame& frame) {
  const auto* values = frame.operand<std::byte>(step, 1);
  const int64_t stored = numeric::storage_size(step.out_dtype());
  run_atomics(step, frame, [&](int64_t i, const std::byte*, const std::byte* old, void* next) {
    step.binary(old, values + i * stored, next, 1);
    return true;
  });
}

void run_atomic_exchange(const Step& step, Frame& frame) {
  const auto* values = frame.operand<std::byte>(step, 1);
  const int64_t stored = numeric::storage_size(step.out_dtype());
  run_atomics(step, frame, [&](int64_t i, const std::byte*, const std::byte*, void* next) {
    std::memcpy(next, values + i * stored, stored);
    return true;
  });
}

void run_atomic_cas(const Step& step, Frame& frame) {
  const auto* values = frame.operand<std::byte>(step, 1);
  const auto* expected = frame.operand<std::byte>(step, 2);
  const DType dtype = step.out_dtype();
  const int64_t size = size_of(dtype), stored = numeric::storage_size(dtype);
  const numeric::StoreKernel store = numeric::store_kernel(dtype);
  run_atomics(step, frame, [&](int64_t i, const std::byte* element, const std::byte*, void* next) {
    std::byte bits[8];
    store(expected + i * stored, bits, 1, 1);
    if (std::memcmp(bits, element, size) != 0) return false;
    std::memcpy(next, values + i * stored, stored);
    return true;
  });
}

}  // namespace tilewright::interpreter
