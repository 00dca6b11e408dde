#include "tilewright/runtime/host_types.h"

namespace tilewright::numeric {

HostElement to_host_element(DType dtype, const Element& x) {
  HostElement made{};
  if (const auto* single = std::get_if<float>(&x)) made.f32 = *single;
  if (const auto* real = std::get_if<double>(&x)) made.f64 = *real;
  const auto* integer = std::get_if<int64_t>(&x);
  if (integer == nullptr) return made;
  switch (dtype) {
    case DType::i8:
      made.i8 = static_cast<int8_t>(*integer);
      break;
    case DType::boolean:
    case DType::u8:
      made.u8 = static_cast<uint8_t>(*integer);
      break;
    case DType::i16:
      made.i16 = static_cast<int16_t>(*integer);
      break;
    case DType::i32:
      made.i32 = static_cast<int32_t>(*integer);
      break;
    default:
      made.i64 = *integer;
  }
  return made;
}

Element from_host_element(DType dtype, const HostElement& x) {
  switch (dtype) {
    case DType::i8:
      return int64_t{x.i8};
    case DType::boolean:
    case DType::u8:
      return int64_t{x.u8};
    case DType::i16:
      return int64_t{x.i16};
    case DType::i32:
      return int64_t{x.i32};
    case DType::i64:
      return x.i64;
    case DType::f64:
      return x.f64;
    default:
      return convert(dtype, DType::f32, x.f32);
  }
}

}  // namespace tilewright::numeric
