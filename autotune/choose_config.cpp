#include "tilewright/autotune/choose_config.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tilewright/autotune/store.h"
#include "tilewright/autotune/time_model.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/executable.h"
#include "tilewright/runtime/hash.h"

namespace tilewright::tune {
namespace {

constexpr std::array<std::string_view, 6> kSources = {"a pin",        "a store",   "a search",
                                                      "a near shape", "the model", "the default"};

// A shape further away than this (one size doubled, of two tensors) must not be much slower than
// the model's pick, by the model.
constexpr double kNear = 2;
constexpr double kMuchSlower = 1.25;

// Size and time of the file that this code is in: another build may have another model.
std::string build_stamp() {
  static const std::string stamp = [] {
    Dl_info library{};
    struct stat file {};
    const bool known = dladdr(reinterpret_cast<void*>(&choose_config), &library) != 0 &&
                       library.dli_fname != nullptr && stat(library.dli_fname, &file) == 0;
    return known ? fmt::format("{} {}.{}", file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec)
                 : std::string();
  }();
  return stamp;
}

// Everything that the model's pick depends on.
std::string pick_key(uint64_t code, const Target& target, const Calibration& calibration) {
  const std::string text =
      fmt::format("{:016x} {} {} {} {}\n{}", code, target.name(), target.multiprocessors,
                  target.shared_bytes, build_stamp(), to_json(calibration));
  return runtime::hash_bytes(text).hex();
}

// Goes through the sources of one request.
class Chooser {
 public:
  explicit Chooser(const ChoiceRequest& request)
      : request_(request),
        machine_(machine_of(request.device, request.target)),
        key_(tune_key(*request.fn, machine_)) {}

  Choice choose() {
    if (auto found = pinned()) return *found;
    if (request_.policy != TunePolicy::off) {
      if (auto found = stored()) return *found;
      if (searches())
        if (auto found = searched()) return *found;
      if (auto found = near()) return *found;
      if (auto found = modelled()) return *found;
    }
    return {request_.lower(default_config(*request_.fn, request_.target)), ConfigSource::fallback};
  }

 private:
  bool searches() const {
    return request_.policy == TunePolicy::quick || request_.policy == TunePolicy::full;
  }
  // Whether the results of a search of that effort will do.
  bool suffices(const std::string& effort) const {
    if (!searches()) return true;
    return effort == "full" || (effort == "quick" && request_.policy == TunePolicy::quick);
  }

  // The config lowered; nothing when it does not fit the kernel.
  std::optional<Choice> tried(const Config& config, ConfigSource source,
                              const std::string& from) const {
    try {
      return Choice{request_.lower(config), source, from};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::config) throw;
      log(LogLevel::info, "the config {} of {} ({}) does not fit kernel {}: {}", to_json(config),
          to_string(source), from, key_.kernel, error.message());
      return std::nullopt;
    }
  }

  std::optional<Choice> pinned() const {
    const Pin* pin = find_pin(request_.pins, key_);
    if (pin == nullptr) return std::nullopt;
    try {
      return Choice{request_.lower(pin->config), ConfigSource::pin, pin->file};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::config) throw;
      raise(ErrorId::pin_misfit, {}, pin->file, key_.kernel, to_string(key_.specs),
            error.message());
    }
  }

  std::optional<Choice> stored() const {
    for (Store* store : Store::all())
      if (const auto best = store->best(key_); best && suffices(best->effort))
        if (auto found = tried(best->config, ConfigSource::store, best->origin)) return found;
    return std::nullopt;
  }

  std::vector<Best> nearest() const {
    std::vector<Best> found;
    for (const Pin& pin : request_.pins)
      if (pin.key.family == key_.family && pin.key.machine.device == key_.machine.device)
        found.push_back({pin.config, pin.microseconds, pin.error, pin.effort, pin.key,
                         distance(pin.key.specs, key_.specs), pin.file});
    for (Store* store : Store::all()) std::ranges::move(store->nearest(key_), back_inserter(found));
    std::ranges::stable_sort(found, {}, &Best::distance);
    return found;
  }

  std::optional<Choice> near() {
    for (const Best& best : nearest()) {
      if (best.distance > kNear && much_slower(best.config)) continue;
      if (auto found = tried(best.config, ConfigSource::nearest, best.origin)) return found;
    }
    return std::nullopt;
  }

  bool much_slower(const Config& config) {
    try {
      check_config(config, *request_.fn, request_.target);
    } catch (const Error&) {
      return true;
    }
    const auto time = [&](const Config& of) {
      return predict(*request_.fn, of, request_.target, calibration()).microseconds;
    };
    return time(config) > kMuchSlower * time(pick());
  }

  std::optional<Choice> modelled() { return tried(pick(), ConfigSource::model, {}); }

  // Kept between processes: choosing takes a tenth of a second.
  const Config& pick() {
    if (pick_) return *pick_;
    const std::string name = pick_key(key_.code, request_.target, calibration());
    pick_ = Store::user().pick(name);
    if (!pick_) {
      pick_ = model_pick(*request_.fn, request_.target, calibration());
      Store::user().set_pick(name, *pick_);
    }
    return *pick_;
  }
  const Calibration& calibration() {
    if (!calibration_) calibration_ = known_calibration(machine_, request_.target);
    return *calibration_;
  }

  // That of the machine, measured now if nobody has.
  Calibration measured_calibration() {
    const Calibration known = calibration();
    if (known.measured || !request_.device.is_cuda()) return known;
    const Calibration fresh = measure_calibration(request_.device.index);
    Store::user().set_calibration(machine_.device, machine_.driver, to_json(fresh));
    return fresh;
  }

  std::optional<Choice> searched() {
    try {
      TuneRequest request;
      request.fn = request_.fn;
      request.target = request_.target;
      request.device = request_.device;
      request.data = request_.data;
      request.alias_groups = request_.alias_groups;
      request.calibration = measured_calibration();
      request.search.effort = request_.policy == TunePolicy::full ? Effort::full : Effort::quick;
      for (const Best& best : nearest()) request.search.first.push_back(best.config);
      const SearchResult result = request_.search(request);
      const bool done = result.ending != Ending::stopped && result.ending != Ending::nothing;
      Store::user().add(key_, result.trials, done ? to_string(result.effort) : "");
      if (result.best >= 0)
        return tried(result.winner().config, ConfigSource::search, Store::user().path());
      log(LogLevel::warning, "tuning kernel {} for {} found no config that runs", key_.kernel,
          to_string(key_.specs));
    } catch (const Error& error) {
      log(LogLevel::warning, "kernel {} could not be tuned for {}: {}", key_.kernel,
          to_string(key_.specs), error.what());
    }
    return std::nullopt;
  }

  const ChoiceRequest& request_;
  Machine machine_;
  TuneKey key_;
  std::optional<Config> pick_;
  std::optional<Calibration> calibration_;
};

}  // namespace

std::string_view to_string(ConfigSource source) { return kSources.at(static_cast<size_t>(source)); }

Choice choose_config(const ChoiceRequest& request) {
  Choice choice = Chooser(request).choose();
  log(LogLevel::info, "kernel {}: config {} from {}{}", request.fn->name,
      to_json(choice.kernel.config()), to_string(choice.source),
      choice.from.empty() ? "" : " (" + choice.from + ")");
  return choice;
}

void require_cached(const CompiledKernel& kernel, const ir::Function& fn) {
  runtime::CubinCache& cache = runtime::CubinCache::instance();
  const auto found = runtime::compile_plan(kernel.plan(), cache, runtime::CacheUse::look_up);
  if (std::ranges::find(found, nullptr) == found.end()) return;
  std::vector<TensorSpec> specs;
  for (const ir::Param& param : fn.params)
    if (param.is_tensor()) specs.push_back(param.spec);
  raise(ErrorId::frozen_compile, {}, fn.name, to_string(specs), cache.folder());
}

Calibration known_calibration(const Machine& machine, const Target& target) {
  if (const auto text = Store::user().calibration(machine.device, machine.driver)) {
    try {
      return parse_calibration(*text);
    } catch (const Error& error) {
      log(LogLevel::warning, "the stored calibration of {} is not used: {}", machine.device,
          error.what());
    }
  }
  return Calibration::typical(target);
}

TunePolicy effective_policy(std::optional<TunePolicy> own, Device device) {
  if (own) return *own;
  return environment_tune_policy().value_or(device.is_cuda() ? TunePolicy::cached
                                                             : TunePolicy::off);
}

}  // namespace tilewright::tune
