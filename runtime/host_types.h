// How host functions (ir/host_function.h) see the elements of tiles.
#pragma once

#include <cstdint>
#include <variant>

#include "tilewright/runtime/numeric.h"

namespace tilewright::numeric {

/// Room for one element as a host function reads or writes it.
union HostElement {
  int8_t i8;
  uint8_t u8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
};

/// A stored element as a host function reads it.
HostElement to_host_element(DType dtype, const Element& x);
/// What a host function wrote, as an element; rounded where the dtype is narrower than float.
Element from_host_element(DType dtype, const HostElement& x);

}  // namespace tilewright::numeric
