// How emulated threads meet: barriers, mbarriers, warps.
#include "tilewright/runtime/emulator_sync.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/runtime/emulator_cluster.h"

namespace tilewright::runtime {
namespace {

constexpr int kWarp = 32;
constexpr int kNamedBarriers = 16;

}  // namespace

const char* to_string(WarpOp op) {
  constexpr const char* names[] = {
      "nothing",         "a shuffle",           "__syncwarp",
      "a named barrier", "the cluster barrier", "a change of registers",
      "wgmma_fence",     "a product",           "wgmma_commit",
      "wgmma_wait"};
  return names[static_cast<size_t>(op)];
}

// The running thread arrives at a barrier and waits until all that it needs have; they then know
// of each other.
void EmulatedCluster::meet(Meeting& meeting, Wait wait, const void* pc, int64_t object) {
  clocks_.release(running_, meeting.gathering);
  meeting.waiting.push_back(running_);
  if (++meeting.arrived < meeting.needed) {
    block_on(wait, pc, object);
    return;
  }
  const KnowledgeRef known = meeting.gathering.result();
  for (const int thread : meeting.waiting) {
    clocks_.acquire(thread, known);
    wake(thread);
  }
  meeting = {};
  suspend();  // so that the block goes on with its first thread
}

void EmulatedCluster::on_barrier(int line, const void* pc) {
  Thread& thread = running();
  Meeting& meeting = block_state().named[0];
  thread.line = line;
  // At another line than the others: they wait for each other.
  if (!meeting.waiting.empty() && threads_[static_cast<size_t>(meeting.waiting[0])].line != line) {
    for (;;) block_on(Wait::block_barrier, pc);
  }
  meeting.needed = run_.threads;
  if (meeting.arrived + 1 == meeting.needed) {
    flush_counts();
    ++run_.barriers;
  }
  meet(meeting, Wait::block_barrier, pc);
}

void EmulatedCluster::on_named_barrier(int barrier, int threads, const void* pc) {
  converge(WarpOp::named_barrier, pc);
  if (barrier < 0 || barrier >= kNamedBarriers || threads % kWarp != 0 || threads <= 0 ||
      threads > run_.threads) {
    report(FindingKind::barrier_misuse,
           fmt::format("named barrier {} of {} threads; there are 16, of whole warps of the block",
                       barrier, threads),
           pc, "waits at");
    abandon();
  }
  Meeting& meeting = block_state().named[barrier];
  if (meeting.arrived > 0 && meeting.needed != threads) {
    report(FindingKind::barrier_misuse,
           fmt::format("threads wait at named barrier {} for {} threads and for {}", barrier,
                       meeting.needed, threads),
           pc, "waits at");
    abandon();
  }
  meeting.needed = threads;
  meet(meeting, Wait::named_barrier, pc, barrier);
}

void EmulatedCluster::on_cluster_sync(const void* pc) {
  converge(WarpOp::cluster_barrier, pc);
  cluster_barrier_.needed = static_cast<int>(threads_.size());
  meet(cluster_barrier_, Wait::cluster_barrier, pc);
}

// All lanes of the warp reach the operation, or wait for each other.
void EmulatedCluster::converge(WarpOp op, const void* pc) {
  const size_t number = static_cast<size_t>(running_ / kWarp);
  Warp& warp = warps_[number];
  Thread& thread = running();
  thread.op = op;
  if (op == WarpOp::sync) clocks_.release(running_, warp.gathering);
  if (warp.waiting > 0 && warp.op != op) {
    report(FindingKind::warp_diverged,
           fmt::format("lanes of one warp are at {} and at {}", to_string(warp.op), to_string(op)),
           pc, "lane");
    abandon();
  }
  warp.op = op;
  const int lanes =
      std::min(kWarp, static_cast<int>(threads_.size() - number * static_cast<size_t>(kWarp)));
  if (++warp.waiting < lanes) {
    block_on(Wait::warp, pc);
    return;
  }
  finish_warp(number, pc);
}

// The last lane has arrived.
void EmulatedCluster::finish_warp(size_t number, const void* pc) {
  Warp& warp = warps_[number];
  const size_t first = number * kWarp, end = std::min(first + kWarp, threads_.size());
  const bool aligned =
      warp.op != WarpOp::sync && warp.op != WarpOp::shuffle && warp.op != WarpOp::named_barrier;
  const KnowledgeRef known = warp.op == WarpOp::sync ? warp.gathering.result() : nullptr;
  for (size_t i = first; i < end; ++i) {
    Thread& lane = threads_[i];
    if (aligned && lane.waits != threads_[first].waits)
      report(
          FindingKind::warp_diverged,
          fmt::format("{} needs the whole warp, but one of its lanes came through mbarrier waits "
                      "of its own and __syncwarp is not between",
                      to_string(warp.op)),
          pc, "lane");
    if (known != nullptr) clocks_.acquire(static_cast<int>(i), known);
    if (lane.wait == Wait::warp) lane.wait = Wait::none;
  }
  if (aligned || warp.op == WarpOp::sync)
    for (size_t i = first; i < end; ++i) threads_[i].waits = 0;
  warp.waiting = 0;
  warp.op = WarpOp::none;
  warp.gathering.clear();
}

unsigned EmulatedCluster::on_shuffle(unsigned word, int lane, bool exclusive_or, const void* pc) {
  const int self = running_ % kWarp;
  const size_t number = static_cast<size_t>(running_ / kWarp);
  Warp& warp = warps_[number];
  const int lanes =
      std::min(kWarp, static_cast<int>(threads_.size() - number * static_cast<size_t>(kWarp)));
  unsigned* words = warp.words[warp.shuffles % 2];
  words[self] = word;
  if (warp.waiting + 1 == lanes) ++warp.shuffles;
  converge(WarpOp::shuffle, pc);
  const int source = exclusive_or ? self ^ lane : lane % kWarp;
  return source >= 0 && source < lanes ? words[source] : word;
}

void EmulatedCluster::on_sync_warp(const void* pc) { converge(WarpOp::sync, pc); }

void EmulatedCluster::on_proxy_fence() { clocks_.fence(running_); }

// setmaxnreg: the warpgroup's threads meet, then it gives registers back or waits for them.
void EmulatedCluster::on_registers(int count, bool up, const void* pc) {
  converge(WarpOp::registers, pc);
  Warpgroup& group = warpgroup();
  const char* why = count % 8 != 0 || count < 24 || count > 256 ? "a multiple of 8 from 24 to 256"
                    : up ? (count < group.register_count ? "not fewer than before" : nullptr)
                         : (count > group.register_count ? "not more than before" : nullptr);
  if (why != nullptr || (group.register_arrived > 0 && group.register_request != count)) {
    report(FindingKind::bad_registers,
           why != nullptr ? fmt::format("{} registers for each thread, after {}: must be {}", count,
                                        group.register_count, why)
                          : fmt::format("threads of one warpgroup ask for {} and for {} registers",
                                        group.register_request, count),
           pc, "asks");
    abandon();
  }
  group.register_request = count;
  if (++group.register_arrived < kWarpgroup) {
    group.register_waiting.push_back(running_);
    block_on(Wait::registers, pc, count);
    return;
  }
  RegisterPool& pool = block_state().registers;
  pool.waiting.push_back(running_ / kWarpgroup);
  group.register_waiting.push_back(running_);
  running().wait = Wait::registers;
  running().code = code_of(pc);
  running().object = count;
  give_registers(block_of(running_));
  if (running().wait != Wait::none) suspend();
}

// Lets warpgroups have the registers that they wait for, as long as there are enough.
void EmulatedCluster::give_registers(int block) {
  RegisterPool& pool = blocks_[static_cast<size_t>(block)].registers;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < pool.waiting.size(); ++i) {
      Warpgroup& group = warpgroups_[static_cast<size_t>(pool.waiting[i])];
      const int more = (group.register_request - group.register_count) * kWarpgroup;
      if (more > pool.free) continue;
      pool.free -= more;
      group.register_count = group.register_request;
      group.register_arrived = 0;
      for (const int thread : group.register_waiting) wake(thread);
      group.register_waiting.clear();
      pool.waiting.erase(pool.waiting.begin() + static_cast<std::ptrdiff_t>(i));
      again = true;
      break;
    }
  }
}

}  // namespace tilewright::runtime
