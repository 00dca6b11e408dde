#include "tilewright/autotune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tilewright/autotune/measure.h"
#include "tilewright/autotune/propose.h"
#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

// How much each effort does.
struct Plan {
  size_t ranked;     // from the top of the model's ranking
  size_t batch;      // tried together
  int patience;      // batches without an improvement before the search ends
  size_t finalists;  // compared last
  int most_samples;  // of each of those
};
constexpr Plan kQuick{32, 8, 4, 5, 60};
constexpr Plan kFull{96, 16, 12, 8, 200};

constexpr int kFirstRounds = 3;
constexpr int kMoreRounds = 6;
constexpr int kFinalRounds = 8;
constexpr double kClose = 1.1;         // of the best time: worth more rounds
constexpr double kFinal = 1.04;        // of the best time: may be a finalist
constexpr double kSearchShare = 0.85;  // of the budget, at most; the rest compares the best
constexpr double kLeastShare = 0.7;    // of it, at least
constexpr double kChecks = 1;          // of each finalist, what is left time for

double upper(const Trial& trial) { return trial.microseconds + trial.error; }
double lower(const Trial& trial) { return trial.microseconds - trial.error; }

class Searcher {
 public:
  Searcher(const SearchSpace& space, const Calibration& calibration, Evaluator& evaluator,
           const SearchOptions& options)
      : evaluator_(evaluator),
        options_(options),
        plan_(options.effort == Effort::quick ? kQuick : kFull),
        budget_(options.budget > 0 ? options.budget : default_budget(options.effort)),
        proposer_(space, calibration, options.seed) {
    result_.device = evaluator.device();
    result_.effort = options.effort;
    result_.seed = options.seed;
    result_.space = space.size();
  }

  SearchResult run() {
    search();
    if (result_.best >= 0) compare();
    result_.seconds = evaluator_.seconds();
    return std::move(result_);
  }

 private:
  void search();
  void compare();
  std::vector<Config> next_batch();
  void evaluate(const std::vector<Config>& batch);
  void measure(const std::vector<int>& which, int rounds);
  void choose_finalists();
  bool recheck();
  bool drop_beaten();
  bool admit_rivals();
  void update_best();
  void report(std::string_view phase);
  void fail(int trial, const Attempt& why);

  bool stopped() const { return options_.stop.stop_requested(); }
  bool over() const { return stopped() || evaluator_.seconds() >= budget_; }
  /// Whether the time that is left is needed for comparing the best: large problems take long to
  /// check.
  bool searched_enough() const {
    const double left = kChecks * static_cast<double>(plan_.finalists) * seconds_a_check_;
    const double share = std::clamp(1 - left / budget_, kLeastShare, kSearchShare);
    return stopped() || evaluator_.seconds() >= share * budget_;
  }
  std::vector<int> by_upper_end() const;
  std::vector<Config> configs_of(const std::vector<int>& which) const;
  Trial& trial(int i) { return result_.trials[static_cast<size_t>(i)]; }
  const Trial& trial(int i) const { return result_.trials[static_cast<size_t>(i)]; }

  Evaluator& evaluator_;
  const SearchOptions& options_;
  const Plan plan_;
  const double budget_;
  Proposer proposer_;
  SearchResult result_;
  std::vector<std::vector<double>> samples_;  // by trial
  std::vector<Config> queue_;                 // to be tried first, the last one first
  int idle_ = 0;                              // batches without an improvement
  double seconds_a_check_ = std::numeric_limits<double>::infinity();
};

std::vector<int> Searcher::by_upper_end() const {
  std::vector<int> order;
  for (size_t i = 0; i < result_.trials.size(); ++i)
    if (result_.trials[i].status == Trial::Status::ok && result_.trials[i].samples > 0)
      order.push_back(static_cast<int>(i));
  std::ranges::stable_sort(order, {}, [&](int i) { return upper(trial(i)); });
  return order;
}

std::vector<Config> Searcher::configs_of(const std::vector<int>& which) const {
  std::vector<Config> configs;
  for (const int i : which) configs.push_back(trial(i).config);
  return configs;
}

void Searcher::report(std::string_view phase) {
  if (!options_.progress) return;
  Progress progress;
  progress.tried = static_cast<int>(result_.trials.size());
  for (const Trial& one : result_.trials) progress.failed += one.status != Trial::Status::ok;
  if (result_.best >= 0) {
    progress.best_us = result_.winner().microseconds;
    progress.best_error = result_.winner().error;
  }
  progress.seconds = evaluator_.seconds();
  progress.budget = budget_;
  progress.phase = phase;
  options_.progress(progress);
}

void Searcher::fail(int i, const Attempt& why) {
  trial(i).status = why.status;
  trial(i).message = why.message;
  trial(i).microseconds = trial(i).error = 0;
  trial(i).samples = 0;
}

// The least upper end wins, which is what the store goes by too.
void Searcher::update_best() {
  const std::vector<int> order = by_upper_end();
  const int best = order.empty() ? -1 : order.front();
  if (best >= 0) {
    const double time = trial(best).microseconds;
    const bool better = result_.improvements.empty() ||
                        time < result_.improvements.back().microseconds * (1 - kEqualTimes);
    if (better)
      result_.improvements.push_back(
          {evaluator_.seconds(), static_cast<int>(result_.trials.size()), time});
    idle_ = better ? 0 : idle_ + 1;
  }
  result_.best = best;
}

void Searcher::measure(const std::vector<int>& which, int rounds) {
  const std::vector<Config> configs = configs_of(which);
  std::vector<std::vector<double>> times = evaluator_.race(configs, rounds);
  remove_drift(times);
  for (size_t i = 0; i < which.size(); ++i) {
    if (times[i].empty()) {
      fail(which[i], evaluator_.why(configs[i]));
      continue;
    }
    std::vector<double>& samples = samples_[static_cast<size_t>(which[i])];
    samples.insert(samples.end(), times[i].begin(), times[i].end());
    const Summary summary = summarize(samples);
    trial(which[i]).microseconds = summary.median;
    trial(which[i]).error = summary.error;
    trial(which[i]).samples = summary.samples;
  }
}

void Searcher::evaluate(const std::vector<Config>& batch) {
  const double begin = evaluator_.seconds();
  const std::vector<Attempt> attempts = evaluator_.attempt(batch);
  // The first batch waits for the compiler, and any may wait for what hangs.
  const double each = (evaluator_.seconds() - begin) / static_cast<double>(batch.size());
  seconds_a_check_ = std::min(seconds_a_check_, each);
  std::vector<int> passed;
  for (size_t i = 0; i < attempts.size(); ++i) {
    const int at = static_cast<int>(result_.trials.size());
    Trial& made = result_.trials.emplace_back();
    samples_.emplace_back();
    made.config = batch[i];
    made.predicted = proposer_.predicted(batch[i]);
    if (attempts[i].status == Trial::Status::ok)
      passed.push_back(at);
    else
      fail(at, attempts[i]);
  }
  if (!passed.empty()) {
    if (result_.best >= 0) passed.push_back(result_.best);  // in the same race, for comparison
    measure(passed, kFirstRounds);
    double best = std::numeric_limits<double>::infinity();
    for (const int i : passed)
      if (trial(i).samples > 0) best = std::min(best, trial(i).microseconds);
    std::erase_if(passed, [&](int i) {
      return trial(i).samples == 0 || trial(i).microseconds > kClose * best;
    });
    if (passed.size() > 1) measure(passed, kMoreRounds);
  }
  update_best();
  proposer_.learn(result_.trials);
}

std::vector<Config> Searcher::next_batch() {
  std::vector<Config> batch;
  while (!queue_.empty() && batch.size() < plan_.batch) {
    if (proposer_.claim(queue_.back())) batch.push_back(queue_.back());
    queue_.pop_back();
  }
  if (batch.empty()) batch = proposer_.propose(plan_.batch);
  return batch;
}

void Searcher::search() {
  queue_ = options_.first;
  for (const Config& config : proposer_.ranked(plan_.ranked)) queue_.push_back(config);
  std::ranges::reverse(queue_);
  // A batch is chosen while the one before is tried, so that it can be compiled meanwhile.
  std::vector<Config> batch = next_batch(), following;
  report("compiling");
  for (; !batch.empty() && !stopped(); batch = std::move(following)) {
    following = searched_enough() ? std::vector<Config>() : next_batch();
    std::vector<Config> wanted = batch;
    wanted.insert(wanted.end(), following.begin(), following.end());
    for (auto it = queue_.rbegin(); it != queue_.rend(); ++it) wanted.push_back(*it);
    evaluator_.prefetch(wanted);
    evaluate(batch);
    report("searching");
    if (searched_enough()) break;
    if (queue_.empty() && idle_ >= plan_.patience) break;
    if (following.empty()) following = next_batch();
  }
  evaluator_.prefetch({});
  result_.ending = result_.best < 0    ? Ending::nothing
                   : stopped()         ? Ending::stopped
                   : batch.empty()     ? Ending::exhausted
                   : searched_enough() ? Ending::budget
                                       : Ending::tied;
}

void Searcher::choose_finalists() {
  const std::vector<int> order = by_upper_end();
  result_.finalists.clear();
  for (const int i : order)
    if (result_.finalists.size() < plan_.finalists &&
        trial(i).microseconds <= kFinal * trial(order.front()).microseconds)
      result_.finalists.push_back(i);
}

// Whether those that are left are as before.
bool Searcher::recheck() {
  const std::vector<Attempt> attempts = evaluator_.recheck(configs_of(result_.finalists));
  bool all = true;
  for (size_t i = 0; i < attempts.size(); ++i)
    if (attempts[i].status != Trial::Status::ok) {
      fail(result_.finalists[i], attempts[i]);
      all = false;
    }
  std::erase_if(result_.finalists, [&](int i) { return trial(i).status != Trial::Status::ok; });
  return all;
}

// Leaves those out that are slower than the best by more than the noise; whether that settles it.
bool Searcher::drop_beaten() {
  std::erase_if(result_.finalists, [&](int i) { return trial(i).samples == 0; });
  std::ranges::stable_sort(result_.finalists, {}, [&](int i) { return upper(trial(i)); });
  if (result_.finalists.size() <= 1) return true;
  const Trial& first = trial(result_.finalists.front());
  std::erase_if(result_.finalists,
                [&](int i) { return &trial(i) != &first && lower(trial(i)) > upper(first); });
  if (result_.finalists.size() == 1) {
    result_.ending = Ending::separated;
    return true;
  }
  double slowest = 0;
  for (const int i : result_.finalists) slowest = std::max(slowest, upper(trial(i)));
  return slowest <= upper(first) * (1 + kEqualTimes);
}

// Those that look better than the first of the finalists now join them.
bool Searcher::admit_rivals() {
  if (result_.finalists.empty()) return false;
  const double mark = upper(trial(result_.finalists.front()));
  bool any = false;
  for (const int i : by_upper_end()) {
    if (upper(trial(i)) >= mark) break;
    if (std::ranges::find(result_.finalists, i) != result_.finalists.end()) continue;
    result_.finalists.push_back(i);
    any = true;
  }
  return any;
}

// The best few are timed against each other until they are told apart. Their first samples are left
// out: they were chosen for those.
void Searcher::compare() {
  const Ending searched = result_.ending;
  choose_finalists();
  for (int admitted = 0; admitted < 4; ++admitted) {
    while (!result_.finalists.empty() && !recheck()) choose_finalists();
    evaluator_.keep(configs_of(result_.finalists));
    for (const int i : result_.finalists) samples_[static_cast<size_t>(i)].clear();
    int samples = 0;
    do {
      measure(result_.finalists, kFinalRounds);
      samples += kFinalRounds;
      report("comparing the best");
    } while (!drop_beaten() && samples < plan_.most_samples && !over());
    if (over() || !admit_rivals()) break;
  }
  update_best();
  report("comparing the best");
  if (stopped())
    result_.ending = Ending::stopped;
  else if (result_.best < 0)
    result_.ending = Ending::nothing;
  else if (searched != Ending::tied)
    result_.ending = searched;
  else if (over() && result_.ending != Ending::separated)
    result_.ending = Ending::budget;
}

}  // namespace

std::string_view to_string(Effort effort) { return effort == Effort::quick ? "quick" : "full"; }

std::string_view to_string(Ending ending) {
  constexpr std::string_view texts[] = {"the best is ahead of all others by more than the noise",
                                        "the best few are equally fast, as far as can be measured",
                                        "every config was tried",
                                        "the time was up",
                                        "it was stopped",
                                        "no config ran"};
  return texts[static_cast<int>(ending)];
}

SearchResult search(const SearchSpace& space, const Calibration& calibration, Evaluator& evaluator,
                    const SearchOptions& options) {
  return Searcher(space, calibration, evaluator, options).run();
}

}  // namespace tilewright::tune
