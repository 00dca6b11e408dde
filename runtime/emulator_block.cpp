#include "tilewright/runtime/emulator_block.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tilewright/ir/error.h"

namespace tilewright::runtime {
namespace {

constexpr int kWarp = 32;
constexpr size_t kStack = 256 * 1024;  // the lowest page of each is a guard

thread_local EmulatedBlock* current_block = nullptr;

}  // namespace

EmulatedBlock& EmulatedBlock::current() { return *current_block; }

EmulatedBlock::EmulatedBlock(EmulatorRun& run, int slot)
    : run_(run),
      shared_(run.memory.shared(slot)),
      shadow_(run, shared_),
      threads_(static_cast<size_t>(run.threads)),
      warps_(static_cast<size_t>((run.threads + kWarp - 1) / kWarp)),
      lanes_(run.counts ? static_cast<size_t>(run.threads) : 0) {
  stacks_bytes_ = threads_.size() * kStack;
  void* stacks = ::mmap(nullptr, stacks_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) raise(ErrorId::host_out_of_memory, {}, stacks_bytes_);
  stacks_ = static_cast<std::byte*>(stacks);
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < threads_.size(); ++i) {
    ::mprotect(stacks_ + i * kStack, page, PROT_NONE);
    threads_[i].run = run_thread;
    threads_[i].block = this;
  }
}

EmulatedBlock::~EmulatedBlock() { ::munmap(stacks_, stacks_bytes_); }

void EmulatedBlock::run_blocks() {
  current_block = this;
  while (!run_.stopped) {
    const int64_t block = run_.next_block++;
    if (block >= run_.grid) break;
    run_block(block);
  }
  current_block = nullptr;
}

void EmulatedBlock::run_block(int64_t block) {
  block_ = block;
  abandoned_ = false;
  shadow_.begin_block(block);
  // What nobody writes must not look like what an earlier block left.
  std::memset(shared_, 0xff, static_cast<size_t>(run_.shared_bytes));
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.context = make_fiber(stacks_ + (i + 1) * kStack, kStack);
    thread.state = State::ready;
    thread.groups = thread.arrived = 0;
    thread.copies.clear();
  }
  std::ranges::fill(warps_, Warp{});
  while (!abandoned_)
    if (!resume_ready() && !pass_barrier()) break;
  if (!abandoned_ && std::ranges::any_of(threads_, [](const Thread& thread) {
        return thread.state != State::ended;
      }))
    report_stuck();
  flush_counts();
}

void EmulatedBlock::run_thread(FiberStart& self, FiberContext from) {
  Thread& thread = static_cast<Thread&>(self);
  EmulatedBlock& block = *thread.block;
  block.scheduler_ = from;
  block.run_.module.entry()(block.run_.params);
  thread.state = State::ended;
  block.check_ended(thread);
  block.suspend();
}

// Runs every thread that can, until it waits or ends; whether there was one.
bool EmulatedBlock::resume_ready() {
  bool any = false;
  for (size_t i = 0; i < threads_.size() && !abandoned_; ++i) {
    if (threads_[i].state != State::ready) continue;
    any = true;
    running_ = static_cast<int>(i);
    threads_[i].context = switch_fiber(threads_[i].context, &threads_[i]);
  }
  return any;
}

void EmulatedBlock::suspend() { scheduler_ = switch_fiber(scheduler_, nullptr); }

// Leaves the running thread for good, and with it the block.
void EmulatedBlock::abandon() {
  abandoned_ = true;
  run_.stopped = true;
  for (;;) suspend();
}

bool EmulatedBlock::pass_barrier() {
  for (const Thread& thread : threads_)
    if (thread.state != State::at_barrier || thread.line != threads_[0].line) return false;
  for (Thread& thread : threads_) thread.state = State::ready;
  shadow_.barrier();
  flush_counts();
  ++run_.barriers;
  return true;
}

// No thread can go on and no barrier is complete: who waits for what.
void EmulatedBlock::report_stuck() {
  bool shuffle = false;
  std::map<std::pair<State, int>, std::vector<int>> groups;
  for (size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    shuffle |= thread.state == State::at_shuffle;
    groups[{thread.state, thread.state == State::at_barrier ? thread.line : 0}].push_back(
        static_cast<int>(i));
  }
  std::vector<AccessSite> sites;
  std::string what;
  for (const auto& [key, members] : groups) {
    const Thread& first = threads_[static_cast<size_t>(members[0])];
    const char* does = key.first == State::ended        ? "ended"
                       : key.first == State::at_barrier ? "wait at a barrier"
                                                        : "wait for lanes of their warp";
    what += fmt::format("{}{} of {} threads {}", what.empty() ? "" : ", ", members.size(),
                        threads_.size(), does);
    if (key.first == State::ended)
      sites.push_back({0, block_, members[0], "end of the kernel"});
    else if (key.first == State::at_barrier)
      sites.push_back({0, block_, members[0], "wait at a barrier", first.line});
    else
      sites.push_back({first.code, block_, members[0], "wait in a shuffle"});
  }
  run_.findings.add(shuffle ? FindingKind::deadlock : FindingKind::divergent_barrier, what,
                    std::move(sites));
  run_.stopped = true;
}

void EmulatedBlock::check_ended(const Thread& thread) {
  if (thread.copies.empty()) return;
  run_.findings.add(FindingKind::copy_pending,
                    fmt::format("{} asynchronous copies were not waited for", thread.copies.size()),
                    {{thread.copies[0].code, block_, running_, "asynchronous copy"}});
}

uint32_t EmulatedBlock::code_of(const void* pc) const {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - run_.module.begin());
}

void EmulatedBlock::on_access(uintptr_t address, int64_t bytes, int kind, const void* pc) {
  if (address - reinterpret_cast<uintptr_t>(stacks_) < stacks_bytes_) return;
  if (run_.module.contains(address)) return;
  const BlockAccess access{address, bytes, (kind & 1) != 0, (kind & 2) == 0, code_of(pc), running_};
  if (!shadow_.access(access)) abandon();
  if (run_.counts) log(address, bytes, access.code);
}

void EmulatedBlock::on_barrier(int line, const void* pc) {
  Thread& thread = threads_[static_cast<size_t>(running_)];
  thread.state = State::at_barrier;
  thread.line = line;
  thread.code = code_of(pc);
  suspend();
}

unsigned EmulatedBlock::on_shuffle(unsigned word, int lane, bool exclusive_or, const void* pc) {
  const int self = running_ % kWarp;
  const size_t number = static_cast<size_t>(running_ / kWarp);
  Warp& warp = warps_[number];
  unsigned* words = warp.words[warp.shuffles % 2];
  words[self] = word;
  const size_t first = number * kWarp;
  const int lanes = std::min<int>(kWarp, static_cast<int>(threads_.size() - first));
  if (++warp.waiting == lanes) {
    warp.waiting = 0;
    ++warp.shuffles;
    for (int i = 0; i < lanes; ++i) {
      Thread& other = threads_[first + static_cast<size_t>(i)];
      if (other.state == State::at_shuffle) other.state = State::ready;
    }
  } else {
    Thread& thread = threads_[static_cast<size_t>(running_)];
    thread.state = State::at_shuffle;
    thread.code = code_of(pc);
    suspend();
  }
  const int source = exclusive_or ? self ^ lane : lane % kWarp;
  return source >= 0 && source < lanes ? words[source] : word;
}

void EmulatedBlock::on_copy(void* to, const void* from, int bytes, int read, const void* pc) {
  Thread& thread = threads_[static_cast<size_t>(running_)];
  const uint32_t code = code_of(pc);
  Copy copy{static_cast<std::byte*>(to), bytes, thread.groups, code};
  const int64_t wanted = std::clamp(read, 0, bytes);
  if (wanted > 0) {
    const uintptr_t source = reinterpret_cast<uintptr_t>(from);
    if (source % static_cast<uintptr_t>(bytes) != 0)
      run_.findings.add(FindingKind::misaligned,
                        fmt::format("an asynchronous copy of {} bytes from an address that is no "
                                    "multiple of that",
                                    bytes),
                        {{code, block_, running_, "read"}});
    if (!shadow_.access({source, wanted, false, false, code, running_})) abandon();
    if (run_.counts) log(source, wanted, code);
    std::memcpy(copy.data, from, static_cast<size_t>(wanted));
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(to);
  if (!shadow_.begin_copy({address, bytes, true, true, code, running_})) abandon();
  if (run_.counts) log(address, bytes, code);
  std::memset(to, 0xff, static_cast<size_t>(bytes));
  thread.copies.push_back(copy);
}

void EmulatedBlock::on_commit() { ++threads_[static_cast<size_t>(running_)].groups; }

void EmulatedBlock::on_wait(int pending, const void*) {
  Thread& thread = threads_[static_cast<size_t>(running_)];
  const int arrived = thread.groups - pending;
  auto copy = thread.copies.begin();
  for (; copy != thread.copies.end() && copy->group < arrived; ++copy) {
    std::memcpy(copy->to, copy->data, static_cast<size_t>(copy->bytes));
    shadow_.end_copy(
        {reinterpret_cast<uintptr_t>(copy->to), copy->bytes, true, true, copy->code, running_});
  }
  thread.copies.erase(thread.copies.begin(), copy);
}

void EmulatedBlock::log(uintptr_t address, int64_t bytes, uint32_t code) {
  const Place place = shadow_.locate(address);
  lanes_[static_cast<size_t>(running_)].push_back(
      {code, static_cast<uint8_t>(std::min<int64_t>(bytes, 255)),
       place.space == Place::Space::shared,
       place.space == Place::Space::shared ? static_cast<uint64_t>(place.offset) : address});
}

void EmulatedBlock::flush_counts() {
  for (size_t first = 0; first < lanes_.size(); first += kWarp) counts_.add_warp(lanes_, first);
}

}  // namespace tilewright::runtime
