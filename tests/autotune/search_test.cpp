// Searches against the simulated device.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <set>

#include "tests/support/small_kernels.h"
#include "tilewright/autotune/search.h"
#include "tilewright/autotune/simulated_device.h"
#include "tilewright/autotune/time_model.h"

namespace tilewright::tune {
namespace {

// A kernel, its space and what a search against a simulated device needs.
struct Subject {
  std::shared_ptr<const ir::Function> fn;
  Target target = parse_target("sm_80");
  Calibration calibration = Calibration::typical(target);
  SearchSpace space;

  explicit Subject(std::shared_ptr<const ir::Function> traced)
      : fn(std::move(traced)), space(SearchSpace::of(*fn, target)) {}

  SimulatedDevice device(const SimulationOptions& options = {}) const {
    return {*fn, target, calibration, options};
  }
};

const Subject& product() {
  static const Subject subject(testing::make_product().handle().trace(std::vector<CompileArg>{
      contiguous_spec(DType::f16, {512, 256}), contiguous_spec(DType::f16, {256, 768})}));
  return subject;
}

// One dimension: few enough configs to look at every one.
const Subject& add() {
  static const Subject subject(testing::make_add().handle().trace(std::vector<CompileArg>{
      contiguous_spec(DType::f32, {1 << 20}), contiguous_spec(DType::f32, {1 << 20})}));
  return subject;
}

// Every config that neighbours lead to, from the top of the ranking.
std::vector<Config> all_configs(const Subject& subject) {
  std::vector<Config> all;
  std::set<std::string> seen;
  std::deque<Config> open;
  const auto reach = [&](const Config& config) {
    if (!seen.insert(to_json(config)).second) return;
    all.push_back(config);
    open.push_back(config);
  };
  for (const Config& config : subject.space.ranked(subject.calibration, 8)) reach(config);
  while (!open.empty()) {
    const Config config = open.front();
    open.pop_front();
    for (const Config& neighbour : subject.space.neighbours(config)) reach(neighbour);
  }
  return all;
}

double best_time(const Subject& subject, const SimulatedDevice& device) {
  double best = std::numeric_limits<double>::infinity();
  for (const Config& config : all_configs(subject))
    if (device.outcome(config).status == Trial::Status::ok)
      best = std::min(best, device.true_microseconds(config));
  return best;
}

std::string text_of(const SearchResult& result) {
  std::string text;
  for (const Trial& trial : result.trials)
    text += fmt::format("{} {} {} {}\n", to_json(trial.config), to_string(trial.status),
                        trial.microseconds, trial.samples);
  return text + to_json(result.winner().config);
}

TEST(TuneSearch, TheSameSeedGivesTheSameSearch) {
  std::set<std::string> texts;
  for (const uint64_t seed : {1, 1, 2}) {
    SimulatedDevice device = product().device();
    texts.insert(text_of(search(product().space, product().calibration, device, {.seed = seed})));
  }
  EXPECT_EQ(texts.size(), 2u);
}

TEST(TuneSearch, FindsTheBestOfASmallSpace) {
  for (const uint64_t seed : {1, 2, 6}) {
    SimulatedDevice device = add().device({.seed = seed});
    const double best = best_time(add(), device);
    const SearchResult result =
        search(add().space, add().calibration, device, {.effort = Effort::full, .seed = seed});
    EXPECT_LE(device.true_microseconds(result.winner().config), 1.03 * best) << "seed " << seed;
    EXPECT_EQ(result.device, "simulated sm_80");
  }
}

TEST(TuneSearch, QuickIsNotFarBehind) {
  double worst = 0;
  for (const uint64_t seed : {1, 2, 6}) {
    SimulatedDevice device = add().device({.seed = seed, .hangs = 0});
    const double best = best_time(add(), device);
    const SearchResult result =
        search(add().space, add().calibration, device, {.effort = Effort::quick});
    worst = std::max(worst, device.true_microseconds(result.winner().config) / best);
  }
  EXPECT_LE(worst, 1.06);
}

// The same device with other noise, and searches of other seeds.
TEST(TuneSearch, RepeatedTunesAgree) {
  std::vector<double> times;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedDevice device = add().device({.seed = 7, .noise_seed = seed});
    const SearchResult result =
        search(add().space, add().calibration, device, {.effort = Effort::full, .seed = seed});
    times.push_back(device.true_microseconds(result.winner().config));
  }
  const auto [least, most] = std::ranges::minmax(times);
  EXPECT_LE(most, 1.03 * least);
}

// Wrong results would be the fastest, and a third of all configs fail in some way.
TEST(TuneSearch, WhatFailsNeverWins) {
  for (const uint64_t seed : {1, 4}) {
    SimulatedDevice device = product().device(
        {.seed = seed, .crashes = 0.09, .hangs = 0.06, .wrong = 0.09, .refused = 0.09});
    const SearchResult result =
        search(product().space, product().calibration, device, {.budget = 60, .seed = seed});
    ASSERT_GE(result.best, 0);
    EXPECT_EQ(device.outcome(result.winner().config).status, Trial::Status::ok);
    std::set<Trial::Status> seen;
    for (const Trial& trial : result.trials) {
      seen.insert(trial.status);
      EXPECT_EQ(trial.status, device.outcome(trial.config).status);
      EXPECT_EQ(trial.status == Trial::Status::ok, trial.message.empty());
    }
    EXPECT_GE(seen.size(), 3u) << "the device was to fail in several ways";
  }
}

TEST(TuneSearch, NothingRuns) {
  SimulatedDevice device = product().device({.crashes = 0.4, .wrong = 0.3, .refused = 0.3});
  const SearchResult result = search(product().space, product().calibration, device, {.budget = 5});
  EXPECT_EQ(result.best, -1);
  EXPECT_EQ(result.ending, Ending::nothing);
  EXPECT_FALSE(result.trials.empty());
}

TEST(TuneSearch, NoConfigIsTriedTwice) {
  SimulatedDevice device = product().device();
  const SearchResult result =
      search(product().space, product().calibration, device, {.effort = Effort::full});
  std::set<std::string> configs;
  for (const Trial& trial : result.trials) configs.insert(to_json(trial.config));
  EXPECT_EQ(configs.size(), result.trials.size());
  EXPECT_EQ(static_cast<int64_t>(result.trials.size()), device.attempts());
}

TEST(TuneSearch, BetterThanTheModelAlone) {
  SimulatedDevice device = product().device({.seed = 3});
  const SearchResult result =
      search(product().space, product().calibration, device, {.effort = Effort::full});
  const Config first = product().space.ranked(product().calibration, 1).at(0);
  EXPECT_LT(device.true_microseconds(result.winner().config), device.true_microseconds(first));
  ASSERT_FALSE(result.improvements.empty());
  for (size_t i = 1; i < result.improvements.size(); ++i)
    EXPECT_LT(result.improvements[i].microseconds, result.improvements[i - 1].microseconds);
}

TEST(TuneSearch, TheBudgetIsKept) {
  SimulatedDevice device = product().device({.hangs = 0});
  const SearchResult result =
      search(product().space, product().calibration, device, {.effort = Effort::full, .budget = 3});
  EXPECT_EQ(result.ending, Ending::budget);
  EXPECT_GE(result.best, 0);
  EXPECT_LE(result.seconds, 5);  // the last batch is finished
}

TEST(TuneSearch, StoppingKeepsWhatWasMeasured) {
  SimulatedDevice device = product().device();
  std::stop_source stop;
  SearchOptions options{.effort = Effort::full, .stop = stop.get_token()};
  options.progress = [&](const Progress& progress) {
    if (progress.tried >= 30) stop.request_stop();
  };
  const SearchResult result = search(product().space, product().calibration, device, options);
  EXPECT_EQ(result.ending, Ending::stopped);
  EXPECT_GE(result.best, 0);
  EXPECT_GE(result.trials.size(), 30u);
  EXPECT_LE(result.trials.size(), 64u);
}

TEST(TuneSearch, ProgressTellsWhatIsKnown) {
  SimulatedDevice device = product().device({.crashes = 0.1, .refused = 0.1});
  std::vector<Progress> seen;
  SearchOptions options;
  options.progress = [&](const Progress& progress) { seen.push_back(progress); };
  const SearchResult result = search(product().space, product().calibration, device, options);
  ASSERT_GE(seen.size(), 3u);
  EXPECT_EQ(seen.front().phase, "compiling");
  EXPECT_EQ(seen.back().phase, "comparing the best");
  EXPECT_EQ(seen.back().tried, static_cast<int>(result.trials.size()));
  EXPECT_DOUBLE_EQ(seen.back().best_us, result.winner().microseconds);
  EXPECT_DOUBLE_EQ(seen.back().budget, default_budget(Effort::quick));
  for (size_t i = 1; i < seen.size(); ++i) EXPECT_GE(seen[i].seconds, seen[i - 1].seconds);
}

// What the caller knows to be good is tried first, and wins when it is the best.
TEST(TuneSearch, FirstConfigs) {
  SimulatedDevice device = add().device({.seed = 11});
  Config best;
  double time = std::numeric_limits<double>::infinity();
  for (const Config& config : all_configs(add()))
    if (device.outcome(config).status == Trial::Status::ok &&
        device.true_microseconds(config) < time) {
      time = device.true_microseconds(config);
      best = config;
    }
  const SearchResult result = search(add().space, add().calibration, device, {.first = {best}});
  EXPECT_EQ(result.trials.at(0).config, best);
  EXPECT_LE(device.true_microseconds(result.winner().config), 1.005 * time);
}

}  // namespace
}  // namespace tilewright::tune
