// Generated kernels compile for every target, with the config that users get by default, and no
// register is spilled.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <span>
#include <thread>

#include "examples/kernels/linear.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/row_minmax.h"
#include "examples/kernels/row_sum.h"
#include "examples/kernels/saxpy.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/tile_ranges.h"
#include "examples/kernels/vector_add.h"
#include "tests/codegen/kernel_list.h"
#include "tests/codegen/kernels_computed.h"
#include "tests/codegen/kernels_control.h"
#include "tests/codegen/kernels_matrix.h"
#include "tests/codegen/kernels_warpgroups.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/hash.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::testing {
namespace {

constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
constexpr const char* kMmaTargets[] = {"sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a"};

/// A kernel to compile.
struct Source {
  std::string what;
  codegen::KernelStep kernel;
  Target target;
};

void add(std::vector<Source>& sources, const std::string& what, const ir::Function& fn,
         std::optional<Config> config = {}, std::span<const char* const> targets = kTargets) {
  for (const char* name : targets) {
    const Target target = parse_target(name);
    try {
      const codegen::Plan plan =
          codegen::lower(fn, config.value_or(default_config(fn, target)), target);
      for (const codegen::Step& step : plan.steps)
        sources.push_back({fmt::format("{} for {}, config {}", what, name, to_json(plan.config)),
                           step.kernel, target});
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << " for " << name << ": " << error.what();
    }
  }
}

void add_example(std::vector<Source>& sources, const KernelHandle& kernel,
                 std::vector<CompileArg> args) {
  add(sources, "example " + kernel.name(), *kernel.trace(args));
}

/// About one in `every`, always the same ones, of all targets alike; TILEWRIGHT_ALL_CASES=1: all.
std::vector<Source> some_of(const std::vector<Source>& sources, size_t every) {
  if (std::getenv("TILEWRIGHT_ALL_CASES") != nullptr) return sources;
  std::vector<Source> some;
  for (const Source& source : sources)
    if (runtime::hash_bytes(source.what).low % every == 0) some.push_back(source);
  return some;
}

/// Compiles all of them on every core.
void expect_compile(const std::vector<Source>& sources) {
  std::vector<std::string> problems(sources.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < sources.size();) {
      const Source& source = sources[i];
      try {
        const runtime::CompiledCuda made =
            runtime::compile_cuda(source.kernel.source, source.kernel.symbol, source.target);
        // Joined halves are kept in local memory: slower than need be.
        const bool known = source.what.starts_with("unpacked_bytes ");
        if (made.resources.spill_bytes > 0 || (made.resources.local_bytes > 0 && !known))
          problems[i] = fmt::format("{} registers, spills {} bytes, stack frame {} bytes",
                                    made.resources.registers, made.resources.spill_bytes,
                                    made.resources.local_bytes);
        for (const std::string& note : made.notes())
          if (note.find("Performance Loss") != note.npos) problems[i] += note;
      } catch (const std::exception& error) {
        problems[i] = fmt::format("{}\n{}", error.what(), source.kernel.source);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(2u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(problems[i], "") << sources[i].what;
}

TEST(Kernels, Examples) {
  std::vector<Source> sources;
  add_example(sources, examples::matmul,
              {contiguous_spec(f32, {1000, 999}), contiguous_spec(f32, {999, 1001})});
  add_example(sources, examples::matmul,
              {contiguous_spec(f32, {4096, 4096}), TensorSpec{f32, {4096, 4096}, {1, 4096}}});
  add_example(sources, examples::matmul,
              {contiguous_spec(bf16, {512, 512}), contiguous_spec(bf16, {512, 512})});
  add_example(sources, examples::matmul,
              {contiguous_spec(f32, {9, 9}), contiguous_spec(f32, {9, 9})});
  add_example(sources, examples::linear_gelu,
              {contiguous_spec(f32, {256, 300}), contiguous_spec(f32, {300, 200}),
               contiguous_spec(f32, {200})});
  add_example(sources, examples::row_minmax, {contiguous_spec(f32, {1000, 777})});
  add_example(sources, examples::row_sum, {contiguous_spec(f32, {1000, 999})});
  add_example(sources, examples::softmax, {contiguous_spec(bf16, {8192, 4096})});
  add_example(sources, examples::softmax, {contiguous_spec(f32, {100, 1000})});
  add_example(sources, examples::tile_ranges, {10});
  add_example(sources, examples::tile_pairs, {10, 10});
  add_example(sources, examples::vector_add,
              {contiguous_spec(f32, {1 << 28}), contiguous_spec(f32, {1 << 28})});
  expect_compile(sources);
}

TEST(Kernels, OfTheTestsOfCodeGeneration) {
  std::vector<Source> sources;
  for (const KernelCase& kernel : every_kernel()) add(sources, kernel.name, kernel.fn);
  expect_compile(some_of(sources, 4));
}

// Loops and branches on run-time values; several grids, as steps and as one cooperative kernel. A
// kernel of each on every target, in all.
TEST(Kernels, OfTheTestsOfControl) {
  std::vector<Source> sources;
  for (const KernelCase& kernel : control_kernels()) add(sources, kernel.name, kernel.fn);
  for (const KernelCase& kernel : kernels_of_grids())
    for (const char* name : kTargets) {
      Config config = default_config(kernel.fn, parse_target(name));
      config.persistent = true;
      if (config.copy == CopyKind::tma) config.copy = CopyKind::cp_async;
      add(sources, kernel.name, kernel.fn, config, std::span(&name, 1));
    }
  expect_compile(some_of(sources, 4));
}

// With the config that is made for them, which takes mma.
TEST(Kernels, ThatMultiplyByMma) {
  std::vector<KernelCase> kernels;
  for (const char* how : {"nn", "tn", "nt", "tt"})
    kernels.push_back(product_of(how, bf16, 4096, 4096, 4096));
  kernels.push_back(product_of("nn", f16, 1001, 999, 4095));
  kernels.push_back(product_of("nt", i8, 2048, 2048, 2048));
  kernels.push_back(product_of_cast(bf16, 1024, 1024, 1024));
  kernels.push_back(product_bias_gelu(f16, 4096, 4096, 1024));
  kernels.push_back(two_products(2048, 2048, 512, bf16));
  kernels.push_back(chained_products(1024, 1024, 1024, 64, f16));
  std::vector<Source> sources;
  for (const KernelCase& kernel : kernels) add(sources, kernel.name, kernel.fn, {}, kMmaTargets);
  // sm_90a has a larger unit, which its own configs take.
  constexpr const char* kHopper[] = {"sm_90a"};
  for (size_t i = 0; i < kernels.size(); ++i)
    for (Config config :
         {Config{.block = {64, 64, 64}, .stages = 3}, Config{.block = {128, 128, 32}, .stages = 4},
          Config{.block = {128, 256, 64}, .warps = 8, .stages = 3}}) {
      const bool plain = i < 4;  // the transpositions; others may have more to hold
      if (!plain && config.block[0] > 64) continue;
      config.block.resize(kernels[i].fn.axes.size(), 64);
      config.matrix = MatrixUnit::mma;
      add(sources, kernels[i].name, kernels[i].fn, config, kHopper);
    }
  for (const Source& source : sources)
    EXPECT_NE(source.kernel.source.find("tw::mma_m16n8k"), std::string::npos) << source.what;
  expect_compile(some_of(sources, 2));
}

Config bulk_config(std::vector<int64_t> block, int warps, int stages = 3) {
  return {.block = std::move(block),
          .warps = warps,
          .stages = stages,
          .copy = CopyKind::tma,
          .matrix = MatrixUnit::wgmma};
}

constexpr const char* kWgmmaTargets[] = {"sm_90a"};

void expect_warpgroups(const std::vector<Source>& sources) {
  for (const Source& source : sources)
    EXPECT_NE(source.kernel.source.find("tw::wgmma_m64n"), std::string::npos) << source.what;
  expect_compile(sources);
}

// One to three warpgroups by tiles as wide as their registers allow, operands stored either way.
TEST(Kernels, ThatMultiplyByWarpgroups) {
  std::vector<Source> sources;
  for (const char* how : {"nn", "tn", "nt", "tt"})
    for (const auto& [rows, columns, warps] : {std::tuple{64, 256, 4},
                                               {64, 96, 4},
                                               {128, 256, 8},
                                               {128, 192, 8},
                                               {128, 160, 8},
                                               {64, 256, 8},
                                               {192, 160, 12},
                                               {192, 192, 12}}) {
      const DType dtype = columns % 64 == 0 ? bf16 : f16;
      const KernelCase kernel = product_of(how, dtype, 4096, 4096, 4096);
      add(sources, kernel.name, kernel.fn, bulk_config({rows, columns, 64}, warps), kWgmmaTargets);
    }
  const KernelCase narrow = product_of("nt", bf16, 4096, 4096, 4096);
  for (const int columns : {8, 16, 24})
    add(sources, narrow.name, narrow.fn, bulk_config({64, columns, 64}, 4), kWgmmaTargets);
  expect_warpgroups(sources);
}

// As they are made for large products: persistent, clusters, edges; and other ways to copy.
TEST(Kernels, ThatMultiplyByWarpgroupsInClusters) {
  std::vector<Source> sources;
  for (const int cluster : {1, 2, 4})
    for (const int64_t size : {4096, 4000}) {
      Config config = bulk_config({128, 256, 64}, 8, 4);
      config.persistent = true;
      config.cluster = cluster;
      config.group = 8;
      if (cluster == 4) config.order = {1, 0};
      const KernelCase kernel = product_of("nn", bf16, size, size, size);
      add(sources, kernel.name, kernel.fn, config, kWgmmaTargets);
    }
  for (const CopyKind copy : {CopyKind::cp_async, CopyKind::sync}) {
    Config config = bulk_config({128, 128, 64}, 8);
    config.copy = copy;
    const KernelCase kernel = product_of("nt", bf16, 4096, 4096, 4096);
    add(sources, kernel.name, kernel.fn, config, kWgmmaTargets);
  }
  const KernelCase skinny = product_of("nn", bf16, 16, 4096, 4096);
  for (const int64_t rows : {8, 16, 32})
    add(sources, skinny.name, skinny.fn, bulk_config({rows, 64, 128}, 4, 6), kWgmmaTargets);
  expect_warpgroups(sources);
}

std::vector<int64_t> blocks_of(const KernelCase& kernel, const std::vector<int64_t>& tile) {
  std::vector<int64_t> blocks;
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) blocks.push_back(tile[std::min<size_t>(blocks.size(), 2)]);
  return blocks;
}

TEST(Kernels, RewritesThatMultiplyByWarpgroups) {
  std::vector<KernelCase> kernels;
  kernels.push_back(product_bias_gelu(bf16, 4096, 4096, 1024));
  kernels.push_back(two_products(2048, 2048, 512, bf16));
  kernels.push_back(product_of_exp(2048, 2048, 512, bf16));
  kernels.push_back(product_of_scaled(bf16, 2048, 2048, 512));
  kernels.push_back(product_plus(bf16, 2048, 2048, 512));
  kernels.push_back(product_onto(f16, 2048, 2048, 512));
  kernels.push_back(product_into(bf16, 2048, 2048, 512));
  kernels.push_back(product_in_two_loops(f16, 2048, 2048, 1024, 512));
  kernels.push_back(products_of_one_b(bf16, 2048, 2048, 512));
  kernels.push_back(product_of_some_steps(bf16, 2048, 2048, 512));
  kernels.push_back(product_of_some_tiles(bf16, 2048, 2048, 512));
  kernels.push_back(triangular_product(bf16, 2048, 2048));
  kernels.push_back(batched_product(f16, 16, 1024, 1024, 1024));
  kernels.push_back(chained_products(1024, 1024, 1024, 64, f16));
  std::vector<Source> sources;
  for (const KernelCase& kernel : kernels)
    add(sources, kernel.name, kernel.fn, bulk_config(blocks_of(kernel, {128, 128, 64}), 8),
        kWgmmaTargets);
  expect_warpgroups(sources);
}

TEST(Kernels, OfOtherTypesThatMultiplyByWarpgroups) {
  std::vector<Source> sources;
  for (const DType dtype : {f8e4m3, f8e5m2, i8}) {
    const KernelCase kernel = product_of("nt", dtype, 4096, 4096, 4096);
    for (const auto& [rows, columns, warps] :
         {std::tuple{64, 192, 4}, {128, 256, 8}, {128, 128, 8}, {192, 160, 12}})
      add(sources, kernel.name, kernel.fn, bulk_config({rows, columns, 128}, warps), kWgmmaTargets);
  }
  expect_warpgroups(sources);
}

// Second operands that are stored across k, for which the product is transposed, sums in two
// levels, operands in two parts: with one and two warpgroups.
TEST(Kernels, StoredAcrossKAndInTwoLevels) {
  std::vector<Source> sources;
  const KernelCase across = tf32_product("nn", 4096, 4096, 4096, tf32);
  const KernelCase first = tf32_product("tt", 4096, 4096, 4096, tf32);
  const KernelCase levels = scaled_product(f8e4m3, f8e4m3, 4096, 4096, 4096);
  for (const char* how : {"nn", "nt"}) {
    const KernelCase parts = tf32_product(how, 4096, 4096, 4096, tf32x3);
    add(sources, parts.name, parts.fn, bulk_config({128, 256, 32}, 8, 3), kWgmmaTargets);
  }
  for (const auto& [m, n, warps] : {std::tuple{128, 128, 8}, {128, 64, 4}, {64, 128, 8}}) {
    add(sources, across.name, across.fn, bulk_config({m, n, 32}, warps), kWgmmaTargets);
    add(sources, first.name, first.fn, bulk_config({m, n, 32}, warps), kWgmmaTargets);
    add(sources, levels.name, levels.fn, bulk_config({m, n, 128}, warps), kWgmmaTargets);
  }
  expect_warpgroups(sources);
}

// Operands that are computed from loaded tiles: large products, and few rows of activations with
// weights of 8 and 4 bits.
TEST(Kernels, WithComputedOperands) {
  std::vector<Source> warpgroups, warps;
  for (const KernelCase& kernel : computed_kernels(2048, 2048, 1024)) {
    const Config large = bulk_config(blocks_of(kernel, {128, 64, 64}), 8);
    if (kernel.name != "chained_products" && kernel.name != "product_of_computed_before")
      add(warpgroups, kernel.name, kernel.fn, large, kWgmmaTargets);
    if (kernel.fn.params[0].spec.dtype == f8e4m3) continue;  // not on all of the targets
    Config config{.block = blocks_of(kernel, {64, 64, 32}), .stages = 3};
    config.matrix = MatrixUnit::mma;
    add(warps, kernel.name, kernel.fn, config, kMmaTargets);
  }
  for (const bool by_k : {true, false})
    for (const KernelCase& kernel :
         {product_of_weights(bf16, i8, 16, 8192, 8192, by_k),
          product_of_weights(bf16, f8e4m3, 16, 8192, 8192, by_k),
          product_of_halves(i8, 16, 8192, 8192, by_k), product_of_halves(u8, 16, 8192, 8192, by_k)})
      for (const int64_t columns : {64, 128})
        add(warpgroups, kernel.name, kernel.fn,
            bulk_config({16, columns, 128}, static_cast<int>(columns) / 16, 4), kWgmmaTargets);
  for (const Source& source : warps)
    EXPECT_NE(source.kernel.source.find("tw::mma_m16n8k"), std::string::npos) << source.what;
  expect_warpgroups(some_of(warpgroups, 2));
  expect_compile(some_of(warps, 4));
}

// Bulk copies feed other units too, on every target that has them.
TEST(Kernels, ThatCopyInBulkForOtherUnits) {
  static constexpr const char* targets[] = {"sm_90", "sm_90a", "sm_100a", "sm_120a"};
  std::vector<Source> sources;
  for (const int warps : {4, 8}) {
    const KernelCase kernel = product_of("nt", bf16, 4096, 4096, 4096);
    Config config = bulk_config({64, 128, 32}, warps);
    for (const MatrixUnit unit : {MatrixUnit::fma, MatrixUnit::mma}) {
      config.matrix = unit;
      add(sources, kernel.name, kernel.fn, config, targets);
    }
  }
  expect_compile(sources);
}

TEST(Kernels, PaddedCopies) {
  std::vector<Source> sources;
  for (const DType dtype : {bf16, i8}) {
    const KernelCase kernel = product(dense(dtype, {4095, 4095}), transposed(dtype, 4095, 4095));
    Config config{.block = {64, 64, 16}, .copy = CopyKind::sync, .repitch = true};
    add(sources, kernel.name, kernel.fn, config);
  }
  EXPECT_EQ(sources.size(), 2 * 3 * std::size(kTargets));
  expect_compile(sources);
}

}  // namespace
}  // namespace tilewright::testing
