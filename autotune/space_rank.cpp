#include "tilewright/autotune/space_rank.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tilewright/autotune/time_model.h"

namespace tilewright::tune {
namespace {

constexpr size_t kRefined = 48;    // combinations whose other fields are tried
constexpr double kSeen = 0.002;    // a difference of times that the model sees
constexpr size_t kOfOneShape = 3;  // configs of one tile shape and unit
constexpr double kHopeless = 3;    // times the best's time: not looked at further

/// An order of configs, for sets of them.
auto fields(const Config& c) {
  return std::tie(c.block, c.order, c.group, c.warps, c.stages, c.copy, c.matrix, c.vector,
                  c.blocks_per_sm, c.persistent, c.turns, c.cluster, c.split_k, c.repitch,
                  c.reduction_loop, c.tunables);
}
struct Before {
  bool operator()(const Config& a, const Config& b) const { return fields(a) < fields(b); }
};

struct Timed {
  Config config;
  double us = 0;
};

void sort(std::vector<Timed>& list) { std::ranges::stable_sort(list, {}, &Timed::us); }

class Ranking {
 public:
  Ranking(const ir::Function& fn, const Target& target, const Calibration& calibration,
          const std::vector<FieldChoice>& choices, const Canonical& canonical,
          const std::function<bool(const Config&)>& contains)
      : model_(fn, target, calibration),
        choices_(choices),
        canonical_(canonical),
        contains_(contains) {
    for (const FieldChoice& choice : choices)
      if (choice.is_block || choice.is_core)
        core_.push_back(&choice);
      else if (choice.is_stages)
        stages_ = &choice;
  }

  std::vector<Timed> run() {
    Config config;
    each_core(0, config);
    sort(found_);
    std::vector<Timed> best = found_;
    if (best.size() > kRefined) best.resize(kRefined);
    for (const Timed& one : best) refine(one);
    sort(found_);
    return std::move(found_);
  }

  bool add(Config config) {
    config = canonical_(config);
    const auto [at, is_new] = seen_.try_emplace(config, false);
    if (!is_new || !contains_(config)) return at->second;
    at->second = true;
    found_.push_back({config, model_.microseconds(config)});
    return true;
  }

 private:
  void each_core(size_t i, Config& config) {
    if (i == core_.size()) {
      with_most_stages(config);
      return;
    }
    for (size_t value = 0; value < core_[i]->values.size(); ++value) {
      core_[i]->set(config, static_cast<int>(value));
      if (!core_[i]->is_unit || worth_ranking(config)) each_core(i + 1, config);
    }
  }

  /// Whether no other unit, or other copies for the same one, are sure to be faster.
  bool worth_ranking(const Config& config) const {
    const auto has = [&](MatrixUnit unit, CopyKind copy) {
      Config other;
      other.matrix = unit;
      other.copy = copy;
      return std::ranges::any_of(core_, [&](const FieldChoice* choice) {
        return choice->is_unit && choice->find(other) >= 0;
      });
    };
    if (config.copy != CopyKind::cp_async && has(config.matrix, CopyKind::cp_async)) return false;
    return config.matrix != MatrixUnit::fma || !has(MatrixUnit::mma, CopyKind::cp_async);
  }

  void with_most_stages(Config config) {
    config.group = 8;
    if (stages_ == nullptr) {
      add(config);
      return;
    }
    // What a single stage does not let pass, more of them do not either.
    stages_->set(config, 0);
    if (!contains_(canonical_(config))) return;
    for (size_t i = stages_->values.size(); i-- > 0;) {
      stages_->set(config, static_cast<int>(i));
      if (add(config)) return;
    }
  }

  /// Tries the other values of each other field, then of the ones after it on top of the best.
  void refine(const Timed& start) {
    Timed best = start;
    for (int pass = 0; pass < 2; ++pass)
      for (const FieldChoice& choice : choices_) {
        if (choice.is_block || choice.is_core) continue;
        const Config from = best.config;
        for (size_t value = 0; value < choice.values.size(); ++value) {
          Config config = from;
          choice.set(config, static_cast<int>(value));
          // A cluster or a shared loop leaves room for fewer stages.
          if (!add(config)) continue;
          const double us = model_.microseconds(canonical_(config));
          if (us < best.us) best = {canonical_(config), us};
        }
      }
  }

  TimeModel model_;
  const std::vector<FieldChoice>& choices_;
  const Canonical& canonical_;
  const std::function<bool(const Config&)>& contains_;
  std::vector<const FieldChoice*> core_;
  const FieldChoice* stages_ = nullptr;
  std::map<Config, bool, Before> seen_;  // and whether the space has it
  std::vector<Timed> found_;
};

}  // namespace

std::vector<Config> rank(const ir::Function& fn, const Target& target,
                         const Calibration& calibration, const std::vector<FieldChoice>& choices,
                         const Canonical& canonical,
                         const std::function<bool(const Config&)>& contains, size_t count) {
  Ranking ranking(fn, target, calibration, choices, canonical, contains);
  const Config usual = default_config(fn, target);
  ranking.add(usual);
  const std::vector<Timed> all = ranking.run();
  using Shape = std::tuple<std::vector<int64_t>, MatrixUnit>;
  std::map<Shape, std::pair<size_t, double>> taken;  // how many, and the time of the last
  std::vector<Config> result;
  for (const Timed& one : all) {
    if (result.size() == count) break;
    if (result.size() > 0 && one.us > kHopeless * all.front().us && result.size() * 2 > count)
      break;
    auto& [of_shape, last] = taken[{one.config.block, one.config.matrix}];
    if (of_shape == kOfOneShape || one.us < (1 + kSeen) * last) continue;
    ++of_shape;
    last = one.us;
    result.push_back(one.config);
  }
  const Config same = canonical(usual);
  if (contains(same) && std::ranges::find(result, same) == result.end()) {
    if (result.size() == count && count > 0) result.pop_back();
    result.push_back(same);
  }
  return result;
}

}  // namespace tilewright::tune
