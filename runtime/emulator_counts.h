// What accesses of warps cost: bank conflicts of shared memory, sectors of tensors.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tilewright/runtime/emulator.h"

namespace tilewright::runtime {

/// One lane's part of an access.
struct LaneAccess {
  uint32_t code = 0;
  uint8_t bytes = 0;
  bool shared = false;
  uint64_t address = 0;
  uint8_t lane = 0;  ///< of the warp
};

/// Sums by place in the code.
class AccessCounts {
 public:
  /// Adds what the lanes of a warp did since their last barrier. The n-th access that lanes made at
  /// one place is taken to be one access of the warp.
  void add_warp(std::vector<std::vector<LaneAccess>>& lanes, size_t first);
  void merge(const AccessCounts& other);
  const std::map<uint32_t, StatementCounts>& by_code() const { return counts_; }

 private:
  void add_access(uint32_t code, const std::vector<LaneAccess>& lanes);
  std::map<uint32_t, StatementCounts> counts_;
  std::vector<LaneAccess> scratch_;
};

/// How often a warp goes to shared memory for these lanes of one access, beyond what so many lanes
/// of this width need. Lanes of one word share it. With 16 bytes each, half warps go apart, and
/// quarters unless a half can go at once. An H200 does so; the profiler's "ideal" is what is
/// needed.
int64_t bank_conflicts(const std::vector<LaneAccess>& lanes);
/// The 32-byte sectors that these lanes touch.
int64_t sectors(const std::vector<LaneAccess>& lanes);

}  // namespace tilewright::runtime
