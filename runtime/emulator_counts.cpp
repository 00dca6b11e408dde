#include "tilewright/runtime/emulator_counts.h"

#include <algorithm>
#include <array>
#include <set>

namespace tilewright::runtime {
namespace {

constexpr size_t kLanes = 32;
constexpr uint64_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

// How often one part of a warp must go: distinct words of one bank cannot be had at one time.
class Wavefronts {
 public:
  void add(const LaneAccess& access) {
    for (uint64_t at = access.address / kBankBytes;
         at <= (access.address + access.bytes - 1) / kBankBytes; ++at) {
      std::set<uint64_t>& bank = words_[at % kBanks];
      bank.insert(at);
      most_ = std::max(most_, bank.size());
    }
  }
  int64_t count() const { return static_cast<int64_t>(most_); }

 private:
  std::array<std::set<uint64_t>, kBanks> words_;
  size_t most_ = 0;
};

}  // namespace

int64_t bank_conflicts(const std::vector<LaneAccess>& lanes) {
  constexpr size_t kQuarter = kLanes / 4;
  const bool wide = lanes[0].bytes == 16;
  std::array<Wavefronts, 4> quarters;
  std::array<Wavefronts, 2> halves;
  int64_t bytes = 0, times = 0;
  for (const LaneAccess& access : lanes) {
    const size_t quarter = wide ? access.lane / kQuarter : 0;
    quarters[quarter].add(access);
    halves[quarter / 2].add(access);
    bytes += access.bytes;
  }
  for (size_t half = 0; half < 2; ++half)
    times += wide && halves[half].count() > 1
                 ? quarters[2 * half].count() + quarters[2 * half + 1].count()
                 : halves[half].count();
  constexpr int64_t kRow = kBanks * kBankBytes;
  return std::max<int64_t>(0, times - (bytes + kRow - 1) / kRow);
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
    for (LaneAccess& access : lanes[lane]) {
      access.lane = static_cast<uint8_t>(lane - first);
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
