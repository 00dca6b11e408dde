#include "bench/measure.h"

#include <algorithm>

#include "tilewright/autotune/measure.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::bench {

int sets_for_cold_cache(int64_t bytes) {
  return tune::sets_for_cold_cache(bytes, runtime::device_info(0).l2_bytes);
}

Timing summarize(std::vector<double> times) {
  const tune::Summary summary = tune::summarize(std::move(times));
  return {.median = summary.median, .spread = summary.spread, .replays = summary.samples};
}

std::vector<Timing> race(std::span<const Contestant> contestants, int sets,
                         const RaceOptions& options) {
  constexpr Device device = Device::cuda(0);
  const Stream stream = Stream::create(device);
  std::vector<tune::Runner> runners;
  for (const Contestant& contestant : contestants) runners.emplace_back(contestant.enqueue);
  double pass = 1e30;  // of the fastest
  for (const tune::Runner& runner : runners)
    pass = std::min(pass, tune::time_pass(runner, sets, stream, device));
  const int passes = tune::passes_for(pass, options.replay_us, options.most_passes);
  const int calls = passes * sets;
  std::vector<runtime::Graph> graphs;
  for (const tune::Runner& runner : runners) graphs.push_back(runner.capture(sets, passes, stream));
  std::vector<tune::Replayed> replayed;
  for (const runtime::Graph& graph : graphs) {
    graph.launch(stream);  // uploads it
    replayed.push_back({.graph = &graph, .calls = calls});
  }
  std::vector<Timing> timings;
  for (std::vector<double>& times :
       tune::replay_in_turns(replayed, options.rounds, stream, device)) {
    timings.push_back(summarize(std::move(times)));
    timings.back().calls = calls;
  }
  return timings;
}

}  // namespace tilewright::bench
