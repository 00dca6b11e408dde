// What is said when no emulated thread can go on.
#include <fmt/format.h>

#include <map>

#include "tilewright/runtime/emulator_cluster.h"

namespace tilewright::runtime {

// What a thread waits for, as its group's sentence says it.
std::string EmulatedCluster::waits_for(int number) const {
  const Thread& thread = threads_[static_cast<size_t>(number)];
  switch (thread.wait) {
    case Wait::none:
      return "go on";
    case Wait::ended:
      return "ended";
    case Wait::block_barrier:
      return "wait at a barrier";
    case Wait::named_barrier: {
      const Meeting& meeting =
          blocks_[static_cast<size_t>(block_of(number))].named[static_cast<size_t>(thread.object)];
      return fmt::format("wait at named barrier {}, at which {} of {} threads have arrived",
                         thread.object, meeting.arrived, meeting.needed);
    }
    case Wait::cluster_barrier:
      return fmt::format("wait at the cluster barrier, at which {} of {} threads have arrived",
                         cluster_barrier_.arrived, threads_.size());
    case Wait::grid_barrier:
      return fmt::format("wait at a barrier of the grid, at which {} of {} threads have arrived{}",
                         grid_barrier_.arrived, run_.grid * run_.threads,
                         run_.cluster < run_.grid
                             ? " (blocks that are not resident at the same time cannot come)"
                             : "");
    case Wait::warp:
      return thread.op == WarpOp::shuffle
                 ? "wait for lanes of their warp"
                 : fmt::format("wait for lanes of their warp at {}", to_string(thread.op));
    case Wait::mbarrier: {
      const Mbarrier& mbarrier =
          blocks_[static_cast<size_t>(block_of(number))].mbarriers.at(thread.object);
      return fmt::format(
          "wait for phase {} (parity {}) of the mbarrier at byte {} of shared memory, which misses "
          "{} of {} arrivals and {} bytes",
          mbarrier.phase, thread.parity, thread.object, mbarrier.missing, mbarrier.expected,
          mbarrier.bytes);
    }
    case Wait::registers:
      return fmt::format("wait for {} registers each, where {} are free", thread.object,
                         blocks_[static_cast<size_t>(block_of(number))].registers.free);
    case Wait::products:
      return "wait for products that other warps of their warpgroup have not issued";
  }
  return "wait";
}

// No thread can go on: who waits for what.
void EmulatedCluster::report_stuck() {
  bool barriers_only = true, wrong_bytes = false;
  // By what they wait for, where, and in which block.
  std::map<std::tuple<Wait, int, int64_t, int, std::string>, std::vector<int>> groups;
  for (size_t i = 0; i < threads_.size(); ++i) {
    const int number = static_cast<int>(i);
    const Thread& thread = threads_[i];
    barriers_only &= thread.wait == Wait::ended || thread.wait == Wait::block_barrier;
    if (thread.wait == Wait::mbarrier)
      wrong_bytes |=
          blocks_[static_cast<size_t>(block_of(number))].mbarriers.at(thread.object).wrong_bytes();
    groups[{thread.wait, thread.wait == Wait::block_barrier ? thread.line : 0, thread.object,
            block_of(number), waits_for(number)}]
        .push_back(number);
  }
  std::vector<AccessSite> sites;
  std::string what;
  for (const auto& [key, members] : groups) {
    const Thread& first = threads_[static_cast<size_t>(members[0])];
    const Agent& agent = agents_[static_cast<size_t>(members[0])];
    what += fmt::format(
        "{}{} of {} threads{} {}", what.empty() ? "" : ", ", members.size(), run_.threads,
        run_.cluster > 1 ? fmt::format(" of block {}", first_block_ + agent.block) : "",
        std::get<4>(key));
    AccessSite site{first.code, first_block_ + agent.block, agent.thread, "wait"};
    if (first.wait == Wait::ended) {
      site.code = 0;
      site.what = "end of the kernel";
    } else if (first.wait == Wait::block_barrier) {
      site.code = 0;
      site.line = first.line;
      site.what = "wait at a barrier";
    } else if (first.op == WarpOp::shuffle && first.wait == Wait::warp) {
      site.what = "wait in a shuffle";
    }
    sites.push_back(std::move(site));
  }
  run_.findings.add(barriers_only ? FindingKind::divergent_barrier
                    : wrong_bytes ? FindingKind::byte_count
                                  : FindingKind::deadlock,
                    what, std::move(sites));
  run_.stopped = true;
}

}  // namespace tilewright::runtime
