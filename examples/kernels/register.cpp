// Makes the examples' kernels known by name, for the tilewright program.
#include "linear.h"
#include "matmul.h"
#include "row_minmax.h"
#include "row_sum.h"
#include "saxpy.h"
#include "softmax.h"
#include "tile_ranges.h"
#include "vector_add.h"

namespace {

using tilewright::RegisterKernel;

const RegisterKernel registered[] = {
    RegisterKernel(examples::linear_gelu), RegisterKernel(examples::matmul),
    RegisterKernel(examples::row_minmax),  RegisterKernel(examples::row_sum),
    RegisterKernel(examples::saxpy),       RegisterKernel(examples::softmax),
    RegisterKernel(examples::tile_pairs),  RegisterKernel(examples::tile_ranges),
    RegisterKernel(examples::vector_add),
};

}  // namespace
