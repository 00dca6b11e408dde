// What `tilewright explain` says of a kernel under a config.
#pragma once

#include <optional>
#include <string>

#include "tilewright/autotune/time_model.h"
#include "tilewright/autotune/traffic.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::cli {

/// The model's account of one launch.
struct Explanation {
  std::string kernel;
  Target target;
  Config config;
  bool picked = false;  ///< by the model, not by the user
  tune::Calibration calibration;
  tune::Traffic traffic;
  tune::Prediction prediction;
  int64_t space = 0;          ///< configs that pass the checks
  double combinations = 0;    ///< before the checks
  int threads = 0;            ///< a block
  int64_t shared_bytes = 0;   ///< that a block is launched with
  int64_t padding_bytes = 0;  ///< of rings, so that accesses do not meet in one bank
  int64_t scratch_bytes = 0;  ///< for anything else: reductions, results on their way, barriers
};

/// Without a config, for the model's pick. Raises the errors of configs that do not fit.
Explanation explain(const ir::Function& fn, const std::optional<Config>& config,
                    const Target& target, const tune::Calibration& calibration);

/// Tables for people.
std::string to_text(const Explanation& explanation);
/// One JSON object.
std::string to_json(const Explanation& explanation);

/// The kernel with results of another dtype: what it stores is converted to that at once. Raises
/// argument_syntax when the kernel reads a result, or for a float that would become an integer.
ir::Function with_result_dtype(const ir::Function& fn, DType dtype);

}  // namespace tilewright::cli
