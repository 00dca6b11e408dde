// Reads what Nsight Compute wrote, and compares it with the emulator's counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "bench/counts.h"

namespace tilewright::bench {
namespace {

// The fields of a line of CSV; quotes may hold commas, and two of them stand for one.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

// "1,234" as a number; nothing when it is none, as for a metric that could not be had.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0') return std::nullopt;
  return value;
}

struct Columns {
  size_t kernel, metric, value;
};

std::optional<Columns> columns_of(const std::vector<std::string>& heading) {
  const auto at = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(heading, name) - heading.begin());
  };
  const Columns columns{at("Kernel Name"), at("Metric Name"), at("Metric Value")};
  if (std::max({columns.kernel, columns.metric, columns.value}) >= heading.size())
    return std::nullopt;
  return columns;
}

/// One way to get a count: the sum of some metrics, minus that of others.
struct Formula {
  std::vector<std::string> plus;
  std::vector<std::string> minus = {};
};
/// A count with the ways to get it, the best first: the first that was measured decides.
struct Quantity {
  const char* name;
  int64_t KernelCounts::*count;
  std::vector<Formula> formulas;
};

std::vector<std::string> loads_and_stores(const std::string& before, const std::string& after) {
  return {before + "ld" + after, before + "st" + after};
}

const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> all = {
      {"shared conflicts",
       &KernelCounts::shared_conflicts,
       {{{"memory_l1_wavefronts_shared"}, {"memory_l1_wavefronts_shared_ideal"}}}},
      {"global requests",
       &KernelCounts::global_requests,
       {{loads_and_stores("l1tex__t_requests_pipe_lsu_mem_global_op_", ".sum")}}},
      {"global sectors",
       &KernelCounts::global_sectors,
       {{loads_and_stores("l1tex__t_sectors_pipe_lsu_mem_global_op_", ".sum")},
        {{"memory_l2_theoretical_sectors_global"}}}},
      {"global bytes",
       &KernelCounts::global_bytes,
       {{loads_and_stores("smsp__sass_data_bytes_mem_global_op_", ".sum")}}},
  };
  return all;
}

std::optional<double> sum_of(const std::vector<std::string>& names,
                             const std::map<std::string, double>& metrics) {
  double sum = 0;
  for (const std::string& name : names) {
    const auto found = metrics.find(name);
    if (found == metrics.end()) return std::nullopt;
    sum += found->second;
  }
  return sum;
}

// Compares one count by every formula; gives whether the first that was measured agrees.
bool compare(const KernelCounts& counts, const Quantity& quantity,
             const std::map<std::string, double>& metrics, std::string& text) {
  const auto ours = static_cast<double>(counts.*quantity.count);
  bool found = false, equal = true;
  for (const Formula& formula : quantity.formulas) {
    const auto plus = sum_of(formula.plus, metrics), minus = sum_of(formula.minus, metrics);
    const std::string how = formula.minus.empty()
                                ? fmt::format("{}", fmt::join(formula.plus, " + "))
                                : fmt::format("{} - {}", fmt::join(formula.plus, " + "),
                                              fmt::join(formula.minus, " - "));
    if (!plus || !minus) {
      text +=
          fmt::format("  {:<17} {:>9} {:>9}  not measured: {}\n", quantity.name, ours, "-", how);
      continue;
    }
    const double theirs = *plus - *minus;
    if (!found) equal = theirs == ours;
    found = true;
    text += fmt::format("  {:<17} {:>9} {:>9}  {}: {}\n", quantity.name, ours, theirs,
                        theirs == ours ? "equal" : "DIFFERENT", how);
  }
  return found && equal;
}

}  // namespace

void read_ncu_csv(std::string_view text, Metrics& metrics) {
  std::optional<Columns> columns;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> fields = fields_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!columns) {
      columns = columns_of(fields);
      continue;
    }
    if (std::max({columns->kernel, columns->metric, columns->value}) >= fields.size()) continue;
    if (const auto value = number_of(fields[columns->value]))
      metrics[fields[columns->kernel]][fields[columns->metric]] = *value;
  }
  if (!columns) throw std::runtime_error("no table of ncu --csv: no line with \"Metric Name\"");
}

CountComparison compare_counts(std::span<const KernelCounts> counts, const Metrics& metrics) {
  CountComparison comparison{.text = {}, .equal = !counts.empty()};
  for (const KernelCounts& one : counts) {
    comparison.text += fmt::format("{} ({}): emulated, measured\n", one.name, one.symbol);
    // The profiler may write a name with its parameters behind it.
    const auto found = std::ranges::find_if(metrics, [&](const auto& entry) {
      return entry.first == one.symbol || entry.first.starts_with(one.symbol + "(");
    });
    if (found == metrics.end()) {
      comparison.text += "  not measured\n";
      comparison.equal = false;
      continue;
    }
    for (const Quantity& quantity : quantities())
      comparison.equal &= compare(one, quantity, found->second, comparison.text);
  }
  comparison.text += comparison.equal ? "All counts are equal.\n" : "NOT EQUAL.\n";
  return comparison;
}

std::string ncu_metrics() {
  std::vector<std::string> names;
  for (const Quantity& quantity : quantities())
    for (const Formula& formula : quantity.formulas)
      for (const auto* part : {&formula.plus, &formula.minus})
        names.insert(names.end(), part->begin(), part->end());
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace tilewright::bench
