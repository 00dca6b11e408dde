// Tables of rows that are compiled by all cores first, then measured one after the other by a child
// process; so that what crashes or hangs costs only itself.
#pragma once

#include <string>
#include <vector>

#include "bench/gemm_configs.h"
#include "bench/suites.h"

namespace tilewright::bench {

struct SuiteRow {
  std::string name;        ///< as make_row_data knows it
  std::string group = {};  ///< also selects it
  std::string rival = {};  ///< the row of ours it is compared with, if that is one
  double work = 0;         ///< of one call, in the rate's terms
  std::string unit = {};
  double want = 0;  ///< the rival's time over ours, at least
};

struct SuiteTable {
  std::string suite;
  std::vector<SuiteRow> rows;
  std::vector<ConfigEntry> hand_set;
  /// Variants without a config that the rows know.
  std::vector<std::string> computed = {"default"};
  bool always_computed = false;  ///< beside hand-set configs too
  bool rival_is_floor = false;
  bool torch_peers = false;  ///< PyTorch's times too, where the options name a Python
};

void run_rows(const SuiteTable& table, const SuiteOptions& options, Report& report);
/// Only compiles them, and prints what the compiler says. Gives the number of configs that do not
/// compile.
int compile_rows(const SuiteTable& table, const SuiteOptions& options);

}  // namespace tilewright::bench
