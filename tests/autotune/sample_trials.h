// Keys and trials that tests of the store use.
#pragma once

#include <string>
#include <vector>

#include "tilewright/autotune/store.h"

namespace tilewright::testing {

/// A key of a product of m by k and k by n on some GPU; one family.
inline tune::TuneKey sample_key(int64_t m, int64_t n = 64, int64_t k = 64,
                                const std::string& kernel = "product") {
  tune::TuneKey key{kernel, 0, "00000000000000fa", {"Some GPU", "580.1", "13.0"}, {}};
  key.specs = {contiguous_spec(DType::f32, {m, k}), contiguous_spec(DType::f32, {k, n}),
               contiguous_spec(DType::f32, {m, n})};
  key.code = 0x8000000000000000u + static_cast<uint64_t>((m * 1000 + n) * 1000 + k);
  return key;
}

inline Config sample_config(int64_t block) {
  Config config;
  config.block = {block, 64, 16};
  return config;
}

/// A trial that took so many microseconds.
inline tune::Trial sample_trial(int64_t block, double microseconds, double error = 0.5,
                                int64_t unix_time = 1000) {
  tune::Trial trial;
  trial.config = sample_config(block);
  trial.microseconds = microseconds;
  trial.error = error;
  trial.predicted = 2 * microseconds;
  trial.samples = 20;
  trial.unix_time = unix_time;
  return trial;
}

inline tune::Trial failed_trial(int64_t block, tune::Trial::Status status, std::string message,
                                int64_t unix_time = 1000) {
  tune::Trial trial;
  trial.config = sample_config(block);
  trial.status = status;
  trial.message = std::move(message);
  trial.unix_time = unix_time;
  return trial;
}

}  // namespace tilewright::testing
