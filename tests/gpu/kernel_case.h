// Runs a kernel on the CPU interpreter and on a GPU on the same operands, placed among sentinels.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace tilewright::testing {

/// A tensor to be placed in a buffer of its own, `offset` elements after a 16-byte boundary.
struct Operand {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides = {};  ///< empty: row-major
  int64_t offset = 0;
};

/// A kernel with its arguments: tensors in order, run-time scalars where `scalars` says.
struct KernelCase {
  KernelHandle kernel;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;             ///< what `.out` gets; in order
  std::vector<float> leading_scalars = {};  ///< f32 run-time scalars before the tensors
  Config config;
  bool use_default_config = false;
  int ulps = 0;         ///< allowed distance in units of the last place of the output dtype
  double absolute = 0;  ///< or this much
};

/// Buffers of one case on one device: every input holds the same random normal numbers (small
/// integers for integer types), every byte outside a tensor and every output is poison.
class PlacedOperands {
 public:
  PlacedOperands(const KernelCase& test, Device device, uint32_t seed = 1);

  std::vector<TensorView> inputs, outputs;
  /// The bytes of every buffer, inputs first, copied to the host.
  std::vector<std::vector<uint8_t>> bytes() const;

 private:
  void place(const Operand& operand, bool fill, uint32_t seed, std::vector<TensorView>& views);

  Device device_;
  std::vector<Array> buffers_;
};

/// Launches the kernel of `test` on `device` with its operands.
void launch_case(const KernelCase& test, const PlacedOperands& operands);

/// Runs on both and compares every byte of every buffer: elements of written tensors within the
/// tolerance, all else exactly.
void expect_gpu_matches_interpreter(const KernelCase& test);

/// The value of an element in memory as a double.
double element_as_double(const uint8_t* bytes, DType dtype);

}  // namespace tilewright::testing
