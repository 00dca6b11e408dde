// Tables of specializations, found by what tells launches apart. Looking up takes a shared lock and
// no heap memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "tilewright/runtime/hash.h"

namespace tilewright {

/// A key: words, equal for launches that share a specialization.
using KeyWords = std::vector<uint64_t>;

/// Values by key; entries stay where they are until the table dies.
template <class Value>
class KeyTable {
 public:
  /// The value of `key`, or null.
  const Value* find(std::span<const uint64_t> key) const {
    const uint64_t hash = hash_of(key);
    std::shared_lock lock(mutex_);
    return find_hashed(hash, key);
  }

  /// Adds `value`, unless another thread has added one meanwhile; the one that stays.
  const Value* insert(std::span<const uint64_t> key, std::unique_ptr<const Value> value) {
    const uint64_t hash = hash_of(key);
    std::unique_lock lock(mutex_);
    if (const Value* known = find_hashed(hash, key)) return known;
    Record record{KeyWords(key.begin(), key.end()), std::move(value)};
    return records_.emplace(hash, std::move(record))->second.value.get();
  }

 private:
  struct Record {
    KeyWords key;
    std::unique_ptr<const Value> value;
  };

  static uint64_t hash_of(std::span<const uint64_t> key) {
    uint64_t hash = key.size();
    for (const uint64_t word : key) hash = runtime::mix(hash, word);
    return hash;
  }

  const Value* find_hashed(uint64_t hash, std::span<const uint64_t> key) const {
    const auto [begin, end] = records_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (std::equal(key.begin(), key.end(), it->second.key.begin(), it->second.key.end()))
        return it->second.value.get();
    return nullptr;
  }

  mutable std::shared_mutex mutex_;
  std::unordered_multimap<uint64_t, Record> records_;
};

}  // namespace tilewright
