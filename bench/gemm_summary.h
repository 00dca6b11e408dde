// The table of the products: shares of what the units reach, and means over groups of rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/gemm_problem.h"
#include "bench/report.h"

namespace tilewright::bench {

/// What a unit was seen to reach.
struct Peak {
  std::string unit;        ///< as Problem::unit(), or "memory"
  double rate = 0;         ///< TFLOP/s, or TB/s
  std::string where = {};  ///< by what: "cuBLASLt on bf16 nn 8192x8192x8192"
};

/// A group of rows, the best config of each.
struct GroupMean {
  std::string name;
  int rows = 0;
  double mean = 0;    ///< geometric, of the rival's time over ours
  double wanted = 0;  ///< 0: nothing
  double lowest = 0;  ///< of a row
  std::string lowest_row = {};
  std::vector<std::string> below = {};  ///< rows that miss what is wanted of them
};

/// What is printed at the end and written as JSON.
struct GemmSummary {
  std::vector<Row> best =
      {};  ///< of each problem the fastest row that has a time, in the table's order
  std::vector<Peak> peaks = {};
  std::vector<GroupMean> groups = {};
};

/// From the rows of a run; `copy_rate` is the copy bandwidth in TB/s, 0 when not measured. A unit's
/// peak is the best rate of this run, ours or the rival's, in products of at least 2^36 operations.
GemmSummary summarize_gemm(std::span<const Row> rows, double copy_rate);

/// The tables as text to read.
std::string to_text(const GemmSummary& summary);
std::string to_json(const GemmSummary& summary);

}  // namespace tilewright::bench
