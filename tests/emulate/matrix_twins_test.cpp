// The host implementations of ldmatrix and mma against the tables of the PTX ISA, "Warp-level
// matrix instructions".
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/emulate/hand_kernel.h"

namespace tilewright::testing {
namespace {

/// Runs one warp on the tensors a, b and c; returns c.
std::vector<float> run(const HandKernel& kernel, std::vector<float> a, std::vector<float> b,
                       size_t results) {
  std::vector<float> c(results, -1);
  const auto arg = [](std::vector<float>& v, bool defined) {
    return runtime::EmulatorArgument{v.data(), static_cast<int64_t>(v.size()), DType::f32, true,
                                     defined};
  };
  const auto emulation =
      runtime::emulate(kernel.plan(), std::vector{arg(a, true), arg(b, true), arg(c, false)});
  EXPECT_EQ(emulation.report(), "");
  return c;
}

// 32 rows of 8 elements; c gets the halves of each word that a lane holds.
std::vector<float> load(const std::string& helper, int n) {
  const HandKernel kernel{
      .shared = "  tw::bf16 rows[32][8];\n",
      .shared_bytes = 512,
      .body = fmt::format(
          R"(  for (int e = 0; e < 8; ++e) shared.rows[t][e].bits = (unsigned short)a[8 * t + e];
  __syncthreads();
  unsigned words[{0}];
  tw::{1}<{0}>(words, &shared.rows[t][0]);
  for (int i = 0; i < {0}; ++i) {{
    c[8 * t + 2 * i] = words[i] & 0xffff;
    c[8 * t + 2 * i + 1] = words[i] >> 16;
  }}
)",
          n, helper),
      .tensors = 3,
      .written = "c"};
  std::vector<float> a(256);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  return run(kernel, a, a, 256);
}

TEST(MatrixTwins, LoadsGiveRowsToLanes) {
  for (int n : {2, 4}) {
    const std::vector<float> plain = load("matrix_load", n);
    const std::vector<float> transposed = load("matrix_load_transposed", n);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < n; ++i)
        for (int h = 0; h < 2; ++h) {
          const auto element = [&](int row, int column) { return 8.0f * (8 * i + row) + column; };
          const size_t at = static_cast<size_t>(8 * lane + 2 * i + h);
          EXPECT_EQ(plain[at], element(lane / 4, 2 * (lane % 4) + h));
          EXPECT_EQ(transposed[at], element(2 * (lane % 4) + h, lane / 4));
        }
  }
}

/// A product's tables: rows and columns of the elements that lane `g = lane / 4, t = lane % 4`
/// holds, as expressions of i, the element's number.
struct ProductTable {
  std::string name, type, convert;  ///< helper, element type, f32 to element
  int k, a_elements, b_elements;
  std::string a_row, a_column, b_row;
};

const ProductTable kTables[] = {
    {"mma_m16n8k16_bf16", "tw::bf16", "tw::to_bf16", 16, 8, 4, "i % 4 < 2 ? g : g + 8",
     "2 * t + i % 2 + (i < 4 ? 0 : 8)", "2 * t + i % 2 + (i < 2 ? 0 : 8)"},
    {"mma_m16n8k16_f16", "tw::f16", "tw::to_f16", 16, 8, 4, "i % 4 < 2 ? g : g + 8",
     "2 * t + i % 2 + (i < 4 ? 0 : 8)", "2 * t + i % 2 + (i < 2 ? 0 : 8)"},
    {"mma_m16n8k8_tf32", "float", "", 8, 4, 2, "i % 2 == 0 ? g : g + 8", "i < 2 ? t : t + 4",
     "i == 0 ? t : t + 4"},
    {"mma_m16n8k32_s8", "signed char", "(signed char)", 32, 16, 8, "i % 8 < 4 ? g : g + 8",
     "4 * t + i % 4 + (i < 8 ? 0 : 16)", "4 * t + i % 4 + (i < 4 ? 0 : 16)"},
    {"mma_m16n8k32_e4m3", "tw::f8e4m3", "tw::to_f8e4m3", 32, 16, 8, "i % 8 < 4 ? g : g + 8",
     "4 * t + i % 4 + (i < 8 ? 0 : 16)", "4 * t + i % 4 + (i < 4 ? 0 : 16)"},
    {"mma_m16n8k32_e5m2", "tw::f8e5m2", "tw::to_f8e5m2", 32, 16, 8, "i % 8 < 4 ? g : g + 8",
     "4 * t + i % 4 + (i < 8 ? 0 : 16)", "4 * t + i % 4 + (i < 4 ? 0 : 16)"}};

TEST(MatrixTwins, ProductsHoldWhatTheTablesSay) {
  for (const ProductTable& table : kTables) {
    SCOPED_TRACE(table.name);
    const bool integer = table.type == "signed char";
    const HandKernel kernel{
        .body = fmt::format(R"(  const int lane = t, g = lane / 4;
  {{
    const int t = lane % 4;
    {1} x[{4}], y[{5}];
    for (int i = 0; i < {4}; ++i) x[i] = {2}(a[({6}) * {3} + ({7})]);
    for (int i = 0; i < {5}; ++i) y[i] = {2}(b[({8}) * 8 + g]);
    {9} acc[4] = {{1, 2, 3, 4}};
    tw::{0}(&acc[0], &acc[2], x, y);
    for (int i = 0; i < 4; ++i) c[(i < 2 ? g : g + 8) * 8 + 2 * t + i % 2] = acc[i];
  }}
)",
                            table.name, table.type, table.convert, table.k, table.a_elements,
                            table.b_elements, table.a_row, table.a_column, table.b_row,
                            integer ? "int" : "float"),
        .tensors = 3,
        .written = "c"};
    const int k = table.k;
    std::vector<float> a(static_cast<size_t>(16 * k)), b(static_cast<size_t>(8 * k));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 13) - 6;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 7) - 3;
    const std::vector<float> c = run(kernel, a, b, 128);
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        float sum = 1.0f + column % 2 + (row < 8 ? 0 : 2);
        for (int i = 0; i < k; ++i)
          sum += a[static_cast<size_t>(row * k + i)] * b[static_cast<size_t>(i * 8 + column)];
        EXPECT_EQ(c[static_cast<size_t>(row * 8 + column)], sum) << row << " " << column;
      }
  }
}

TEST(MatrixTwins, Tf32IsRoundedAndItsRestKept) {
  const HandKernel kernel{
      .body = "  c[t] = tw::to_tf32(a[t]);\n  c[32 + t] = tw::tf32_rest(a[t]);\n",
      .tensors = 3,
      .written = "c"};
  // Neighbours of 1 are 2^-10 apart.
  std::vector<float> a = {1.0f,     0x1.004p0f, 0x1.002p0f,   0x1.001ffep0f,  -0x1.006p0f,
                          INFINITY, NAN,        0x1.fffp127f, 0x1.ffffffp-1f, 0.0f};
  a.resize(32, 3.0f);
  const std::vector<float> c = run(kernel, a, a, 64);
  const std::vector<float> rounded = {1.0f,     0x1.004p0f, 0x1.004p0f, 1.0f, -0x1.008p0f,
                                      INFINITY, NAN,        INFINITY,   1.0f, 0.0f};
  for (size_t i = 0; i < rounded.size(); ++i) {
    if (std::isnan(rounded[i])) {
      EXPECT_TRUE(std::isnan(c[i]) && std::isnan(c[32 + i]));
      continue;
    }
    EXPECT_EQ(c[i], rounded[i]) << i;
    const float rest = std::isinf(rounded[i]) ? 0 : a[i] - rounded[i];
    EXPECT_NEAR(c[32 + i], rest, std::abs(rest) * 0x1p-11f) << i;
  }
}

}  // namespace
}  // namespace tilewright::testing
