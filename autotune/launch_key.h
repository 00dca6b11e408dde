// Tables of specializations, found by what tells launches apart. Looking up takes a shared lock and
// no heap memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <utility>
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
  const Value* insert(std::span<const uint64_t> key, std::shared_ptr<const Value> value) {
    const uint64_t hash = hash_of(key);
    std::unique_lock lock(mutex_);
    if (const Value* known = find_hashed(hash, key)) return known;
    return add(hash, key, std::move(value));
  }

  /// Adds `value`, in place of the one that is there; that one lives on for those who use it.
  void replace(std::span<const uint64_t> key, std::shared_ptr<const Value> value) {
    const uint64_t hash = hash_of(key);
    std::unique_lock lock(mutex_);
    const auto known = locate(records_, hash, key);
    if (known == records_.end()) {
      add(hash, key, std::move(value));
      return;
    }
    retired_.push_back(std::exchange(known->second.value, std::move(value)));
  }

 private:
  struct Record {
    KeyWords key;
    std::shared_ptr<const Value> value;
  };

  const Value* add(uint64_t hash, std::span<const uint64_t> key,
                   std::shared_ptr<const Value> value) {
    Record record{KeyWords(key.begin(), key.end()), std::move(value)};
    return records_.emplace(hash, std::move(record))->second.value.get();
  }

  // The record of `key` in the table, const or not; else the end.
  template <class Records>
  static auto locate(Records& records, uint64_t hash, std::span<const uint64_t> key) {
    const auto [begin, end] = records.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (std::equal(key.begin(), key.end(), it->second.key.begin(), it->second.key.end()))
        return it;
    return records.end();
  }

  static uint64_t hash_of(std::span<const uint64_t> key) {
    uint64_t hash = key.size();
    for (const uint64_t word : key) hash = runtime::mix(hash, word);
    return hash;
  }

  const Value* find_hashed(uint64_t hash, std::span<const uint64_t> key) const {
    const auto found = locate(records_, hash, key);
    return found != records_.end() ? found->second.value.get() : nullptr;
  }

  mutable std::shared_mutex mutex_;
  std::unordered_multimap<uint64_t, Record> records_;
  std::vector<std::shared_ptr<const Value>> retired_;
};

}  // namespace tilewright
