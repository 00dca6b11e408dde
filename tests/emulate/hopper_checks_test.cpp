// Each mistake with asynchronous units that the emulator looks for, made by a kernel that is right
// but for it, and what the report says.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/emulate/hand_kernel.h"

namespace tilewright::testing {
namespace {

using runtime::Emulation;
using runtime::FindingKind;

void expect_only(const Emulation& emulation, FindingKind kind, std::string_view text) {
  ASSERT_EQ(emulation.findings.size(), 1u) << emulation.report();
  EXPECT_EQ(to_string(emulation.findings[0].kind), to_string(kind)) << emulation.report();
  EXPECT_NE(emulation.report().find(text), std::string::npos) << emulation.report();
}

/// That mistake is among those reported: what follows from it may be as well.
void expect_finding(const Emulation& emulation, FindingKind kind, std::string_view text) {
  EXPECT_TRUE(emulation.has(kind)) << emulation.report();
  EXPECT_NE(emulation.report().find(text), std::string::npos) << emulation.report();
}

void expect_clean(const Emulation& emulation) { EXPECT_EQ(emulation.report(), ""); }

/// Loads boxes of 32 floats of b (4 rows of 64) and stores them to a.
HandKernel bulk(std::string body) {
  HandKernel kernel{.shared = "  float x[2][32];\n  float y[32];\n  tw::Barrier full[2];\n",
                    .shared_bytes = 400,
                    .body = std::move(body),
                    .tensors = 2};
  codegen::TensorMapSpec map;
  map.sizes = {60, 4};
  map.strides = {1, 64};
  map.box = {32, 1};
  kernel.maps = {{"a_map", 0, map}, {"b_map", 1, map}};
  return kernel;
}

constexpr const char* kInit =
    "if (t == 0) {\n  tw::barrier_init(&shared.full[0], 1);\n"
    "  tw::barrier_init(&shared.full[1], 1);\n  tw::barrier_init_fence();\n}\n__syncthreads();\n";
constexpr const char* kLoad =
    "if (t == 0) {\n  tw::barrier_expect(&shared.full[0], 128);\n"
    "  tw::tma_load(shared.x[0], b_map, &shared.full[0], 32, 1);\n}\n";
constexpr const char* kWait = "tw::barrier_wait(&shared.full[0], 0);\n";

std::string loading(std::string init, std::string load, std::string wait, std::string rest) {
  return init + load + wait + rest;
}

TEST(HopperChecks, BulkLoads) {
  const std::string use = "a[t] = shared.x[0][t ^ 1];\n";
  expect_clean(bulk(loading(kInit, kLoad, kWait, use)).run(256));
  expect_finding(bulk(loading(kInit, kLoad, "", use)).run(256), FindingKind::copy_in_flight,
                 "a bulk load to it may not have arrived");
  const Emulation early = bulk(loading(kInit, kLoad, "", "shared.x[0][t] = 1;\n")).run(256);
  EXPECT_TRUE(early.has(FindingKind::copy_in_flight)) << early.report();
  expect_finding(
      bulk(loading(kInit, "shared.x[0][t] = 1;\n" + std::string(kLoad), kWait, use)).run(256),
      FindingKind::shared_race, "bulk load by thread 0");
  expect_only(bulk(loading(kInit, "shared.x[0][t] = 1;\n__syncthreads();\n" + std::string(kLoad),
                           kWait, use))
                  .run(256),
              FindingKind::fence_missing, "no proxy fence is between");
  expect_clean(bulk(loading(kInit,
                            "shared.x[0][t] = 1;\ntw::fence_async_shared();\n__syncthreads();\n" +
                                std::string(kLoad),
                            kWait, use))
                   .run(256));
}

TEST(HopperChecks, BulkLoadsZeroWhatIsOutside) {
  HandKernel kernel = bulk(loading(kInit, kLoad, kWait, "a[t] = shared.x[0][t];\n"));
  std::vector<float> found;
  expect_clean(kernel.run(256, {}, &found));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(found[static_cast<size_t>(i)], i < 28 ? 96 + i : 0) << i;
}

TEST(HopperChecks, BytesOfAPhase) {
  const auto expecting = [](const char* bytes) {
    return bulk(loading(kInit,
                        fmt::format("if (t == 0) {{\n  tw::barrier_expect(&shared.full[0], {});\n"
                                    "  tw::tma_load(shared.x[0], b_map, &shared.full[0], 0, 0);\n"
                                    "}}\n",
                                    bytes),
                        kWait, "a[t] = shared.x[0][t];\n"));
  };
  expect_clean(expecting("128").run(256));
  expect_only(expecting("144").run(256), FindingKind::byte_count,
              "wait for phase 0 (parity 0) of the mbarrier at byte 384 of shared memory, which "
              "misses 0 of 1 arrivals and 16 bytes");
  expect_only(expecting("112").run(256), FindingKind::byte_count, "and -16 bytes");
}

TEST(HopperChecks, Barriers) {
  expect_only(bulk("if (t == 0) tw::barrier_arrive(&shared.full[0]);\n").run(256),
              FindingKind::barrier_misuse,
              "the mbarrier at byte 384 of shared memory of block 0 of the cluster is not "
              "initialized");
  expect_only(
      bulk(std::string(kInit) + "if (t < 2) tw::barrier_expect(&shared.full[1], 16);\n").run(256),
      FindingKind::barrier_misuse, "more than the 1 arrivals that a phase of the mbarrier expects");
  expect_only(bulk(std::string(kInit) + "tw::barrier_wait(&shared.full[1], 0);\n").run(256),
              FindingKind::deadlock,
              "32 of 32 threads wait for phase 0 (parity 0) of the mbarrier at byte 392");
  const Emulation unordered =
      bulk(
          "if (t == 0) tw::barrier_init(&shared.full[0], 32);\ntw::barrier_arrive(&shared.full[0]"
          ");\n")
          .run(256);
  expect_only(unordered, FindingKind::shared_race,
              "no barrier is between its initialization and its use");
  const Emulation unfenced = bulk(loading("if (t == 0) tw::barrier_init(&shared.full[0], 1);\n"
                                          "__syncthreads();\n",
                                          kLoad, kWait, "a[t] = shared.x[0][t];\n"))
                                 .run(256);
  expect_only(unfenced, FindingKind::fence_missing,
              "initialization of the mbarrier known to bulk loads");
  // Arrivals order what was before them with what is behind the wait.
  expect_clean(bulk("if (t == 0) tw::barrier_init(&shared.full[0], 32);\n__syncthreads();\n"
                    "shared.y[t] = t;\ntw::barrier_arrive(&shared.full[0]);\n"
                    "tw::barrier_wait(&shared.full[0], 0);\na[t] = shared.y[31 - t];\n")
                   .run(256));
}

TEST(HopperChecks, BulkStores) {
  const auto storing = [](const std::string& before, const std::string& after) {
    return bulk("shared.x[0][t] = t;\n" + before +
                "if (t == 0) {\n  tw::tma_store(a_map, shared.x[0], 0, 0);\n"
                "  tw::tma_store_commit();\n}\n" +
                after);
  };
  const std::string fence = "tw::fence_async_shared();\n__syncthreads();\n";
  const std::string wait = "if (t == 0) tw::tma_store_wait_read<0>();\n";
  expect_clean(storing(fence, wait).run(256));
  expect_only(storing("__syncthreads();\n", wait).run(256), FindingKind::fence_missing,
              "no proxy fence is between");
  expect_finding(storing("tw::fence_async_shared();\n", wait).run(256),
                 FindingKind::operand_in_flight, "a bulk store may still read it");
  expect_only(storing(fence, "").run(256), FindingKind::copy_pending,
              "bulk stores were not waited for");
  expect_only(storing(fence, "__syncthreads();\nshared.x[0][t] = 0;\n" + wait).run(256),
              FindingKind::operand_in_flight, "a bulk store may still read it");
  expect_clean(storing(fence, wait + "__syncthreads();\nshared.x[0][t] = 0;\n").run(256));
  expect_only(storing(fence, wait + "if (t == 0) shared.y[0] = a[0];\n").run(256),
              FindingKind::copy_in_flight, "a bulk store to it may not be complete");
  expect_clean(storing(fence,
                       "if (t == 0) {\n  tw::tma_store_wait<0>();\n  shared.y[0] = a[0];\n}"
                       "\n")
                   .run(256));
}

// As an H200 was seen to do: a row that ends within 16 bytes is written to the end of them.
TEST(HopperChecks, BulkStoresWriteWhole16Bytes) {
  HandKernel kernel = bulk(
      "shared.x[0][t] = 100 + t;\ntw::fence_async_shared();\n__syncthreads();\n"
      "if (t == 0) {\n  tw::tma_store(a_map, shared.x[0], 32, 0);\n  tw::tma_store_commit();\n"
      "  tw::tma_store_wait<0>();\n}\n");
  kernel.maps[0].map.sizes = {58, 4};
  std::vector<float> result;
  expect_clean(kernel.run(256, {}, &result));
  EXPECT_EQ(result[57], 125);
  EXPECT_EQ(result[59], 127);
  EXPECT_EQ(result[60], 60);
}

TEST(HopperChecks, CopiesThatTheHardwareDoesNotHave) {
  const auto loading_to = [](const std::string& place, const std::string& at) {
    return bulk(
        std::string(kInit) +
        fmt::format("if (t == 0) tw::tma_load({}, b_map, &shared.full[0], {});\n", place, at));
  };
  expect_only(loading_to("&shared.x[0][4]", "0, 0").run(256), FindingKind::bad_operand,
              "byte 16 of shared memory is no multiple of 128");
  expect_only(loading_to("shared.x[0]", "0, 0, 0").run(256), FindingKind::bad_operand,
              "3 coordinates for a map of 2 dimensions");
  expect_only(loading_to("shared.x[0]", "2, 0").run(256), FindingKind::bad_operand,
              "coordinate 2 of the fastest dimension is at no multiple of 16 bytes");
  expect_only(loading_to("(char*)shared.x + 384", "0, 0").run(256), FindingKind::out_of_bounds,
              "bytes 384 to 511 of shared memory, which has 400 bytes");
  HandKernel narrow = loading_to("shared.x[0]", "0, 0");
  narrow.maps[1].map.swizzle = 64;
  expect_only(narrow.run(256), FindingKind::bad_operand,
              "rows of a box have 128 bytes, its swizzle 64");
}

TEST(HopperChecks, NamedBarriers) {
  const auto meeting = [](const std::string& barrier) {
    return HandKernel{.shared = "  float x[64];\n",
                      .shared_bytes = 256,
                      .body = "shared.x[t] = t;\n" + barrier + "a[t] = shared.x[t ^ 32];\n",
                      .threads = 64};
  };
  expect_clean(meeting("tw::sync_warps(1, 64);\n").run(64));
  const Emulation separate = meeting("tw::sync_warps(1 + t / 32, 32);\n").run(64);
  EXPECT_TRUE(separate.has(FindingKind::shared_race)) << separate.report();
  expect_finding(
      meeting("if (t < 32) tw::sync_warps(3, 64);\n__syncwarp();\n").run(64), FindingKind::deadlock,
      "32 of 64 threads wait at named barrier 3, at which 32 of 64 threads have arrived");
  expect_only(meeting("tw::sync_warps(1, 48);\n").run(64), FindingKind::barrier_misuse,
              "of whole warps of the block");
  expect_only(meeting("tw::sync_warps(1, t < 32 ? 32 : 64);\n").run(64),
              FindingKind::barrier_misuse,
              "threads wait at named barrier 1 for 32 threads and for 64");
  expect_finding(meeting("if (t < 40) tw::sync_warps(1, 64);\n").run(64), FindingKind::deadlock,
                 "8 of 64 threads wait for lanes of their warp at a named barrier");
}

TEST(HopperChecks, WarpsThatAreNotTogether) {
  expect_only(HandKernel{.body = "if (t < 16) tw::wgmma_fence();\nelse __syncwarp();\n"}.run(32),
              FindingKind::warp_diverged, "lanes of one warp are at wgmma_fence and at __syncwarp");
}

TEST(HopperChecks, Clusters) {
  HandKernel kernel{.shared = "  float x[32];\n  tw::Barrier full;\n",
                    .shared_bytes = 144,
                    .body = "",
                    .grid = 4,
                    .cluster = 2};
  const std::string init =
      "if (t == 0) {\n  tw::barrier_init(&shared.full, 64);\n  tw::barrier_init_fence();\n}\n"
      "tw::cluster_sync();\n";
  const std::string arrive =
      "tw::barrier_arrive_at(&shared.full, 0);\ntw::barrier_arrive_at(&shared.full, 1);\n";
  const std::string wait =
      "tw::barrier_wait(&shared.full, 0);\na[blockIdx.x * 32 + t] = "
      "tw::cluster_rank();\n";
  const auto with = [&](const std::string& body) {
    HandKernel changed = kernel;
    changed.body = body;
    return changed.run(128);
  };
  expect_clean(with(init + arrive + wait));
  // The other block's arrivals are not waited for.
  expect_finding(with(init + arrive), FindingKind::block_ended, "arrival or write by thread");
  expect_clean(with(init + arrive + "tw::cluster_sync();\n"));
  const Emulation unfenced = with(
      "if (t == 0) tw::barrier_init(&shared.full, 64);\ntw::cluster_sync();\n" + arrive + wait);
  EXPECT_TRUE(unfenced.has(FindingKind::fence_missing)) << unfenced.report();
  expect_only(with("tw::barrier_arrive_at(&shared.full, 2);\n"), FindingKind::barrier_misuse,
              "block 2 of a cluster of 2");
  // Blocks of one cluster are ordered by its barrier, those of two are not.
  expect_clean(
      with("if (tw::cluster_rank() == 0) a[blockIdx.x * 32 + t] = 1;\ntw::cluster_sync();"
           "\nif (tw::cluster_rank() == 1) a[blockIdx.x * 32 - 32 + t] = 2;\n"));
  expect_only(with("if (tw::cluster_rank() == 0) a[t] = 1;\ntw::cluster_sync();\n"),
              FindingKind::global_race, "blocks of one grid run in any order");
  expect_only(with("if (tw::cluster_rank() == 0) tw::cluster_sync();\n"), FindingKind::deadlock,
              "at the cluster barrier, at which 32 of 64 threads have arrived");
}

TEST(HopperChecks, StoresToOtherBlocks) {
  const auto with = [](const std::string& behind, const std::string& place = "&shared.x[t]") {
    return HandKernel{.shared = "  float x[32];\n",
                      .shared_bytes = 128,
                      .body = "tw::cluster_sync();\ntw::store_at(" + place +
                              ", tw::cluster_rank() ^ 1, 1.0f * t);\n" + behind +
                              "a[blockIdx.x * 32 + t] = shared.x[31 - t];\n",
                      .grid = 2,
                      .cluster = 2}
        .run(64);
  };
  expect_clean(with("tw::cluster_sync();\n"));
  expect_finding(with(""), FindingKind::shared_race, "no barrier is between");
  expect_finding(with("__syncthreads();\n"), FindingKind::block_ended, "arrival or write by");
  expect_finding(with("", "&shared.x[t + 1]"), FindingKind::out_of_bounds,
                 "bytes 128 to 131 of shared memory");
}

TEST(HopperChecks, Registers) {
  const auto asking = [](const std::string& producer, const std::string& consumer) {
    return HandKernel{.body = "if (t < 128) {\n" + producer + "} else {\n" + consumer + "}\n",
                      .threads = 384};
  };
  const std::string down = "tw::registers_down<24>();\n", up = "tw::registers_up<240>();\n";
  expect_clean(asking(down, up).run(384));
  expect_only(asking(down, "tw::registers_up<248>();\n").run(384), FindingKind::deadlock,
              "wait for 248 registers each");
  expect_only(asking("tw::registers_down<28>();\n", up).run(384), FindingKind::bad_registers,
              "a multiple of 8 from 24 to 256");
  expect_only(asking("tw::registers_down<232>();\n", "").run(384), FindingKind::bad_registers,
              "not more than before");
  expect_only(asking("if (t < 64) tw::registers_down<24>();\n", "").run(384), FindingKind::deadlock,
              "64 of 384 threads wait for 24 registers each");
}

/// One product of the identity with itself, in halves.
HandKernel product(const std::string& fence, const std::string& first, const std::string& rest) {
  return {.shared = "  tw::f16 x[64 * 64];\n  tw::f16 y[64 * 64];\n",
          .shared_bytes = 16384,
          .body =
              "for (int i = t; i < 4096; i += 128) {\n"
              "  shared.x[i] = tw::to_f16(1);\n  shared.y[i] = tw::to_f16(2);\n}\n" +
              fence + "__syncthreads();\nfloat acc[2][2] = {};\n" + first +
              "tw::wgmma_m64n8k16_f16(acc, tw::k_major<128>(shared.x, 1024), "
              "tw::k_major<128>(shared.y, 1024), 1);\n" +
              rest + "a[t] = acc[0][0];\n",
          .threads = 128};
}

TEST(HopperChecks, Products) {
  const std::string proxy = "tw::fence_async_shared();\n", fence = "tw::wgmma_fence();\n";
  const std::string commit = "tw::wgmma_commit();\n", wait = "tw::wgmma_wait<0>();\n";
  std::vector<float> found;
  expect_clean(product(proxy, fence, commit + wait).run(128, {}, &found));
  for (int i = 0; i < 128; ++i) EXPECT_EQ(found[static_cast<size_t>(i)], 32) << i;
  expect_finding(product("", fence, commit + wait).run(128), FindingKind::fence_missing,
                 "no proxy fence is between");
  expect_only(product(proxy, "", commit + wait).run(128), FindingKind::fence_missing,
              "no wgmma_fence since this thread last wrote to the product's sums");
  expect_only(product(proxy, fence + "acc[0][0] = 1;\n", commit + wait).run(128),
              FindingKind::fence_missing, "since this thread last wrote to the product's sums");
  const Emulation early = product(proxy, fence, commit).run(128);
  EXPECT_TRUE(early.has(FindingKind::product_in_flight)) << early.report();
  EXPECT_TRUE(early.has(FindingKind::copy_pending)) << early.report();
  const Emulation uncommitted = product(proxy, fence, wait).run(128);
  EXPECT_TRUE(uncommitted.has(FindingKind::product_in_flight)) << uncommitted.report();
  expect_only(product(proxy, fence, "shared.x[t] = tw::to_f16(0);\n" + commit + wait).run(128),
              FindingKind::shared_race, "product by thread");
  expect_clean(product(proxy, fence, commit + wait + "shared.x[t] = tw::to_f16(0);\n").run(128));
}

}  // namespace
}  // namespace tilewright::testing
