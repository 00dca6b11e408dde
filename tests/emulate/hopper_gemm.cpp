#include "tests/emulate/hopper_gemm.h"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "tilewright/runtime/half.h"

namespace tilewright::testing {
namespace {

constexpr const char* kText = R"(struct Shared {
  tw::bf16 a[3][128 * 64];  // rows along k, swizzled
  tw::bf16 b[3][64 * 64];   // rows along n, swizzled
  tw::bf16 c[2][64 * 64];   // of each warpgroup
  tw::Barrier full[3], empty[3];
};

extern "C" __global__ void __launch_bounds__(384, 1)
test(const __grid_constant__ tw::TensorMap a_map, const __grid_constant__ tw::TensorMap b_map,
     const __grid_constant__ tw::TensorMap c_map) {
  Shared& shared = tw::shared_memory<Shared>();
  const int warpgroup = threadIdx.x / 128, t = threadIdx.x % 128;
  const unsigned rank = tw::cluster_rank();
  if (threadIdx.x == 0) {
    for (int s = 0; s < 3; ++s) {
      tw::barrier_init(&shared.full[s], 1);
      tw::barrier_init(&shared.empty[s], 4);  // two warpgroups of two blocks
    }
    tw::barrier_init_fence();
  }
  tw::cluster_sync();

  if (warpgroup == 0) {
    tw::registers_down<24>();
    if (t == 0) {
      int stage = 0;
      unsigned phase = 1;
      for (int tile = blockIdx.x / 2; tile < 6; tile += gridDim.x / 2) {
        const int row = (tile / 3 * 2 + rank) * 128, col = tile % 3 * 64;
        for (int k = 0; k < 296; k += 64) {
          tw::barrier_wait(&shared.empty[stage], phase);
          tw::barrier_expect(&shared.full[stage], 24576);
          tw::tma_load(shared.a[stage], a_map, &shared.full[stage], k, row);
          tw::tma_load_multicast(&shared.b[stage][rank * 2048], b_map, &shared.full[stage],
                                 (unsigned short)3, col, k + 32 * rank);
          if (++stage == 3) {
            stage = 0;
            phase ^= 1;
          }
        }
      }
    }
    __syncwarp();
  } else {
    tw::registers_up<240>();
    const int w = warpgroup - 1, warp = t / 32, lane = t % 32;
    int stage = 0;
    unsigned phase = 0;
    float acc[2][16];
    for (int tile = blockIdx.x / 2; tile < 6; tile += gridDim.x / 2) {
      const int row = (tile / 3 * 2 + rank) * 128, col = tile % 3 * 64;
      int previous = -1;
      for (int k = 0; k < 296; k += 64) {
        tw::barrier_wait(&shared.full[stage], phase);
        tw::wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < 4; ++kk) {
          const auto a = tw::k_major<128>(&shared.a[stage][w * 4096 + kk * 16], 1024);
          const auto b = tw::mn_major<128>(&shared.b[stage][kk * 1024], 8192, 1024);
          tw::wgmma_m64n64k16_bf16(acc, a, b, k + kk > 0);
        }
        tw::wgmma_commit();
        tw::wgmma_wait<1>();
        if (previous >= 0 && t < 2) tw::barrier_arrive_at(&shared.empty[previous], t);
        previous = stage;
        if (++stage == 3) {
          stage = 0;
          phase ^= 1;
        }
      }
      tw::wgmma_wait<0>();
      if (t < 2) tw::barrier_arrive_at(&shared.empty[previous], t);

      if (t == 0) tw::tma_store_wait_read<0>();
      tw::sync_warps(1 + w, 128);
      const int r = warp * 16 + lane % 16;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned words[4] = {tw::pack<tw::bf16>(acc[0][4 * i], acc[0][4 * i + 1]),
                                   tw::pack<tw::bf16>(acc[1][4 * i], acc[1][4 * i + 1]),
                                   tw::pack<tw::bf16>(acc[0][4 * i + 2], acc[0][4 * i + 3]),
                                   tw::pack<tw::bf16>(acc[1][4 * i + 2], acc[1][4 * i + 3])};
        const int chunk = i * 2 + lane / 16;
        tw::matrix_store<4>(&shared.c[w][r * 64 + (chunk ^ r % 8) * 8], words);
      }
      tw::fence_async_shared();
      tw::sync_warps(1 + w, 128);
      if (t == 0) {
        tw::tma_store(c_map, shared.c[w], col, row + 64 * w);
        tw::tma_store_commit();
      }
    }
    if (t == 0) tw::tma_store_wait<0>();
    __syncwarp();
  }
  tw::cluster_sync();
}
)";

codegen::KernelParam map_param(const std::string& name, int source, int rows, int columns,
                               std::vector<int> box, bool written) {
  codegen::TensorMapSpec map;
  map.dtype = DType::bf16;
  map.sizes = {columns, rows};
  map.strides = {1, columns};
  map.box = std::move(box);
  map.swizzle = 128;
  codegen::KernelParam param;
  param.name = name;
  param.dtype = DType::bf16;
  param.written = written;
  param.source = source;
  param.map = map;
  return param;
}

/// A tensor of bf16, as aligned as a GPU's, of small whole numbers.
struct Halves {
  explicit Halves(int count, unsigned seed) : storage(static_cast<size_t>(count) + 256) {
    void* begin = storage.data();
    size_t room = storage.size() * 2;
    values = static_cast<uint16_t*>(std::align(256, static_cast<size_t>(count) * 2, begin, room));
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i)
      values[i] = bf16_from_double(static_cast<double>(random() % 5) - 2);
  }
  float at(int i) const { return bf16_to_float(values[i]); }
  std::vector<uint16_t> storage;
  uint16_t* values = nullptr;
};

}  // namespace

std::string HopperGemm::text() { return kText; }

codegen::Plan HopperGemm::plan(const std::string& text) {
  codegen::Plan made;
  made.name = "test";
  codegen::KernelStep step;
  step.symbol = "test";
  step.source = text;
  step.params = {map_param("a_map", 0, m, k, {block_k, block_m}, false),
                 map_param("b_map", 1, k, n, {block_n, block_k / cluster}, false),
                 map_param("c_map", 2, m, n, {64, 64}, true)};
  step.grid = codegen::integer(clusters * cluster);
  step.threads = 384;
  step.cluster = cluster;
  step.shared_bytes = stages * (block_m + block_n) * block_k * 2 + 2 * 64 * 64 * 2 + 2 * stages * 8;
  made.steps.push_back({codegen::Step::Kind::kernel, std::move(step), {}});
  return made;
}

HopperResult run_hopper_gemm(const std::string& text) {
  constexpr int m = HopperGemm::m, n = HopperGemm::n, k = HopperGemm::k;
  const Halves a(m * k, 1), b(k * n, 2), c(m * n, 3);
  const auto argument = [](const Halves& tensor, int elements, bool defined) {
    return runtime::EmulatorArgument{tensor.values, elements, DType::bf16, true, defined};
  };
  const std::vector<runtime::EmulatorArgument> args = {
      argument(a, m * k, true), argument(b, k * n, true), argument(c, m * n, false)};
  HopperResult result;
  result.emulation = runtime::emulate(HopperGemm::plan(text), args);
  for (int i = 0; i < m && result.difference.empty(); ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;  // exact
      for (int at = 0; at < k; ++at) sum += a.at(i * k + at) * b.at(at * n + j);
      const float expected = bf16_to_float(bf16_from_double(sum));
      if (c.at(i * n + j) == expected) continue;
      result.difference =
          fmt::format("c[{}, {}] is {}, expected {}", i, j, c.at(i * n + j), expected);
      break;
    }
  return result;
}

std::string replaced(std::string text, const std::string& from, const std::string& to, int which) {
  size_t at = text.find(from);
  for (int i = 0; i < which && at != text.npos; ++i) at = text.find(from, at + 1);
  if (at == text.npos) throw std::runtime_error("the kernel has no " + from);
  return text.replace(at, from.size(), to);
}

}  // namespace tilewright::testing
