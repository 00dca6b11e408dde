// Small kernels that show what each device helper does: run on a GPU, and by the emulator with the
// helpers' host implementations.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::testing {

using Words = std::vector<uint32_t>;

/// A kernel from words `in` to words `out`.
struct TwinProbe {
  std::string name;
  std::string body;         ///< statements over in, out, t and shared
  std::string shared = {};  ///< members of struct Shared
  int threads = 32, blocks = 1, cluster = 1;
  int64_t shared_bytes = 0;
  int in_words = 0, out_words = 0;
  /// One word of input from random bits.
  std::function<uint32_t(uint32_t)> input = [](uint32_t bits) { return bits; };
  double tolerance = 0;  ///< of results, which are floats then; 0: equal bits
  struct Map {
    std::string name;
    bool of_result;
    codegen::TensorMapSpec spec;
  };
  std::vector<Map> maps = {};

  /// In lists of tests.
  friend void PrintTo(const TwinProbe& probe, std::ostream* out) { *out << probe.name; }

  Words inputs() const {
    std::mt19937 random(static_cast<unsigned>(name.size()) * 977 + static_cast<unsigned>(in_words));
    Words words(static_cast<size_t>(in_words));
    for (uint32_t& word : words) word = input(static_cast<uint32_t>(random()));
    return words;
  }

  std::string code() const {
    std::string text;
    if (shared_bytes > 0) text = "struct Shared {\n" + shared + "};\n\n";
    text += fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({}, 1)\nprobe(const int* from, int* to",
        threads);
    for (const Map& map : maps) text += ", const __grid_constant__ tw::TensorMap " + map.name;
    text += ") {\n";
    if (shared_bytes > 0) text += "  Shared& shared = tw::shared_memory<Shared>();\n";
    return text +
           "  const unsigned* in = (const unsigned*)from;\n  unsigned* out = (unsigned*)to;\n"
           "  const int t = threadIdx.x;\n" +
           body + "}\n";
  }

  codegen::Plan plan(const Target& target) const {
    codegen::Plan made;
    made.name = name;
    made.target = target;
    codegen::KernelStep step;
    step.symbol = "probe";
    step.source = codegen::prelude_text(codegen::helpers_used(code()), target) + code();
    step.params.push_back({.name = "in", .dtype = DType::i32, .source = 0});
    step.params.push_back({.name = "out", .dtype = DType::i32, .written = true, .source = 1});
    for (const Map& map : maps)
      step.params.push_back({.name = map.name, .source = map.of_result ? 1 : 0, .map = map.spec});
    step.grid = codegen::integer(blocks);
    step.threads = threads;
    step.cluster = cluster;
    step.shared_bytes = shared_bytes;
    made.steps.push_back({codegen::Step::Kind::kernel, std::move(step), {}});
    return made;
  }

  /// Whether the target has all helpers that it uses.
  bool fits(const Target& target) const {
    const auto has = [&](const std::string& helper) {
      return codegen::has_helper(target, *codegen::find_helper(helper));
    };
    const std::set<std::string> used = codegen::helpers_used(code());
    return std::ranges::all_of(used, has);
  }

  /// What the emulator makes of it; `report` gets what it found.
  Words emulate(const Target& target, std::string& report) const {
    // As aligned as memory of a GPU.
    Words in = inputs(), memory[2];
    uint32_t* aligned[2];
    const int sizes[2] = {in_words, out_words};
    for (int i = 0; i < 2; ++i) {
      memory[i].resize(static_cast<size_t>(sizes[i]) + 64);
      void* begin = memory[i].data();
      size_t room = memory[i].size() * 4;
      aligned[i] =
          static_cast<uint32_t*>(std::align(256, static_cast<size_t>(sizes[i]) * 4, begin, room));
    }
    std::ranges::copy(in, aligned[0]);
    const std::vector<runtime::EmulatorArgument> args = {
        {aligned[0], in_words, DType::i32, true, true},
        {aligned[1], out_words, DType::i32, true, true}};
    report = runtime::emulate(plan(target), args).report();
    return {aligned[1], aligned[1] + out_words};
  }

  /// The first place where the two differ by more than they may; empty when there is none.
  std::string difference(const Words& found, const Words& expected) const {
    if (found.size() != expected.size())
      return fmt::format("{} words, expected {}", found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i] == expected[i]) continue;
      const float x = std::bit_cast<float>(found[i]), y = std::bit_cast<float>(expected[i]);
      if (tolerance > 0 && std::abs(x - y) <= tolerance) continue;
      return fmt::format("word {} is {:#010x} ({}), expected {:#010x} ({})", i, found[i], x,
                         expected[i], y);
    }
    return {};
  }

  /// Of results, what fixtures keep: at most 512 words.
  Words sample(const Words& words) const {
    const size_t step = std::max<size_t>(1, (words.size() + 511) / 512);
    Words kept;
    for (size_t i = 0; i < words.size(); i += step) kept.push_back(words[i]);
    return kept;
  }
};

}  // namespace tilewright::testing
