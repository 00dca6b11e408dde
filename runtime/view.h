// Memory described but not owned.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tilewright/ir/type.h"
#include "tilewright/runtime/device.h"

namespace tilewright {

/// A strided tensor in someone else's memory: CUDA runtime buffers, other frameworks' tensors,
/// arrays. Copying copies the description. Sizes and strides are 64-bit; strides count elements.
class TensorView {
 public:
  static constexpr int max_rank = 8;

  TensorView() = default;
  /// `data` addresses the element at position 0 of every dimension. Without strides the tensor is
  /// row-major. Raises view_rank, view_size (a negative size, or more than 2^63 bytes) or
  /// view_strides (another number of strides than sizes). Negative strides are refused when a
  /// kernel is launched, which can name the parameter.
  TensorView(void* data, DType dtype, std::span<const int64_t> sizes,
             std::span<const int64_t> strides, Device device);
  TensorView(void* data, DType dtype, std::initializer_list<int64_t> sizes, Device device);
  TensorView(void* data, DType dtype, std::initializer_list<int64_t> sizes,
             std::initializer_list<int64_t> strides, Device device);

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  int rank() const { return rank_; }
  int64_t size(int dim) const { return sizes_[checked(dim)]; }
  int64_t stride(int dim) const { return strides_[checked(dim)]; }
  std::span<const int64_t> sizes() const { return {sizes_.data(), static_cast<size_t>(rank_)}; }
  std::span<const int64_t> strides() const { return {strides_.data(), static_cast<size_t>(rank_)}; }
  int64_t elements() const;
  bool empty() const { return elements() == 0; }
  /// Whether elements lie row-major without gaps; strides of size-1 dimensions do not matter.
  bool contiguous() const;

  /// Writes rank() strides to `out`: those of size-1 dimensions, and all of an empty tensor,
  /// replaced by what row-major order gives, so that they do not tell kernels apart.
  void normalized_strides(int64_t* out) const;
  /// What kernels are specialized on: dtype, sizes, normalized strides and alignment.
  TensorSpec spec() const;
  /// The largest power of two up to 16 that divides the address; 16 for null.
  int alignment() const;

  // Other views of the same memory; no data moves. Dimensions count from 0; negative ones from the
  // end.
  TensorView t() const;  ///< the last two dimensions swapped; raises view_rank below rank 2
  /// Dimension i of the result is dimension dims[i]. Raises view_permutation.
  TensorView permute(std::span<const int> dims) const;
  TensorView permute(std::initializer_list<int> dims) const {
    return permute(std::span(dims.begin(), dims.size()));
  }
  /// Positions begin .. end-1 of one dimension. Raises view_dim or view_range.
  TensorView slice(int dim, int64_t begin, int64_t end) const;
  /// Size-1 dimensions repeated (stride 0) and new leading dimensions added. Raises view_expand.
  TensorView expand(std::span<const int64_t> sizes) const;
  TensorView expand(std::initializer_list<int64_t> sizes) const {
    return expand(std::span(sizes.begin(), sizes.size()));
  }

 private:
  int checked(int dim) const;

  void* data_ = nullptr;
  std::array<int64_t, max_rank> sizes_{};
  std::array<int64_t, max_rank> strides_{};
  DType dtype_ = DType::f32;
  int rank_ = 0;
  Device device_;
};

/// "f32[3,4] on cuda:0", with strides when not row-major.
std::string to_string(const TensorView& view);

/// The bytes that a view's elements span: begin <= address < end; empty (both 0) for views without
/// elements or with negative strides.
struct ByteRange {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange byte_range(const TensorView& view);

/// How the memory of two views is related.
enum class Overlap : uint8_t {
  none,     ///< no byte in common
  exact,    ///< the same elements at the same positions
  partial,  ///< bytes in common, or too hard to tell
};
Overlap overlap(const TensorView& a, const TensorView& b);
/// Whether two positions of the view may be one element (a stride of 0, or rows that overlap).
bool overlaps_itself(const TensorView& view);

}  // namespace tilewright
