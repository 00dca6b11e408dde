#include "tilewright/runtime/emulator_counts.h"

#include <algorithm>
#include <array>
#include <set>

namespace tilewright::runtime {
namespace {

constexpr size_t kLanes = 32;
constexpr uint64_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

// Distinct words of one bank cannot be had at one time; lanes of one word share it.
int64_t times_needed(const LaneAccess* lanes, size_t count) {
  std::array<std::set<uint64_t>, kBanks> words;
  size_t most = 0;
  for (size_t i = 0; i < count; ++i)
    for (uint64_t at = lanes[i].address / kBankBytes;
         at <= (lanes[i].address + lanes[i].bytes - 1) / kBankBytes; ++at) {
      std::set<uint64_t>& bank = words[at % kBanks];
      bank.insert(at);
      most = std::max(most, bank.size());
    }
  return static_cast<int64_t>(most);
}

}  // namespace

int64_t bank_conflicts(const std::vector<LaneAccess>& lanes) {
  // 8-byte accesses are made by half warps, 16-byte ones by quarters.
  const size_t at_once = std::min<size_t>(kLanes, 128 / std::max<size_t>(lanes[0].bytes, 4));
  int64_t conflicts = 0;
  for (size_t i = 0; i < lanes.size(); i += at_once)
    conflicts += times_needed(&lanes[i], std::min(at_once, lanes.size() - i)) - 1;
  return conflicts;
}

int64_t sectors(const std::vector<LaneAccess>& lanes) {
  std::set<uint64_t> touched;
  for (const LaneAccess& lane : lanes)
    for (uint64_t at = lane.address / kSectorBytes;
         at <= (lane.address + lane.bytes - 1) / kSectorBytes; ++at)
      touched.insert(at);
  return static_cast<int64_t>(touched.size());
}

void AccessCounts::add_access(uint32_t code, const std::vector<LaneAccess>& lanes) {
  StatementCounts& counts = counts_[code];
  if (lanes[0].shared) {
    ++counts.shared_requests;
    counts.bank_conflicts += bank_conflicts(lanes);
    return;
  }
  ++counts.global_requests;
  for (const LaneAccess& lane : lanes) counts.global_bytes += lane.bytes;
  counts.global_sectors += sectors(lanes);
}

void AccessCounts::add_warp(std::vector<std::vector<LaneAccess>>& lanes, size_t first) {
  // Places in the order of their first access, with the n-th accesses of all lanes side by side.
  std::map<std::pair<uint32_t, bool>, std::vector<std::vector<LaneAccess>>> places;
  std::map<std::pair<uint32_t, bool>, size_t> next;
  for (size_t lane = first; lane < std::min(first + kLanes, lanes.size()); ++lane) {
    next.clear();
    for (const LaneAccess& access : lanes[lane]) {
      const std::pair<uint32_t, bool> place{access.code, access.shared};
      std::vector<std::vector<LaneAccess>>& accesses = places[place];
      const size_t number = next[place]++;
      if (accesses.size() <= number) accesses.resize(number + 1);
      accesses[number].push_back(access);
    }
    lanes[lane].clear();
  }
  for (const auto& [place, accesses] : places)
    for (const std::vector<LaneAccess>& access : accesses) add_access(place.first, access);
}

void AccessCounts::merge(const AccessCounts& other) {
  for (const auto& [code, counts] : other.counts_) {
    StatementCounts& sum = counts_[code];
    sum.shared_requests += counts.shared_requests;
    sum.bank_conflicts += counts.bank_conflicts;
    sum.global_requests += counts.global_requests;
    sum.global_bytes += counts.global_bytes;
    sum.global_sectors += counts.global_sectors;
  }
}

}  // namespace tilewright::runtime
