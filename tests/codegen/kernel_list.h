// The kernels that the tests of code generation go through.
#pragma once

#include "tests/codegen/kernels_combine.h"
#include "tests/codegen/kernels_debug.h"
#include "tests/codegen/kernels_elementwise.h"
#include "tests/codegen/kernels_products.h"
#include "tests/codegen/kernels_reductions.h"

namespace tilewright::testing {

/// Every kernel on small sizes: dividing, ragged, 1 and 0, dense, transposed, strided, stride 0.
inline std::vector<KernelCase> every_kernel() {
  std::vector<KernelCase> all;
  for (const char* how : {"nn", "tn", "nt", "tt"}) all.push_back(product_of(how, f32, 37, 29, 21));
  all.push_back(product_of("nn", bf16, 33, 24, 17));
  all.push_back(product_of("nt", f16, 32, 24, 16));
  all.push_back(product_of("nn", i8, 16, 16, 20));
  all.push_back(product_of("nt", u8, 16, 16, 20));
  all.push_back(product_of("nt", f8e4m3, 32, 24, 16));
  all.push_back(product_of("nn", f8e5m2, 17, 19, 33));
  all.push_back(scaled_product(f8e4m3, f8e5m2, 18, 20, 32));
  all.push_back(precise_product(tf32, 18, 20, 22));
  all.push_back(precise_product(tf32x3, 18, 20, 22));
  all.push_back(product_of_bytes(12, 16, 20));
  all.push_back(product_of_nibbles(12, 16, 20));
  all.push_back(product_of("tn", f64, 10, 12, 14));
  all.push_back(product(strided(f32, {9, 12}, {13, 1}, 4), strided(f32, {12, 8}, {0, 1})));
  all.push_back(product(strided(f32, {9, 12}, {24, 2}), strided(f32, {12, 8}, {8, 1}, 8)));
  all.push_back(product_of("nn", f32, 1, 1, 1));
  all.push_back(product_of("nn", f32, 5, 7, 0));
  all.push_back(product_of("nn", f32, 0, 7, 3));
  all.push_back(product_of("nn", f32, 16, 32, 48));
  all.push_back(product_bias_gelu(f32, 20, 18, 22));
  all.push_back(product_bias_gelu(bf16, 16, 18, 8));
  all.push_back(two_products(18, 20, 22));
  all.push_back(product_of_exp(18, 20, 22));
  all.push_back(product_of_cast(bf16, 12, 16, 20));
  all.push_back(product_of_cast(f16, 12, 16, 20));
  all.push_back(product_of_cast(f8e4m3, 12, 16, 20));
  all.push_back(product_without_loop(18, 20, 12));
  all.push_back(product_without_loop(6, 6, 0));
  all.push_back(chained_products(12, 20, 22, 10));
  all.push_back(repeated_product(3, 12, 14, 20));
  all.push_back(product_of_overwritten(18, 8));
  all.push_back(row_sum(dense(f32, {37, 50})));
  all.push_back(row_sum(dense(bf16, {32, 64})));
  all.push_back(row_sum(dense(f8e4m3, {32, 64})));
  all.push_back(row_sum(transposed(f32, 21, 30)));
  all.push_back(row_sum(strided(f32, {11, 30}, {0, 1})));
  all.push_back(row_sum(dense(f32, {5, 0})));
  all.push_back(row_sum(dense(f32, {1, 1})));
  all.push_back(softmax(dense(f32, {7, 100})));
  all.push_back(softmax(dense(bf16, {5, 96})));
  all.push_back(softmax(dense(f32, {5, 1})));
  all.push_back(row_minmax(dense(f32, {19, 33})));
  all.push_back(row_minmax(dense(i32, {8, 10})));
  all.push_back(row_minmax(dense(f8e5m2, {8, 10})));
  all.push_back(whole_row_sum(f32, 6, 0));
  all.push_back(whole_row_sum(f16, 6, 127));
  all.push_back(online_softmax(f32, 9, 40));
  all.push_back(online_softmax(bf16, 8, 64));
  all.push_back(block_sums(17, 19));
  for (KernelCase& kernel : combining_kernels()) all.push_back(std::move(kernel));
  all.push_back(column_sum(f32, 21, 40));
  all.push_back(column_sum(f16, 20, 40));
  all.push_back(column_sum(i32, 5, 7));
  all.push_back(vector_add(f32, dense(f32, {100}), dense(f32, {100})));
  all.push_back(vector_add(bf16, dense(bf16, {77}), strided(bf16, {77}, {2})));
  all.push_back(vector_add(i64, dense(i64, {64}), strided(i64, {64}, {0})));
  all.push_back(vector_add(f32, dense(f32, {0}), dense(f32, {0})));
  all.push_back(vector_add(f8e4m3, dense(f8e4m3, {77}), strided(f8e4m3, {77}, {2})));
  all.push_back(cast_chain(f8e4m3, 100));
  all.push_back(cast_chain(f8e5m2, 100));
  all.push_back(quantized_rows(bf16, f8e4m3, 6, 100));
  all.push_back(quantized_rows(f8e4m3, f8e5m2, 6, 100));
  all.push_back(saxpy(90));
  all.push_back(transposed_copy(f32, 33, 40));
  all.push_back(transposed_copy(bf16, 24, 48));
  all.push_back(transposed_copy(i8, 20, 36));
  all.push_back(transposed_copy(f8e5m2, 20, 36));
  all.push_back(add_broadcast(21, 24));
  all.push_back(increment(f32, 50));
  all.push_back(increment(i32, 64));
  all.push_back(swapped_tiles(40, 3));
  all.push_back(swapped_transposed(3, 3));
  all.push_back(swapped_transposed(8, 2));
  all.push_back(added_transpose(3, 3));
  all.push_back(added_transpose(16, 2));
  all.push_back(carried_scalar(20, 3));
  all.push_back(branches(12, 20));
  all.push_back(nested_loops(7, 9, 10));
  all.push_back(range_sum(10, 60, 5, 41));
  all.push_back(range_sum(10, 60, 41, 5));
  all.push_back(range_sum(10, 60, 0, 100));
  all.push_back(pinned_blocks(10, 24));
  all.push_back(grid_of_rows(6, 40));
  all.push_back(tile_numbers(100));
  all.push_back(dropout(9, 14));
  all.push_back(unpacked_bytes(f16, 7, 12));
  return all;
}

}  // namespace tilewright::testing
