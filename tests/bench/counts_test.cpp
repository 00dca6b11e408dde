// The emulator's counts beside a profiler's.
#include "bench/counts.h"

#include <gtest/gtest.h>

#include "tilewright/runtime/emulator.h"

namespace tilewright::bench {
namespace {

constexpr const char* kCsv = R"(==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","7","product_1","memory_l1_wavefronts_shared","","1,032"
"0","7","product_1","memory_l1_wavefronts_shared_ideal","","1,024"
"0","7","product_1","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","","30"
"0","7","product_1","l1tex__t_requests_pipe_lsu_mem_global_op_st.sum","","2"
"0","7","product_1","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","120"
"0","7","product_1","l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum","sector","8"
"0","7","product_1","memory_l2_theoretical_sectors_global","sector","128"
"0","7","product_1","smsp__sass_data_bytes_mem_global_op_ld.sum","byte","3,840"
"0","7","product_1","smsp__sass_data_bytes_mem_global_op_st.sum","byte","256"
"0","7","product_1","l1tex__t_requests_pipe_lsu_mem_shared_op_ld.sum","","n/a"
)";

KernelCounts counts() {
  return {.name = "product",
          .symbol = "product_1",
          .shared_requests = 1024,
          .shared_conflicts = 8,
          .global_requests = 32,
          .global_bytes = 4096,
          .global_sectors = 128};
}

TEST(BenchCounts, EqualCountsAreFoundEqual) {
  Metrics metrics;
  read_ncu_csv(kCsv, metrics);
  EXPECT_EQ(metrics.at("product_1").at("memory_l1_wavefronts_shared"), 1032);
  EXPECT_FALSE(metrics.at("product_1").contains("l1tex__t_requests_pipe_lsu_mem_shared_op_ld.sum"));
  const KernelCounts ours = counts();
  const CountComparison comparison = compare_counts(std::span(&ours, 1), metrics);
  EXPECT_TRUE(comparison.equal) << comparison.text;
}

TEST(BenchCounts, DifferencesAreFound) {
  Metrics metrics;
  read_ncu_csv(kCsv, metrics);
  for (int64_t KernelCounts::*count :
       {&KernelCounts::shared_conflicts, &KernelCounts::global_requests,
        &KernelCounts::global_bytes, &KernelCounts::global_sectors}) {
    KernelCounts ours = counts();
    ++(ours.*count);
    const CountComparison comparison = compare_counts(std::span(&ours, 1), metrics);
    EXPECT_FALSE(comparison.equal);
    EXPECT_NE(comparison.text.find("DIFFERENT"), std::string::npos);
  }
  KernelCounts other = counts();
  other.symbol = "product_2";
  EXPECT_FALSE(compare_counts(std::span(&other, 1), metrics).equal);
  metrics["product_1"].erase("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
  metrics["product_1"].erase("memory_l2_theoretical_sectors_global");
  const KernelCounts ours = counts();
  EXPECT_FALSE(
      compare_counts(std::span(&ours, 1), metrics).equal);  // a count without a measurement
  EXPECT_THROW(read_ncu_csv("==ERROR== nothing\n", metrics), std::runtime_error);
}

// What is compared with the hardware must have something to compare.
TEST(BenchCounts, EmulatedKernelsHaveConflicts) {
  if (!runtime::emulator_available()) GTEST_SKIP() << "built without the emulator";
  const std::vector<KernelCounts> counts = emulated_counts(parse_target("sm_90a"));
  ASSERT_EQ(counts.size(), 4U);
  int64_t conflicts = 0;
  for (const KernelCounts& one : counts) {
    EXPECT_GT(one.shared_requests, 0) << one.name;
    EXPECT_GE(32 * one.global_sectors, one.global_bytes) << one.name;
    conflicts += one.shared_conflicts;
  }
  EXPECT_GT(conflicts, 0);
  EXPECT_EQ(counts[1].shared_conflicts, 35640);  // as measured
  EXPECT_EQ(counts[3].global_bytes, 2 * 4 * 192 * 128);
}

}  // namespace
}  // namespace tilewright::bench
