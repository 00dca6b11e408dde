// The calls of the examples' kernels that device_bench measures: shapes, contents, what each
// should reach, and how its results are checked. Needs no GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/device_kernels.h"
#include "bench/gemm_configs.h"
#include "tilewright/autotune/kernel_handle.h"

namespace tilewright::bench {

/// What is passed for a parameter: a tensor, or a number.
struct RowInput {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes = {};
  int axis = -1;                         ///< along which samples are cut; -1: they have all of it
  bool transposed = false;               ///< stored with the last two dimensions swapped
  std::function<Array()> contents = {};  ///< on the CPU; empty: normally distributed ones
  std::optional<CallArg> number = {};    ///< no tensor
};

/// A tensor that the kernel makes.
struct RowOutput {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes = {};
  int axis = 0;  ///< along which samples are cut; -1: samples do not show it
};

/// Part of a call that the interpreter can do again: its tensors on the CPU, and where the GPU's
/// results are.
struct RowSample {
  std::vector<Array> tensors = {};
  std::vector<TensorView> results = {};  ///< of each result; without memory: not compared
  std::optional<CallArg> number = {};    ///< in place of the row's number
};

/// Tensors and results of a call on the GPU.
struct RowMemory {
  std::vector<TensorView> tensors = {}, results = {};
};

struct ExampleRow {
  std::string name;  ///< "softmax bf16 8192x1024": unique
  const KernelHandle* kernel = nullptr;
  std::vector<RowInput> inputs = {};
  std::vector<RowOutput> outputs = {};
  double want = 0;                          ///< the copy's time over ours, at least
  int64_t bytes = 0;                        ///< read and written; 0: every tensor once
  double operations = 0;                    ///< of products; 0: its rate is one of bytes
  double relative = 1e-5, absolute = 1e-5;  ///< error allowed in a result
  int64_t sample = 1;                       ///< positions in a sample, along the axes
  int in_place = -1;                        ///< the tensor that is changed, in place of results
  std::function<std::vector<RowSample>(const RowMemory&)> samples = {};  ///< else cut along axes
  /// What samples do not show.
  std::function<Verdict(const RowMemory&, const DeviceKernels&)> rest = {};

  int64_t moved_bytes() const;
  /// What is compiled for: arguments and results.
  std::vector<CompileArg> compile_args() const;
  std::vector<TensorSpec> result_specs() const;
};

/// The whole table, in the order in which it is printed.
const std::vector<ExampleRow>& example_rows();
/// The row of that name, or null.
const ExampleRow* find_example_row(std::string_view name);

/// The best configs known by hand.
const std::vector<ConfigEntry>& example_configs();

/// The samples of a call: the row's own, or those cut along the axes at the beginning, in the
/// middle and at the end.
std::vector<RowSample> samples_of(const ExampleRow& row, const RowMemory& memory);

}  // namespace tilewright::bench
