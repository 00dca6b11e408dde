#include "tilewright/runtime/emulator_product.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "tilewright/runtime/emulator_tensor_map.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"

namespace tilewright::runtime {
namespace {

constexpr int kOperandBytes = 32;  // along k
constexpr int kChunk = 16;

int bytes_of(ProductType type) {
  return type == ProductType::tf32                               ? 4
         : type == ProductType::bf16 || type == ProductType::f16 ? 2
                                                                 : 1;
}

float value_of(const std::byte* at, ProductType type) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(bytes_of(type)));
  switch (type) {
    case ProductType::bf16:
      return bf16_to_float(static_cast<uint16_t>(bits));
    case ProductType::f16:
      return f16_to_float(static_cast<uint16_t>(bits));
    case ProductType::tf32:
      return std::bit_cast<float>(bits & 0xffffe000);  // the others are not looked at
    case ProductType::e4m3:
      return kF8E4M3Values[bits];
    case ProductType::e5m2:
      return kF8E5M2Values[bits];
    case ProductType::s8:
      return static_cast<int8_t>(bits);
  }
  return 0;
}

int64_t start_of(uint64_t descriptor) { return static_cast<int64_t>(descriptor & 0x3fff) << 4; }
int64_t panel_of(uint64_t descriptor) {
  return static_cast<int64_t>(descriptor >> 16 & 0x3fff) << 4;
}
int64_t group_of(uint64_t descriptor) {
  return static_cast<int64_t>(descriptor >> 32 & 0x3fff) << 4;
}

}  // namespace

int swizzle_of(uint64_t descriptor) {
  constexpr int rows[] = {0, 128, 64, 32};
  return rows[descriptor >> 62];
}

std::string operand_problem(const ProductOperand& operand, ProductType type) {
  const int row = swizzle_of(operand.descriptor);
  if (row == 0) return "a matrix without a swizzle";
  if (row != operand.swizzle)
    return fmt::format("a swizzle of {} bytes, its type says {}", row, operand.swizzle);
  if (operand.k_first == 0 && bytes_of(type) != 2)
    return "rows along m or n, which only 16-bit types may have";
  if (start_of(operand.descriptor) % (8 * row) >= row)
    return fmt::format("byte {} of shared memory is not in the first row of a pattern of {} bytes",
                       start_of(operand.descriptor), 8 * row);
  return {};
}

std::vector<OperandChunk> operand_chunks(const ProductOperand& operand, int extent,
                                         ProductType type) {
  const int row = swizzle_of(operand.descriptor), element = bytes_of(type);
  const int64_t start = start_of(operand.descriptor), panel = panel_of(operand.descriptor),
                group = group_of(operand.descriptor);
  std::vector<OperandChunk> chunks;
  if (operand.k_first != 0) {
    for (int mn = 0; mn < extent; ++mn)
      for (int byte = 0; byte < kOperandBytes; byte += kChunk)
        chunks.push_back(
            {swizzled(start + mn / 8 * group + mn % 8 * row + byte, row), mn, byte / element});
    return chunks;
  }
  for (int k = 0; k < kOperandBytes / element; ++k)
    for (int mn = 0; mn < extent; mn += kChunk / element) {
      const int byte = mn * element;
      const int64_t at = start + byte / row * panel + k / 8 * group + k % 8 * row + byte % row;
      chunks.push_back({swizzled(at, row), mn, k});
    }
  return chunks;
}

OperandValues operand_values(const std::vector<OperandChunk>& chunks, const ProductOperand& operand,
                             int extent, ProductType type, const std::byte* shared) {
  const int element = bytes_of(type), k = kOperandBytes / element;
  OperandValues values(static_cast<size_t>(extent * k));
  for (const OperandChunk& chunk : chunks)
    for (int i = 0; i < kChunk / element; ++i) {
      const int row = chunk.mn + (operand.k_first != 0 ? 0 : i);
      const int column = chunk.k + (operand.k_first != 0 ? i : 0);
      if (row < extent)
        values[static_cast<size_t>(row * k + column)] =
            value_of(shared + chunk.shared + i * element, type);
    }
  return values;
}

OperandValues register_values(const std::array<std::array<uint32_t, 4>, kWarpgroup>& registers,
                              ProductType type) {
  const int element = bytes_of(type), k = kOperandBytes / element;
  OperandValues values(static_cast<size_t>(kProductRows * k));
  for (int thread = 0; thread < kWarpgroup; ++thread)
    for (int word = 0; word < 4; ++word)
      for (int i = 0; i < 4 / element; ++i) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + word % 2 * 8;
        const int byte = word / 2 * 16 + thread % 4 * 4 + i * element;
        const auto* bytes = reinterpret_cast<const std::byte*>(
            &registers[static_cast<size_t>(thread)][static_cast<size_t>(word)]);
        values[static_cast<size_t>(row * k + byte / element)] = value_of(bytes + i * element, type);
      }
  return values;
}

void add_product(const ProductCall& call, int thread, const OperandValues& a,
                 const OperandValues& b, std::vector<uint32_t>& sums) {
  const int k = call.k;
  for (int half = 0; half < 2; ++half) {
    const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * half;
    const float* x = &a[static_cast<size_t>(row * k)];
    for (int i = 0; i < call.n / 4; ++i) {
      const int column = i / 2 * 8 + 2 * (thread % 4) + i % 2;
      const float* y = &b[static_cast<size_t>(column * k)];
      uint32_t& word = sums[static_cast<size_t>(half * (call.n / 4) + i)];
      if (call.type_b == ProductType::s8) {
        for (int at = 0; at < k; ++at)
          word += static_cast<uint32_t>(static_cast<int>(x[at]) * static_cast<int>(y[at]));
        continue;
      }
      // Products of these types are exact in f32. The hardware promises no order of the sums.
      float sum = std::bit_cast<float>(word);
      for (int at = 0; at < k; ++at) sum += x[at] * y[at];
      word = std::bit_cast<uint32_t>(sum);
    }
  }
}

}  // namespace tilewright::runtime
