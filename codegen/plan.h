// What compiling a kernel gives: everything needed to launch it, with no reference to the IR.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// How one operand reaches the threads; for reports.
struct OperandAccess {
  std::string tensor;
  std::string kind;     ///< "load", "store", "sync copy" or "cp_async copy"
  int bytes = 0;        ///< per access
  bool staged = false;  ///< through shared memory
  Loc loc;
};

/// A launch.
struct KernelStep {
  std::string symbol;
  std::string source;  ///< complete CUDA text: prelude, struct Shared, kernel
  std::vector<KernelParam> params;
  std::vector<PtxFunction> ptx;  ///< functions in the source that are PTX
  ExprRef grid;                  ///< blocks, over scalar parameters; 0 means "do not launch"
  int threads = 0;
  int cluster = 1;
  int64_t shared_bytes = 0;  ///< dynamic shared memory
  bool cooperative = false;
  std::vector<OperandAccess> accesses;  ///< how its operands reach the threads
};

/// A fill of a buffer with one byte value.
struct MemsetStep {
  int buffer = 0;
  int value = 0;
};

/// Workspace, and each buffer in it, starts at a multiple of these bytes.
inline constexpr int64_t kWorkspaceAlignment = 256;

/// Bytes that a buffer takes in workspace.
constexpr int64_t workspace_span(int64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// Memory the steps use: parameters first (in the function's order), then workspace.
struct Buffer {
  enum class Role { parameter, workspace } role = Role::parameter;
  std::string name;
  ExprRef bytes;
};

struct Step {
  enum class Kind { kernel, memset } kind = Kind::kernel;
  KernelStep kernel;
  MemsetStep memset;
};

/// The ordered steps of one specialization of a kernel.
struct Plan {
  std::string name;
  Config config;
  Target target;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::string tile_ir;    ///< of all kernels, after the tile passes
  std::string kernel_ir;  ///< of all kernels, before printing

  /// What the driver is asked to run for one launch by the user: kernels and fills.
  int launches() const { return static_cast<int>(steps.size()); }
  /// Total workspace, bytes, for the given scalar arguments: each buffer rounded up to
  /// kWorkspaceAlignment.
  int64_t workspace_bytes(const std::function<int64_t(const std::string&)>& scalar) const;
};

/// Which tensors a launch passes overlapping; tensors in one group may alias.
struct LowerOptions {
  std::vector<std::vector<int>> alias_groups;  ///< indices of params
};

/// The compiler: traced tile IR to a plan. Raises config_* errors for a config that does not fit.
Plan lower(const ir::Function& traced, const Config& config, const Target& target,
           const LowerOptions& options = {});

}  // namespace tilewright::codegen
