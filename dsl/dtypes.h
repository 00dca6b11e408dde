// Short names of the element types, and the element type of a C++ type.
#pragma once

#include <type_traits>

#include "tilewright/ir/type.h"

namespace tilewright {

inline constexpr DType boolean = DType::boolean;
inline constexpr DType i8 = DType::i8;
inline constexpr DType u8 = DType::u8;
inline constexpr DType i16 = DType::i16;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType f8e4m3 = DType::f8e4m3;
inline constexpr DType f8e5m2 = DType::f8e5m2;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;

/// The C++ types that have an element type: bool, float, double, 8 to 64 bit signed integers and
/// unsigned char. Narrower floats have none; a run-time scalar of one is passed as float and cast.
template <class T>
concept Element = std::is_same_v<T, bool> || std::is_same_v<T, float> ||
    std::is_same_v<T, double> ||(std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) == 1));

/// The element type of a C++ type.
template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_unsigned_v<T>) return DType::u8;
  if constexpr (sizeof(T) == 1) return DType::i8;
  if constexpr (sizeof(T) == 2) return DType::i16;
  if constexpr (sizeof(T) == 4) return DType::i32;
  return DType::i64;
}

}  // namespace tilewright
