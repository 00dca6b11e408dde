#include "tilewright/runtime/emulator_order.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

void join(KnownReleases& into, const KnownReleases& from) {
  for (const auto& [cluster, releases] : from) {
    uint32_t& known = into[cluster];
    known = std::max(known, releases);
  }
}

}  // namespace

void GridOrder::release(uintptr_t element, const KnownReleases& known) {
  const std::scoped_lock lock(mutex_);
  join(carried_[element], known);
}

void GridOrder::acquire(uintptr_t element, KnownReleases& known) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = carried_.find(element); found != carried_.end())
    join(known, found->second);
}

}  // namespace tilewright::runtime
