// NumPy's .npy files, as far as they hold our element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/ir/type.h"

namespace tilewright::cli {

/// The contents of a .npy file: elements in the order of the file, which is row-major unless
/// `column_major`.
struct NpyArray {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  bool column_major = false;
  std::vector<std::byte> data;

  /// Element strides that address `data` by position.
  std::vector<int64_t> strides() const;
};

/// Reads a file of version 1 to 3 with little-endian f2 f4 f8 i1 i2 i4 i8 u1 or b1 elements.
/// Raises npy_file, saying what is wrong with it.
NpyArray read_npy(const std::string& path);
/// Writes version 1. Of the dtypes that the format lacks, bf16 is written as f4 (exact), f8 types
/// as u1: their bits, for `.view(ml_dtypes.float8_e4m3fn)` and the like. Raises npy_file.
void write_npy(const std::string& path, const NpyArray& array);

}  // namespace tilewright::cli
