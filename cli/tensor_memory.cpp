#include "cli/tensor_memory.h"

#include <cstring>
#include <random>
#include <vector>

#include "cli/npy.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"

namespace tilewright::cli {
namespace {

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(&bytes[at], &value, sizeof value);
}

void append_float(std::vector<std::byte>& bytes, DType dtype, double value) {
  if (dtype == DType::f8e4m3) return append(bytes, f8e4m3_from_double(value));
  if (dtype == DType::f8e5m2) return append(bytes, f8e5m2_from_double(value));
  if (dtype == DType::f16) return append(bytes, f16_from_double(value));
  if (dtype == DType::bf16) return append(bytes, bf16_from_double(value));
  if (dtype == DType::f32) return append(bytes, static_cast<float>(value));
  append(bytes, value);
}

// An integer of either sign in its low bytes, which is what smaller types hold (little-endian).
void append_integer(std::vector<std::byte>& bytes, DType dtype, int64_t value) {
  const size_t at = bytes.size();
  bytes.resize(at + size_of(dtype));
  std::memcpy(&bytes[at], &value, size_of(dtype));
}

// The engine's bits are the same everywhere; the standard's distributions are not.
void append_random(std::vector<std::byte>& bytes, DType dtype, std::mt19937_64& engine) {
  const uint64_t bits = engine();
  if (is_float(dtype))
    return append_float(bytes, dtype, static_cast<double>(bits >> 11) * 0x1p-52 - 1);
  if (dtype == DType::boolean) return append_integer(bytes, dtype, static_cast<int64_t>(bits & 1));
  if (dtype == DType::u8) return append_integer(bytes, dtype, static_cast<int64_t>(bits % 9));
  append_integer(bytes, dtype, static_cast<int64_t>(bits % 17) - 8);
}

}  // namespace

TensorMemory make_tensor(const TensorArgument& argument, Device device, uint64_t seed) {
  const TensorSpec& spec = argument.spec;
  // Arrays are aligned to 16 bytes or more, so this offset has exactly the alignment asked for.
  std::vector<std::byte> bytes(spec.alignment < 16 ? spec.alignment : 0);
  const size_t offset = bytes.size();
  if (argument.path.empty()) {
    std::mt19937_64 engine(seed);
    bytes.reserve(offset + spec.span() * size_of(spec.dtype));
    for (int64_t i = 0; i < spec.span(); ++i) append_random(bytes, spec.dtype, engine);
  } else {
    const NpyArray file = read_npy(argument.path);
    bytes.insert(bytes.end(), file.data.begin(), file.data.end());
  }
  Array memory = Array::from_bytes(bytes.data(), bytes.size(), {static_cast<int64_t>(bytes.size())},
                                   DType::u8, device);
  void* data = bytes.empty() ? nullptr : static_cast<std::byte*>(memory.data()) + offset;
  return {std::move(memory), TensorView(data, spec.dtype, spec.sizes, spec.strides, device)};
}

Array elements_of(const TensorView& view) { return Array::copy_of(view, Device::cpu()); }

}  // namespace tilewright::cli
