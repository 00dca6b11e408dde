// Programs that must not compile, and what the compiler must say. Each file in compile_fail states
// its standard, the text expected, and the line of its own that the errors must lead to.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::string output;
  int status;
};

Outcome compile(const fs::path& file, const std::string& standard) {
  const std::string command = std::string(TILEWRIGHT_CXX) + " -std=" + standard +
                              " -fsyntax-only -I" + TILEWRIGHT_BINARY_DIR + "/include " +
                              file.string() + " 2>&1";
  Outcome outcome;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), n);
  outcome.status = ::pclose(pipe);
  return outcome;
}

/// What follows "// key: " in the file.
std::string field(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("// " + key + ": ")) return line.substr(key.size() + 5);
  ADD_FAILURE() << file << " states no " << key;
  return {};
}

fs::path folder() { return fs::path(TILEWRIGHT_SOURCE_DIR) / "tests/dsl/compile_fail"; }

class CompileFail : public testing::TestWithParam<std::string> {};

TEST_P(CompileFail, SaysWhy) {
  const fs::path file = folder() / (GetParam() + ".cpp");
  const Outcome outcome = compile(file, field(file, "std"));
  EXPECT_NE(outcome.status, 0) << "it compiles";
  EXPECT_NE(outcome.output.find(field(file, "expect")), std::string::npos) << outcome.output;
  const std::string place = file.string() + ":" + field(file, "line");
  EXPECT_NE(outcome.output.find(place), std::string::npos) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(Dsl, CompileFail,
                         testing::Values("assign_temporary", "combine_count", "comma", "cpp_if",
                                         "generic_lambda", "parameter_type", "ptx_capture",
                                         "result_type", "scalar_type", "specialize_scalar",
                                         "while_number"),
                         [](const auto& info) { return info.param; });

TEST(CompileFailFolder, HoldsTheseFiles) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder()))
    files += entry.path().extension() == ".cpp";
  EXPECT_EQ(files, 12u);  // one of them compiles: cpp20_kernel.cpp
}

TEST(CompileFailFolder, AKernelInCxx20Compiles) {
  const Outcome outcome = compile(folder() / "cpp20_kernel.cpp", "c++20");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

}  // namespace
