#include "cli/compare.h"

#include <cmath>

namespace tilewright::cli {
namespace {

// The distance of two elements; 0 for equal ones, infinities and NaNs included.
double distance(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  return std::abs(x - y);
}

double largest_magnitude(const Array& array) {
  double largest = 0;
  for (int64_t i = 0; i < array.elements(); ++i)
    if (const double x = std::abs(array.value(i)); std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

// The smallest number that a narrow type holds in full precision; 0 for the others, whose is tiny.
double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3:
      return 0x1p-6;
    case DType::f8e5m2:
    case DType::f16:
      return 0x1p-14;
    default:
      return 0;
  }
}

}  // namespace

Comparison compare(const Array& result, const Array& reference) {
  const DType dtype = reference.dtype();
  const double ulp = is_float(dtype) ? std::ldexp(1.0, 1 - float_digits(dtype)) : 0;
  const double accumulator = dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
  const double common = is_float(dtype) ? 64 * accumulator * largest_magnitude(reference) : 0;
  Comparison found;
  for (int64_t i = 0; i < reference.elements(); ++i) {
    const double expected = reference.value(i);
    const double error = distance(result.value(i), expected);
    const double magnitude = std::isfinite(expected) ? std::abs(expected) : 0;
    const double allowed = 4 * ulp * std::max(magnitude, smallest_normal(dtype)) + common;
    if (!(error <= allowed)) ++found.different;
    if (found.where < 0 || !(error <= found.largest)) found = {found.different, error, allowed, i};
  }
  return found;
}

}  // namespace tilewright::cli
