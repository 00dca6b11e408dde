// mbarriers of emulated blocks (PTX ISA, "Parallel Synchronization: mbarrier").
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tilewright/runtime/emulator_cluster.h"

namespace tilewright::runtime {
namespace {

constexpr int64_t kBytes = 8;

std::string name_of(int64_t place, int block) {
  return fmt::format("the mbarrier at byte {} of shared memory{}", place,
                     block >= 0 ? fmt::format(" of block {} of the cluster", block) : "");
}

}  // namespace

void EmulatedCluster::on_mbarrier_init(void* barrier, int arrivals, const void* pc) {
  const int block = block_of(running_);
  const int64_t place = place_of(barrier, block);
  const AgentAccess access =
      thread_access(reinterpret_cast<uintptr_t>(barrier), kBytes, true, code_of(pc));
  if (!shadow_.access(access, clocks_.view(running_), block)) abandon();
  if (arrivals < 1) {
    report(FindingKind::barrier_misuse, fmt::format("an mbarrier of {} arrivals", arrivals), pc,
           "initializes it");
    abandon();
  }
  Mbarrier made;
  made.expected = made.missing = arrivals;
  made.agent = add_agent({Agent::Kind::bulk_load, block, static_cast<int>(thread())});
  made.init_thread = running_;
  made.init_clock = access.when;
  made.init_code = access.code;
  block_state().mbarriers[place] = std::move(made);
  running().inits.push_back(place);
}

void EmulatedCluster::on_mbarrier_fence() {
  for (const int64_t place : running().inits) block_state().mbarriers.at(place).fenced = true;
  running().inits.clear();
}

// The mbarrier, which must be one that the running thread knows to be initialized.
Mbarrier& EmulatedCluster::mbarrier_at(const void* barrier, int block, const void* pc) {
  const int own = block_of(running_);
  const int64_t place = place_of(barrier, own);
  if (block < 0) block = own;
  if (block >= run_.cluster) {
    report(FindingKind::barrier_misuse,
           fmt::format("block {} of a cluster of {}", block, run_.cluster), pc, "uses it");
    abandon();
  }
  BlockState& state = blocks_[static_cast<size_t>(block)];
  const auto found = state.mbarriers.find(place);
  if (found == state.mbarriers.end()) {
    report(FindingKind::barrier_misuse, name_of(place, block) + " is not initialized", pc,
           "uses it");
    abandon();
  }
  check_written(found->second, place, block, pc);
  return found->second;
}

// Its initialization is known here, to other blocks only with a fence, and nothing wrote over it.
void EmulatedCluster::check_written(const Mbarrier& mbarrier, int64_t place, int block,
                                    const void* pc) {
  const AccessSite init =
      shadow_.site(mbarrier.init_thread, mbarrier.init_thread, mbarrier.init_code, true);
  const auto found = [&](FindingKind kind, const std::string& what) {
    run_.findings.add(
        kind, name_of(place, block) + what,
        {{code_of(pc), static_cast<int64_t>(this->block()), static_cast<int>(thread()), "use"},
         init});
  };
  if (!clocks_.view(running_).sees(mbarrier.init_thread, mbarrier.init_clock))
    found(FindingKind::shared_race, ": no barrier is between its initialization and its use");
  else if (block != block_of(running_) && !mbarrier.fenced)
    found(FindingKind::fence_missing,
          ": no fence makes its initialization known to the other blocks");
  if (!run_.checked) return;
  const Place memory = shadow_.locate(
      reinterpret_cast<uintptr_t>(shared_[static_cast<size_t>(block)] + place), block);
  const MemoryCell& cell = (*memory.cells)[static_cast<size_t>(place)];
  if (cell.writer != mbarrier.init_thread || cell.write_clock != mbarrier.init_clock)
    found(FindingKind::barrier_misuse, " was written over");
}

// A phase is complete when nothing is missing: the next one begins.
void EmulatedCluster::try_complete(Mbarrier& mbarrier) {
  if (mbarrier.missing > 0 || mbarrier.bytes != 0) return;
  ++mbarrier.phase;
  mbarrier.usual = mbarrier.arrived;
  mbarrier.arrived = 0;
  mbarrier.missing = mbarrier.expected;
  mbarrier.complete = mbarrier.gathering.result();
  std::vector<int> waiting;
  std::swap(waiting, mbarrier.waiting);
  for (const int thread : waiting) {
    if ((mbarrier.phase & 1) == threads_[static_cast<size_t>(thread)].parity)
      mbarrier.waiting.push_back(thread);
    else
      wake(thread);
  }
}

void EmulatedCluster::arrive(Mbarrier& mbarrier, const void* pc) {
  if (mbarrier.missing == 0) {
    report(FindingKind::barrier_misuse,
           fmt::format("more than the {} arrivals that a phase of the mbarrier expects",
                       mbarrier.expected),
           pc, "arrives");
    abandon();
  }
  clocks_.release(running_, mbarrier.gathering);
  --mbarrier.missing;
  try_complete(mbarrier);
}

void EmulatedCluster::on_mbarrier_expect(void* barrier, int bytes, const void* pc) {
  Mbarrier& mbarrier = mbarrier_at(barrier, -1, pc);
  mbarrier.bytes += bytes;
  arrive(mbarrier, pc);
}

void EmulatedCluster::note_remote_use(int block, int agent, Clock when, const void* pc) {
  blocks_[static_cast<size_t>(block)].remote_uses[{agent, code_of(pc)}] = {when, running_};
}

void EmulatedCluster::on_store_at(void* at, int block, unsigned word, const void* pc) {
  if (block < 0 || block >= run_.cluster) {
    report(FindingKind::out_of_bounds,
           fmt::format("block {} of a cluster of {}", block, run_.cluster), pc, "write");
    abandon();
  }
  std::byte* to = shared_[static_cast<size_t>(block)] + place_of(at, block_of(running_));
  const AgentAccess write =
      thread_access(reinterpret_cast<uintptr_t>(to), sizeof word, true, code_of(pc));
  if (!shadow_.access(write, clocks_.view(running_), block)) abandon();
  if (block != block_of(running_)) note_remote_use(block, running_, write.when, pc);
  std::memcpy(to, &word, sizeof word);
}

// All threads have ended. A block must not end before the others have done with its memory, so one
// of its threads must know of what they did.
void EmulatedCluster::check_remote_uses() {
  for (const BlockState& state : blocks_)
    for (const auto& [who, use] : state.remote_uses) {
      if (state.ended.sees(who.first, use.when)) continue;
      AccessSite site = shadow_.site(who.first, use.issuer, who.second, true);
      if (agents_[static_cast<size_t>(who.first)].kind == Agent::Kind::thread)
        site.what = "arrival or write";
      run_.findings.add(FindingKind::block_ended,
                        "nothing keeps a block of the cluster from ending before this reaches its "
                        "shared memory",
                        {std::move(site)});
    }
}

void EmulatedCluster::on_mbarrier_arrive(void* barrier, int block, const void* pc) {
  Mbarrier& mbarrier = mbarrier_at(barrier, block, pc);
  if (block >= 0 && block != block_of(running_))
    note_remote_use(block, running_, clocks_.now(running_), pc);
  arrive(mbarrier, pc);
}

void EmulatedCluster::on_mbarrier_wait(void* barrier, unsigned parity, const void* pc) {
  const int64_t place = place_of(barrier, block_of(running_));
  Mbarrier& mbarrier = mbarrier_at(barrier, -1, pc);
  ++running().waits;
  while ((mbarrier.phase & 1) == (parity & 1)) {
    running().parity = parity & 1;
    mbarrier.waiting.push_back(running_);
    block_on(Wait::mbarrier, pc, place);
  }
  clocks_.acquire(running_, mbarrier.complete);
}

}  // namespace tilewright::runtime
