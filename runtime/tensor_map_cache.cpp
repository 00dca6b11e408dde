#include "tilewright/runtime/tensor_map_cache.h"

#include <algorithm>

namespace tilewright::runtime {

int TensorMapCache::oldest() const {
  return static_cast<int>(std::ranges::min_element(used_) - used_.begin());
}

TensorMap TensorMapCache::get(uint64_t base) {
  std::lock_guard lock(mutex_);
  const auto is_at = [&](int i) { return bases_[i] == base && used_[i] != 0; };
  if (!is_at(last_)) {
    int at = 0;
    while (at < kEntries && !is_at(at)) ++at;
    if (at == kEntries) {
      at = oldest();
      used_[at] = 0;  // nothing is there should encoding fail
      maps_[at] = encode_tensor_map(spec_, reinterpret_cast<const void*>(base), what_);
      bases_[at] = base;
    }
    last_ = at;
  }
  used_[last_] = ++clock_;
  return maps_[last_];
}

}  // namespace tilewright::runtime
