// Device helpers around the matrix instructions of a warp: ldmatrix and mma.sync.
#pragma once

#include <string>
#include <vector>

#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

/// matrix_load, matrix_load_transposed and one helper for each product of mma.
std::vector<Helper> mma_helpers();

/// The name of the helper that multiplies, without "tw::": "mma_m16n8k16_bf16".
std::string mma_helper_name(const MatrixInstruction& instruction);

}  // namespace tilewright::codegen
