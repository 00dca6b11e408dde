#include <algorithm>

#include "tilewright/autotune/space.h"
#include "tilewright/autotune/time_model.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

// Defaults were chosen by measuring: another config must promise a gain that is more than what the
// model is commonly off by.
constexpr double kClearGain = 0.95;
constexpr size_t kTried = 12;  // that the compiler may refuse before the default is taken

bool compiles(const ir::Function& fn, const Config& config, const Target& target) {
  try {
    codegen::lower(fn, config, target);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Config model_pick(const ir::Function& fn, const Target& target, const Calibration& calibration) {
  const SearchSpace space = SearchSpace::of(fn, target);
  const Config usual = default_config(fn, target);
  const TimeModel model(fn, target, calibration);
  double usual_us = 0;
  try {
    check_config(usual, fn, target);
    usual_us = model.microseconds(usual);
  } catch (const Error&) {
    return usual;  // no config fits; compiling it says why
  }
  for (const Config& config : space.ranked(calibration, kTried)) {
    if (model.microseconds(config) >= kClearGain * usual_us) break;
    if (compiles(fn, config, target)) return config;
  }
  return usual;
}

}  // namespace tilewright::tune
