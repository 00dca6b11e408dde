#include "tilewright/runtime/tensor_map_cache.h"

#include <algorithm>

#include "tilewright/codegen/tensor_map.h"

namespace tilewright::runtime {

int TensorMapCache::oldest() const {
  return static_cast<int>(std::ranges::min_element(used_) - used_.begin());
}

TensorMap TensorMapCache::encode(uint64_t base, int64_t size) const {
  // Nothing is read or written through the map of an empty tensor, which may have no address.
  constexpr uint64_t kSomewhere = 256;
  if (spec_.dynamic >= 0 && size == 0 && base == 0) base = kSomewhere;
  const void* address = reinterpret_cast<const void*>(base);
  if (spec_.dynamic < 0) return encode_tensor_map(spec_, address, what_);
  return encode_tensor_map(codegen::map_of_size(spec_, size), address, what_);
}

TensorMap TensorMapCache::get(uint64_t base, int64_t size) {
  std::lock_guard lock(mutex_);
  const auto is_at = [&](int i) { return bases_[i] == base && sizes_[i] == size && used_[i] != 0; };
  if (!is_at(last_)) {
    int at = 0;
    while (at < kEntries && !is_at(at)) ++at;
    if (at == kEntries) {
      at = oldest();
      used_[at] = 0;  // nothing is there should encoding fail
      maps_[at] = encode(base, size);
      bases_[at] = base;
      sizes_[at] = size;
    }
    last_ = at;
  }
  used_[last_] = ++clock_;
  return maps_[last_];
}

}  // namespace tilewright::runtime
