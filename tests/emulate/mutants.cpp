#include "tests/emulate/mutants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tilewright/runtime/emulator_prelude.h"

namespace tilewright::testing {
namespace {

using runtime::FindingKind;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The operands of && outside of parentheses.
std::vector<std::string> conjuncts(const std::string& condition) {
  std::vector<std::string> terms(1);
  int depth = 0;
  for (size_t i = 0; i < condition.size(); ++i) {
    const char c = condition[i];
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (depth == 0 && condition.compare(i, 4, " && ") == 0) {
      terms.emplace_back();
      i += 3;
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

class Maker {
 public:
  Maker(const std::string& source, int stages) : lines_(lines_of(source)), stages_(stages) {
    const std::string_view body = runtime::kernel_body(source);
    const size_t begin = source.size() - body.size();
    first_ = static_cast<size_t>(std::count(source.begin(), source.begin() + begin, '\n'));
  }

  std::vector<Mutant> make() {
    for (at_ = first_; at_ < lines_.size(); ++at_) {
      const std::string& line = lines_[at_];
      if (line.find_first_not_of(' ') == line.find("//")) continue;
      remove("__syncthreads();", MutantKind::barrier);
      remove("tw::copy_async_commit();", MutantKind::commit);
      raise_wait();
      drop_condition();
      drop_extent();
      move_store();
      replace("tw::matrix_load<", "tw::matrix_load_transposed<");
      replace("tw::matrix_load_transposed<", "tw::matrix_load<");
      if (line.find("tw::mma_") != line.npos) replace("(&acc[", "(&acc[1 + ");
    }
    shrink_rings();
    return std::move(made_);
  }

 private:
  void add(MutantKind kind, const std::string& changed) {
    std::vector<std::string> lines = lines_;
    lines[at_] = changed;
    made_.push_back({kind, static_cast<int>(at_) + 1, lines_[at_],
                     fmt::format("{}\n", fmt::join(lines, "\n"))});
  }

  void remove(std::string_view statement, MutantKind kind) {
    const size_t found = lines_[at_].find(statement);
    if (found != std::string::npos)
      add(kind, lines_[at_].substr(0, found) + ";" + lines_[at_].substr(found + statement.size()));
  }

  void replace(std::string_view text, std::string_view by) {
    const size_t found = lines_[at_].find(text);
    if (found == std::string::npos) return;
    std::string line = lines_[at_];
    add(MutantKind::matrix, line.replace(found, text.size(), by));
  }

  void raise_wait() {
    static const std::regex wait(R"((.*copy_async_wait<)(\d+)(>.*))");
    std::smatch match;
    if (std::regex_match(lines_[at_], match, wait))
      add(MutantKind::wait,
          fmt::format("{}{}{}", match[1].str(), std::stoi(match[2]) + 1, match[3].str()));
  }

  /// Each term of `condition`, which lies between `before` and `after`, becomes true.
  void drop_terms(const std::string& before, const std::string& condition,
                  const std::string& after) {
    const std::vector<std::string> terms = conjuncts(condition);
    for (size_t i = 0; i < terms.size(); ++i) {
      std::vector<std::string> left = terms;
      left[i] = "true";
      add(MutantKind::guard, fmt::format("{}{}{}", before, fmt::join(left, " && "), after));
    }
  }

  void drop_condition() {
    const std::string& line = lines_[at_];
    const size_t begin = line.find("if (");
    if (begin == std::string::npos) return;
    int depth = 1;
    size_t end = begin + 4;
    for (; end < line.size() && depth > 0; ++end) depth += (line[end] == '(') - (line[end] == ')');
    if (depth == 0)
      drop_terms(line.substr(0, begin + 4), line.substr(begin + 4, end - begin - 5),
                 line.substr(end - 1));
  }

  void drop_extent() {
    static const std::regex extent(R"((\s+)(.*)( \? \d+ : 0\);))");
    std::smatch match;
    if (!std::regex_match(lines_[at_], match, extent)) return;
    // Other arguments may stand on the same line.
    const std::string text = match[2];
    const size_t comma = text.rfind("], ");
    if (comma == std::string::npos && !lines_[at_ - 1].ends_with(",")) return;  // half of it
    const size_t begin = comma == std::string::npos ? 0 : comma + 3;
    drop_terms(match[1].str() + text.substr(0, begin), text.substr(begin), match[3]);
  }

  void move_store() {
    static const std::regex store(
        R"((.*tw::(?:copy_async|store)<(\d+)>\(&shared\..*\[)([^\[\]]+)(\],.*))");
    static const std::regex assign(R"((.*shared\.[^=]*\[)([^\[\]]+)(\] = .*))");
    std::smatch match;
    const std::string& line = lines_[at_];
    if (std::regex_match(line, match, store))
      add(MutantKind::index, fmt::format("{}({}) ^ {}{}", match[1].str(), match[3].str(),
                                         match[2].str(), match[4].str()));
    else if (std::regex_match(line, match, assign))
      add(MutantKind::index,
          fmt::format("{}({}) ^ 1{}", match[1].str(), match[2].str(), match[3].str()));
  }

  void shrink_rings() {
    const std::string whole = fmt::format(" % {}", stages_);
    std::vector<std::string> lines = lines_;
    at_ = 0;
    for (size_t i = first_; i < lines.size() && stages_ > 1; ++i) {
      const size_t found = lines[i].find(whole);
      if (found == std::string::npos || lines[i].find("stage") == std::string::npos) continue;
      lines[i].replace(found, whole.size(), fmt::format(" % {}", stages_ - 1));
      at_ = i;
    }
    if (at_ != 0)
      made_.push_back({MutantKind::ring, static_cast<int>(at_) + 1, lines_[at_],
                       fmt::format("{}\n", fmt::join(lines, "\n"))});
  }

  std::vector<std::string> lines_;
  int stages_;
  size_t first_ = 0, at_ = 0;
  std::vector<Mutant> made_;
};

}  // namespace

const char* to_string(MutantKind kind) {
  constexpr const char* names[] = {"barrier", "wait", "commit", "ring", "guard", "index", "matrix"};
  return names[static_cast<int>(kind)];
}

std::vector<Mutant> mutants_of(const std::string& source, int stages) {
  return Maker(source, stages).make();
}

bool reported(const Mutant& mutant, const runtime::Emulation& emulation, bool differs) {
  const auto any = [&](std::initializer_list<FindingKind> kinds) {
    return std::ranges::any_of(kinds, [&](FindingKind kind) { return emulation.has(kind); });
  };
  using enum FindingKind;
  switch (mutant.kind) {
    case MutantKind::barrier:
      return any({shared_race, global_race, copy_in_flight});
    case MutantKind::wait:
      return any({copy_in_flight});
    case MutantKind::commit:
      return any({copy_in_flight, copy_pending});
    case MutantKind::ring:
      return any({shared_race, copy_in_flight});
    case MutantKind::guard:
      return differs || any({out_of_bounds, shared_race, global_race, copy_pending, copy_in_flight,
                             divergent_barrier, unwritten_output});
    case MutantKind::matrix:
      return differs;
    case MutantKind::index:
      return differs || any({shared_race, unwritten_shared, out_of_bounds, copy_in_flight});
  }
  return false;
}

}  // namespace tilewright::testing
