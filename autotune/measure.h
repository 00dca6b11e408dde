// Times of device work that are comparable: cold caches, graph replays, contestants taking turns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tilewright/runtime/graph.h"
#include "tilewright/runtime/stream.h"

namespace tilewright::tune {

/// A summary of times of one thing, in their unit.
struct Summary {
  double median = 0;
  double spread = 0;  ///< (ninth decile - first decile) / median
  double error = 0;   ///< half width of the median's 95% interval; infinite below 3 samples
  int samples = 0;
};

/// Raises nothing; of no times at all the median is infinite.
Summary summarize(std::vector<double> times);

/// Takes out of a race's times, by contestant and round, what all contestants of a round share: the
/// clock follows power and temperature. Contestants without times are left alone.
void remove_drift(std::vector<std::vector<double>>& times);

/// How many sets of `bytes` make every call find its data out of an L2 cache of `l2_bytes`:
/// together more than twice the cache, and at least two.
int sets_for_cold_cache(int64_t bytes, int64_t l2_bytes);

/// One way to do the work of a race. `enqueue` puts the call that uses set `set` of inputs and
/// outputs into the stream; `restore`, where there is one, makes the data of all sets what it was,
/// outside of what is timed.
class Runner {
 public:
  Runner(std::function<void(int set, const Stream& stream)> enqueue,
         std::function<void(const Stream& stream)> restore = {})
      : enqueue_(std::move(enqueue)), restore_(std::move(restore)) {}

  void one_pass(int sets, const Stream& stream) const;
  void restore(const Stream& stream) const {
    if (restore_) restore_(stream);
  }
  bool restores() const { return static_cast<bool>(restore_); }
  /// Captures `passes` passes over all sets.
  runtime::Graph capture(int sets, int passes, const Stream& stream) const;

 private:
  std::function<void(int, const Stream&)> enqueue_;
  std::function<void(const Stream&)> restore_;
};

/// Microseconds of one pass over all sets, after a first one. Needs the context of `device`
/// current, as the others here do.
double time_pass(const Runner& runner, int sets, const Stream& stream, Device device);

/// Passes that make a replay last `replay_us` when one pass lasts `pass_us`: 1 .. `most`.
int passes_for(double pass_us, double replay_us, int most);

/// A contestant that is ready: its graph and the calls in it.
struct Replayed {
  const runtime::Graph* graph = nullptr;
  const Runner* runner = nullptr;  ///< restores before each replay; null: nothing to restore
  int calls = 1;
};

/// Replays the graphs in turns, every round beginning with another, with the device never idle
/// between them; microseconds of one call in each replay, by contestant.
std::vector<std::vector<double>> replay_in_turns(std::span<const Replayed> contestants, int rounds,
                                                 const Stream& stream, Device device);

}  // namespace tilewright::tune
