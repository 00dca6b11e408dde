#include "tilewright/dsl/tunable.h"

#include "tilewright/dsl/trace.h"

namespace tilewright {

int64_t tunable(std::string_view name, std::initializer_list<int64_t> values, Loc loc) {
  return dsl::Trace::current("tw::tunable", loc).tunable(std::string(name), values, loc);
}

}  // namespace tilewright
