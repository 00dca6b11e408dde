// Which tensors bulk copies by tensor map can read, and which maps the hardware takes: the rules of
// cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map Object Management"), checked before anything
// is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/type.h"

namespace tilewright::codegen {

/// Bytes that addresses and strides of mapped tensors are multiples of.
inline constexpr int kMapAlignment = 16;

/// The dimension a tensor map of this tensor lists first, the one whose elements are neighbours;
/// none when bulk copies cannot read the tensor: all other strides must be positive multiples of 16
/// bytes (those of dimensions of size 1 do not matter), the base aligned to 16 bytes, the rank 1 to
/// 5 and every size 1 to 2^32.
std::optional<int> mapped_dimension(const TensorSpec& tensor);
/// Whether bulk copies can read or write the tensor at all.
bool takes_tensor_map(const TensorSpec& tensor);

/// Raises config_tensor_map, naming `tensor`, the need and what was found, unless the hardware
/// takes the map for a tensor whose base is a multiple of `alignment` bytes.
void check_tensor_map(const TensorMapSpec& map, std::string_view tensor = "a tensor",
                      int alignment = kMapAlignment);

/// The map for a tensor whose dynamic dimension has this size. Maps have no empty dimensions: one
/// position, which nothing is copied from, stands for none.
TensorMapSpec map_of_size(TensorMapSpec map, int64_t size);

/// What cuTensorMapEncodeTiled calls globalStrides: bytes from one element to the next along every
/// dimension but the first. A dimension of size 1, whose stride is never used, gets a legal one.
std::vector<int64_t> map_strides(const TensorMapSpec& map);

}  // namespace tilewright::codegen
