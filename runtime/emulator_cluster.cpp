#include "tilewright/runtime/emulator_cluster.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tilewright/ir/error.h"

namespace tilewright::runtime {
namespace {

constexpr int kWarp = 32;
constexpr size_t kStack = 256 * 1024;  // the lowest page of each is a guard

thread_local EmulatedCluster* current_cluster = nullptr;

std::vector<std::byte*> shared_memories(const EmulatorRun& run, int slot) {
  std::vector<std::byte*> shared;
  for (int i = 0; i < run.cluster; ++i) shared.push_back(run.memory.shared(slot * run.cluster + i));
  return shared;
}

size_t threads_of(const EmulatorRun& run) {
  return static_cast<size_t>(run.threads) * static_cast<size_t>(run.cluster);
}

// How many a thread has where these threads take all registers of a multiprocessor.
int registers_of(int threads) { return std::min(255, 65536 / std::max(threads, kWarp)) / 8 * 8; }

}  // namespace

EmulatedCluster& EmulatedCluster::current() { return *current_cluster; }

EmulatedCluster::EmulatedCluster(EmulatorRun& run, int slot)
    : run_(run),
      shared_(shared_memories(run, slot)),
      shadow_(run, shared_, agents_),
      threads_(threads_of(run)),
      lanes_(run.counts ? threads_of(run) : 0) {
  stacks_bytes_ = threads_.size() * kStack;
  void* stacks = ::mmap(nullptr, stacks_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) raise(ErrorId::host_out_of_memory, {}, stacks_bytes_);
  stacks_ = static_cast<std::byte*>(stacks);
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < threads_.size(); ++i) {
    ::mprotect(stacks_ + i * kStack, page, PROT_NONE);
    threads_[i].run = run_thread;
    threads_[i].cluster = this;
  }
}

EmulatedCluster::~EmulatedCluster() { ::munmap(stacks_, stacks_bytes_); }

void EmulatedCluster::run_clusters() {
  current_cluster = this;
  while (!run_.stopped) {
    const int64_t first = run_.next_cluster++ * run_.cluster;
    if (first >= run_.grid) break;
    run_cluster(first);
  }
  current_cluster = nullptr;
}

// The state that a cluster begins with.
void EmulatedCluster::reset() {
  abandoned_ = false;
  shadow_.begin_cluster(first_block_);
  clocks_.reset(static_cast<int>(threads_.size()));
  agents_.clear();
  for (size_t i = 0; i < threads_.size(); ++i) {
    const int number = static_cast<int>(i);
    agents_.push_back({Agent::Kind::thread, block_of(number), number % run_.threads});
    Thread fresh;
    fresh.run = run_thread;
    fresh.cluster = this;
    fresh.context = make_fiber(stacks_ + (i + 1) * kStack, kStack);
    threads_[i] = std::move(fresh);
  }
  // What nobody writes must not look like what an earlier block left.
  for (std::byte* memory : shared_)
    std::memset(memory, 0xff, static_cast<size_t>(run_.shared_bytes));
  warps_.assign((threads_.size() + kWarp - 1) / kWarp, Warp{});
  warpgroups_.assign((threads_.size() + kWarpgroup - 1) / kWarpgroup, Warpgroup{});
  for (Warpgroup& group : warpgroups_)
    group.register_count = registers_of(run_.threads * run_.blocks_per_sm);
  blocks_.assign(static_cast<size_t>(run_.cluster), BlockState{});
  for (BlockState& block : blocks_) block.running = run_.threads;
  cluster_barrier_ = {};
  grid_barrier_ = {};
  loads_.clear();
}

void EmulatedCluster::run_cluster(int64_t first_block) {
  first_block_ = first_block;
  reset();
  while (!abandoned_)
    if (!resume_ready() && !complete_load()) break;
  if (!abandoned_ && std::ranges::any_of(
                         threads_, [](const Thread& thread) { return thread.wait != Wait::ended; }))
    report_stuck();
  else if (!abandoned_)
    check_remote_uses();
  flush_counts();
}

void EmulatedCluster::run_thread(FiberStart& self, FiberContext from) {
  Thread& thread = static_cast<Thread&>(self);
  EmulatedCluster& cluster = *thread.cluster;
  cluster.scheduler_ = from;
  cluster.run_.module.entry()(cluster.run_.params);
  thread.wait = Wait::ended;
  --cluster.block_state().running;
  cluster.clocks_.release(cluster.running_, cluster.block_state().ended);
  cluster.check_ended(cluster.running_);
  cluster.suspend();
}

// Runs every thread that can, until it waits or ends; whether there was one.
bool EmulatedCluster::resume_ready() {
  bool any = false;
  for (size_t i = 0; i < threads_.size() && !abandoned_; ++i) {
    if (threads_[i].wait != Wait::none) continue;
    any = true;
    running_ = static_cast<int>(i);
    threads_[i].context = switch_fiber(threads_[i].context, &threads_[i]);
  }
  return any;
}

void EmulatedCluster::suspend() { scheduler_ = switch_fiber(scheduler_, nullptr); }

// Suspends the running thread until somebody wakes it.
void EmulatedCluster::block_on(Wait wait, const void* pc, int64_t object) {
  Thread& thread = running();
  thread.wait = wait;
  thread.code = code_of(pc);
  thread.object = object;
  suspend();
}

// Leaves the running thread for good, and with it the cluster.
void EmulatedCluster::abandon() {
  abandoned_ = true;
  run_.stopped = true;
  for (;;) suspend();
}

void EmulatedCluster::on_assert_failed(const char* message, Loc loc) {
  {
    std::lock_guard lock(run_.assertion_mutex);
    if (!run_.assertion) run_.assertion = FailedAssertion{message, loc};
  }
  abandon();
}

void EmulatedCluster::report(FindingKind kind, std::string what, const void* pc, const char* site) {
  run_.findings.add(
      kind, std::move(what),
      {{code_of(pc), static_cast<int64_t>(block()), static_cast<int>(thread()), site}});
}

void EmulatedCluster::check_ended(int number) {
  const Thread& thread = threads_[static_cast<size_t>(number)];
  const auto pending = [&](std::string what, uint32_t code, const char* site) {
    run_.findings.add(
        FindingKind::copy_pending, std::move(what),
        {{code, static_cast<int64_t>(block()), static_cast<int>(this->thread()), site}});
  };
  if (!thread.copies.empty())
    pending(fmt::format("{} asynchronous copies were not waited for", thread.copies.size()),
            thread.copies[0].code, "asynchronous copy");
  if (thread.stores_open > 0 || thread.store_groups_read < thread.store_groups)
    pending("bulk stores were not waited for, which read shared memory", thread.store_code,
            "bulk store");
  const Warpgroup& group = warpgroup();
  const Warpgroup::Lane& lane = group.lanes[static_cast<size_t>(number % kWarpgroup)];
  if (!lane.in_flight.empty())
    pending("products were not waited for", thread.product_code, "product");
}

uint32_t EmulatedCluster::code_of(const void* pc) const {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - run_.module.begin());
}

int EmulatedCluster::add_agent(Agent agent) {
  agents_.push_back(agent);
  return clocks_.add_agent();
}

AgentAccess EmulatedCluster::thread_access(uintptr_t address, int64_t bytes, bool write,
                                           uint32_t code) const {
  return {.address = address,
          .bytes = bytes,
          .write = write,
          .aligned = true,
          .code = code,
          .agent = running_,
          .when = clocks_.now(running_),
          .issuer = running_};
}

void EmulatedCluster::on_access(uintptr_t address, int64_t bytes, int kind, const void* pc) {
  const bool write = (kind & 1) != 0;
  if (address - reinterpret_cast<uintptr_t>(stacks_) < stacks_bytes_) {
    check_sums(address, bytes, write, pc);
    return;
  }
  if (run_.module.contains(address)) return;
  if ((kind & 16) != 0) return shadow_.acquire(address);
  AgentAccess access = thread_access(address, bytes, write, code_of(pc));
  access.aligned = (kind & 2) == 0;
  access.atomic = (kind & 4) != 0;
  access.releases = (kind & 8) != 0;
  if (!shadow_.access(access, clocks_.view(running_), block_of(running_))) abandon();
  if (run_.counts) log(address, bytes, access.code);
}

void EmulatedCluster::on_copy(void* to, const void* from, int bytes, int read, const void* pc) {
  Thread& thread = running();
  const uint32_t code = code_of(pc);
  Copy copy{static_cast<std::byte*>(to), bytes, thread.groups, code};
  const int64_t wanted = std::clamp(read, 0, bytes);
  if (wanted > 0) {
    const uintptr_t source = reinterpret_cast<uintptr_t>(from);
    if (source % static_cast<uintptr_t>(bytes) != 0)
      report(FindingKind::misaligned,
             fmt::format("an asynchronous copy of {} bytes from an address that is no multiple of "
                         "that",
                         bytes),
             pc, "read");
    AgentAccess access = thread_access(source, wanted, false, code);
    access.aligned = false;
    if (!shadow_.access(access, clocks_.view(running_), block_of(running_))) abandon();
    if (run_.counts) log(source, wanted, code);
    std::memcpy(copy.data, from, static_cast<size_t>(wanted));
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(to);
  const AgentAccess write = thread_access(address, bytes, true, code);
  if (!shadow_.begin_copy(write, clocks_.view(running_), block_of(running_))) abandon();
  if (run_.counts) log(address, bytes, code);
  std::memset(to, 0xff, static_cast<size_t>(bytes));
  thread.copies.push_back(copy);
}

void EmulatedCluster::on_commit() { ++running().groups; }

void EmulatedCluster::on_wait(int pending, const void*) {
  Thread& thread = running();
  const int arrived = thread.groups - pending;
  auto copy = thread.copies.begin();
  for (; copy != thread.copies.end() && copy->group < arrived; ++copy) {
    std::memcpy(copy->to, copy->data, static_cast<size_t>(copy->bytes));
    shadow_.end_copy(
        thread_access(reinterpret_cast<uintptr_t>(copy->to), copy->bytes, true, copy->code),
        block_of(running_));
  }
  thread.copies.erase(thread.copies.begin(), copy);
}

void EmulatedCluster::log(uintptr_t address, int64_t bytes, uint32_t code) {
  const Place place = shadow_.locate(address, block_of(running_));
  lanes_[static_cast<size_t>(running_)].push_back(
      {code, static_cast<uint8_t>(std::min<int64_t>(bytes, 255)),
       place.space == Place::Space::shared,
       place.space == Place::Space::shared ? static_cast<uint64_t>(place.offset) : address});
}

void EmulatedCluster::flush_counts() {
  for (size_t first = 0; first < lanes_.size(); first += kWarp) counts_.add_warp(lanes_, first);
}

}  // namespace tilewright::runtime
