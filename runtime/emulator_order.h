// What clusters of blocks know of each other through atomics that release and acquire.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace tilewright::runtime {

/// By first block of a cluster, how many of its releases are known: what the cluster did before
/// the last of them is ordered before what is done with this knowledge.
using KnownReleases = std::unordered_map<int64_t, uint32_t>;

/// The knowledge that elements changed by atomics carry. Thread-safe.
class GridOrder {
 public:
  /// Before an atomic that releases: who acquires from the element knows what `known` says.
  void release(uintptr_t element, const KnownReleases& known);
  /// After an atomic that acquires.
  void acquire(uintptr_t element, KnownReleases& known);

 private:
  std::mutex mutex_;
  std::unordered_map<uintptr_t, KnownReleases> carried_;
};

}  // namespace tilewright::runtime
