#include "tilewright/autotune/space.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tilewright/autotune/space_choices.h"
#include "tilewright/autotune/space_rank.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/config_warpgroups.h"
#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

constexpr int kMostDraws = 2000;

bool passes(const Config& config, const ir::Function& fn, const Target& target) {
  try {
    check_config(config, fn, target);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The same on every machine, unlike the standard's distributions.
size_t below(size_t count, Rng& rng) { return static_cast<size_t>(rng() % count); }

}  // namespace

struct SearchSpace::State {
  State(const ir::Function& kernel, const Target& on)
      : fn(kernel), target(on), choices(choices_for(kernel, on)), canonical(kernel, on) {
    for (const FieldChoice& choice : choices) axes.push_back({choice.name, choice.values});
  }

  bool has(const Config& config) const {
    const Config same = canonical(config);
    if (same.tunables != config.tunables) return false;  // of another trace
    for (const FieldChoice& choice : choices)
      if (choice.find(same) < 0) return false;
    return legal(same);
  }

  bool legal(const Config& config) const {
    return canonical.sensible(config) && passes(config, fn, target);
  }

  const ir::Function& fn;
  Target target;
  std::vector<FieldChoice> choices;
  Canonical canonical;
  std::vector<SpaceAxis> axes;
  std::optional<int64_t> legal_count;
};

namespace {

/// Counts configs that pass check_config, without asking it about each: registers and shared
/// memory depend on few fields, the checks of the others on fewer still.
class Counter {
 public:
  Counter(const ir::Function& fn, const Target& target, const std::vector<FieldChoice>& choices,
          const Canonical& canonical)
      : fn_(fn), target_(target), canonical_(canonical) {
    for (const FieldChoice& choice : choices) {
      if (choice.is_block)
        tiles_.push_back(&choice);
      else if (choice.is_core)
        core_.push_back(&choice);
      else if (choice.is_stages)
        stages_ = &choice;
      else
        rest_.push_back(&choice);
    }
  }

  int64_t count() {
    Config config;
    config.tunables = canonical_(config).tunables;
    each(tiles_, 0, config, [&] { each(core_, 0, config, [&] { add(config); }); });
    return total_;
  }

 private:
  template <class Visit>
  void each(const std::vector<const FieldChoice*>& choices, size_t i, Config& config,
            const Visit& visit) {
    if (i == choices.size()) return visit();
    for (size_t value = 0; value < choices[i]->values.size(); ++value) {
      choices[i]->set(config, static_cast<int>(value));
      each(choices, i + 1, config, visit);
    }
  }

  /// All configs with these tiles, warps, unit and copies.
  void add(const Config& core) {
    Config config = core;
    config.stages = 1;
    try {
      codegen::check_warpgroups(config, fn_, target_);
    } catch (const Error&) {
      return;
    }
    if (config.warps * 32 > Target::max_threads) return;
    const codegen::ConfigNeeds one = codegen::estimate_needs(config, fn_, target_);
    int64_t slots = 1;
    if (stages_ != nullptr && stages_->values.size() > 1) {
      slots = 0;
      for (size_t i = 0; i < stages_->values.size(); ++i) {
        stages_->set(config, static_cast<int>(i));
        slots += codegen::estimate_needs(config, fn_, target_).shared_bytes <= target_.shared_bytes;
      }
    } else if (one.shared_bytes > target_.shared_bytes) {
      return;
    }
    if (slots > 0) total_ += slots * others(core, one);
  }

  /// Combinations of the other fields that suit these tiles and warps.
  int64_t others(const Config& core, const codegen::ConfigNeeds& needs) {
    // Which pass depends on registers only through how many blocks they leave room for.
    int room = 0;
    Config config = core;
    for (config.turns = 1; config.turns <= 2; ++config.turns)
      for (config.blocks_per_sm = 1; config.blocks_per_sm <= 4; ++config.blocks_per_sm)
        room += codegen::has_registers(needs, config) ? 1 << place_of(config) : 0;
    if (room == 0) return 0;
    const bool grouped = canonical_grouped(core);
    const std::tuple key(core.matrix, core.copy, core.warps, room, grouped);
    const auto [at, is_new] = combinations_.try_emplace(key);
    if (!is_new) return at->second;
    config = core;
    int64_t count = 0;
    each(rest_, 0, config, [&] {
      const bool fits = (room >> place_of(config) & 1) != 0;
      count +=
          fits && canonical_(config) == config && canonical_.sensible(config) && supported(config);
    });
    return at->second = count;
  }

  /// What decides how many registers there are, besides warps.
  static int place_of(const Config& config) { return 5 * config.turns + config.blocks_per_sm; }

  bool canonical_grouped(Config config) const {
    config.group = 2;
    return canonical_(config).group == 2;
  }

  /// What check_config refuses whatever the tiles are.
  bool supported(Config config) const {
    if (config.split_k > 1 && (config.cluster > 1 || config.persistent)) return false;
    if (config.turns > 1 && (config.copy != CopyKind::tma || config.matrix != MatrixUnit::wgmma ||
                             !config.persistent || config.split_k > 1))
      return false;
    return config.copy != CopyKind::tma ||
           codegen::consumer_warps(config) <= Target::max_threads / 32 - 4;
  }

  const ir::Function& fn_;
  const Target& target_;
  const Canonical& canonical_;
  std::vector<const FieldChoice*> tiles_, core_, rest_;
  const FieldChoice* stages_ = nullptr;
  std::map<std::tuple<MatrixUnit, CopyKind, int, int, bool>, int64_t> combinations_;
  int64_t total_ = 0;
};

/// The position of a config's value among a choice's; of a tile size that is not there, the nearest
/// one's.
int position_of(const FieldChoice& choice, const Config& config, size_t block) {
  const int exact = choice.find(config);
  if (exact >= 0 || !choice.is_block || block >= config.block.size()) return std::max(0, exact);
  int nearest = 0;
  for (size_t i = 0; i < choice.values.size(); ++i)
    if (std::stoll(choice.values[i]) <= config.block[block]) nearest = static_cast<int>(i);
  return nearest;
}

}  // namespace

SearchSpace SearchSpace::of(const ir::Function& fn, const Target& target) {
  return SearchSpace(std::make_shared<State>(fn, target));
}

int64_t SearchSpace::size() const {
  State& state = *state_;
  if (!state.legal_count)
    state.legal_count = Counter(state.fn, state.target, state.choices, state.canonical).count();
  return *state.legal_count;
}

double SearchSpace::combinations() const {
  double product = 1;
  for (const FieldChoice& choice : state_->choices)
    product *= static_cast<double>(choice.values.size());
  return product;
}

const std::vector<SpaceAxis>& SearchSpace::axes() const { return state_->axes; }
const ir::Function& SearchSpace::function() const { return state_->fn; }
const Target& SearchSpace::target() const { return state_->target; }

bool SearchSpace::contains(const Config& config) const { return state_->has(config); }

Config SearchSpace::sample(Rng& rng) const {
  for (int draw = 0; draw < kMostDraws; ++draw) {
    Config config;
    for (const FieldChoice& choice : state_->choices) {
      size_t value = below(choice.values.size(), rng);
      // The unit that multiplies fastest is the one of interest; the others get a third.
      if (choice.is_unit && below(3, rng) != 0) value = choice.values.size() - 1;
      choice.set(config, static_cast<int>(value));
    }
    config = state_->canonical(config);
    if (state_->legal(config)) return config;
  }
  return default_config(state_->fn, state_->target);
}

std::vector<Config> SearchSpace::neighbours(const Config& config) const {
  const State& state = *state_;
  std::vector<Config> found;
  const auto add = [&](Config candidate) {
    candidate = state.canonical(candidate);
    if (candidate == state.canonical(config) || std::ranges::find(found, candidate) != found.end())
      return false;
    if (!state.has(candidate)) return false;
    found.push_back(std::move(candidate));
    return true;
  };
  Config base = config;
  std::vector<int> at;
  for (size_t i = 0; i < state.choices.size(); ++i) {
    at.push_back(position_of(state.choices[i], config, i));
    state.choices[i].set(base, at.back());
  }
  const auto moved = [&](Config from, size_t i, int by) -> std::optional<Config> {
    const int to = at[i] + by;
    if (to < 0 || to >= static_cast<int>(state.choices[i].values.size())) return std::nullopt;
    state.choices[i].set(from, to);
    return from;
  };
  add(base);
  for (size_t i = 0; i < state.choices.size(); ++i)
    for (const int by : {1, -1, 2, -2}) {
      const bool far = by == 2 || by == -2;
      if (far && state.choices[i].is_block) continue;
      std::optional<Config> next = moved(base, i, by);
      // A larger tile may need fewer stages.
      while (next && !add(*next) && by > 0 && state.choices[i].is_block && next->stages > 2)
        --next->stages;
    }
  for (size_t i = 0; i < state.choices.size(); ++i)
    for (size_t j = 0; j < state.choices.size(); ++j) {
      if (i == j || !state.choices[i].is_block || !state.choices[j].is_block) continue;
      if (const auto up = moved(base, i, 1))
        if (const auto both = moved(*up, j, -1)) add(*both);
    }
  return found;
}

std::vector<Config> SearchSpace::ranked(const Calibration& calibration, size_t count) const {
  const State& state = *state_;
  return rank(
      state.fn, state.target, calibration, state.choices, state.canonical,
      [&](const Config& config) { return state.has(config); }, count);
}

}  // namespace tilewright::tune
