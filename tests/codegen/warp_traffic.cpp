#include "tests/codegen/warp_traffic.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tilewright::testing {
namespace {

/// One access of one warp: its lanes' parts.
using WarpAccesses = std::vector<MemoryAccess>;

/// The 32 banks of four bytes serve one word each at a time; accesses of 8 and 16 bytes go in 2 and
/// 4 phases of consecutive lanes.
int64_t conflicts_of(const WarpAccesses& lanes) {
  const int lanes_per_phase = 32 / std::max(1, lanes[0].bytes / 4);
  int64_t conflicts = 0;
  for (int first = 0; first < 32; first += lanes_per_phase) {
    std::set<int64_t> words;
    for (const MemoryAccess& lane : lanes) {
      if (lane.thread % 32 < first || lane.thread % 32 >= first + lanes_per_phase) continue;
      for (int64_t word = lane.address / 4; word * 4 < lane.address + lane.bytes; ++word)
        words.insert(word);
    }
    int64_t of_bank[32] = {}, deepest = 0;
    for (int64_t word : words) deepest = std::max(deepest, ++of_bank[word % 32]);
    conflicts += deepest - (static_cast<int64_t>(words.size()) + 31) / 32;
  }
  return conflicts;
}

class Measure {
 public:
  void note(const MemoryAccess& access) {
    const int nth = count_[{access.site, access.thread}]++;
    warps_[{access.site, access.thread / 32, nth}].push_back(access);
  }

  void finish() {
    for (const auto& [key, lanes] : warps_)
      lanes[0].shared ? note_shared(lanes) : note_global(lanes);
    warps_.clear();
    count_.clear();
  }

  WarpTraffic traffic;

 private:
  void note_shared(const WarpAccesses& lanes) {
    ++traffic.shared_accesses;
    traffic.bank_conflicts += conflicts_of(lanes);
  }

  void note_global(const WarpAccesses& lanes) {
    GlobalTraffic& global = traffic.global[lanes[0].memory];
    std::set<int64_t> sectors, addresses;
    for (const MemoryAccess& lane : lanes) {
      global.narrowest = std::min(global.narrowest, lane.bytes);
      if (addresses.insert(lane.address).second) global.bytes += lane.bytes;
      for (int64_t at = lane.address / 32; at * 32 < lane.address + lane.bytes; ++at)
        sectors.insert(at);
    }
    global.sectors += static_cast<int64_t>(sectors.size());
  }

  std::map<std::tuple<const codegen::Expr*, int, int>, WarpAccesses> warps_;
  std::map<std::pair<const codegen::Expr*, int>, int> count_;
};

}  // namespace

WarpTraffic warp_traffic(const codegen::Kernel& kernel, const std::vector<HostArgument>& args) {
  Measure measure;
  EmulateOptions options;
  options.blocks = 1;
  options.on_access = [&](const MemoryAccess& access) { measure.note(access); };
  options.on_statement_end = [&] { measure.finish(); };
  const Emulation emulation = emulate(kernel, args, options);
  if (!emulation.errors.empty()) measure.traffic.problem = emulation.errors[0];
  return std::move(measure.traffic);
}

}  // namespace tilewright::testing
