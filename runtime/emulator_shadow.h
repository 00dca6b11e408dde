// Checks every access of the cluster of blocks that one thread of the emulator runs.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/runtime/emulator_clock.h"
#include "tilewright/runtime/emulator_run.h"

namespace tilewright::runtime {

/// Who can touch memory: a thread, or an asynchronous unit that a thread sets going.
struct Agent {
  enum class Kind : uint8_t {
    thread,
    bulk_load,    ///< those that arrive at one barrier
    store_read,   ///< bulk stores of one thread, what they read
    store_write,  ///< and what they write
    product,      ///< of one warpgroup
  } kind = Kind::thread;
  int block = 0;   ///< in the cluster
  int thread = 0;  ///< of the block: itself, or one that sets it going
};

/// One access by one agent.
struct AgentAccess {
  uintptr_t address = 0;
  int64_t bytes = 0;
  bool write = false;
  bool atomic = false;    ///< a write that reads too, and needs no order among others of its kind
  bool releases = false;  ///< an atomic: who acquires from it knows what was done before
  bool aligned = true;    ///< must be a multiple of its size
  uint32_t code = 0;
  int agent = 0;
  Clock when = 0;                 ///< of the agent
  int issuer = 0;                 ///< the thread that does it or sets it going
  uint8_t pattern = kAnyPattern;  ///< of an asynchronous unit in shared memory
};

/// Where an address is.
struct Place {
  enum class Space : uint8_t { shared, tensor, outside } space = Space::outside;
  MemoryRegion* region = nullptr;  ///< of a tensor
  int64_t offset = 0;              ///< bytes from the start of the region or of shared memory
  int64_t limit = 0;               ///< bytes there are
  int element = 1;
  std::vector<MemoryCell>* cells = nullptr;
};

class ClusterShadow {
 public:
  /// `shared`: the memory of each block.
  ClusterShadow(EmulatorRun& run, std::vector<std::byte*> shared, const std::vector<Agent>& agents);

  void begin_cluster(int64_t first_block);

  /// Checks and notes an access, made at a moment at which `view` is known; false, with a finding,
  /// when it must not be made. The shared memory is that of block `block` of the cluster.
  bool access(const AgentAccess& access, const View& view, int block);
  /// The destination of a thread's asynchronous copy at its issue; from then on nobody may touch
  /// it.
  bool begin_copy(const AgentAccess& write, const View& view, int block);
  /// The same when the thread has waited for the copy: to others it is a write of this moment.
  void end_copy(const AgentAccess& write, int block);

  /// After an atomic that acquires: what was released with its element is known.
  void acquire(uintptr_t address) { run_.order.acquire(address, known_); }

  Place locate(uintptr_t address, int block);
  /// "bytes 4 to 7 of shared memory", "byte 3 of 'a'".
  std::string where(const Place& place, int64_t offset, int64_t bytes) const;
  /// Who, for findings.
  AccessSite site(int agent, int issuer, uint32_t code, bool write) const;

 private:
  bool check_place(const AgentAccess& access, const Place& place);
  bool check_cell(const AgentAccess& access, const View& view, const Place& place, int64_t index,
                  const MemoryCell& cell);
  bool check_proxy(const AgentAccess& access, const View& view, const Place& place, int64_t index,
                   const MemoryCell& cell);
  void note(const AgentAccess& access, const View& view, MemoryCell& cell);
  void note_in_grid(const AgentAccess& access, const Place& place, int64_t index, MemoryCell& cell);
  void refresh(MemoryCell& cell) const;
  bool is_unordered(uint32_t block, uint32_t after) const;
  void conflict(const AgentAccess& access, const Place& place, int64_t index, int other,
                AccessSite site, bool other_wrote);

  EmulatorRun& run_;
  const std::vector<Agent>& agents_;
  std::vector<uintptr_t> shared_;
  std::vector<std::vector<MemoryCell>> shared_cells_;  // of each block
  std::vector<std::vector<MemoryCell>> region_cells_;
  int64_t first_block_ = 0;
  KnownReleases known_;    // of other clusters, and of this one how many there were
  uint32_t releases_ = 0;  // of this cluster
  uint32_t runs_ = 0;
};

}  // namespace tilewright::runtime
