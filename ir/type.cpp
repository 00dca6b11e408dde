#include "tilewright/ir/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilewright {
namespace {

struct DTypeInfo {
  std::string_view name;
  int size;
  int float_digits;  // 0: not a float
  bool integer;
};

constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"bool", 1, 0, false}, {"i8", 1, 0, true},    {"u8", 1, 0, true},      {"i16", 2, 0, true},
    {"i32", 4, 0, true},   {"i64", 8, 0, true},   {"f8e4m3", 1, 4, false}, {"f8e5m2", 1, 3, false},
    {"f16", 2, 11, false}, {"bf16", 2, 8, false}, {"f32", 4, 24, false},   {"f64", 8, 53, false}};

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }

}  // namespace

std::string_view to_string(DType dtype) { return info(dtype).name; }

bool parse_dtype(std::string_view text, DType& out) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].name != text) continue;
    out = static_cast<DType>(i);
    return true;
  }
  return false;
}

int size_of(DType dtype) { return info(dtype).size; }
bool is_float(DType dtype) { return info(dtype).float_digits > 0; }
bool is_half(DType dtype) { return is_float(dtype) && info(dtype).size == 2; }
bool is_f8(DType dtype) { return is_float(dtype) && info(dtype).size == 1; }
bool is_narrow_float(DType dtype) { return is_float(dtype) && info(dtype).size < 4; }
bool is_integer(DType dtype) { return info(dtype).integer; }
int float_digits(DType dtype) { return info(dtype).float_digits; }

int64_t TensorSpec::elements() const {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

int64_t TensorSpec::span() const {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

TensorSpec contiguous_spec(DType dtype, std::vector<int64_t> sizes, int alignment) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return {dtype, std::move(sizes), std::move(strides), alignment};
}

TensorSpec dynamic_spec(DType dtype, std::vector<int64_t> sizes, int alignment) {
  TensorSpec spec = contiguous_spec(dtype, std::move(sizes), alignment);
  spec.dynamic = !spec.sizes.empty();
  return spec;
}

TensorSpec without_limit(TensorSpec spec) {
  if (spec.dynamic) spec.sizes[0] = kMostDynamic;
  return spec;
}

std::string to_string(const TensorSpec& spec) {
  std::string sizes = fmt::format("{}", fmt::join(spec.sizes, ","));
  if (spec.dynamic && spec.sizes[0] == kMostDynamic)
    sizes = fmt::format("{}", fmt::join(spec.sizes.begin() + 1, spec.sizes.end(), ","));
  if (spec.dynamic) sizes = (spec.sizes[0] < kMostDynamic || spec.rank() == 1 ? "?" : "?,") + sizes;
  std::string text = fmt::format("{}[{}]", to_string(spec.dtype), sizes);
  if (spec.strides != contiguous_spec(spec.dtype, spec.sizes).strides)
    text += fmt::format(":[{}]", fmt::join(spec.strides, ","));
  if (spec.alignment != 16) text += fmt::format("@{}", spec.alignment);
  return text;
}

namespace ir {

std::string to_string(const Dim& dim) {
  return dim.is_block() ? fmt::format("B{}", dim.axis) : fmt::format("{}", dim.extent);
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + to_string(shape[i]);
  return text + "]";
}

std::string to_string(const Type& type) {
  const std::string tile =
      std::string(to_string(type.dtype)) + (type.shape.empty() ? "" : to_string(type.shape));
  switch (type.kind) {
    case Type::Kind::value:
      return tile;
    case Type::Kind::tensor:
      return fmt::format("tensor<{},{}>", to_string(type.dtype), type.rank);
    case Type::Kind::slice:
      return fmt::format("slice<{}>", to_string(type.shape.at(0)));
    case Type::Kind::ring:
      return fmt::format("ring<{},{}>", tile, type.stages);
    case Type::Kind::shared:
      return fmt::format("shared<{}>", tile);
  }
  return "?";
}

}  // namespace ir
}  // namespace tilewright
