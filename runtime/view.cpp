#include "tilewright/runtime/view.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

// Row-major strides; size-0 dimensions count as 1 so that strides stay distinct.
void set_row_major(std::span<const int64_t> sizes, int64_t* strides) {
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
}

// Whether the tensor's bytes can be counted in 64 bits.
bool countable(std::span<const int64_t> sizes, DType dtype) {
  int64_t total = size_of(dtype);
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(total, std::max<int64_t>(size, 1), &total)) return false;
  return true;
}

}  // namespace

TensorView::TensorView(void* data, DType dtype, std::span<const int64_t> sizes,
                       std::span<const int64_t> strides, Device device)
    : data_(data), dtype_(dtype), rank_(static_cast<int>(sizes.size())), device_(device) {
  if (rank_ > max_rank) raise(ErrorId::view_rank, {}, fmt::format("at most {}", max_rank), rank_);
  for (int64_t size : sizes)
    if (size < 0) raise(ErrorId::view_size, {}, fmt::join(sizes, ","), "a size is negative");
  if (!countable(sizes, dtype))
    raise(ErrorId::view_size, {}, fmt::join(sizes, ","), "that is more than 2^63 bytes");
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  if (strides.data() == nullptr && !sizes.empty()) {
    set_row_major(sizes, strides_.data());
    return;
  }
  if (strides.size() != sizes.size())
    raise(ErrorId::view_strides, {}, sizes.size(), strides.size());
  std::copy(strides.begin(), strides.end(), strides_.begin());
}

TensorView::TensorView(void* data, DType dtype, std::initializer_list<int64_t> sizes, Device device)
    : TensorView(data, dtype, std::span(sizes.begin(), sizes.size()), {}, device) {}

TensorView::TensorView(void* data, DType dtype, std::initializer_list<int64_t> sizes,
                       std::initializer_list<int64_t> strides, Device device)
    : TensorView(data, dtype, std::span(sizes.begin(), sizes.size()),
                 std::span(strides.begin(), strides.size()), device) {
  if (strides.size() != sizes.size())
    raise(ErrorId::view_strides, {}, sizes.size(), strides.size());
}

int TensorView::checked(int dim) const {
  const int from_start = dim < 0 ? dim + rank_ : dim;
  if (from_start < 0 || from_start >= rank_) raise(ErrorId::view_dim, {}, dim, rank_);
  return from_start;
}

int64_t TensorView::elements() const {
  int64_t n = 1;
  for (int d = 0; d < rank_; ++d) n *= sizes_[d];
  return n;
}

bool TensorView::contiguous() const {
  int64_t expected = 1;
  for (int d = rank_; d-- > 0;) {
    if (sizes_[d] != 1 && strides_[d] != expected) return empty();
    expected *= std::max<int64_t>(sizes_[d], 1);
  }
  return true;
}

int TensorView::alignment() const {
  const auto address = reinterpret_cast<uintptr_t>(data_) | 16;
  return static_cast<int>(address & -address);
}

void TensorView::normalized_strides(int64_t* out) const {
  if (empty()) return set_row_major(sizes(), out);
  for (int d = rank_; d-- > 0;) {
    const int64_t row_major = d + 1 < rank_ ? out[d + 1] * sizes_[d + 1] : 1;
    out[d] = sizes_[d] == 1 ? row_major : strides_[d];
  }
}

TensorSpec TensorView::spec() const {
  TensorSpec result{
      dtype_, {sizes().begin(), sizes().end()}, std::vector<int64_t>(rank_), alignment()};
  normalized_strides(result.strides.data());
  return result;
}

TensorView TensorView::t() const {
  if (rank_ < 2) raise(ErrorId::view_rank, {}, "at least 2", rank_);
  TensorView result = *this;
  std::swap(result.sizes_[rank_ - 1], result.sizes_[rank_ - 2]);
  std::swap(result.strides_[rank_ - 1], result.strides_[rank_ - 2]);
  return result;
}

TensorView TensorView::permute(std::span<const int> dims) const {
  std::vector<bool> seen(rank_, false);
  bool valid = static_cast<int>(dims.size()) == rank_;
  for (size_t i = 0; valid && i < dims.size(); ++i) {
    const int dim = dims[i] < 0 ? dims[i] + rank_ : dims[i];
    valid = dim >= 0 && dim < rank_ && !seen[dim];
    if (valid) seen[dim] = true;
  }
  if (!valid) raise(ErrorId::view_permutation, {}, fmt::join(dims, ","), rank_);
  TensorView result = *this;
  for (int d = 0; d < rank_; ++d) {
    const int from = dims[d] < 0 ? dims[d] + rank_ : dims[d];
    result.sizes_[d] = sizes_[from];
    result.strides_[d] = strides_[from];
  }
  return result;
}

TensorView TensorView::slice(int dim, int64_t begin, int64_t end) const {
  const int d = checked(dim);
  if (begin < 0 || begin > end || end > sizes_[d])
    raise(ErrorId::view_range, {}, begin, end, d, sizes_[d]);
  TensorView result = *this;
  result.sizes_[d] = end - begin;
  if (data_ != nullptr)
    result.data_ = static_cast<char*>(data_) + begin * strides_[d] * size_of(dtype_);
  return result;
}

TensorView TensorView::expand(std::span<const int64_t> sizes) const {
  const int added = static_cast<int>(sizes.size()) - rank_;
  bool valid = added >= 0 && sizes.size() <= max_rank;
  std::array<int64_t, max_rank> strides{};
  for (int d = 0; valid && d < rank_; ++d) {
    const int64_t wanted = sizes[added + d];
    valid = wanted == sizes_[d] || sizes_[d] == 1;
    strides[added + d] = wanted == sizes_[d] ? strides_[d] : 0;
  }
  if (!valid) raise(ErrorId::view_expand, {}, to_string(*this), fmt::join(sizes, ","));
  return {data_, dtype_, sizes, std::span<const int64_t>(strides.data(), sizes.size()), device_};
}

std::string to_string(const TensorView& view) {
  TensorSpec spec = view.spec();
  spec.alignment = 16;
  return fmt::format("{} on {}", to_string(spec), to_string(view.device()));
}

}  // namespace tilewright
