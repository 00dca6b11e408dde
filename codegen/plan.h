// What compiling a kernel gives: everything needed to launch it, with no reference to the IR.
#pragma once

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
  ExprRef grid;  ///< blocks, over scalar parameters; 0 means "do not launch"
  int threads = 0;
  int cluster = 1;
  int64_t shared_bytes = 0;  ///< dynamic shared memory
  bool cooperative = false;
};

/// A fill of a buffer with one byte value.
struct MemsetStep {
  int buffer = 0;
  int value = 0;
};

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
  std::vector<OperandAccess> accesses;
  std::string tile_ir;    ///< after the tile passes
  std::string kernel_ir;  ///< before printing

  /// Total workspace, bytes, for the given scalar arguments.
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
