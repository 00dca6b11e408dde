#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::cli {

std::string Table::text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(columns_[i].title.size());
    for (const auto& row : rows_) widths[i] = std::max(widths[i], row.at(i).size());
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += "  ";
      const std::string& cell = cell_of(i);
      text += columns_[i].right ? fmt::format("{:>{}}", cell, widths[i])
                                : fmt::format("{:<{}}", cell, widths[i]);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_)
    text += line([&](size_t i) -> const std::string& { return row[i]; });
  return text;
}

}  // namespace tilewright::cli
