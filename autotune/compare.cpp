#include "tilewright/autotune/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tilewright/ir/precision.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kPeriod = 1'048'573;   // a prime
constexpr int64_t kPerThread = 1 << 20;  // elements worth a thread of their own

template <class T>
T read(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + i * int64_t{sizeof(T)}, sizeof value);
  return value;
}

// The distance from 1 to the next number.
double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f8e5m2:
      return 0x1p-2;
    case DType::f8e4m3:
      return 0x1p-3;
    case DType::bf16:
      return 0x1p-7;
    case DType::f16:
      return 0x1p-10;
    case DType::f32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

void write_float(DType dtype, std::byte* to, double value) {
  const auto put = [&](auto bits) { std::memcpy(to, &bits, sizeof bits); };
  switch (dtype) {
    case DType::f8e4m3:
      return put(f8e4m3_from_double(value));
    case DType::f8e5m2:
      return put(f8e5m2_from_double(value));
    case DType::f16:
      return put(f16_from_double(value));
    case DType::bf16:
      return put(bf16_from_double(value));
    case DType::f32:
      return put(static_cast<float>(value));
    default:
      return put(value);
  }
}

// What some elements show; `largest` is the magnitude that errors are measured against.
Difference compare_part(DType dtype, const void* result, const void* expected, int64_t begin,
                        int64_t end, const Tolerance& tolerance, double largest) {
  Difference difference;
  const double epsilon = epsilon_of(dtype);
  const auto size = static_cast<size_t>(size_of(dtype));
  const auto at = [&](const void* data, int64_t i) {
    return static_cast<const std::byte*>(data) + static_cast<size_t>(i) * size;
  };
  for (int64_t i = begin; i < end; ++i) {
    if (std::memcmp(at(result, i), at(expected, i), size) == 0) continue;
    const double found = element_value(dtype, result, i),
                 wanted = element_value(dtype, expected, i);
    const bool same_float =
        is_float(dtype) && (found == wanted || (std::isnan(found) && std::isnan(wanted)));
    if (same_float) continue;
    const double allowed = is_float(dtype) ? tolerance.ulps * epsilon * std::abs(wanted) +
                                                 tolerance.of_largest * largest
                                           : 0;
    if (is_float(dtype) && std::abs(found - wanted) <= allowed) continue;
    if (difference.wrong++ == 0) {
      difference.where = i;
      difference.found = found;
      difference.expected = wanted;
      difference.allowed = allowed;
    }
  }
  return difference;
}

// Calls part(begin, end) for ranges that cover 0 .. count, in threads where that pays.
template <class Part>
auto in_parts(int64_t count, const Part& part) {
  using Result = decltype(part(int64_t{}, int64_t{}));
  const int64_t most = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t parts = std::clamp<int64_t>(count / kPerThread, 1, std::min<int64_t>(most, 16));
  std::vector<Result> results(static_cast<size_t>(parts));
  const auto run = [&](int64_t i) {
    results[static_cast<size_t>(i)] = part(count * i / parts, count * (i + 1) / parts);
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < parts; ++i) threads.emplace_back(run, i);
  run(0);
  for (std::thread& thread : threads) thread.join();
  return results;
}

double largest_of(DType dtype, const void* data, int64_t count) {
  double largest = 0;
  for (const double part : in_parts(count, [&](int64_t begin, int64_t end) {
         double most = 0;
         for (int64_t i = begin; i < end; ++i) {
           const double value = std::abs(element_value(dtype, data, i));
           if (std::isfinite(value)) most = std::max(most, value);
         }
         return most;
       }))
    largest = std::max(largest, part);
  return largest;
}

bool has_f8(const ir::Op& op) {
  for (const ir::Value* operand : op.operands) {
    const DType dtype = operand->type.dtype;
    if (dtype == DType::f8e4m3 || dtype == DType::f8e5m2) return true;
  }
  return false;
}

}  // namespace

Tolerance tolerance_of(const ir::Function& fn) {
  Tolerance tolerance;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.kind != ir::OpKind::dot) return;
    // Sums of f8 products in the hardware keep about 14 bits; f32 operands may have 11.
    if (has_f8(op) && ir::precision_of(op) != DotPrecision::two_level)
      tolerance.of_largest = std::max(tolerance.of_largest, 0x1p-10);
    if (ir::precision_of(op) == DotPrecision::tf32)
      tolerance.of_largest = std::max(tolerance.of_largest, 0x1p-9);
  });
  return tolerance;
}

double element_value(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return read<uint8_t>(data, i);
    case DType::i8:
      return read<int8_t>(data, i);
    case DType::i16:
      return read<int16_t>(data, i);
    case DType::i32:
      return read<int32_t>(data, i);
    case DType::i64:
      return static_cast<double>(read<int64_t>(data, i));
    case DType::f8e4m3:
      return double{f8e4m3_to_float(read<uint8_t>(data, i))};
    case DType::f8e5m2:
      return double{f8e5m2_to_float(read<uint8_t>(data, i))};
    case DType::f16:
      return double{f16_to_float(read<uint16_t>(data, i))};
    case DType::bf16:
      return double{bf16_to_float(read<uint16_t>(data, i))};
    case DType::f32:
      return double{read<float>(data, i)};
    default:
      return read<double>(data, i);
  }
}

Difference compare(DType dtype, const void* result, const void* expected, int64_t count,
                   const Tolerance& tolerance) {
  // Most configs sum in the same order, and leave the same bits.
  const size_t bytes = static_cast<size_t>(count) * static_cast<size_t>(size_of(dtype));
  if (bytes == 0 || std::memcmp(result, expected, bytes) == 0) return {};
  const double largest = largest_of(dtype, expected, count);
  Difference all;
  for (const Difference& part : in_parts(count, [&](int64_t begin, int64_t end) {
         return compare_part(dtype, result, expected, begin, end, tolerance, largest);
       })) {
    const int64_t before = all.wrong;
    if (before == 0 && part.wrong > 0) all = part;
    all.wrong = before + part.wrong;
  }
  return all;
}

void fill_poison(DType dtype, void* data, int64_t bytes) {
  std::memset(data, is_float(dtype) ? 0xff : 0xa5, static_cast<size_t>(bytes));
}

void fill_random(DType dtype, void* data, int64_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  auto* bytes = static_cast<std::byte*>(data);
  const int64_t size = size_of(dtype), period = std::min(count, kPeriod);
  for (int64_t i = 0; i < period; ++i) {
    const uint64_t bits = engine();
    std::byte* const to = bytes + i * size;
    if (is_float(dtype)) {
      write_float(dtype, to, static_cast<double>(bits >> 11) * 0x1p-52 - 1);
      continue;
    }
    const int64_t value = dtype == DType::boolean ? static_cast<int64_t>(bits & 1)
                          : dtype == DType::u8    ? static_cast<int64_t>(bits % 9)
                                                  : static_cast<int64_t>(bits % 17) - 8;
    std::memcpy(to, &value, static_cast<size_t>(size));  // little-endian
  }
  for (int64_t done = period; done < count; done += period)
    std::memcpy(bytes + done * size, bytes,
                static_cast<size_t>(std::min(period, count - done) * size));
}

}  // namespace tilewright::tune
