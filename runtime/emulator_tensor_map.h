// The boxes that bulk copies move, by the PTX ISA, "Tensor-copies".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::runtime {

/// Bytes of shared memory that one copy of the map moves.
int64_t box_bytes(const codegen::TensorMapSpec& map);

/// What is wrong with a copy between the map's box at the coordinates `at` and shared memory at
/// `shared`, bytes from its start; empty when nothing is.
std::string bulk_copy_problem(const codegen::TensorMapSpec& map, std::span<const int> at,
                              int64_t shared);

/// 16 bytes of a box, contiguous on both sides.
struct BoxPiece {
  int64_t shared = 0;  ///< bytes from the start of the block's shared memory
  int64_t tensor = 0;  ///< bytes from the tensor's first element; may be outside of it
  int bytes = 0;
  int before = 0;  ///< of them, how many are before the tensor's begin
  int inside = 0;  ///< and how many after these belong to it
};

/// Calls `visit` for every piece of the box at the coordinates `at`, whose first byte of shared
/// memory is `shared`.
void for_each_piece(const codegen::TensorMapSpec& map, std::span<const int> at, int64_t shared,
                    const std::function<void(const BoxPiece&)>& visit);

/// Where byte `at` of shared memory is under a swizzle of rows of that many bytes (0: itself).
constexpr int64_t swizzled(int64_t at, int swizzle) {
  const int64_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
  return at ^ ((at >> 7 & mask) << 4);
}

}  // namespace tilewright::runtime
