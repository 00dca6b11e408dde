// Makes the examples' kernels known by name, for the tilewright program.
#include "batched_matmul.h"
#include "dropout.h"
#include "embedding.h"
#include "gated.h"
#include "grouped_matmul.h"
#include "jagged.h"
#include "linear.h"
#include "losses.h"
#include "mamba.h"
#include "matmul.h"
#include "norms.h"
#include "quantized_matmul.h"
#include "rope.h"
#include "row_minmax.h"
#include "row_sum.h"
#include "saxpy.h"
#include "segments.h"
#include "softmax.h"
#include "split_k_matmul.h"
#include "sums.h"
#include "tile_ranges.h"
#include "transpose.h"
#include "vector_add.h"
#include "welford.h"

namespace {

using tilewright::RegisterKernel;

const RegisterKernel registered[] = {
    RegisterKernel(examples::batched_matmul),
    RegisterKernel(examples::chunk_scan),
    RegisterKernel(examples::cross_entropy),
    RegisterKernel(examples::dropout),
    RegisterKernel(examples::embedding),
    RegisterKernel(examples::fp8_matmul),
    RegisterKernel(examples::geglu),
    RegisterKernel(examples::grouped_matmul),
    RegisterKernel(examples::int4_matmul),
    RegisterKernel(examples::jagged_dense),
    RegisterKernel(examples::jagged_softmax),
    RegisterKernel(examples::jsd),
    RegisterKernel(examples::kl_div),
    RegisterKernel(examples::layer_norm),
    RegisterKernel(examples::layer_norm_backward),
    RegisterKernel(examples::linear_gelu),
    RegisterKernel(examples::long_sum),
    RegisterKernel(examples::matmul),
    RegisterKernel(examples::moe_matmul),
    RegisterKernel(examples::rms_norm),
    RegisterKernel(examples::rms_norm_backward),
    RegisterKernel(examples::rope),
    RegisterKernel(examples::row_minmax),
    RegisterKernel(examples::row_sum),
    RegisterKernel(examples::saxpy),
    RegisterKernel(examples::segment_sum),
    RegisterKernel(examples::softmax),
    RegisterKernel(examples::softmax_two_pass),
    RegisterKernel(examples::split_k_matmul),
    RegisterKernel(examples::split_k_matmul_ordered),
    RegisterKernel(examples::sum_rows),
    RegisterKernel(examples::swiglu),
    RegisterKernel(examples::tile_pairs),
    RegisterKernel(examples::tile_ranges),
    RegisterKernel(examples::total),
    RegisterKernel(examples::transpose),
    RegisterKernel(examples::vector_add),
    RegisterKernel(examples::welford),
};

}  // namespace
