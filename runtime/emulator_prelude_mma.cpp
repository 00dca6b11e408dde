#include "tilewright/runtime/emulator_prelude_mma.h"

namespace tilewright::runtime {
namespace {

struct MmaTwin {
  std::string_view name, text;
};

// By the PTX ISA, "Warp-level matrix instructions". Lanes exchange what they hold word by word, so
// all of a warp must take part. A row of ldmatrix is read by the lane that gives its address. Sums
// of mma are in increasing k, the rounding after each; the hardware promises no order.
constexpr MmaTwin kTwins[] = {
    {"matrix_load", R"(template <int n> inline void matrix_load(void* to, const void* row) {
  const unsigned lane = threadIdx.x % 32;
  TwWords mine = {0, 0};
  if (lane < 8 * n) mine = tw_emu_load(row, 16);
  unsigned row_words[4], words[n];
  memcpy(row_words, &mine, 16);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned word = tw_emu_shuffle(row_words[w], 8 * i + lane / 4, 0);
      if (w == lane % 4) words[i] = word;
    }
  memcpy(to, words, sizeof words);
})"},
    {"matrix_load_transposed",
     R"(template <int n> inline void matrix_load_transposed(void* to, const void* row) {
  const unsigned lane = threadIdx.x % 32, column = lane / 4;
  TwWords mine = {0, 0};
  if (lane < 8 * n) mine = tw_emu_load(row, 16);
  unsigned row_words[4], words[n];
  memcpy(row_words, &mine, 16);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned low = tw_emu_shuffle(row_words[w], 8 * i + 2 * (lane % 4), 0);
      const unsigned high = tw_emu_shuffle(row_words[w], 8 * i + 2 * (lane % 4) + 1, 0);
      const unsigned shift = 16 * (column % 2);
      if (w == column / 2) words[i] = (low >> shift & 0xffff) | (high >> shift & 0xffff) << 16;
    }
  memcpy(to, words, sizeof words);
}
// Rows l / 4 and l / 4 + 8 of a and columns 2 (l % 4) and the next of b, all of k: 32 bytes each.
struct TwPiece { unsigned a[2][8], b[2][8]; };
inline TwPiece tw_gather(const void* a, const void* b) {
  const unsigned lane = threadIdx.x % 32;
  unsigned x[4], y[2];
  memcpy(x, a, sizeof x);
  memcpy(y, b, sizeof y);
  TwPiece piece;
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned t = 0; t < 4; ++t)
      for (unsigned other = 0; other < 2; ++other) {
        piece.a[other][4 * half + t] = tw_emu_shuffle(x[2 * half + other], lane / 4 * 4 + t, 0);
        piece.b[other][4 * half + t] =
            tw_emu_shuffle(y[half], 4 * (2 * (lane % 4) + other) + t, 0);
      }
  return piece;
}
template <class A, class B, int k, class Acc, class Multiply>
inline void tw_multiply(Acc* top, Acc* bottom, const void* a, const void* b, Multiply multiply) {
  const TwPiece piece = tw_gather(a, b);
  for (int column = 0; column < 2; ++column) {
    A rows[2][k];
    B values[k];
    memcpy(rows, piece.a, sizeof rows);
    memcpy(values, piece.b[column], sizeof values);
    for (int i = 0; i < k; ++i) {
      top[column] = multiply(rows[0][i], values[i], top[column]);
      bottom[column] = multiply(rows[1][i], values[i], bottom[column]);
    }
  }
}
struct TwFloats {
  template <class A, class B> float operator()(A x, B y, float acc) const {
    return fmaf(to_float(x), to_float(y), acc);
  }
};)"},
    {"mma_m16n8k16_bf16",
     R"(inline void mma_m16n8k16_bf16(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<bf16, bf16, 16>(top, bottom, a, b, TwFloats());
})"},
    {"mma_m16n8k16_f16",
     R"(inline void mma_m16n8k16_f16(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<f16, f16, 16>(top, bottom, a, b, TwFloats());
})"},
    {"mma_m16n8k8_tf32",
     R"(inline void mma_m16n8k8_tf32(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<float, float, 8>(top, bottom, a, b, [](float x, float y, float acc) {
    // The instruction does not look at the bits that TF32 has not.
    const float u = __uint_as_float(__float_as_uint(x) & 0xffffe000);
    const float v = __uint_as_float(__float_as_uint(y) & 0xffffe000);
    return fmaf(u, v, acc);
  });
})"},
    {"mma_m16n8k32_e4m3",
     R"(inline void mma_m16n8k32_e4m3(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<f8e4m3, f8e4m3, 32>(top, bottom, a, b, TwFloats());
})"},
    {"mma_m16n8k32_e5m2",
     R"(inline void mma_m16n8k32_e5m2(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<f8e5m2, f8e5m2, 32>(top, bottom, a, b, TwFloats());
})"},
    {"mma_m16n8k32_e4m3_e5m2",
     R"(inline void mma_m16n8k32_e4m3_e5m2(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<f8e4m3, f8e5m2, 32>(top, bottom, a, b, TwFloats());
})"},
    {"mma_m16n8k32_e5m2_e4m3",
     R"(inline void mma_m16n8k32_e5m2_e4m3(float* top, float* bottom, const void* a, const void* b) {
  tw_multiply<f8e5m2, f8e4m3, 32>(top, bottom, a, b, TwFloats());
})"},
    {"to_tf32", R"(inline float to_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7f800000) == 0x7f800000) return x;
  return __uint_as_float((bits + 0x1000) & 0xffffe000);
})"},
    {"tf32_rest", R"(inline float tf32_rest(float x) {
  const float high = to_tf32(x);
  return __float_as_uint(high) << 1 == 0xff000000 ? 0 : to_tf32(x - high);
})"},
    {"mma_m16n8k32_s8",
     R"(inline void mma_m16n8k32_s8(int* top, int* bottom, const void* a, const void* b) {
  tw_multiply<signed char, signed char, 32>(top, bottom, a, b, [](int x, int y, int acc) {
    return (int)((unsigned)acc + (unsigned)(x * y));
  });
})"},
};

}  // namespace

std::string_view mma_twin(std::string_view helper) {
  for (const MmaTwin& twin : kTwins)
    if (twin.name == helper) return twin.text;
  return {};
}

}  // namespace tilewright::runtime
