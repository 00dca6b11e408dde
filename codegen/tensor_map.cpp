#include "tilewright/codegen/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr int kMostDimensions = 5;
constexpr int64_t kMostElements = int64_t{1} << 32;  // along one dimension
constexpr int64_t kStrideLimit = int64_t{1} << 40;   // bytes
constexpr int kMostBox = 256;                        // elements along one dimension

bool legal_size(int64_t size) { return size >= 1 && size <= kMostElements; }

/// A stride in elements, of a dimension that is walked and not the first.
bool legal_stride(int64_t stride, DType dtype) {
  const int64_t bytes = size_of(dtype);
  return stride > 0 && stride < kStrideLimit / bytes && stride * bytes % kMapAlignment == 0;
}

/// What is wrong with a map, as a sentence's second half; empty when nothing is.
std::string problem_of_sizes(const TensorMapSpec& map) {
  const size_t rank = map.sizes.size();
  if (rank < 1 || rank > kMostDimensions)
    return fmt::format("a map has 1 to {} dimensions, and this one has {}", kMostDimensions, rank);
  if (map.strides.size() != rank || map.box.size() != rank)
    return fmt::format("{} sizes need as many strides and box sizes, found {} and {}", rank,
                       map.strides.size(), map.box.size());
  for (size_t i = 0; i < rank; ++i)
    if (!legal_size(map.sizes[i]))
      return fmt::format("dimension {} has size {}, and a size is from 1 to 2^32", i, map.sizes[i]);
  return {};
}

std::string problem_of_strides(const TensorMapSpec& map) {
  if (map.strides[0] != 1)
    return fmt::format("the first dimension's elements must be neighbours, and their stride is {}",
                       map.strides[0]);
  for (size_t i = 1; i < map.sizes.size(); ++i)
    if (map.sizes[i] > 1 && !legal_stride(map.strides[i], map.dtype))
      return fmt::format(
          "dimension {} has a stride of {} {} elements, and strides are multiples of {} bytes, "
          "positive and below 2^40 bytes",
          i, map.strides[i], to_string(map.dtype), kMapAlignment);
  return {};
}

std::string problem_of_box(const TensorMapSpec& map) {
  for (size_t i = 0; i < map.box.size(); ++i)
    if (map.box[i] < 1 || map.box[i] > kMostBox)
      return fmt::format("one copy moves {} elements along dimension {}, and can move 1 to {}",
                         map.box[i], i, kMostBox);
  const int64_t inner = int64_t{map.box[0]} * size_of(map.dtype);
  if (inner % kMapAlignment != 0)
    return fmt::format("one copy moves {} bytes along the first dimension, no multiple of {}",
                       inner, kMapAlignment);
  constexpr int swizzles[] = {0, 32, 64, 128};
  if (std::ranges::find(swizzles, map.swizzle) == std::end(swizzles))
    return fmt::format("it swizzles {} bytes, and can swizzle 0, 32, 64 or 128", map.swizzle);
  if (map.swizzle != 0 && inner > map.swizzle)
    return fmt::format(
        "one copy moves {} bytes along the first dimension, and with a swizzle of {} bytes no more "
        "than that",
        inner, map.swizzle);
  return {};
}

}  // namespace

std::optional<int> mapped_dimension(const TensorSpec& tensor) {
  const int rank = tensor.rank();
  if (rank < 1 || rank > kMostDimensions || tensor.alignment < kMapAlignment) return std::nullopt;
  if (!std::ranges::all_of(tensor.sizes, legal_size)) return std::nullopt;
  // A dimension of size 1 may stand first where no other one can.
  std::optional<int> first;
  for (int d = 0; d < rank; ++d)
    if (tensor.sizes[d] == 1 ? !first : tensor.strides[d] == 1) first = d;
  if (!first) return std::nullopt;
  for (int d = 0; d < rank; ++d)
    if (d != *first && tensor.sizes[d] > 1 && !legal_stride(tensor.strides[d], tensor.dtype))
      return std::nullopt;
  return first;
}

bool takes_tensor_map(const TensorSpec& tensor) { return mapped_dimension(tensor).has_value(); }

void check_tensor_map(const TensorMapSpec& map, std::string_view tensor, int alignment) {
  std::string problem = problem_of_sizes(map);
  if (problem.empty()) problem = problem_of_strides(map);
  if (problem.empty()) problem = problem_of_box(map);
  if (problem.empty() && alignment % kMapAlignment != 0)
    problem = fmt::format("its address is a multiple of {} bytes only, and {} are needed",
                          alignment, kMapAlignment);
  if (!problem.empty()) raise(ErrorId::config_tensor_map, {}, tensor, problem);
}

TensorMapSpec map_of_size(TensorMapSpec map, int64_t size) {
  map.sizes.at(map.dynamic) = std::max<int64_t>(size, 1);
  map.dynamic = map.size_source = -1;
  return map;
}

std::vector<int64_t> map_strides(const TensorMapSpec& map) {
  std::vector<int64_t> strides;
  for (size_t i = 1; i < map.sizes.size(); ++i)
    strides.push_back(map.sizes[i] > 1 ? map.strides[i] * size_of(map.dtype) : kMapAlignment);
  return strides;
}

}  // namespace tilewright::codegen
