#include "tilewright/dsl/recording.h"

#include <fmt/format.h>

#include "tilewright/dsl/names.h"

namespace tilewright::dsl {

std::vector<Step> steps_of(const Recording& recording, const ir::Region& region) {
  static const std::vector<Event> none;
  const auto found = recording.events.find(&region);
  const std::vector<Event>& events = found == recording.events.end() ? none : found->second;
  std::vector<Step> steps;
  size_t next = 0;
  for (size_t i = 0; i <= region.ops.size(); ++i) {
    for (; next < events.size() && events[next].position <= i; ++next)
      steps.push_back({&events[next], nullptr});
    if (i < region.ops.size()) steps.push_back({nullptr, region.ops[i]});
  }
  return steps;
}

std::string describe(const Variable& variable) {
  const std::string name = declared_name(variable.declared);
  return name.empty() ? "a variable" : fmt::format("variable '{}'", name);
}

}  // namespace tilewright::dsl
