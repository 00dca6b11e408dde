// Comparing text with a file that was checked in, or renewing the file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tilewright::testing {

/// Whether goldens are to be written instead of compared: TILEWRIGHT_UPDATE_GOLDENS is set, or the
/// test program was started with --update-golden.
inline bool updating_goldens() { return std::getenv("TILEWRIGHT_UPDATE_GOLDENS") != nullptr; }

/// The number and the text of the first line in which two texts differ.
inline std::string first_difference(const std::string& expected, const std::string& found) {
  std::istringstream a(expected), b(found);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more_x = static_cast<bool>(std::getline(a, x));
    const bool more_y = static_cast<bool>(std::getline(b, y));
    if (!more_x && !more_y) return "the ends of the files";
    if (more_x != more_y || x != y)
      return "line " + std::to_string(line) + "\n  expected: " + (more_x ? x : "(end)") +
             "\n  found:    " + (more_y ? y : "(end)");
  }
}

/// Expects `text` to be what the file at `path`, relative to tests/, holds.
inline void expect_golden(std::string_view path, const std::string& text) {
  const std::string file = TILEWRIGHT_SOURCE_DIR "/tests/" + std::string(path);
  if (updating_goldens()) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return;
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    ADD_FAILURE() << "there is no golden " << file << "; run with --update-golden and read it";
    return;
  }
  std::ostringstream golden;
  golden << stream.rdbuf();
  if (golden.str() == text) return;
  ADD_FAILURE() << path << " differs at " << first_difference(golden.str(), text)
                << "\nIf the change is meant, run with --update-golden and read the new file.";
}

}  // namespace tilewright::testing
