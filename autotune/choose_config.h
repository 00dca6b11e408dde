// The choice of a config for a call that gives none: pins, stores, a search, nearest shapes, the
// model, in the order that the policy says.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/compiled_kernel.h"
#include "tilewright/autotune/pins.h"
#include "tilewright/autotune/policy.h"
#include "tilewright/autotune/tune.h"
#include "tilewright/autotune/tune_key.h"

namespace tilewright::tune {

/// Where a config comes from.
enum class ConfigSource : uint8_t { pin, store, search, nearest, model, fallback };
std::string_view to_string(ConfigSource source);

/// What a config is chosen for.
struct ChoiceRequest {
  const ir::Function* fn = nullptr;  ///< its results' specs included; borrowed
  Target target = {};
  Device device = {};  ///< that will run it; the CPU: any of that architecture
  TunePolicy policy = TunePolicy::cached;
  std::span<const Pin> pins = {};
  /// Compiles down to CUDA text; raises errors of code config for configs that do not fit.
  std::function<CompiledKernel(const Config&)> lower;
  /// For a search: contents of the parameters, and which of them are one memory.
  std::vector<TuneData> data = {};
  std::vector<std::vector<int>> alias_groups = {};
  std::function<SearchResult(const TuneRequest&)> search = tune_kernel;
};

/// A config, lowered, and where it comes from.
struct Choice {
  CompiledKernel kernel;
  ConfigSource source = ConfigSource::fallback;
  std::string from = {};  ///< the file, of pins and stores
};

/// Chooses. A stored config that no longer fits the kernel is passed over; a pinned one raises
/// pin_misfit. The results of a search are added to the user's store; a search that fails is a
/// warning, and the choice goes on as if there were none. Raises what `lower` raises for
/// default_config.
Choice choose_config(const ChoiceRequest& request);

/// Raises frozen_compile unless all of the kernel's machine code is in the cache; loads it then.
void require_cached(const CompiledKernel& kernel, const ir::Function& fn);

/// What the user's store knows of a machine's rates, else typical ones.
Calibration known_calibration(const Machine& machine, const Target& target);

/// The policy of a call on `device`: its own, else TILEWRIGHT_TUNE's, else cached on GPUs and off
/// elsewhere. Raises tune_policy.
TunePolicy effective_policy(std::optional<TunePolicy> own, Device device);

}  // namespace tilewright::tune
