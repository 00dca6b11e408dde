// The table of products, and what is made of its times.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/gemm_problem.h"
#include "bench/gemm_summary.h"
#include "bench/measure.h"

namespace tilewright::bench {
namespace {

TEST(BenchProblems, RowsAreConsistent) {
  std::set<std::string> names, groups;
  for (const ProblemGroup& group : gemm_groups()) EXPECT_TRUE(groups.insert(group.name).second);
  std::set<std::string> used;
  for (const Problem& problem : gemm_problems()) {
    EXPECT_TRUE(names.insert(problem.name).second) << problem.name << " is there twice";
    EXPECT_TRUE(groups.contains(problem.group)) << problem.group;
    used.insert(problem.group);
    EXPECT_GT(problem.m * problem.n * problem.k, 0) << problem.name;
    if (problem.rival.empty() || problem.rival == kCopyRival) continue;
    const Problem& rival = gemm_problem(problem.rival);
    EXPECT_EQ(rival.m, problem.m) << problem.name;
    EXPECT_EQ(rival.n, problem.n) << problem.name;
    EXPECT_EQ(rival.k, problem.k) << problem.name;
    EXPECT_EQ(rival.b_transposed, problem.b_transposed) << problem.name;
  }
  EXPECT_EQ(used, groups);
  EXPECT_THROW(gemm_problem("bf16 nn 1x1x1"), std::runtime_error);
}

TEST(BenchProblems, PartsCoverTheArrays) {
  for (const Problem& problem : gemm_problems()) {
    int64_t rows = 0;
    for (const Part& part : parts_of(problem)) {
      EXPECT_EQ(part.a, rows * problem.k) << problem.name;
      EXPECT_EQ(part.c, rows * problem.n) << problem.name;
      rows += part.m;
    }
    EXPECT_EQ(rows, problem.m * problem.batch) << problem.name;
  }
  const Problem& nt = gemm_problem("bf16 nt 4096x4096x4096");
  EXPECT_TRUE(nt.b_transposed && !nt.a_transposed);
  const Problem& skinny = gemm_problem("bf16 skinny 16x14336x4096");
  EXPECT_EQ(a_sizes(skinny), (std::vector<int64_t>{16, 4096}));
  EXPECT_EQ(b_sizes(skinny), (std::vector<int64_t>{4096, 14336}));
  const Problem& grouped = gemm_problem("bf16 grouped 17..4000 x 4096x4096");
  EXPECT_EQ(b_sizes(grouped), (std::vector<int64_t>{8, 4096, 4096}));
  EXPECT_EQ(grouped.m, 9456);
}

TEST(BenchProblems, Tolerances) {
  EXPECT_EQ(tolerance_of(gemm_problem("i8 4096x4096x4096")).of_value, 0);
  EXPECT_EQ(tolerance_of(gemm_problem("i8 4096x4096x4096")).of_magnitude, 0);
  const Tolerance bf16 = tolerance_of(gemm_problem("bf16 nn 4096x4096x4096"));
  EXPECT_EQ(bf16.of_value, 0x1p-7);
  EXPECT_EQ(bf16.of_magnitude, 4 * 64 * 0x1p-24);
}

TEST(BenchStatistics, MedianAndSpread) {
  const Timing odd = summarize({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.replays, 3);
  const Timing even = summarize({4, 1, 2, 3});
  EXPECT_EQ(even.median, 2.5);
  std::vector<double> ten;
  for (int i = 0; i <= 10; ++i) ten.push_back(95 + i);
  EXPECT_NEAR(summarize(ten).spread, 0.08, 1e-12);  // from 96 to 104, around 100
}

Row row(const char* shape, double ours, double theirs, std::string problem = {}) {
  const Problem& of = gemm_problem(shape);
  Row row{.suite = "gemm", .shape = shape, .config = "hand"};
  row.work = of.bandwidth ? static_cast<double>(of.bytes()) : of.operations();
  row.unit = of.bandwidth ? "TB/s" : "TFLOP/s";
  row.json = R"({"block":[64,32],"warps":8,"copy":"tma","persistent":true})";
  row.ours = {ours, 0, 1, 1};
  row.theirs = {theirs, 0, 1, 1};
  row.problem = std::move(problem);
  return row;
}

TEST(BenchSummary, BestRowsMeansAndPeaks) {
  const std::vector<Row> rows = {
      row("bf16 nn 4096x4096x4096", 200, 180),
      row("bf16 nn 4096x4096x4096", 180, 180),
      row("bf16 nn 4096x4096x4096", 100, 180, "WRONG RESULT: 3 elements"),
      row("bf16 nn 512x512x512", 4, 3),
      row("bf16 skinny 1x4096x4096", 12, 14.4),
  };
  const GemmSummary summary = summarize_gemm(rows, 4);
  ASSERT_EQ(summary.best.size(), 3U);
  EXPECT_EQ(summary.best[0].shape, "bf16 nn 512x512x512");  // in the table's order
  EXPECT_EQ(summary.best[1].ours.median, 180);
  ASSERT_EQ(summary.peaks.size(), 2U);
  EXPECT_EQ(summary.peaks[0].unit, "bf16");
  EXPECT_NEAR(summary.peaks[0].rate, 2.0 * 4096 * 4096 * 4096 / 180e6, 1e-9);
  EXPECT_EQ(summary.peaks[1].unit, "memory");
  ASSERT_EQ(summary.groups.size(), 2U);
  EXPECT_EQ(summary.groups[0].name, "bf16");
  EXPECT_EQ(summary.groups[0].rows, 2);
  EXPECT_NEAR(summary.groups[0].mean, std::sqrt(0.75), 1e-12);
  EXPECT_EQ(summary.groups[0].lowest_row, "bf16 nn 512x512x512");
  EXPECT_EQ(summary.groups[0].below, std::vector<std::string>{"bf16 nn 512x512x512"});
  EXPECT_NEAR(summary.groups[1].mean, 1.2, 1e-12);
  EXPECT_TRUE(summary.groups[1].below.empty());
  const std::string text = to_text(summary);
  EXPECT_NE(text.find("0.750"), std::string::npos) << text;
  EXPECT_NE(text.find("TB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("64x32 tma persistent warps8\n"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(summary));
  EXPECT_EQ(json.at("groups").at("bf16").at("rows"), 2);
}

}  // namespace
}  // namespace tilewright::bench
