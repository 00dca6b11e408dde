// Memory that Tilewright owns.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tilewright/ir/type.h"
#include "tilewright/runtime/device.h"
#include "tilewright/runtime/stream.h"
#include "tilewright/runtime/view.h"

namespace tilewright {

/// How device memory is got and given back. Both run with the device's context current; allocate
/// must give memory aligned to 16 bytes or throw.
struct DeviceAllocator {
  std::function<void*(int device, int64_t bytes)> allocate;
  std::function<void(int device, void* pointer, int64_t bytes)> release;
};

/// Replaces the allocator of device memory for arrays made from now on (a caching one, a
/// framework's); an empty one restores the driver's. Arrays keep the allocator they came from.
/// Thread-safe.
void set_device_allocator(DeviceAllocator allocator);

namespace runtime {

/// The element type with the memory of a C++ type; half types travel as uint16_t and match either,
/// f8 types likewise as uint8_t.
template <class T>
constexpr bool is_element_of(DType dtype) {
  if constexpr (std::is_same_v<T, uint16_t>) return dtype == DType::f16 || dtype == DType::bf16;
  if constexpr (std::is_same_v<T, bool>) return dtype == DType::boolean;
  if constexpr (std::is_same_v<T, float>) return dtype == DType::f32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::f64;
  if constexpr (std::is_same_v<T, uint8_t>)
    return dtype == DType::u8 || dtype == DType::boolean || dtype == DType::f8e4m3 ||
           dtype == DType::f8e5m2;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return (sizeof(T) == 1 && dtype == DType::i8) || (sizeof(T) == 2 && dtype == DType::i16) ||
           (sizeof(T) == 4 && dtype == DType::i32) || (sizeof(T) == 8 && dtype == DType::i64);
  return false;
}

template <class T>
constexpr DType element_dtype() {
  for (int i = 0; i < kDTypeCount; ++i)
    if (is_element_of<T>(static_cast<DType>(i)) &&
        (!std::is_same_v<T, uint8_t> || static_cast<DType>(i) == DType::u8))
      return static_cast<DType>(i);
  throw "no element type has this C++ type";  // not reached: a compile-time error
}

}  // namespace runtime

/// A row-major tensor in memory of its own, on the host or a device. Move-only; clone() copies.
class Array {
 public:
  /// No memory: f32[0] on the CPU.
  Array();
  /// Uninitialised memory. Raises view_rank, view_size, host_out_of_memory, device_out_of_memory,
  /// or an error that says why the device cannot be used.
  Array(Device device, std::vector<int64_t> sizes, DType dtype);
  Array(Array&& other) noexcept;  ///< leaves `other` as Array() makes it
  Array& operator=(Array&& other) noexcept;

  static Array zeros(Device device, std::vector<int64_t> sizes, DType dtype);
  /// A copy of row-major host data. Raises array_length when `data` has not one value per element.
  template <class T>
  static Array from_host(std::span<const T> data, std::vector<int64_t> sizes,
                         Device device = default_device()) {
    return from_bytes(data.data(), data.size(), std::move(sizes), runtime::element_dtype<T>(),
                      device);
  }
  template <class T>
  static Array from_host(const std::vector<T>& data, std::vector<int64_t> sizes,
                         Device device = default_device()) {
    return from_host(std::span<const T>(data), std::move(sizes), device);
  }
  /// The same from raw memory of `count` elements of any dtype (bits of f8 and half types, say).
  static Array from_bytes(const void* data, size_t count, std::vector<int64_t> sizes, DType dtype,
                          Device device = default_device());
  /// A row-major copy of any view, on `device`.
  static Array copy_of(const TensorView& view, Device device);

  /// A copy on the CPU. Without a stream, waits for all work of the device; with one, only for that
  /// stream.
  Array to_host() const;
  Array to_host(const Stream& stream) const;
  Array to(Device device) const { return copy_of(*this, device); }
  Array clone() const { return copy_of(*this, device()); }

  /// The elements of a host array. Raises array_not_on_host or array_dtype.
  template <class T>
  std::span<T> values() {
    check_access(runtime::is_element_of<T>(dtype()));
    return {static_cast<T*>(data()), static_cast<size_t>(elements())};
  }
  template <class T>
  std::span<const T> values() const {
    check_access(runtime::is_element_of<T>(dtype()));
    return {static_cast<const T*>(data()), static_cast<size_t>(elements())};
  }
  /// Element `i`, row-major, of a host array of any dtype, as a double.
  double value(int64_t i) const;

  void* data() const { return view_.data(); }
  DType dtype() const { return view_.dtype(); }
  Device device() const { return view_.device(); }
  int rank() const { return view_.rank(); }
  int64_t size(int dim) const { return view_.size(dim); }
  std::span<const int64_t> sizes() const { return view_.sizes(); }
  int64_t elements() const { return view_.elements(); }
  int64_t bytes() const { return elements() * size_of(dtype()); }
  TensorSpec spec() const { return view_.spec(); }

  const TensorView& view() const { return view_; }
  operator const TensorView&() const { return view_; }
  TensorView t() const { return view_.t(); }
  TensorView slice(int dim, int64_t begin, int64_t end) const {
    return view_.slice(dim, begin, end);
  }

 private:
  void check_access(bool matches) const;

  std::shared_ptr<void> memory_;
  TensorView view_;
};

/// "f32[2,2] on cpu" and its elements, the middle of long dimensions left out. Copies to the host
/// when needed.
std::string to_string(const Array& array);

}  // namespace tilewright

template <>
struct fmt::formatter<tilewright::Array> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const tilewright::Array& array, Context& context) const {
    return fmt::formatter<std::string>::format(tilewright::to_string(array), context);
  }
};
