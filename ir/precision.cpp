#include "tilewright/ir/precision.h"

#include <iterator>

#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

constexpr std::string_view kNames[] = {"ieee", "tf32", "tf32x3", "two_level"};

}  // namespace

std::string_view to_string(DotPrecision precision) { return kNames[static_cast<int>(precision)]; }

std::optional<DotPrecision> find_precision(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<DotPrecision>(i);
  return std::nullopt;
}

namespace ir {

bool takes_precision(DotPrecision precision, DType a, DType b) {
  switch (precision) {
    case DotPrecision::ieee:
      return true;
    case DotPrecision::tf32:
    case DotPrecision::tf32x3:
      return a == DType::f32 && b == DType::f32;
    case DotPrecision::two_level:
      return is_f8(a) && is_f8(b);
  }
  return false;
}

DotPrecision precision_of(const Op& dot) {
  const Attr* name = dot.find(AttrKey::precision);
  if (name == nullptr) return DotPrecision::ieee;
  const auto precision = find_precision(std::get<std::string>(*name));
  internal_check(precision.has_value(), "a dot has an unknown precision");
  return *precision;
}

}  // namespace ir
}  // namespace tilewright
