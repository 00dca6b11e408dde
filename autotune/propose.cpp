#include "tilewright/autotune/propose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright::tune {
namespace {

constexpr size_t kElite = 6;
constexpr size_t kRandom = 16;      // in each pool
constexpr size_t kCrosses = 12;     // likewise
constexpr size_t kDeeper = 4;       // of a pool, whose neighbours are looked at too
constexpr double kCuriosity = 0.7;  // deviations that a config's time may be better than estimated
constexpr double kUnlikely = 0.8;   // failure rate above which a value is left alone
constexpr int kEnoughTries = 4;

}  // namespace

Proposer::Proposer(const SearchSpace& space, const Calibration& calibration, uint64_t seed)
    : space_(space),
      calibration_(calibration),
      model_(space.function(), space.target(), calibration),
      rng_(seed) {}

std::vector<Config> Proposer::ranked(size_t count) const {
  return space_.ranked(calibration_, count);
}

double Proposer::predicted(const Config& config) const { return model_.microseconds(config); }

bool Proposer::claim(const Config& config) {
  try {
    check_config(config, space_.function(), space_.target());
  } catch (const std::exception&) {
    return false;
  }
  return given_.insert(to_json(config)).second;
}

void Proposer::learn(std::span<const Trial> trials) {
  std::vector<Surrogate::Sample> samples;
  std::vector<const Trial*> measured;
  outcomes_.clear();
  for (const Trial& trial : trials) {
    const ConfigFields fields = fields_of(trial.config);
    const bool ok = trial.status == Trial::Status::ok && trial.samples > 0;
    for (const auto& field : fields) {
      auto& [tried, failed] = outcomes_[field];
      ++tried;
      failed += !ok;
    }
    if (!ok || trial.predicted <= 0) continue;
    measured.push_back(&trial);
    samples.push_back({fields, std::log(trial.microseconds / trial.predicted)});
  }
  surrogate_ = Surrogate(samples);
  std::ranges::stable_sort(measured, {}, &Trial::microseconds);
  elite_.clear();
  for (const Trial* trial : measured)
    if (elite_.size() < kElite) elite_.push_back(trial->config);
}

double Proposer::failure_rate(const ConfigFields& fields) const {
  double worst = 0;
  for (const auto& field : fields) {
    const auto it = outcomes_.find(field);
    if (it == outcomes_.end() || it->second.first < kEnoughTries) continue;
    worst = std::max(worst, static_cast<double>(it->second.second) / it->second.first);
  }
  return worst;
}

struct Proposer::Candidate {
  double score = 0;
  Config config;
};

// log of the time that may be hoped for.
double Proposer::score(const Config& config) const {
  const ConfigFields fields = fields_of(config);
  const Surrogate::Estimate estimate = surrogate_.estimate(fields);
  const double failures = failure_rate(fields);
  return std::log(predicted(config)) + estimate.log_ratio - kCuriosity * estimate.deviation +
         (failures > kUnlikely ? 10 : 0.1 * failures);
}

void Proposer::add(const Config& config, std::vector<Config>& pool,
                   std::set<std::string>& seen) const {
  std::string name = to_json(config);
  if (given_.contains(name) || !seen.insert(std::move(name)).second) return;
  pool.push_back(config);
}

// Every field from one of the two.
std::optional<Config> Proposer::cross(const Config& a, const Config& b) {
  const ConfigFields first = fields_of(a), second = fields_of(b);
  std::set<std::string> names;
  for (const auto* fields : {&first, &second})
    for (const auto& [name, value] : *fields) names.insert(name);
  ConfigFields mixed;
  for (const std::string& name : names) {
    const ConfigFields& from = rng_() % 2 == 0 ? first : second;
    if (const auto it = from.find(name); it != from.end()) mixed.insert(*it);
  }
  return space_config(mixed);
}

std::vector<Config> Proposer::pool() {
  std::vector<Config> pool;
  std::set<std::string> seen;
  for (const Config& config : elite_)
    for (const Config& neighbour : space_.neighbours(config)) add(neighbour, pool, seen);
  if (elite_.size() > 1)
    for (size_t i = 0; i < kCrosses; ++i) {
      const size_t a = rng_() % elite_.size(), b = rng_() % elite_.size();
      if (a == b) continue;
      if (const auto mixed = cross(elite_[a], elite_[b])) add(*mixed, pool, seen);
    }
  return pool;
}

// Claims the best of some configs by score, until `proposed` has `count`.
void Proposer::take(const std::vector<Config>& configs, size_t count,
                    std::vector<Config>& proposed) {
  std::vector<Candidate> ranked;
  for (const Config& config : configs) ranked.push_back({score(config), config});
  std::ranges::stable_sort(ranked, {}, &Candidate::score);
  for (const Candidate& candidate : ranked) {
    if (proposed.size() >= count) return;
    if (claim(candidate.config)) proposed.push_back(candidate.config);
  }
}

// One step further from the most promising ones.
std::vector<Config> Proposer::deeper(const std::vector<Config>& configs) const {
  std::vector<Candidate> ranked;
  for (const Config& config : configs) ranked.push_back({score(config), config});
  std::ranges::stable_sort(ranked, {}, &Candidate::score);
  std::vector<Config> further = configs;
  std::set<std::string> seen;
  for (const Config& config : configs) seen.insert(to_json(config));
  for (size_t i = 0; i < std::min(kDeeper, ranked.size()); ++i)
    for (const Config& neighbour : space_.neighbours(ranked[i].config))
      add(neighbour, further, seen);
  return further;
}

// The best configs with one field at a value that hardly any config had: what a value costs is not
// known before it was tried.
std::vector<Config> Proposer::uncovered() const {
  std::vector<Config> configs;
  std::set<std::string> seen;
  size_t block = 0;
  const std::vector<ir::Axis>& axes = space_.function().axes;
  for (const SpaceAxis& axis : space_.axes()) {
    // Tile axes come first, under the names of the kernel's free axes.
    const bool tile = block < static_cast<size_t>(std::ranges::count(axes, 0, &ir::Axis::block));
    const std::string field = tile ? fmt::format("block[{}]", block++) : axis.name;
    for (const std::string& value : axis.values) {
      const auto known = outcomes_.find({field, value});
      const int tried = known == outcomes_.end() ? 0 : known->second.first;
      for (size_t i = 0; tried < kEnoughTries && i < std::min<size_t>(2, elite_.size()); ++i) {
        ConfigFields fields = fields_of(elite_[i]);
        fields[field] = value;
        if (const auto config = space_config(fields)) add(*config, configs, seen);
      }
    }
  }
  return configs;
}

// The config of these fields, if there is one in the space.
std::optional<Config> Proposer::space_config(const ConfigFields& fields) const {
  try {
    const Config config = config_of(fields);
    if (space_.contains(config)) return config;
  } catch (const std::exception&) {
    // An axis that stands for several fields, or a value that goes with others only.
  }
  return std::nullopt;
}

std::vector<Config> Proposer::propose(size_t count) {
  std::vector<Config> proposed;
  const auto share = [&](size_t parts) { return std::max<size_t>(1, count * parts / 8); };
  // The surrogate does not see how choices work together: what surrounds the best is tried whatever
  // it says, and some from anywhere.
  std::vector<Config> around;
  std::set<std::string> seen;
  if (!elite_.empty())
    for (const Config& neighbour : space_.neighbours(elite_[0])) add(neighbour, around, seen);
  take(around, share(2), proposed);
  take(uncovered(), proposed.size() + share(2), proposed);
  std::vector<Config> anywhere;
  for (size_t i = 0; i < kRandom; ++i) add(space_.sample(rng_), anywhere, seen);
  take(anywhere, proposed.size() + share(1), proposed);
  take(deeper(pool()), count, proposed);
  return proposed;
}

}  // namespace tilewright::tune
