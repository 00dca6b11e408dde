// Times of device work that are comparable: cold caches, graph replays, contestants taking turns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/runtime/stream.h"

namespace tilewright::bench {

/// One way to do the work of a race: enqueues the call that uses set `set` of inputs and outputs.
struct Contestant {
  std::string name;
  std::function<void(int set, const Stream& stream)> enqueue;
};

/// The time of one call, microseconds.
struct Timing {
  double median = 0;
  double spread = 0;  ///< (ninth decile - first decile) / median over the replays
  int calls = 0;      ///< in each replay
  int replays = 0;
};

struct RaceOptions {
  int rounds = 15;          ///< replays of each contestant
  double replay_us = 5000;  ///< least length of a replay
  int most_passes = 200;    ///< over all sets, in one replay
};

/// How many sets of `bytes` make every call find its data out of the L2 cache: together more than
/// twice the cache, and at least two.
int sets_for_cold_cache(int64_t bytes);

/// Races the contestants on one stream. Each is captured into a graph that goes over all sets
/// several times; the graphs are replayed in turns, every round beginning with another, and the
/// device is never idle between them. Needs the context of device 0 current, and contestants that
/// may be captured (compiled already).
std::vector<Timing> race(std::span<const Contestant> contestants, int sets,
                         const RaceOptions& options);

/// The median and decile spread of some times.
Timing summarize(std::vector<double> times);

}  // namespace tilewright::bench
