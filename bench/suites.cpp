#include "bench/suites.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::bench {

std::vector<Variant> variants(const SuiteOptions& options, std::string_view hand) {
  std::vector<Variant> all;
  for (size_t i = 0; i < options.configs.size(); ++i)
    all.push_back({fmt::format("given {}", i + 1), parse_config(options.configs[i])});
  if (all.empty()) all.push_back({"hand", parse_config(hand)});
  all.push_back({"default", {}});
  return all;
}

void judge(Row& row, const Verdict& verdict) {
  row.error = std::max(row.error, verdict.worst);
  if (verdict.wrong > 0) row.problem = fmt::format("WRONG RESULT: {} elements", verdict.wrong);
}

std::vector<Contestant> contestants_of(const std::vector<Ours>& ours) {
  std::vector<Contestant> contestants;
  for (const Ours& one : ours)
    if (one.row.problem.empty()) contestants.push_back(one.contestant);
  return contestants;
}

void finish_rows(std::vector<Ours>& ours, const std::vector<Timing>& timings, const Timing& theirs,
                 Report& report) {
  size_t next = 0;
  for (Ours& one : ours) {
    if (one.row.problem.empty()) {
      one.row.ours = timings.at(next++);
      one.row.theirs = theirs;
    }
    report.add(std::move(one.row));
  }
}

}  // namespace tilewright::bench
