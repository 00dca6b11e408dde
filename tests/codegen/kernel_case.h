// A traced kernel for tests of code generation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tilewright/dsl/dsl.h"
#include "tilewright/ir/node.h"
#include "tilewright/runtime/interpreter.h"

namespace tilewright::testing {

/// A kernel traced for some arguments.
struct KernelCase {
  std::string name;
  ir::Function fn;
  std::vector<HostArgument> scalars = {};  ///< of the run-time scalar parameters, in order
};

template <class F>
KernelCase make_case(std::string name, F body, const std::vector<KernelArg>& args,
                     std::vector<HostArgument> scalars = {}) {
  ir::Function fn = make_traceable(name, std::move(body)).trace(args);
  return {std::move(name), std::move(fn), std::move(scalars)};
}

inline KernelArg dense(DType dtype, std::vector<int64_t> sizes, int alignment = 16) {
  return KernelArg::tensor(contiguous_spec(dtype, std::move(sizes), alignment));
}

/// A matrix stored with its first dimension contiguous.
inline KernelArg transposed(DType dtype, int64_t rows, int64_t columns) {
  return KernelArg::tensor({dtype, {rows, columns}, {1, rows}});
}

inline KernelArg strided(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                         int alignment = 16) {
  return KernelArg::tensor({dtype, std::move(sizes), std::move(strides), alignment});
}

}  // namespace tilewright::testing
