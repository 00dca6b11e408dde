#include "tilewright/codegen/prelude_mma.h"

#include <fmt/format.h>

namespace tilewright::codegen {
namespace {

constexpr std::string_view kLoad =
    R"(template <int n> __device__ __forceinline__ void {name}(void* to, const void* row) {{
  static_assert(n == 2 || n == 4);
  const unsigned address = (unsigned)__cvta_generic_to_shared(row);
  unsigned words[n];
  if constexpr (n == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%0, %1, %2, %3}}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2{trans}.shared.b16 {{%0, %1}}, [%2];"
                 : "=r"(words[0]), "=r"(words[1]) : "r"(address) : "memory");
  memcpy(to, words, sizeof words);  // a renaming of registers, not a copy
}})";

constexpr std::string_view kMultiply =
    R"(__device__ __forceinline__ void {name}(
    {acc}* top, {acc}* bottom, const void* a, const void* b) {{
  unsigned x[4], y[2];
  memcpy(x, a, sizeof x);  // renamings of registers, not copies
  memcpy(y, b, sizeof y);
  asm volatile("mma.sync.aligned.{shape}.row.col.{types} "
               "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
               : "+{letter}"(top[0]), "+{letter}"(top[1]), "+{letter}"(bottom[0]), "+{letter}"(bottom[1])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}})";

/// A helper, each made of an instruction's shape and PTX types.
struct Product {
  std::string_view shape, type, ptx_types;
  bool integer = false;
  int min_sm = 80;
};

constexpr Product kProducts[] = {
    {"m16n8k16", "bf16", "f32.bf16.bf16.f32"},
    {"m16n8k16", "f16", "f32.f16.f16.f32"},
    {"m16n8k8", "tf32", "f32.tf32.tf32.f32"},
    {"m16n8k32", "s8", "s32.s8.s8.s32", true},
    {"m16n8k32", "e4m3", "f32.e4m3.e4m3.f32", false, 89},
    {"m16n8k32", "e5m2", "f32.e5m2.e5m2.f32", false, 89},
    {"m16n8k32", "e4m3_e5m2", "f32.e4m3.e5m2.f32", false, 89},
    {"m16n8k32", "e5m2_e4m3", "f32.e5m2.e4m3.f32", false, 89},
};

Helper load_helper(bool transposed) {
  Helper helper;
  helper.name = transposed ? "matrix_load_transposed" : "matrix_load";
  helper.doc =
      transposed
          ? "the same, each matrix transposed: the lane gets elements l / 4 of rows 2 (l % 4) and "
            "the next"
          : "n matrices of 8 rows of 16 bytes from shared memory, by the warp: lane 8 i + r gives "
            "the address of row r of matrix i; of each matrix, lane l gets word l % 4 of row l / 4";
  helper.text = fmt::format(fmt::runtime(kLoad), fmt::arg("name", helper.name),
                            fmt::arg("trans", transposed ? ".trans" : ""));
  helper.pointers = {{0, Access::write}, {1, Access::read}};
  return helper;
}

Helper multiply_helper(const Product& product) {
  Helper helper;
  helper.name = fmt::format("mma_{}_{}", product.shape, product.type);
  helper.doc =
      "16 x 8 results += a b, by the warp: lane l holds columns 2 (l % 4) and the next of rows "
      "l / 4 (top) and l / 4 + 8 (bottom)";
  helper.text = fmt::format(fmt::runtime(kMultiply), fmt::arg("name", helper.name),
                            fmt::arg("shape", product.shape), fmt::arg("types", product.ptx_types),
                            fmt::arg("acc", product.integer ? "int" : "float"),
                            fmt::arg("letter", product.integer ? "r" : "f"));
  helper.pointers = {{0, Access::write}, {1, Access::write}, {2, Access::read}, {3, Access::read}};
  helper.min_sm = product.min_sm;
  return helper;
}

std::vector<Helper> tf32_helpers() {
  return {
      {.name = "to_tf32",
       .doc = "the nearest number of 11 significant bits, ties away from zero",
       .text = R"(__device__ __forceinline__ float to_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
})",
       .min_sm = 80},
      {.name = "tf32_rest",
       .doc = "what to_tf32 leaves out of x, again as such a number; nothing of what it makes "
              "infinite",
       .text = R"(__device__ __forceinline__ float tf32_rest(float x) {
  const float high = to_tf32(x);
  return __float_as_uint(high) << 1 == 0xff000000 ? 0 : to_tf32(x - high);
})",
       .needs = {"to_tf32"},
       .min_sm = 80},
  };
}

}  // namespace

std::vector<Helper> mma_helpers() {
  std::vector<Helper> all = {load_helper(false), load_helper(true)};
  for (Helper& helper : tf32_helpers()) all.push_back(std::move(helper));
  for (const Product& product : kProducts) all.push_back(multiply_helper(product));
  return all;
}

std::string mma_helper_name(const MatrixInstruction& instruction) {
  return fmt::format("mma_m16n8k{}_{}", instruction.k, instruction.type);
}

}  // namespace tilewright::codegen
