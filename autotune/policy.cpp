#include "tilewright/autotune/policy.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "cached", "quick", "full", "frozen"};

}  // namespace

std::string_view to_string(TunePolicy policy) { return kNames.at(static_cast<size_t>(policy)); }

TunePolicy parse_tune_policy(std::string_view text) {
  const auto* found = std::ranges::find(kNames, text);
  if (found == kNames.end()) raise(ErrorId::tune_policy, {}, text);
  return static_cast<TunePolicy>(found - kNames.begin());
}

std::optional<TunePolicy> environment_tune_policy() {
  const char* text = std::getenv("TILEWRIGHT_TUNE");
  if (text == nullptr || *text == '\0') return std::nullopt;
  return parse_tune_policy(text);
}

TunePolicy default_tune_policy() { return environment_tune_policy().value_or(TunePolicy::cached); }

}  // namespace tilewright
