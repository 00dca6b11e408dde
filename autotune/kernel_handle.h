// A kernel with its C++ types erased: tracing, compiling and launching with caches for each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/call.h"
#include "tilewright/autotune/compiled_kernel.h"

namespace tilewright {

/// Makes tensors on the CPU of the given specs: those of a kernel's tensor parameters, in order.
using TuneInputs = std::function<std::vector<Array>(std::span<const TensorSpec> specs)>;

/// Copies are the same kernel. Thread-safe.
class KernelHandle {
 public:
  explicit KernelHandle(Traceable traceable);

  const std::string& name() const;
  Loc loc() const;  ///< where the user made it
  const std::vector<ParamInfo>& params() const;

  /// The config of launches and compilations that give none; nothing leaves it to the tuning policy
  /// again. On the CPU only its block sizes count.
  void set_config(std::optional<Config> config) const;

  /// Takes configs from a file that `tilewright cache export` wrote: those of this kernel's name
  /// serve calls with the same device and tensors for which neither the call nor set_config gives a
  /// config. Several files add up; of two pins for one call the later holds. Raises pin_file; a
  /// config that does not fit the kernel raises pin_misfit when it is used.
  void pin(const std::string& file) const;

  /// Makes the first size of a tensor parameter dynamic, for launches from now on: one kernel
  /// serves many values of it (runtime::dynamic_limit says which share one). A tensor whose rows do
  /// not follow one another, or with more than kMostDynamic, is taken at its own size as ever.
  /// Raises dynamic_argument for other dimensions and for what is no tensor.
  void set_dynamic(int param, int axis = 0) const;

  /// Makes the contents that `tilewright tune` runs candidates on, where random ones would not do
  /// (indices, masks). Calls that tune use their own tensors.
  void set_tune_inputs(TuneInputs make) const;
  TuneInputs tune_inputs() const;  ///< empty when none was set

  /// Compiles for a list of argument lists at the same time, on all cores, so that launches with
  /// them compile nothing (with .target: so that no process with the same cache folder does). On
  /// the CPU nothing needs compiling and the kernel is only traced. A policy that searches does so
  /// for one after the other. A dynamic spec makes its parameter dynamic, as set_dynamic does, and
  /// stands for every first size up to its own. Raises the first error, in the order of the list,
  /// after all others were compiled.
  void prepare(const std::vector<std::vector<CompileArg>>& calls,
               const CompileOptions& options = {}) const;

  /// Runs the kernel, allocating what it returns on the arguments' device. Does not wait for the
  /// GPU. Raises the errors of launch, and result_is_parameter.
  std::vector<Array> call(std::span<const CallArg> args, const Stream& stream = {}) const;

  /// Runs the kernel. Once a launch with the same key (specs, config, aliasing) was made or
  /// compiled, this does not synchronize and is legal in stream capture; else it compiles first, or
  /// raises not_compiled during a capture. It allocates nothing but the workspace of kernels that
  /// need some (CompiledKernel::workspace_bytes), in the stream's order, and only when .workspace
  /// is not given. On the CPU it returns when done. Errors: argument_* , out_* , alias_partial,
  /// output_overlap, workspace_*, those of tracing, compiling and configs, frozen_compile,
  /// cuda_call.
  void launch(const LaunchOptions& options, std::span<const CallArg> args) const;

  /// Compiles for these specs; needs no GPU. Without a target and with a GPU as default device, the
  /// result is loaded there, so that launches that match find it. Raises argument_count,
  /// argument_kind, and errors of tracing and configs.
  CompiledKernel compile(std::vector<CompileArg> args, const CompileOptions& options = {}) const;
  CompiledKernel compile(std::vector<CompileArg> args, const Target& target) const;

  /// The traced tile IR for these arguments, and for the tunables of `config`, else of the kernel's
  /// own one.
  std::shared_ptr<const ir::Function> trace(std::span<const CompileArg> args,
                                            const std::optional<Config>& config = {}) const;

  friend bool operator==(const KernelHandle&, const KernelHandle&) = default;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tilewright
