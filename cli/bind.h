// From arguments on the command line to the arguments of one kernel.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/tensor_memory.h"
#include "tilewright/autotune/kernel_handle.h"

namespace tilewright::cli {

/// The arguments as KernelHandle::compile takes them. Raises argument_count, argument_kind, or
/// argument_syntax for dynamic sizes where they are not `allowed`.
enum class DynamicSizes { refused, allowed };
std::vector<CompileArg> compile_arguments(const KernelHandle& kernel,
                                          const std::vector<Argument>& arguments,
                                          DynamicSizes dynamic = DynamicSizes::refused);

/// A number as a launch takes it, for a parameter that is one.
CallArg scalar_argument(const ParamInfo& param, const ScalarArgument& scalar);

/// The arguments of one launch, with their memory.
class LaunchArguments {
 public:
  /// Makes the tensors on `device`; the same seed gives the same contents. Raises argument_count,
  /// argument_kind, npy_file and the errors of memory.
  LaunchArguments(const KernelHandle& kernel, const std::vector<Argument>& arguments, Device device,
                  uint64_t seed);

  const std::vector<CallArg>& args() const { return args_; }

  struct NamedTensor {
    std::string name;
    TensorMemory tensor;
  };
  const std::deque<NamedTensor>& tensors() const { return tensors_; }

 private:
  std::deque<NamedTensor> tensors_;  // args_ points into it
  std::vector<CallArg> args_;
};

}  // namespace tilewright::cli
