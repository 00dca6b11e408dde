// Operations of whole warps on matrices, for emulate.cpp: ldmatrix and mma of the PTX ISA.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/codegen/emulate_value.h"

namespace tilewright::testing {

/// What the lanes of a warp pass to a helper: pointers, read and written element by element.
struct WarpArguments {
  std::function<std::vector<CValue>(int argument, int lane, int bytes)> read;
  std::function<void(int argument, int lane, const std::vector<CValue>& values)> write;
};

/// Whether a helper ("tw::matrix_load<4>") is an operation of a warp on matrices.
bool is_matrix_helper(const std::string& helper);

/// What it does. mma adds in increasing k, rounding each time.
void run_matrix_helper(const std::string& helper, const WarpArguments& warp);

}  // namespace tilewright::testing
