// Kernels known by name, for programs that find them at run time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tilewright/autotune/kernel_handle.h"

namespace tilewright {

/// Makes a kernel known under its name. Several kernels may share a name (two libraries with one
/// header) as long as they are the same; find_kernel checks that. Thread-safe.
void register_kernel(const KernelHandle& kernel);

/// `static const tw::RegisterKernel registered{my_kernel};` registers when the program or library
/// that holds it is loaded, and forgets the kernel when it is unloaded.
class RegisterKernel {
 public:
  explicit RegisterKernel(const KernelHandle& kernel);
  ~RegisterKernel();
  RegisterKernel(const RegisterKernel&) = delete;
  RegisterKernel& operator=(const RegisterKernel&) = delete;

 private:
  KernelHandle kernel_;
};

/// All registered kernels, in the order of their names.
std::vector<KernelHandle> registered_kernels();

/// The kernel called `name`, the first one registered. Raises unknown_kernel.
KernelHandle find_kernel(std::string_view name);

/// Raises kernel_redefined unless all kernels registered as `name` trace to the same tile IR for
/// these arguments.
void check_one_definition(std::string_view name, std::span<const CompileArg> args);

}  // namespace tilewright
