// Operands that bulk copies cannot read, copied to workspace first with rows that they can.
#pragma once

#include <string>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// A kernel of its own that copies one tensor: its parameters are the tensor and the copy.
struct PaddingCopy {
  int param = 0;  ///< of the function whose tensor it copies
  ir::Function fn;
  Config config;
  int64_t bytes = 0;  ///< of the copy
};

/// A function some of whose parameters are copies.
struct Repitched {
  ir::Function fn;
  std::vector<PaddingCopy> copies;
};

/// Memory for the elements of `tensor` that takes a tensor map: dimensions in the same order of
/// strides, the fastest with stride 1, its rows whole 16 bytes apart.
TensorSpec padded_spec(const TensorSpec& tensor);

/// The parameters of the traced `fn` that are worth a copy: operands of products (as loaded, or
/// after elementwise work) that are only read and take no tensor map. `written` tells, for each
/// parameter, whether the kernel or an alias of it writes it.
std::vector<int> params_to_repitch(const ir::Function& fn, const std::vector<bool>& written);

/// `fn` with the memory of those parameters replaced by padded copies, and the functions that make
/// the copies, in tile IR like any other.
Repitched repitch(const ir::Function& fn, const std::vector<bool>& written);

}  // namespace tilewright::codegen
