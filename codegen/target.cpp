#include "tilewright/codegen/target.h"

#include <charconv>

#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

struct Architecture {
  int sm;
  int shared_kib;
  bool has_specific;
  int multiprocessors;  // of the largest common part
};

constexpr Architecture kArchitectures[] = {
    {75, 64, false, 40},  {80, 163, false, 108}, {86, 99, false, 84},   {87, 163, false, 16},
    {89, 99, false, 128}, {90, 227, true, 132},  {100, 227, true, 148}, {103, 227, true, 160},
    {120, 99, true, 170}, {121, 99, true, 48}};

}  // namespace

std::string Target::name() const { return fmt::format("sm_{}{}", sm, specific ? "a" : ""); }

Target parse_target(std::string_view name) {
  std::string_view digits = name.starts_with("sm_") ? name.substr(3) : std::string_view{};
  const bool specific = digits.ends_with("a");
  if (specific) digits.remove_suffix(1);
  int sm = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sm);
  if (error == std::errc{} && end == digits.data() + digits.size())
    for (const Architecture& arch : kArchitectures)
      if (arch.sm == sm && (!specific || arch.has_specific))
        return {sm, specific, arch.shared_kib * 1024, arch.multiprocessors};
  raise(ErrorId::unknown_target, {}, name);
}

Target target_of_device(int major, int minor, int multiprocessors) {
  const int sm = major * 10 + minor;
  Architecture best = kArchitectures[0];
  for (const Architecture& arch : kArchitectures)
    if (arch.sm <= sm) best = arch;
  if (sm < kArchitectures[0].sm) raise(ErrorId::device_too_old, {}, major, minor);
  return {best.sm, best.has_specific && best.sm == sm, best.shared_kib * 1024, multiprocessors};
}

}  // namespace tilewright
