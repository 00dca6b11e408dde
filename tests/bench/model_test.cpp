// The time model and the search space beside what was measured on a GPU.
#include "bench/model_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "bench/gemm_configs.h"
#include "bench/gemm_problem.h"
#include "tilewright/autotune/space.h"
#include "tilewright/ir/error.h"

namespace tilewright::bench {
namespace {

const Target kHopper = parse_target("sm_90a");

const std::vector<ModelledTime>& measured_times() {
  static const std::vector<ModelledTime> times =
      model_times(TILEWRIGHT_SOURCE_DIR "/bench/data/times_h200.json");
  return times;
}

bool passes(const Config& config, const ir::Function& fn) {
  try {
    check_config(config, fn, kHopper);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The figures of the model were fitted to these times, so this tells how well it describes them,
// not how well it foresees others.
TEST(BenchModel, DescribesMeasuredTimes) {
  const std::vector<ModelledTime>& times = measured_times();
  EXPECT_GE(times.size(), 80U);
  fmt::print("{}{} times: rank correlation {:.4f}, off by a factor of {:.3f}\n", to_text(times),
             times.size(), rank_correlation(times), mean_factor(times));
  EXPECT_GT(rank_correlation(times), 0.98);
  EXPECT_LT(mean_factor(times), 1.12);
  for (const ModelledTime& time : times) {
    EXPECT_LT(time.predicted_us, 1.6 * time.measured_us) << time.row;
    EXPECT_GT(time.predicted_us, 0.6 * time.measured_us) << time.row;
  }
}

// Of two configs measured on one row, whose times differ by more than noise.
TEST(BenchModel, OrdersConfigsOfOneRow) {
  int pairs = 0, right = 0;
  for (const ModelledTime& a : measured_times())
    for (const ModelledTime& b : measured_times())
      if (a.row == b.row && b.measured_us > 1.01 * a.measured_us) {
        ++pairs;
        right += b.predicted_us > a.predicted_us;
      }
  fmt::print("{} of {} pairs in the right order\n", right, pairs);
  EXPECT_GE(pairs, 4);
  EXPECT_EQ(right, pairs);
}

// Rows of kernels that move memory: of all configs that were measured, the model's favourite is
// close to the fastest.
TEST(BenchModel, PicksGoodConfigsOfSweptRows) {
  const auto times = model_sweeps(TILEWRIGHT_SOURCE_DIR "/bench/data/sweeps_h200.json");
  const std::vector<PickLoss> losses = pick_losses(times);
  EXPECT_GE(losses.size(), 40U);
  double sum = 0;
  for (const PickLoss& one : losses) {
    sum += std::log(one.loss);
    fmt::print("{:<42} {:.2f} of the best's time  {}  best {}\n", one.row, one.loss,
               to_json(one.picked), to_json(one.best));
  }
  const double mean = std::exp(sum / static_cast<double>(losses.size()));
  fmt::print("{:.3f} in the mean\n", mean);
  EXPECT_LT(mean, 1.12);
}

// The config that was found best on a row by a sweep is near the top of that sweep's configs by the
// model.
TEST(BenchModel, FindsTheWinnersOfSweeps) {
  const auto sweep = read_config_entries(TILEWRIGHT_SOURCE_DIR "/bench/sweeps/wgmma.json");
  const tune::Calibration typical = tune::Calibration::typical(kHopper);
  int rows = 0, first = 0;
  double loss = 0;
  for (const Problem& problem : gemm_problems()) {
    const std::vector<Config> tried = configs_for(sweep, problem.name);
    const std::optional<Config> winner = config_for(hand_set_configs(), problem.name);
    if (tried.empty() || !winner) continue;
    const auto fns = traces_of_row(problem.name);
    const tune::TimeModel model(*fns.back(), kHopper, typical);
    const double of_winner = model.microseconds(*winner);
    double best = of_winner;
    for (const Config& config : tried)
      if (passes(config, *fns.back())) best = std::min(best, model.microseconds(config));
    ++rows;
    first += best > 0.99 * of_winner;
    loss += std::log(of_winner / best);
    EXPECT_LT(of_winner, 1.35 * best) << problem.name;
  }
  const double mean = std::exp(loss / rows);
  fmt::print("{} of {} winners within 1% of the model's best, {:.3f} of its time in the mean\n",
             first, rows, mean);
  EXPECT_GT(rows, 35);
  EXPECT_GT(first, rows * 2 / 3);
  EXPECT_LT(mean, 1.12);
}

TEST(BenchModel, EveryHandSetConfigIsInTheSpaceOfItsRow) {
  for (const Problem& problem : gemm_problems()) {
    const std::optional<Config> config = config_for(hand_set_configs(), problem.name);
    if (!config) continue;
    // Of products of many sizes, the largest: tiles wider than a matrix are not in the space.
    const auto fns = traces_of_row(problem.name);
    EXPECT_TRUE(tune::SearchSpace::of(*fns.back(), kHopper).contains(*config))
        << problem.name << " " << to_json(*config);
  }
}

TEST(BenchModel, TheSpaceOfALargeProductHoldsWhatHandsSet) {
  const auto fns = traces_of_row("bf16 nn 4096x4096x4096");
  const tune::SearchSpace space = tune::SearchSpace::of(*fns.front(), kHopper);
  fmt::print("{} configs\n", space.size());
  EXPECT_GE(space.size(), 2000);
  int legal = 0;
  for (const ConfigEntry& entry : hand_set_configs()) {
    if (!passes(entry.config, *fns.front())) continue;
    ++legal;
    EXPECT_TRUE(space.contains(entry.config)) << entry.shape << to_json(entry.config);
  }
  EXPECT_GT(legal, 20);
}

}  // namespace
}  // namespace tilewright::bench
