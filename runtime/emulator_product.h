// The arithmetic and the memory of a warpgroup's products, by the PTX ISA, "Asynchronous
// warpgroup-level matrix instructions".
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tilewright/runtime/emulator_clock.h"

namespace tilewright::runtime {

inline constexpr int kWarpgroup = 128;
inline constexpr int kProductRows = 64;

enum class ProductType : int { bf16, f16, tf32, e4m3, e5m2, s8 };

/// One operand: a matrix descriptor, or registers. The layout is shared with the host prelude.
struct ProductOperand {
  uint64_t descriptor = 0;
  const uint32_t* registers = nullptr;
  int swizzle = 0;  ///< bytes, as the kernel's type says
  int k_first = 1;
};

/// A product as a thread asks for it. The layout is shared with the host prelude.
struct ProductCall {
  void* sums = nullptr;  ///< [2][n / 4] of the calling thread
  int n = 0, k = 0;
  ProductType type_a = ProductType::bf16, type_b = ProductType::bf16;
  int accumulate = 0;
  ProductOperand a, b;
};

/// 16 bytes of an operand in shared memory: elements along k from (mn, k), or along mn.
struct OperandChunk {
  int64_t shared = 0;  ///< bytes from the start of the block's shared memory
  int mn = 0, k = 0;
};

/// Bytes of a row of the operand's pattern, by its descriptor: 128, 64, 32 or 0.
int swizzle_of(uint64_t descriptor);
/// What the hardware does not have about the operand; empty when nothing.
std::string operand_problem(const ProductOperand& operand, ProductType type);
/// All chunks of an operand of `extent` rows or columns and 32 bytes of k.
std::vector<OperandChunk> operand_chunks(const ProductOperand& operand, int extent,
                                         ProductType type);

/// An operand's elements as floats (integers for s8), [mn][k].
using OperandValues = std::vector<float>;
/// From shared memory.
OperandValues operand_values(const std::vector<OperandChunk>& chunks, const ProductOperand& operand,
                             int extent, ProductType type, const std::byte* shared);
/// From the registers of the 128 threads: a only.
OperandValues register_values(const std::array<std::array<uint32_t, 4>, kWarpgroup>& registers,
                              ProductType type);

/// A thread's sums, [2][n / 4] words, plus its part of a product.
void add_product(const ProductCall& call, int thread, const OperandValues& a,
                 const OperandValues& b, std::vector<uint32_t>& sums);

/// Sums of a thread that products in flight work on.
struct SumsInFlight {
  std::byte* at = nullptr;
  std::vector<uint32_t> values = {};
  int group = 0;  ///< the last that works on them
};

/// The products of one warpgroup.
struct Warpgroup {
  struct Lane {
    int issued = 0, committed = 0, done = 0;
    std::vector<int> group_ends = {};  ///< products issued when each group was committed
    std::vector<SumsInFlight> in_flight = {};
    bool fenced = false;  ///< it has executed wgmma_fence
    /// What it wrote of its own memory since then: begins and ends.
    std::vector<std::pair<uintptr_t, uintptr_t>> written = {};
  };
  struct Product {
    ProductCall call;
    uint32_t code = 0;
    int group = 0, arrived = 0;
    std::array<std::array<uint32_t, 4>, kWarpgroup> registers = {};
    std::array<std::byte*, kWarpgroup> sums = {};
    std::array<int, kWarpgroup> accumulate = {};
  };
  std::array<Lane, kWarpgroup> lanes = {};
  std::deque<Product> products = {};  ///< those issued by some, not by all threads
  int executed = 0;                   ///< products that all threads issued
  int agent = -1;
  std::vector<KnowledgeRef> groups = {};  ///< what who waits for a group learns
  std::vector<int> waiting = {};          ///< threads
  int register_count = 0;                 ///< of a thread
  int register_request = 0;
  int register_arrived = 0;
  std::vector<int> register_waiting = {};  ///< threads
};

}  // namespace tilewright::runtime
