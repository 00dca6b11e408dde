// How a call finds the config it runs with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

/// Configs come, in this order, from: the call or set_config; pins (KernelHandle::pin); the user's
/// store of tuning results; the read-only stores of TILEWRIGHT_CONFIG_PATH; the nearest shape that
/// any of them knows; the model. docs/tuning.md tells all of it.
enum class TunePolicy : uint8_t {
  off,     ///< default_config, unless the call, set_config or a pin gives another
  cached,  ///< never searches; may compile one config. The default
  quick,   ///< searches for some seconds where no search was made before
  full,    ///< searches for about a minute where no full search was made before
  frozen,  ///< as cached, but raises frozen_compile instead of compiling; for production
};

std::string_view to_string(TunePolicy policy);
/// The policy called `text`. Raises tune_policy.
TunePolicy parse_tune_policy(std::string_view text);
/// TILEWRIGHT_TUNE, read at every call; nothing when it is not set. Raises tune_policy.
std::optional<TunePolicy> environment_tune_policy();
/// The same; cached when it is not set. Raises tune_policy.
TunePolicy default_tune_policy();

}  // namespace tilewright
