// The time model beside measured times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/autotune/time_model.h"

namespace tilewright::bench {

/// A measured time and the model's.
struct ModelledTime {
  std::string row;  ///< a product of the table, or a kernel that moves memory
  Config config;
  double measured_us = 0;
  double predicted_us = 0;
  std::string bound;
};

/// Predicts every row of a file such as bench/data/times_h200.json, with the figures that are
/// typical of its target. Throws std::runtime_error for rows that are not in the table.
std::vector<ModelledTime> model_times(const std::string& path);

/// The same for every config of a file such as bench/data/sweeps_h200.json, whose rows are those of
/// the examples' kernels.
std::vector<ModelledTime> model_sweeps(const std::string& path);

/// Of the configs of one row: the measured time of the one that the model takes for the fastest,
/// over the time of the fastest.
struct PickLoss {
  std::string row;
  double loss = 1;
  Config picked, best;
};
/// For each row of `times`, which stand side by side.
std::vector<PickLoss> pick_losses(const std::vector<ModelledTime>& times);

/// The rank correlation (Spearman's) of measured and predicted times; ties count half.
double rank_correlation(const std::vector<ModelledTime>& times);
/// How far off predictions are: the geometric mean of max(predicted / measured, measured /
/// predicted).
double mean_factor(const std::vector<ModelledTime>& times);
/// A line for each row.
std::string to_text(const std::vector<ModelledTime>& times);

/// The traced kernels of one row, with the matrix product's table behind it.
std::vector<std::shared_ptr<const ir::Function>> traces_of_row(std::string_view row);

}  // namespace tilewright::bench
