#include "tilewright/autotune/measure.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace tilewright::tune {

Summary summarize(std::vector<double> times) {
  Summary summary;
  const size_t n = times.size();
  summary.samples = static_cast<int>(n);
  summary.median = summary.error = std::numeric_limits<double>::infinity();
  if (n == 0) return summary;
  std::ranges::sort(times);
  const auto quantile = [&](double q) {
    return times[static_cast<size_t>(std::lround(q * static_cast<double>(n - 1)))];
  };
  summary.median = n % 2 == 1 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  summary.spread = (quantile(0.9) - quantile(0.1)) / summary.median;
  if (n < 3) return summary;
  // A normal spread: of few samples from their range, of many from the quartiles, so that a few
  // disturbed ones do not count. The median's error is 1.2533 of the mean's.
  constexpr double kRange[] = {0, 0, 0, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970};
  const double deviation = n < std::size(kRange) ? (times.back() - times.front()) / kRange[n]
                                                 : (quantile(0.75) - quantile(0.25)) / 1.349;
  // Samples that are all equal are still no more exact than the clock (half a microsecond over a
  // replay is far less than this).
  const double floor = 1e-4 * summary.median;
  // A spread that is known from few samples only makes the interval wider.
  const double factor = 1.96 * (1 + 2.0 / static_cast<double>(n));
  summary.error = factor * std::max(1.2533 * deviation / std::sqrt(static_cast<double>(n)), floor);
  return summary;
}

void remove_drift(std::vector<std::vector<double>>& times) {
  std::vector<std::pair<std::vector<double>*, double>> running;  // with their medians
  for (std::vector<double>& one : times)
    if (!one.empty()) running.emplace_back(&one, summarize(one).median);
  if (running.size() < 2) return;
  size_t rounds = running.front().first->size();
  for (const auto& [one, median] : running) rounds = std::min(rounds, one->size());
  for (size_t round = 0; round < rounds; ++round) {
    double sum = 0;
    for (const auto& [one, median] : running) sum += std::log((*one)[round] / median);
    const double drift = std::exp(sum / static_cast<double>(running.size()));
    for (const auto& [one, median] : running) (*one)[round] /= drift;
  }
}

int sets_for_cold_cache(int64_t bytes, int64_t l2_bytes) {
  return static_cast<int>(std::max<int64_t>(2, 2 * l2_bytes / std::max<int64_t>(bytes, 1) + 1));
}

void Runner::one_pass(int sets, const Stream& stream) const {
  for (int set = 0; set < sets; ++set) enqueue_(set, stream);
}

runtime::Graph Runner::capture(int sets, int passes, const Stream& stream) const {
  return {stream, [&] {
            for (int i = 0; i < passes; ++i) one_pass(sets, stream);
          }};
}

double time_pass(const Runner& runner, int sets, const Stream& stream, Device device) {
  runner.restore(stream);
  runner.one_pass(sets, stream);
  runner.restore(stream);
  Event begin(device), end(device);
  begin.record(stream);
  runner.one_pass(sets, stream);
  end.record(stream);
  return 1e3 * double{end.since(begin)};
}

int passes_for(double pass_us, double replay_us, int most) {
  return std::clamp(static_cast<int>(std::ceil(replay_us / std::max(pass_us, 1e-3))), 1, most);
}

std::vector<std::vector<double>> replay_in_turns(std::span<const Replayed> contestants, int rounds,
                                                 const Stream& stream, Device device) {
  const int count = static_cast<int>(contestants.size()), replays = count * rounds;
  const auto turn = [&](int i) { return static_cast<size_t>((i + i / count) % count); };
  std::vector<std::pair<Event, Event>> marks;  // around each replay
  for (int i = 0; i < replays; ++i) {
    const Replayed& one = contestants[turn(i)];
    if (one.runner != nullptr) one.runner->restore(stream);
    auto& [begin, end] = marks.emplace_back(Event(device), Event(device));
    begin.record(stream);
    one.graph->launch(stream);
    end.record(stream);
  }
  stream.synchronize(device);
  std::vector<std::vector<double>> times(contestants.size());
  for (int i = 0; i < replays; ++i) {
    const auto& [begin, end] = marks[static_cast<size_t>(i)];
    times[turn(i)].push_back(1e3 * double{end.since(begin)} / contestants[turn(i)].calls);
  }
  return times;
}

}  // namespace tilewright::tune
