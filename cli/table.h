// Tables for people.
#pragma once

#include <string>
#include <vector>

namespace tilewright::cli {

/// Columns as wide as their widest cell, separated by two spaces; numbers to the right. Trailing
/// spaces are left out.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  ///< aligned to the right
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// A line for the titles and one for each row.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tilewright::cli
