// Memory for a tensor argument, with the contents, strides and alignment that the user asked for.
#pragma once

#include <cstdint>

#include "cli/arguments.h"
#include "tilewright/runtime/array.h"

namespace tilewright::cli {

/// Memory and the tensor in it. The address is a multiple of spec.alignment, and of no more when
/// that is below 16.
struct TensorMemory {
  Array memory;
  TensorView view;
};

/// The contents of the argument's file, or random ones: floats between -1 and 1, integers between
/// -8 and 8 (u8: 0 and 8), bools. The same for the same seed on every machine. Raises npy_file and
/// out-of-memory errors.
TensorMemory make_tensor(const TensorArgument& argument, Device device, uint64_t seed);

/// The elements of a tensor, row-major, on the CPU.
Array elements_of(const TensorView& view);

}  // namespace tilewright::cli
