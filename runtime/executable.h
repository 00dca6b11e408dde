// A compiled specialization of a kernel, loaded on one device.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/cubin_cache.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/tensor_map_cache.h"

namespace tilewright::runtime {

/// The value of one parameter as the driver reads it: the pointer of a tensor, or the memory of a
/// scalar in the first bytes.
struct ParamValue {
  uint64_t bits = 0;
};

/// The integer that a scalar parameter's memory holds.
int64_t scalar_integer(uint64_t bits, DType dtype);

/// A parameter of the function, in its order.
struct Parameter {
  DType dtype = DType::f32;
  bool tensor = true;
};

/// A plan with its modules. Immutable: threads may launch it at the same time.
class Executable {
 public:
  /// Loads the plan's kernels on the device; `binaries` has one entry for each kernel step, in
  /// order. Raises the errors of Module.
  Executable(const codegen::Plan& plan,
             std::span<const std::shared_ptr<const CompiledCuda>> binaries,
             std::vector<Parameter> params, int device);

  /// Workspace for these arguments, bytes; each buffer starts at a multiple of 256.
  int64_t workspace_bytes(std::span<const ParamValue> values) const;

  /// Enqueues all steps on the stream, with the device's context current. Allocates nothing on the
  /// device and does not wait; legal in stream capture. `workspace` has at least workspace_bytes
  /// and starts at a multiple of codegen::kWorkspaceAlignment. Raises grid_too_large, cuda_call, or
  /// missing_driver where a kernel needs what the driver does not have.
  void launch(std::span<const ParamValue> values, void* workspace, CUstream_st* stream) const;

  int device() const { return device_; }

 private:
  // A size that is known, or an expression of scalar parameters.
  struct Amount {
    int64_t value = 0;
    codegen::ExprRef expression;  // null when known
  };
  struct KernelLaunch {
    std::string symbol;
    CUfunc_st* function = nullptr;
    LaunchShape shape;
    Amount grid;
    int64_t most_blocks = std::numeric_limits<int32_t>::max();  // of a launch
    std::vector<int> sources;  // index of the parameter, or params + index of the workspace buffer
    std::vector<std::unique_ptr<TensorMapCache>>
        maps;           // by parameter; null: takes the value itself
    size_t mapped = 0;  // parameters that take a map
  };
  struct Fill {
    int source = 0;
    int value = 0;
    Amount bytes;
  };
  struct Step {
    std::optional<KernelLaunch> kernel;  // else a fill
    Fill fill;
  };

  KernelLaunch load(const codegen::KernelStep& step, const CompiledCuda& binary);
  Amount amount(const codegen::ExprRef& expression) const;
  int source_of_buffer(const codegen::Plan& plan, int buffer) const;
  int64_t evaluate(const Amount& amount, std::span<const ParamValue> values) const;
  void run(const KernelLaunch& kernel, std::span<ParamValue> values,
           std::span<const ParamValue> params, CUstream_st* stream) const;

  std::string name_;
  std::vector<Parameter> params_;
  std::vector<std::pair<std::string, int>> scalars_;  // as expressions name them; sources
  int device_ = 0;
  std::vector<Module> modules_;
  std::vector<Step> steps_;
  std::vector<Amount> workspace_;  // bytes of each workspace buffer
};

/// Compiles every kernel step of a plan through the cache, several at the same time; the result
/// fits Executable. Holds null for kernels that `use` did not allow to compile.
std::vector<std::shared_ptr<const CompiledCuda>> compile_plan(
    const codegen::Plan& plan, CubinCache& cache = CubinCache::instance(),
    CacheUse use = CacheUse::keep);

}  // namespace tilewright::runtime
