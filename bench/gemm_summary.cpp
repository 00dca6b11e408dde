#include "bench/gemm_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tilewright::bench {
namespace {

constexpr double kLargeProduct = 0x1p36;

bool timed(const Row& row) { return row.ours.replays > 0 && row.problem.empty(); }

const Problem* problem_of(const Row& row) {
  const auto found = std::ranges::find(gemm_problems(), row.shape, &Problem::name);
  return found == gemm_problems().end() ? nullptr : &*found;
}

std::vector<Row> best_rows(std::span<const Row> rows) {
  std::vector<Row> best;
  for (const Problem& problem : gemm_problems()) {
    const Row* fastest = nullptr;
    for (const Row& row : rows)
      if (row.suite == "gemm" && row.shape == problem.name && timed(row) &&
          (fastest == nullptr || row.ours.median < fastest->ours.median))
        fastest = &row;
    if (fastest != nullptr) best.push_back(*fastest);
  }
  return best;
}

void raise_peak(std::vector<Peak>& peaks, const Problem& problem, const Timing& timing,
                const std::string& who) {
  if (timing.replays == 0 || problem.operations() < kLargeProduct) return;
  const double rate = 1e-6 * problem.operations() / timing.median;
  auto peak = std::ranges::find(peaks, problem.unit(), &Peak::unit);
  if (peak == peaks.end()) peak = peaks.insert(peak, {.unit = problem.unit()});
  if (rate > peak->rate) *peak = {problem.unit(), rate, fmt::format("{} on {}", who, problem.name)};
}

double peak_for(const std::vector<Peak>& peaks, const Problem& problem) {
  const auto peak =
      std::ranges::find(peaks, problem.bandwidth ? "memory" : problem.unit(), &Peak::unit);
  return peak == peaks.end() ? 0 : peak->rate;
}

GroupMean mean_of(const ProblemGroup& group, const std::vector<Row>& best) {
  GroupMean mean{.name = group.name, .wanted = group.mean};
  double logarithms = 0;
  for (const Row& row : best) {
    const Problem& problem = *problem_of(row);
    if (problem.group != group.name || row.theirs.replays == 0) continue;
    ++mean.rows;
    logarithms += std::log(row.speed());
    if (mean.rows == 1 || row.speed() < mean.lowest) {
      mean.lowest = row.speed();
      mean.lowest_row = row.shape;
    }
    if (row.speed() < problem.least) mean.below.push_back(row.shape);
  }
  if (mean.rows > 0) mean.mean = std::exp(logarithms / mean.rows);
  return mean;
}

// {"block":[128,256,64],"warps":8,"copy":"tma","persistent":true} as "128x256x64 warps8 tma
// persistent".
std::string short_config(const std::string& json) {
  std::string text;
  const nlohmann::json config = nlohmann::json::parse(json, nullptr, false);
  if (!config.is_object()) return json;
  if (config.contains("block"))
    text = fmt::format("{}", fmt::join(config["block"].get<std::vector<int64_t>>(), "x"));
  for (const auto& [key, value] : config.items()) {
    if (value.is_string()) text += " " + value.get<std::string>();
    if (value.is_boolean()) text += " " + (value.get<bool>() ? key : "no " + key);
    if (value.is_number()) text += fmt::format(" {}{}", key, value.dump());
  }
  return text;
}

std::string percent_of_peak(const Row& row, const std::vector<Peak>& peaks) {
  const double peak = peak_for(peaks, *problem_of(row));
  return peak > 0 ? fmt::format("{:.0f}%", 100 * row.rate() / peak) : "-";
}

}  // namespace

GemmSummary summarize_gemm(std::span<const Row> rows, double copy_rate) {
  GemmSummary summary{.best = best_rows(rows)};
  for (const Row& row : summary.best) {
    const Problem& problem = *problem_of(row);
    raise_peak(summary.peaks, problem, row.ours, "ours");
    if (problem.rival.empty()) raise_peak(summary.peaks, problem, row.theirs, "cuBLASLt");
  }
  if (copy_rate > 0) summary.peaks.push_back({"memory", copy_rate, "a copy of 512 MiB"});
  for (const ProblemGroup& group : gemm_groups())
    if (GroupMean mean = mean_of(group, summary.best); mean.rows > 0)
      summary.groups.push_back(std::move(mean));
  return summary;
}

std::string to_text(const GemmSummary& summary) {
  std::string text = fmt::format("{:<40} {:>9} {:>9} {:>6} {:>5} {:>12} {:>5}  {}\n", "product",
                                 "ours us", "peer us", "ratio", "want", "rate", "peak", "config");
  for (const Row& row : summary.best) {
    const Problem& problem = *problem_of(row);
    const bool rival = row.theirs.replays > 0;
    text += fmt::format("{:<40} {:>9.2f} {:>9} {:>6} {:>5} {:>12} {:>5}  {}\n", row.shape,
                        row.ours.median, rival ? fmt::format("{:.2f}", row.theirs.median) : "-",
                        rival ? fmt::format("{:.3f}", row.speed()) : "-",
                        problem.least > 0 ? fmt::format("{:.2f}", problem.least) : "-",
                        fmt::format("{:.{}f} {}", row.rate(), problem.bandwidth ? 2 : 0, row.unit),
                        percent_of_peak(row, summary.peaks), short_config(row.json));
  }
  text += "\nPeaks: the best rate of this run.\n";
  for (const Peak& peak : summary.peaks)
    text += fmt::format("  {:<8} {:.{}f} {} ({})\n", peak.unit, peak.rate,
                        peak.unit == "memory" ? 2 : 0, peak.unit == "memory" ? "TB/s" : "TFLOP/s",
                        peak.where);
  text += fmt::format("\n{:<18} {:>4} {:>8} {:>6} {:>8}  {}\n", "group", "rows", "geomean", "want",
                      "lowest", "below what is wanted");
  for (const GroupMean& group : summary.groups)
    text += fmt::format("{:<18} {:>4} {:>8.3f} {:>6} {:>8.3f}  {}\n", group.name, group.rows,
                        group.mean, group.wanted > 0 ? fmt::format("{:.2f}", group.wanted) : "-",
                        group.lowest, fmt::join(group.below, ", "));
  return text;
}

std::string to_json(const GemmSummary& summary) {
  nlohmann::json json = {{"peaks", nlohmann::json::object()}, {"groups", nlohmann::json::object()}};
  for (const Peak& peak : summary.peaks)
    json["peaks"][peak.unit] = {{"rate", peak.rate}, {"where", peak.where}};
  for (const GroupMean& group : summary.groups)
    json["groups"][group.name] = {
        {"rows", group.rows},     {"geomean", group.mean},          {"wanted", group.wanted},
        {"lowest", group.lowest}, {"lowest_row", group.lowest_row}, {"below", group.below}};
  return json.dump();
}

}  // namespace tilewright::bench
