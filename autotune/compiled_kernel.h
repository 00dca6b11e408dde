// What compiling a kernel gives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright {

/// A kernel compiled for one set of specs, target and config. Copies share it. Plans of several
/// kernels number them by `step`.
class CompiledKernel {
 public:
  explicit CompiledKernel(codegen::Plan plan);

  const std::string& name() const;
  const Config& config() const;
  const Target& target() const;
  const codegen::Plan& plan() const;
  const std::string& tile_ir() const;    ///< after the tile passes
  const std::string& kernel_ir() const;  ///< before printing
  int kernels() const;                   ///< kernel steps of the plan
  int launches() const;                  ///< what one launch asks the driver to run: kernels, fills
  /// Bytes that .workspace of a launch needs at least; 0 for most kernels. `scalars` gives the
  /// run-time integer arguments by name, where the size depends on them.
  int64_t workspace_bytes(
      const std::function<int64_t(const std::string&)>& scalars = no_scalars) const;
  const std::string& cuda(int step = 0) const;

  // From NVRTC, which runs at the first of these calls; they raise what compile_cuda raises.
  const std::string& ptx(int step = 0) const;
  const std::string& cubin(int step = 0) const;
  const runtime::Resources& resources(int step = 0) const;
  const std::string& log(int step = 0) const;
  /// What the compiler told of the machine code: see CompiledCuda::notes.
  std::vector<std::string> notes(int step = 0) const;
  /// All kernels' binaries; for loading.
  const std::vector<std::shared_ptr<const runtime::CompiledCuda>>& binaries() const;

 private:
  struct State;
  static int64_t no_scalars(const std::string& name);
  const runtime::CompiledCuda& binary(int step) const;
  std::shared_ptr<State> state_;
};

}  // namespace tilewright
