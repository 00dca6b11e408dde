// The list of probes.
#pragma once

#include "tests/support/twin_probes.h"

namespace tilewright::testing {
namespace probes {

/// out[i] = expression of x (a word of the input, as float f) for each of 1024 words.
inline TwinProbe scalar(std::string name, const std::string& expression) {
  return {.name = std::move(name),
          .body =
              "for (int i = t; i < 1024; i += 32) {\n  const unsigned x = in[i], y = in[1024 + "
              "i];\n  const float f = __uint_as_float(x), g = __uint_as_float(y);\n  out[i] = " +
              expression + ";\n}\n",
          .in_words = 2048,
          .out_words = 1024};
}

inline std::string bits_of(const std::string& value) {
  return fmt::format("({0}) != ({0}) ? 0x7fffffffu : __float_as_uint({0})", value);
}

inline std::vector<TwinProbe> scalars() {
  const std::string half = "((h & 0x7fff) > 0x7c00 ? 0x7fff : h)";
  return {
      scalar("to_float_f16", bits_of("tw::to_float(tw::f16{(unsigned short)x})")),
      scalar("to_float_e4m3", bits_of("tw::to_float(tw::f8e4m3{(unsigned char)x})")),
      scalar("to_float_e5m2", bits_of("tw::to_float(tw::f8e5m2{(unsigned char)x})")),
      scalar("to_f16", "f != f ? 0x7fff : tw::to_f16(i % 2 ? f : (int)x * 1e-5f).bits"),
      scalar("to_bf16", "f != f ? 0x7fff : tw::to_bf16(f).bits"),
      scalar("to_f8e4m3", "f != f ? 0x7f : tw::to_f8e4m3(i % 2 ? f : (int)x * 1e-7f).bits"),
      scalar("to_f8e5m2", "f != f ? 0x7f : tw::to_f8e5m2(i % 2 ? f : (int)x * 1e-5f).bits"),
      scalar("max", bits_of("tw::max(f, g)")),
      scalar("min", bits_of("tw::min(f, g)")),
      scalar("to_tf32", bits_of("tw::to_tf32(f)")),
      scalar("tf32_rest", bits_of("tw::tf32_rest((int)x * 1e-5f)")),
      scalar("pack_f16", "tw::pack<tw::f16>((int)x * 1e-5f, (int)y * 1e-5f)"),
      scalar("pack_bf16", "tw::pack<tw::bf16>((int)x * 1e-5f, (int)y * 1e-5f)"),
      scalar("hold",
             "[&] { unsigned words[] = {x, y}; tw::hold(words); return words[0] + words[1]; }()"),
      scalar("bf16_difference", "tw::bf16_difference(x & 0xbfffbfff, y & 0xbfffbfff)"),
      scalar("f16_difference", "tw::f16_difference(x & 0xbfffbfff, y & 0xbfffbfff)"),
      scalar("masked_flipped", "tw::masked_flipped(x, 0x00f0f00f, y)"),
      scalar("bf16_fields",
             "tw::bf16_fields<1, 5, true, -3>((signed char)x, (signed char)y) ^ 3 * "
             "tw::bf16_fields<4, 4, false, -8>((unsigned char)x, (unsigned char)y)"),
      scalar("f16_fields",
             "tw::f16_fields<0, 8, true, -3>((signed char)x, (signed char)y) ^ 3 * "
             "tw::f16_fields<4, 4, false, -8>((unsigned char)x, (unsigned char)y)"),
      scalar("shuffles", "tw::shuffle_xor(x, 5) + 3 * tw::shuffle(y, 7)"),
  };
}

inline std::vector<TwinProbe> fragments() {
  std::vector<TwinProbe> made;
  for (const std::string transposed : {"", "_transposed"})
    for (const int n : {2, 4}) {
      made.push_back({.name = fmt::format("matrix_load{}_{}", transposed, n),
                      .body = fmt::format("for (int i = t; i < 128; i += 32) shared.x[i] = in[i];\n"
                                          "__syncthreads();\nunsigned r[{0}];\n"
                                          "tw::matrix_load{1}<{0}>(r, &shared.x[t * 7 % 32 * 4]);\n"
                                          "for (int i = 0; i < {0}; ++i) out[32 * i + t] = r[i];\n",
                                          n, transposed),
                      .shared = "  unsigned x[128];\n",
                      .shared_bytes = 512,
                      .in_words = 128,
                      .out_words = 32 * n});
      made.push_back(
          {.name = fmt::format("matrix_store{}_{}", transposed, n),
           .body = fmt::format("for (int i = t; i < 128; i += 32) shared.x[i] = 0;\n"
                               "__syncthreads();\nunsigned r[{0}];\n"
                               "for (int i = 0; i < {0}; ++i) r[i] = in[32 * i + t];\n"
                               "tw::matrix_store{1}<{0}>(&shared.x[t * 7 % 32 * 4], r);\n"
                               "__syncthreads();\n"
                               "for (int i = t; i < 128; i += 32) out[i] = shared.x[i];\n",
                               n, transposed),
           .shared = "  unsigned x[128];\n",
           .shared_bytes = 512,
           .in_words = 32 * n,
           .out_words = 128});
    }
  return made;
}

inline std::vector<TwinProbe> copies() {
  return {
      {.name = "copy_async",
       .body = "tw::copy_async<4>(&shared.x[4 * t], &in[4 * t], t % 5);\n"
               "tw::copy_async<2>(&shared.x[128 + 2 * t], &in[128 + 2 * t], t % 3);\n"
               "tw::copy_async<1>(&shared.x[192 + t], &in[192 + t], t % 2);\n"
               "tw::copy_async_commit();\ntw::copy_async_wait<0>();\n__syncthreads();\n"
               "for (int i = t; i < 224; i += 32) out[i] = shared.x[i];\n",
       .shared = "  unsigned x[224];\n",
       .shared_bytes = 896,
       .in_words = 224,
       .out_words = 224},
      {.name = "evict",
       .body = "unsigned first[4], last[4];\ntw::load_evict_first<4>(first, &in[4 * t]);\n"
               "tw::load_evict_last<4>(last, &in[128 + 4 * t]);\n"
               "tw::store_evict_first<4>(&out[4 * t], last);\n"
               "tw::store_evict_last<4>(&out[128 + 4 * t], first);\n",
       .in_words = 256,
       .out_words = 256},
      {.name = "barriers",
       .body = "if (t == 0) tw::barrier_init(&shared.ready, 128);\n__syncthreads();\n"
               "for (unsigned round = 0; round < 3; ++round) {\n"
               "  shared.x[t] = in[t] + round;\n  tw::barrier_arrive(&shared.ready);\n"
               "  tw::barrier_wait(&shared.ready, round % 2);\n"
               "  out[128 * round + t] = shared.x[127 - t];\n"
               "  tw::sync_warps(1 + t / 64, 64);\n  __syncthreads();\n}\n",
       .shared = "  unsigned x[128];\n  tw::Barrier ready;\n",
       .threads = 128,
       .shared_bytes = 528,
       .in_words = 128,
       .out_words = 384},
      {.name = "cluster",
       .body = "if (t == 0) {\n  tw::barrier_init(&shared.ready, 64);\n"
               "  tw::barrier_init_fence();\n}\ntw::cluster_sync();\n"
               "const unsigned rank = tw::cluster_rank();\n"
               "tw::store_at(&shared.x[t], rank ^ 1, in[32 * rank + t]);\n"
               "tw::barrier_release_at(&shared.ready, rank ^ 1);\n"
               "tw::barrier_arrive_at(&shared.ready, rank);\n"
               "tw::barrier_acquire(&shared.ready, 0);\n"
               "out[32 * blockIdx.x + t] = shared.x[31 - t] + rank;\ntw::cluster_sync();\n",
       .shared = "  unsigned x[32];\n  tw::Barrier ready;\n",
       .blocks = 2,
       .cluster = 2,
       .shared_bytes = 144,
       .in_words = 64,
       .out_words = 64},
      {.name = "registers",
       .body = "if (t < 128) tw::registers_down<24>();\nelse tw::registers_up<240>();\n"
               "out[t] = in[t];\n",
       .threads = 384,
       .in_words = 384,
       .out_words = 384},
  };
}

/// A tensor of floats with the extents 18, 3, 3, 2, 2 as far as the rank goes, rows 20 apart.
inline codegen::TensorMapSpec map_of(int rank, int row_box, int swizzle) {
  constexpr int extents[] = {18, 3, 3, 2, 2}, boxes[] = {0, 2, 2, 1, 2};
  codegen::TensorMapSpec map;
  map.swizzle = swizzle;
  int64_t stride = 1;
  for (int d = 0; d < rank; ++d) {
    map.sizes.push_back(extents[d]);
    map.strides.push_back(stride);
    map.box.push_back(d == 0 ? row_box : boxes[d]);
    stride *= d == 0 ? 20 : extents[d];
  }
  return map;
}

/// A load of every rank and one for every swizzle; what has arrived is the result.
inline TwinProbe bulk_load(int rank, int row_box, int swizzle) {
  codegen::TensorMapSpec map = map_of(rank, row_box, swizzle);
  int words = 1;
  for (const int extent : map.box) words *= extent;
  constexpr const char* at[] = {"-4", "2", "-1", "0", "0"};
  std::string coordinates;
  for (int d = 0; d < rank; ++d) coordinates += (d > 0 ? ", " : "") + std::string(at[d]);
  return {.name = fmt::format("tma_load_{}d_{}", rank, swizzle),
          .body = fmt::format(
              "if (t == 0) {{\n  tw::barrier_init(&shared.full, 1);\n  tw::barrier_init_fence();\n"
              "}}\n__syncthreads();\nif (t == 0) {{\n  tw::barrier_expect(&shared.full, {});\n"
              "  tw::tma_load(shared.x, map, &shared.full, {});\n}}\n__syncwarp();\n"
              "tw::barrier_wait(&shared.full, 0);\n"
              "for (int i = t; i < {}; i += 32) out[i] = shared.x[i];\n",
              words * 4, coordinates, words),
          .shared = "  unsigned x[512];\n  tw::Barrier full;\n",
          .shared_bytes = 2064,
          .in_words = 20 * 3 * 3 * 2 * 2,
          .out_words = words,
          // Any float; signalling NaNs are moved as they are.
          .maps = {{"map", false, map}}};
}

inline TwinProbe bulk_store(int rank, int row_box, int swizzle) {
  codegen::TensorMapSpec map = map_of(rank, row_box, swizzle);
  int words = 1;
  for (const int extent : map.box) words *= extent;
  constexpr const char* at[] = {"4", "2", "1", "1", "0"};
  std::string coordinates;
  for (int d = 0; d < rank; ++d) coordinates += (d > 0 ? ", " : "") + std::string(at[d]);
  return {.name = fmt::format("tma_store_{}d_{}", rank, swizzle),
          .body = fmt::format("for (int i = t; i < {}; i += 32) shared.x[i] = in[i];\n"
                              "tw::fence_async_shared();\n__syncthreads();\n"
                              "if (t == 0) {{\n  tw::tma_store(map, shared.x, {});\n"
                              "  tw::tma_store_commit();\n  tw::tma_store_wait_read<0>();\n"
                              "  tw::tma_store_wait<0>();\n}}\n",
                              words, coordinates),
          .shared = "  unsigned x[512];\n",
          .shared_bytes = 2048,
          .in_words = words,
          .out_words = 720,
          .maps = {{"map", true, map}}};
}

/// Each block of a cluster loads half for both.
inline TwinProbe multicast() {
  codegen::TensorMapSpec map;
  map.sizes = {32, 4};
  map.strides = {1, 32};
  map.box = {32, 2};
  map.swizzle = 128;
  return {.name = "tma_load_multicast",
          .body =
              "if (t == 0) {\n  tw::barrier_init(&shared.full, 1);\n"
              "  tw::barrier_init_fence();\n}\ntw::cluster_sync();\n"
              "const unsigned rank = tw::cluster_rank();\n"
              "if (t == 0) {\n  tw::barrier_expect(&shared.full, 512);\n"
              "  tw::tma_load_multicast(&shared.x[64 * rank], map, &shared.full, "
              "(unsigned short)3, 0, 2 * rank);\n}\n__syncwarp();\n"
              "tw::barrier_wait(&shared.full, 0);\n"
              "for (int i = t; i < 128; i += 32) out[128 * blockIdx.x + i] = shared.x[i];\n"
              "tw::cluster_sync();\n",
          .shared = "  unsigned x[128];\n  tw::Barrier full;\n",
          .blocks = 2,
          .cluster = 2,
          .shared_bytes = 528,
          .in_words = 128,
          .out_words = 256,
          .maps = {{"map", false, map}}};
}

/// An operand type of products: its element in CUDA, bytes, input and tolerance of sums.
struct Element {
  std::string type, cuda;
  int bytes;
  std::function<uint32_t(uint32_t)> input;
  double tolerance;
};

inline std::vector<Element> elements() {
  // Halves in +-[1, 2), singles likewise, 8-bit floats up to 2, any integers.
  const auto f16 = [](uint32_t bits) { return (bits & 0x83ff83ff) | 0x3c003c00; };
  const auto bf16 = [](uint32_t bits) { return (bits & 0x807f807f) | 0x3f803f80; };
  const auto single = [](uint32_t bits) { return (bits & 0x807fffff) | 0x3f800000; };
  const auto eight = [](uint32_t bits) { return bits & 0xbfbfbfbf; };
  const auto any = [](uint32_t bits) { return bits; };
  // Sums of up to 128 products below 4 in any order: 4 sqrt(128) 2^-24 times 512. Of 8-bit floats
  // the unit keeps about 14 bits of a sum: an H200 differed by 0.08 at sums around 100.
  return {{"f16", "tw::f16", 2, f16, 1e-3},
          {"bf16", "tw::bf16", 2, bf16, 1e-3},
          {"tf32", "float", 4, single, 1e-3},
          {"e4m3", "unsigned char", 1, eight, 0.2},
          {"e5m2", "unsigned char", 1, eight, 0.2},
          {"e4m3_e5m2", "unsigned char", 1, eight, 0.2},
          {"e5m2_e4m3", "unsigned char", 1, eight, 0.2},
          {"s8", "signed char", 1, any, 0}};
}

/// Two products of a warpgroup, one after the other, on shared memory full of the input.
inline TwinProbe product(const Element& element, int n, int swizzle_a, int swizzle_b,
                         const std::string& major) {
  const int k = 32 / element.bytes;
  const auto operand = [&](char order, const char* at, int swizzle) {
    if (order == 'r') return std::string("words");
    return order == 'k' ? fmt::format("tw::k_major<{}>((const {}*)shared.{}, {})", swizzle,
                                      element.cuda, at, 8 * swizzle)
                        : fmt::format("tw::mn_major<{}>((const {}*)shared.{}, {}, {})", swizzle,
                                      element.cuda, at, 16 * swizzle, 8 * swizzle);
  };
  const bool integer = element.type == "s8";
  const std::string call =
      fmt::format("tw::wgmma_m64n{}k{}_{}(acc, {}, {}, ", n, k, element.type,
                  operand(major[0], "a", swizzle_a), operand(major[1], "b", swizzle_b));
  return {
      .name = fmt::format("wgmma_{}_n{}_{}_{}_{}", element.type, n, major, swizzle_a, swizzle_b),
      .body = fmt::format("for (int i = t; i < 2048; i += 128) {{\n  shared.a[i] = in[i];\n"
                          "  shared.b[i] = in[2048 + i];\n}}\n"
                          "unsigned words[4];\nfor (int i = 0; i < 4; ++i) words[i] = in[512 * i + "
                          "t];\n"
                          "tw::fence_async_shared();\n__syncthreads();\n{0} acc[2][{1}];\n"
                          "for (int i = 0; i < {1}; ++i) acc[0][i] = acc[1][i] = i + t;\n"
                          "tw::wgmma_fence();\n{2}1);\ntw::wgmma_commit();\n{2}1);\n"
                          "tw::wgmma_commit();\ntw::wgmma_wait<1>();\ntw::wgmma_wait<0>();\n"
                          "tw::complete(acc);\n"
                          "for (int i = 0; i < {1}; ++i)\n  for (int half = 0; half < 2; ++half)\n"
                          "    out[(2 * i + half) * 128 + t] = {3}(acc[half][i]);\n",
                          integer ? "int" : "float", n / 4, call,
                          integer ? "(unsigned)" : "__float_as_uint"),
      .shared = "  unsigned a[2048], b[2048];\n",
      .threads = 128,
      .shared_bytes = 16384,
      .in_words = 4096,
      .out_words = 64 * n,
      .input = element.input,
      .tolerance = element.tolerance};
}

/// The same by one warp.
inline TwinProbe warp_product(const Element& element) {
  const int k = 32 / element.bytes;
  const bool integer = element.type == "s8";
  return {
      .name = "mma_" + element.type,
      .body = fmt::format(
          "unsigned a[4], b[2];\nfor (int i = 0; i < 4; ++i) a[i] = in[32 * i + t];\n"
          "for (int i = 0; i < 2; ++i) b[i] = in[128 + 32 * i + t];\n"
          "{0} top[2] = {{1, 2}}, bottom[2] = {{3, 4}};\n"
          "tw::mma_m16n8k{1}_{2}(top, bottom, a, b);\n"
          "for (int i = 0; i < 2; ++i) {{\n  out[64 * i + t] = {3}(top[i]);\n"
          "  out[64 * i + 32 + t] = {3}(bottom[i]);\n}}\n",
          integer ? "int" : "float", k, element.type, integer ? "(unsigned)" : "__float_as_uint"),
      .in_words = 192,
      .out_words = 128,
      .input = element.input,
      .tolerance = element.tolerance};
}

inline std::vector<TwinProbe> products() {
  std::vector<TwinProbe> made;
  for (const Element& element : elements()) {
    made.push_back(warp_product(element));
    for (const int swizzle : {32, 64, 128})
      made.push_back(product(element, 16, swizzle, 160 - swizzle == 96 ? 64 : 160 - swizzle, "kk"));
    made.push_back(product(element, 8, 128, 128, "rk"));
    if (element.bytes != 2) continue;
    for (const char* major : {"km", "mk", "mm", "rm"})
      made.push_back(product(element, 64, 128, 128, major));
    made.push_back(product(element, 32, 64, 32, "mm"));
    made.push_back(product(element, 24, 32, 64, "mm"));
  }
  return made;
}

}  // namespace probes

/// All probes; together they use every helper that is not plain C++.
inline std::vector<TwinProbe> twin_probes() {
  std::vector<TwinProbe> all;
  for (std::vector<TwinProbe> part :
       {probes::scalars(), probes::fragments(), probes::copies(), probes::products()})
    all.insert(all.end(), part.begin(), part.end());
  for (int rank = 1; rank <= 5; ++rank) {
    all.push_back(probes::bulk_load(rank, 20, 0));
    all.push_back(probes::bulk_store(rank, 16, 0));
  }
  for (const int swizzle : {32, 64, 128}) {
    all.push_back(probes::bulk_load(3, swizzle / 4, swizzle));
    all.push_back(probes::bulk_store(2, swizzle / 4, swizzle));
  }
  all.push_back(probes::multicast());
  return all;
}

}  // namespace tilewright::testing
