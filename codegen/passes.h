// The compiler's stages, for tests and tools that look at what lies between them.
#pragma once

#include <functional>
#include <vector>

#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// A pass from tile IR to tile IR.
struct TilePass {
  const char* name;
  std::function<ir::Function(const ir::Function&)> run;
};

/// Parameters that the kernel stores to, and those that may overlap one of them.
std::vector<bool> written_params(const ir::Function& fn, const LowerOptions& options = {});

/// Every pass from traced IR to what assign_layouts takes, in order. Borrows its arguments.
std::vector<TilePass> tile_passes(const Config& config, const Target& target,
                                  const std::vector<bool>& written);

/// Everything that lower() makes of a kernel before it is printed.
struct Lowered {
  LaidOut laid_out;
  Kernel kernel;  ///< with offsets, barriers and header
  std::vector<OperandAccess> accesses;
};

/// As lower(), up to printing.
Lowered lower_to_kernel_ir(const ir::Function& traced, const Config& config, const Target& target,
                           const LowerOptions& options = {});

}  // namespace tilewright::codegen
