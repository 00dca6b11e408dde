#include "tilewright/codegen/config_fields.h"

#include <algorithm>
#include <type_traits>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr int64_t kLargestBlock = int64_t{1} << 30;

/// The range of an integer field.
struct Range {
  std::string_view field;
  int64_t least, most;
};

constexpr Range kRanges[] = {
    {"group", 1, 1 << 20},   {"warps", 1, 1 << 20},    {"stages", 1, 1024},
    {"vector", 4, 16},       {"blocks_per_sm", 1, 32}, {"turns", 1, 2},
    {"cluster", 1, 1 << 20}, {"split_k", 1, 1 << 20},  {"reduction_loop", 0, 1 << 24}};

const Range& range_of(std::string_view field) {
  for (const Range& range : kRanges)
    if (range.field == field) return range;
  throw InternalError(fmt::format("config field '{}' is no number", field));
}

bool takes(std::string_view field, int64_t value) {
  const Range& range = range_of(field);
  return value >= range.least && value <= range.most &&
         (field != "vector" || (value & (value - 1)) == 0);
}

void check_field(std::string_view field, int value) {
  if (!takes(field, value)) raise(ErrorId::config_field, {}, field, expected_value(field), value);
}

void check_field(std::string_view field, const std::vector<int64_t>& block) {
  for (int64_t size : block)
    if (size < 1 || size > kLargestBlock)
      raise(ErrorId::config_field, {}, field, expected_value(field),
            fmt::format("[{}]", fmt::join(block, ",")));
}

void check_field(std::string_view field, const std::vector<int>& order) {
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i))
      raise(ErrorId::config_field, {}, field, expected_value(field),
            fmt::format("[{}]", fmt::join(order, ",")));
}

void check_field(std::string_view, const std::map<std::string, int64_t>&) {}  // of one kernel only

}  // namespace

std::string expected_value(std::string_view field) {
  if (field == "block") return fmt::format("a list of sizes from 1 to {}", kLargestBlock);
  if (field == "order") return "a list with each number from 0 on once, such as [1,0]";
  if (field == "vector") return "4, 8 or 16";
  if (field == "tunables") return "an object with an integer for each name";
  const Range& range = range_of(field);
  return fmt::format("an integer from {} to {}", range.least, range.most);
}

void check_fields(const Config& config) {
  for_each_field([&](std::string_view field, auto member) {
    using Value = std::decay_t<decltype(config.*member)>;
    if constexpr (!std::is_enum_v<Value> && !std::is_same_v<Value, bool>)
      check_field(field, config.*member);
  });
}

}  // namespace tilewright::codegen
