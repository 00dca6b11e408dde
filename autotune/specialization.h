// A kernel traced for some arguments, and compiled for them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tilewright/autotune/call.h"
#include "tilewright/autotune/compiled_kernel.h"
#include "tilewright/autotune/launch_key.h"
#include "tilewright/runtime/executable.h"

namespace tilewright {

/// A trace and what launches ask of it.
struct Traced {
  std::shared_ptr<const ir::Function> fn;
  std::vector<bool> written;  ///< by parameter
  bool prints = false;        ///< or asserts: it does something without writing
  std::vector<int> made;  ///< parameters that the kernel allocates, in the order it returns them
  /// Where each position of a launch (arguments, then results) is among the parameters.
  std::vector<int> positions;
  /// A scalar parameter that holds the first size of a tensor, and that tensor's position in a
  /// launch.
  struct SizeOf {
    int param = 0;
    size_t position = 0;
  };
  std::vector<SizeOf> sizes;

  bool dynamic() const { return !sizes.empty(); }
  int param_of(size_t i) const { return positions[i]; }
  /// The spec of an allocated parameter for one launch.
  TensorSpec spec_of(int made, std::span<const runtime::Argument> launch) const;
  /// What a launch passes, in the order of the parameters, with the sizes among them.
  void order(std::span<const runtime::Argument> launch,
             std::vector<runtime::Argument>& params) const;
};

/// Raises result_twice or result_not_returned for functions whose results cannot be passed.
Traced examine(ir::Function fn);

/// The form in which a function has a result's spec: dynamic where the traced one is.
std::vector<TensorSpec> as_traced(const Traced& traced, std::vector<TensorSpec> results);

/// A traced function whose results lie in memory of the given specs (in the order of `made`).
/// Functions cannot be copied, so a fresh trace is taken where a spec differs.
Traced with_result_specs(const Traced& traced, std::span<const TensorSpec> results,
                         const Traceable& traceable, std::span<const KernelArg> args,
                         const TunableValues& tunables);

/// Everything that launches with one key share.
struct Specialization {
  Traced traced;
  Device device;
  bool nothing_to_do = false;                      ///< every output is empty
  bool searched = false;                           ///< the config is that of a search just made
  std::vector<int64_t> block;                      ///< CPU: block sizes, empty as suits it
  std::shared_ptr<const CompiledKernel> compiled;  ///< GPU, emulated or not
  std::unique_ptr<const runtime::Executable> executable;  ///< GPU
};

/// The parameters as Executable needs them.
std::vector<runtime::Parameter> parameters(const ir::Function& fn);

/// Launches a specialization; `launch` holds arguments, then results. Workspace that the options do
/// not give is allocated in the stream's order. Raises workspace_needed, workspace_in_capture,
/// argument_host_memory, argument_other_gpu, cuda_call, or what the interpreter raises.
void run_specialization(const Specialization& specialization, const LaunchOptions& options,
                        std::span<const runtime::Argument> launch);

// Parts of keys.
void append_config(const Config& config, KeyWords& key);
void append_tunables(const TunableValues& tunables, KeyWords& key);
void append_constant(const dsl::LiteralValue& value, KeyWords& key);
void append_text(std::string_view text, KeyWords& key);

}  // namespace tilewright
