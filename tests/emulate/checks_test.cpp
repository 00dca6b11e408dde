// Each mistake that the emulator looks for, made by a kernel that is right but for it.
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

void expect_clean(const Emulation& emulation) { EXPECT_EQ(emulation.report(), ""); }

HandKernel exchange(std::string body) {
  return {
      .shared = "  float x[64];\n", .shared_bytes = 256, .body = std::move(body), .threads = 64};
}

TEST(EmulatorChecks, SharedRace) {
  expect_clean(exchange("shared.x[t] = t;\n__syncthreads();\na[t] = shared.x[63 - t];\n").run(64));
  const Emulation race = exchange("shared.x[t] = t;\na[t] = shared.x[63 - t];\n").run(64);
  EXPECT_TRUE(race.has(FindingKind::shared_race)) << race.report();
  EXPECT_NE(race.report().find("line 10: a[t] = shared.x[63 - t];"), std::string::npos)
      << race.report();
  // A write after a read, in the next round of a loop.
  expect_only(exchange("for (int i = 0; i < 3; ++i) {\n  shared.x[t] = i;\n  __syncthreads();\n"
                       "  a[t] = shared.x[63 - t];\n}\n")
                  .run(64),
              FindingKind::shared_race, "no barrier is between");
  // Threads of one warp are not in step either.
  expect_only(exchange("shared.x[t / 2] = t;\n").run(64), FindingKind::shared_race, "thread 1");
}

TEST(EmulatorChecks, GlobalRace) {
  expect_only(HandKernel{.body = "a[t / 2] = 1;\n"}.run(32), FindingKind::global_race,
              "no barrier is between");
  expect_clean(HandKernel{.body = "a[t + 32 * blockIdx.x] = 1;\n", .grid = 4}.run(128));
  expect_only(HandKernel{.body = "a[t + 16 * blockIdx.x] = 1;\n", .grid = 4}.run(128),
              FindingKind::global_race, "blocks of one grid run in any order");
  expect_only(HandKernel{.body = "if (blockIdx.x == 0) a[t] = b[t];\nelse a[t + 32] = a[t];\n",
                         .tensors = 2,
                         .grid = 2}
                  .run(64, {.threads = 1}),
              FindingKind::global_race, "blocks of one grid run in any order");
}

TEST(EmulatorChecks, BarriersAndDeadlocks) {
  expect_only(HandKernel{.body = "if (t < 16) __syncthreads();\na[t] = 1;\n"}.run(32),
              FindingKind::divergent_barrier, "16 of 32 threads wait at a barrier");
  expect_only(
      HandKernel{.body = "if (t < 16) {\n__syncthreads();\n} else {\n__syncthreads();\n}\n"}.run(
          32),
      FindingKind::divergent_barrier, "line");
  expect_only(HandKernel{.body = "if (t < 8) a[t] = tw::shuffle_xor(1.0f, 1);\n"}.run(32),
              FindingKind::deadlock, "8 of 32 threads wait for lanes of their warp");
}

TEST(EmulatorChecks, Bounds) {
  expect_only(HandKernel{.body = "a[t + 1] = 1;\n"}.run(32), FindingKind::out_of_bounds,
              "bytes 128 to 131 of 'a', which has 128 bytes");
  expect_only(HandKernel{.body = "a[t] = b[t - 1];\n", .tensors = 2}.run(32),
              FindingKind::out_of_bounds, "bytes -4 to -1 of 'b'");
  expect_only(exchange("shared.x[t + 1] = 1;\n").run(64), FindingKind::out_of_bounds,
              "bytes 256 to 259 of shared memory, which has 256 bytes");
  expect_only(HandKernel{.body = "if (t == 0) *(float*)64 = 1;\n"}.run(32),
              FindingKind::out_of_bounds, "in no tensor");
}

TEST(EmulatorChecks, Alignment) {
  expect_only(
      HandKernel{.body = "if (t == 0) {\n  float x[4] = {};\n  tw::store<4>(&a[1], x);\n}\n"}.run(
          32),
      FindingKind::misaligned, "no multiple of 16");
}

TEST(EmulatorChecks, Unwritten) {
  expect_only(exchange("if (t == 0) a[t] = shared.x[t];\n").run(64), FindingKind::unwritten_shared,
              "byte 0 of shared memory was never written");
  expect_only(HandKernel{.body = "a[t] = a[t] + 1;\n"}.run(32), FindingKind::unwritten_output,
              "of 'a' was never written");
}

HandKernel copies(std::string body) {
  return {
      .shared = "  float x[2][32];\n", .shared_bytes = 256, .body = std::move(body), .tensors = 2};
}

TEST(EmulatorChecks, AsynchronousCopies) {
  constexpr const char* both =
      "tw::copy_async<1>(&shared.x[0][t], &b[t]);\ntw::copy_async_commit();\n"
      "tw::copy_async<1>(&shared.x[1][t], &b[t + 32], t < 16 ? 1 : 0);\n"
      "tw::copy_async_commit();\n";
  const std::string issue = both;
  expect_clean(
      copies(issue +
             "tw::copy_async_wait<1>();\n__syncthreads();\na[t] = shared.x[0][31 - t];\n"
             "tw::copy_async_wait<0>();\n__syncthreads();\na[t + 32] = shared.x[1][31 - t];\n")
          .run(64));
  // Its own copies a thread sees without a barrier, others only behind one.
  expect_clean(copies(issue + "tw::copy_async_wait<0>();\na[t] = shared.x[1][t];\n").run(64));
  const Emulation others =
      copies(issue + "tw::copy_async_wait<0>();\na[t] = shared.x[1][t ^ 1];\n").run(64);
  EXPECT_TRUE(others.has(FindingKind::shared_race)) << others.report();
  const Emulation early = copies(issue +
                                 "tw::copy_async_wait<1>();\n__syncthreads();\n"
                                 "a[t] = shared.x[1][t];\ntw::copy_async_wait<0>();\n")
                              .run(64);
  expect_only(early, FindingKind::copy_in_flight, "asynchronous copy by thread 0");
  expect_only(copies(issue + "shared.x[0][t] = 1;\ntw::copy_async_wait<0>();\n").run(64),
              FindingKind::copy_in_flight, "write by thread 0");
  expect_only(copies(issue + "tw::copy_async_wait<1>();\n").run(64), FindingKind::copy_pending,
              "1 asynchronous copies were not waited for");
  expect_only(
      copies("tw::copy_async<1>(&shared.x[0][t], &b[t]);\ntw::copy_async_wait<0>();\n").run(64),
      FindingKind::copy_pending, "asynchronous copy by thread 0");
  // Zeros are made without reading: the address may be anything.
  expect_clean(
      copies("tw::copy_async<1>(&shared.x[0][t], b + 1000, 0);\n"
             "tw::copy_async_commit();\ntw::copy_async_wait<0>();\na[t] = shared.x[0][t];\n")
          .run(32));
}

TEST(EmulatorChecks, Counts) {
  const auto counts_of = [](const std::string& index) {
    const Emulation emulation =
        exchange("shared.x[t] = 1;\n__syncthreads();\na[t] = shared.x[" + index + "];\n")
            .run(64, {.counts = true});
    EXPECT_EQ(emulation.report(), "");
    EXPECT_EQ(emulation.statements.size(), 2u);
    return emulation.statements.back();
  };
  const runtime::StatementCounts plain = counts_of("t");
  EXPECT_EQ(plain.shared_requests, 2);
  EXPECT_EQ(plain.bank_conflicts, 0);
  EXPECT_EQ(plain.global_bytes, 256);
  EXPECT_EQ(plain.global_sectors, 8);
  EXPECT_EQ(counts_of("t * 32 % 64").bank_conflicts, 2);  // two words of one bank, twice
  EXPECT_EQ(counts_of("0").bank_conflicts, 0);
}

}  // namespace
}  // namespace tilewright::testing
