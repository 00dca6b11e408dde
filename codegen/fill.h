// Tensors that the kernel allocates with a first value: steps of the plan before its kernels.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// What fills one tensor: a byte for all of its memory, or a kernel whose parameter it is.
struct TensorFill {
  int param = 0;            ///< of the function that allocates it
  std::optional<int> byte;  ///< none: the kernel
  ir::Function kernel;      ///< tile IR: stores the value to the tensor's elements, in one row
  Config config;
};

/// The fills of a traced function; tensors without elements have none.
std::vector<TensorFill> fills_of(const ir::Function& fn);

}  // namespace tilewright::codegen
