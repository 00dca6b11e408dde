#include "bench/measure.h"

#include <algorithm>
#include <cmath>

#include "bench/graph.h"

namespace tilewright::bench {
namespace {

void one_pass(const Contestant& contestant, int sets, const Stream& stream) {
  for (int set = 0; set < sets; ++set) contestant.enqueue(set, stream);
}

// Microseconds of one pass over all sets by the fastest contestant, after a first one.
double fastest_pass(std::span<const Contestant> contestants, int sets, const Stream& stream) {
  double fastest = 1e30;
  for (const Contestant& contestant : contestants) {
    one_pass(contestant, sets, stream);
    Event begin, end;
    begin.record(stream);
    one_pass(contestant, sets, stream);
    end.record(stream);
    fastest = std::min(fastest, 1e3 * double{end.since(begin)});
  }
  return fastest;
}

}  // namespace

int sets_for_cold_cache(int64_t bytes) {
  const int64_t twice = 2 * l2_bytes(0);
  return static_cast<int>(std::max<int64_t>(2, twice / std::max<int64_t>(bytes, 1) + 1));
}

Timing summarize(std::vector<double> times) {
  std::ranges::sort(times);
  const size_t n = times.size();
  const auto quantile = [&](double q) {
    return times[static_cast<size_t>(std::lround(q * static_cast<double>(n - 1)))];
  };
  Timing timing;
  timing.median = n % 2 == 1 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  timing.spread = (quantile(0.9) - quantile(0.1)) / timing.median;
  timing.replays = static_cast<int>(n);
  return timing;
}

std::vector<Timing> race(std::span<const Contestant> contestants, int sets,
                         const RaceOptions& options) {
  const Stream stream = Stream::create();
  const double pass = fastest_pass(contestants, sets, stream);
  const int passes =
      std::clamp(static_cast<int>(std::ceil(options.replay_us / pass)), 1, options.most_passes);
  std::vector<Graph> graphs;
  for (const Contestant& contestant : contestants)
    graphs.emplace_back(stream, [&] {
      for (int i = 0; i < passes; ++i) one_pass(contestant, sets, stream);
    });
  for (const Graph& graph : graphs) graph.launch(stream);  // uploads it

  const int count = static_cast<int>(graphs.size()), replays = count * options.rounds;
  const auto turn = [&](int i) { return (i + i / count) % count; };
  std::vector<Event> marks(static_cast<size_t>(replays) + 1);
  marks[0].record(stream);
  for (int i = 0; i < replays; ++i) {
    graphs[static_cast<size_t>(turn(i))].launch(stream);
    marks[static_cast<size_t>(i) + 1].record(stream);
  }
  stream.synchronize();

  std::vector<std::vector<double>> times(graphs.size());
  const int calls = passes * sets;
  for (int i = 0; i < replays; ++i) {
    const float ms = marks[static_cast<size_t>(i) + 1].since(marks[static_cast<size_t>(i)]);
    times[static_cast<size_t>(turn(i))].push_back(1e3 * double{ms} / calls);
  }
  std::vector<Timing> timings;
  for (std::vector<double>& all : times) {
    timings.push_back(summarize(std::move(all)));
    timings.back().calls = calls;
  }
  return timings;
}

}  // namespace tilewright::bench
