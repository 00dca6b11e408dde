// Runs clusters of blocks, one after the other, on fibers of one thread of the emulator. A kernel
// without clusters has clusters of one block; all blocks of a cooperative launch are run as one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "tilewright/runtime/emulator_clock.h"
#include "tilewright/runtime/emulator_counts.h"
#include "tilewright/runtime/emulator_product.h"
#include "tilewright/runtime/emulator_run.h"
#include "tilewright/runtime/emulator_shadow.h"
#include "tilewright/runtime/emulator_sync.h"
#include "tilewright/runtime/fiber.h"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::runtime {

/// Fills the table of hooks of a loaded kernel.
void fill_hooks(const SharedLibrary& library);

/// The threads of a cluster, numbered through its blocks. Everything that emulated code calls acts
/// on the one that runs on the calling thread of the machine.
class EmulatedCluster {
 public:
  /// `slot`: which shared memories of EmulatorMemory. Raises host_out_of_memory.
  EmulatedCluster(EmulatorRun& run, int slot);
  ~EmulatedCluster();
  EmulatedCluster(const EmulatedCluster&) = delete;
  EmulatedCluster& operator=(const EmulatedCluster&) = delete;

  /// Runs clusters until the grid has none left or the run is stopped.
  void run_clusters();
  const AccessCounts& counts() const { return counts_; }

  // What hooks do, for the emulated thread that runs.
  static EmulatedCluster& current();
  void on_access(uintptr_t address, int64_t bytes, int kind, const void* pc);
  void on_barrier(int line, const void* pc);
  unsigned on_shuffle(unsigned word, int lane, bool exclusive_or, const void* pc);
  void on_copy(void* to, const void* from, int bytes, int read, const void* pc);
  void on_commit();
  void on_wait(int pending, const void* pc);

  void on_sync_warp(const void* pc);
  void on_named_barrier(int barrier, int threads, const void* pc);
  void on_cluster_sync(const void* pc);
  void on_grid_barrier(int* arrivals, const void* pc);
  void on_step(const void* pc);
  void on_registers(int count, bool up, const void* pc);
  void on_proxy_fence();
  /// A word to the same place in another block's shared memory.
  void on_store_at(void* at, int block, unsigned word, const void* pc);
  /// A tw::device_assert of the user's: nothing runs any further.
  void on_assert_failed(const char* message, Loc loc);

  void on_mbarrier_init(void* barrier, int arrivals, const void* pc);
  void on_mbarrier_fence();
  void on_mbarrier_expect(void* barrier, int bytes, const void* pc);
  /// At the same barrier of block `block` of the cluster, -1: the thread's own.
  void on_mbarrier_arrive(void* barrier, int block, const void* pc);
  void on_mbarrier_wait(void* barrier, unsigned parity, const void* pc);

  /// `blocks` is a mask, 0: the thread's own block.
  void on_bulk_load(void* to, const void* map, void* barrier, unsigned blocks,
                    std::span<const int> at, const void* pc);
  void on_bulk_store(const void* map, const void* from, std::span<const int> at, const void* pc);
  void on_bulk_commit();
  void on_bulk_wait(int pending, bool read);

  void on_product_fence(const void* pc);
  void on_product(const ProductCall& call, const void* pc);
  void on_product_commit(const void* pc);
  void on_product_wait(int pending, const void* pc);

  std::byte* shared() const { return shared_[static_cast<size_t>(block_of(running_))]; }
  unsigned thread() const { return static_cast<unsigned>(running_ % run_.threads); }
  unsigned rank() const { return static_cast<unsigned>(block_of(running_)); }
  unsigned block() const { return static_cast<unsigned>(first_block_) + rank(); }
  unsigned grid() const { return static_cast<unsigned>(run_.grid); }

 private:
  enum class Wait : uint8_t {
    none,
    ended,
    block_barrier,
    named_barrier,
    cluster_barrier,
    grid_barrier,
    warp,
    mbarrier,
    registers,
    products,
  };

  struct Copy {
    std::byte* to = nullptr;
    int bytes = 0, group = 0;
    uint32_t code = 0;
    unsigned char data[16] = {};
  };

  struct Thread : FiberStart {
    EmulatedCluster* cluster = nullptr;
    FiberContext context = nullptr;
    Wait wait = Wait::none;
    int line = 0;        // of the barrier
    uint32_t code = 0;   // of what it waits at
    int64_t object = 0;  // a named barrier's number, an mbarrier's place, a count of registers
    unsigned parity = 0;
    WarpOp op = WarpOp::none;       // of its warp
    int waits = 0;                  // at mbarriers since its warp met
    int64_t steps = 0;              // iterations of while loops
    int groups = 0;                 // of copies, committed so far
    std::vector<Copy> copies = {};  // in flight, oldest first
    // Bulk stores: the agents of their reads and writes, issued in the open group and groups.
    int store_agent = -1;
    int stores_open = 0, store_groups = 0, store_groups_read = 0;
    uint32_t store_code = 0, product_code = 0;  // of the last
    std::vector<int64_t> inits = {};            // mbarriers initialized and not fenced
  };

  // A bulk load that has not arrived.
  struct Load {
    std::vector<std::pair<int, int64_t>> barriers;  // block, place
    std::vector<Clock> when;                        // of each barrier's agent
    std::vector<std::pair<int64_t, std::array<unsigned char, 16>>> pieces;  // place, data
    int64_t bytes = 0;
    uint32_t code = 0;
    int issuer = 0;
  };

  // Running threads.
  static void run_thread(FiberStart& self, FiberContext from);
  void run_cluster(int64_t first_block);
  void reset();
  bool resume_ready();
  void suspend();
  void block_on(Wait wait, const void* pc, int64_t object = 0);
  void wake(int thread) { threads_[static_cast<size_t>(thread)].wait = Wait::none; }
  [[noreturn]] void abandon();
  void check_ended(int thread);
  void report_stuck();
  std::string waits_for(int thread) const;
  void report(FindingKind kind, std::string what, const void* pc, const char* site);

  // Meeting.
  void meet(Meeting& meeting, Wait wait, const void* pc, int64_t object = 0);
  std::string wrong_arrivals(const int* arrivals) const;
  void converge(WarpOp op, const void* pc);
  void finish_warp(size_t number, const void* pc);
  void give_registers(int block);
  Mbarrier& mbarrier_at(const void* barrier, int block, const void* pc);
  void check_written(const Mbarrier& mbarrier, int64_t place, int block, const void* pc);
  void arrive(Mbarrier& mbarrier, const void* pc);
  void note_remote_use(int block, int agent, Clock when, const void* pc);
  void check_remote_uses();
  void try_complete(Mbarrier& mbarrier);

  // Bulk copies.
  const EmulatedTensorMap& checked_map(const void* map, int64_t place, std::span<const int> at,
                                       const void* pc);
  Load begin_load(const EmulatedTensorMap& map, int64_t place, std::span<const int> at, int agent,
                  Clock when, const void* pc);
  bool complete_load();

  // Products.
  Warpgroup& warpgroup() { return warpgroups_[static_cast<size_t>(running_ / kWarpgroup)]; }
  Warpgroup::Lane& lane() { return warpgroup().lanes[static_cast<size_t>(running_ % kWarpgroup)]; }
  void take_sums(Warpgroup::Lane& lane, const ProductCall& call, const void* pc);
  void execute(Warpgroup& group, const Warpgroup::Product& product);
  OperandValues read_operand(const Warpgroup& group, const Warpgroup::Product& product,
                             const ProductOperand& operand, int extent, ProductType type,
                             const View& view);
  void check_sums(uintptr_t address, int64_t bytes, bool write, const void* pc);

  int block_of(int thread) const { return thread / run_.threads; }
  int64_t place_of(const void* address, int block) const {
    return static_cast<const std::byte*>(address) - shared_[static_cast<size_t>(block)];
  }
  Thread& running() { return threads_[static_cast<size_t>(running_)]; }
  BlockState& block_state() { return blocks_[static_cast<size_t>(block_of(running_))]; }
  uint32_t code_of(const void* pc) const;
  int add_agent(Agent agent);
  AgentAccess thread_access(uintptr_t address, int64_t bytes, bool write, uint32_t code) const;
  void flush_counts();
  void log(uintptr_t address, int64_t bytes, uint32_t code);

  EmulatorRun& run_;
  std::vector<std::byte*> shared_;
  std::vector<Agent> agents_;
  Clocks clocks_;
  ClusterShadow shadow_;
  std::byte* stacks_ = nullptr;
  size_t stacks_bytes_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Warpgroup> warpgroups_;
  std::vector<BlockState> blocks_;
  Meeting cluster_barrier_, grid_barrier_;
  std::deque<Load> loads_;
  FiberContext scheduler_ = nullptr;
  int running_ = 0;
  int64_t first_block_ = 0;
  bool abandoned_ = false;
  AccessCounts counts_;
  std::vector<std::vector<LaneAccess>> lanes_;
};

}  // namespace tilewright::runtime
