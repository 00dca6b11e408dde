// Kernels whose dots a matrix unit can multiply.
#pragma once

#include "tests/codegen/kernels_products.h"

namespace tilewright::testing {

/// a b of f32 in TF32: matrices loaded whole where k is contiguous, then rounded.
inline KernelCase tf32_product(const std::string& how, int64_t m, int64_t n, int64_t k,
                               DotPrecision precision) {
  KernelCase made = make_case("tf32_product",
                              [precision](Tensor a, Tensor b) {
                                auto [m, k] = sizes<2>(a);
                                const Size n = b.size(1);
                                Tensor c = empty({m, n}, f32);
                                for (auto [rows, cols] : tile({m, n})) {
                                  Tile acc = zeros({rows, cols}, f32);
                                  for (auto ks : tile(k))
                                    acc = addmm(acc, a[rows, ks], b[ks, cols], precision);
                                  c[rows, cols] = acc;
                                }
                                return c;
                              },
                              {how[0] == 'n' ? dense(f32, {m, k}) : transposed(f32, m, k),
                               how[1] == 'n' ? dense(f32, {k, n}) : transposed(f32, k, n)});
  return made;
}

/// Products of two-byte and one-byte types and in TF32: dividing, ragged, 1 and 0; all
/// transpositions; several dots; operands that are computed or converted on the way; epilogues.
/// Their sums do not depend on how products are added, as long as that is in increasing k.
inline std::vector<KernelCase> matrix_kernels() {
  std::vector<KernelCase> all;
  for (const char* how : {"nn", "tn", "nt", "tt"}) {
    all.push_back(product_of(how, bf16, 64, 48, 96));
    all.push_back(product_of(how, f16, 37, 29, 21));
    all.push_back(product_of(how, i8, 40, 24, 72));
  }
  all.push_back(product_of("nn", f16, 32, 64, 32));
  all.push_back(product_of("nn", bf16, 40, 72, 56));
  all.push_back(product_of("nn", i8, 17, 33, 35));
  all.push_back(product_of("nn", bf16, 1, 1, 1));
  all.push_back(product_of("nn", f16, 5, 7, 0));
  all.push_back(product_of("nn", bf16, 0, 7, 3));
  all.push_back(product(strided(bf16, {18, 40}, {41, 1}, 2), strided(bf16, {40, 24}, {0, 1})));
  all.push_back(product_bias_gelu(bf16, 40, 56, 72));
  all.push_back(product_bias_gelu(f16, 33, 18, 24));
  all.push_back(two_products(40, 48, 56, bf16));
  all.push_back(two_products(18, 20, 22, f16));
  all.push_back(product_of_exp(34, 24, 40, f16));
  all.push_back(product_of_cast(bf16, 24, 32, 40));
  all.push_back(product_of_cast(f16, 33, 20, 18));
  all.push_back(product_without_loop(18, 20, 48, bf16));
  all.push_back(product_without_loop(18, 20, 12, f16));
  all.push_back(chained_products(24, 40, 48, 32, bf16));
  all.push_back(chained_products(12, 20, 22, 10, f16));
  all.push_back(repeated_product(3, 20, 24, 40, bf16));
  all.push_back(product_of("nt", f8e4m3, 40, 24, 96));
  all.push_back(product_of("nn", f8e5m2, 17, 19, 33));
  all.push_back(product_of_bytes(24, 32, 48));
  all.push_back(product_of_nibbles(18, 24, 64));
  for (const DotPrecision precision : {tf32, tf32x3})
    all.push_back(precise_product(precision, 20, 28, 40));
  for (const char* how : {"nn", "tn", "nt", "tt"})
    all.push_back(tf32_product(how, 36, 20, 28, tf32));
  return all;
}

}  // namespace tilewright::testing
