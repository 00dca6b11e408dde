// Memory of an emulated launch: tensors far apart from each other, and who touched what.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tilewright/runtime/emulator.h"

namespace tilewright::runtime {

inline constexpr uint16_t kNoAgent = 0xffff;
inline constexpr uint8_t kAnyPattern = 0xff;

/// What a cluster of blocks knows about one element of memory: the last writer, and readers since
/// that do not know of each other, as far as there is room. Two are enough where all threads meet
/// at barriers: one of them is another than any given writer.
struct MemoryCell {
  static constexpr int kReaders = 3;
  uint32_t run = 0;  ///< the cluster that the rest is of
  uint32_t write_clock = 0, write_code = 0;
  uint32_t read_clock[kReaders] = {}, read_code[kReaders] = {};
  uint16_t writer = kNoAgent;
  uint16_t issuer = 0;  ///< the thread that wrote, or let an asynchronous unit write
  uint16_t reader[kReaders] = {kNoAgent, kNoAgent, kNoAgent};
  uint8_t pattern = kAnyPattern;  ///< in which bulk copies arranged it; bytes of a row
  bool written = false;           ///< by this cluster
  bool generic = false;           ///< by a thread itself
  bool in_flight = false;         ///< a copy of a thread will write it
  bool noted_read = false;        ///< known to the whole grid (tensors only)
  bool noted_write = false;       ///< likewise
  bool noted_atomic = false;      ///< likewise
  bool atomic = false;            ///< the last write was an atomic
  uint32_t noted_after = 0;       ///< releases of the cluster when these were noted
};

/// What the grid knows about one element of a tensor: one writer and two readers of different
/// clusters, blocks numbered from 1 (0: none).
struct GridCell {
  uint32_t writer = 0, write_code = 0;
  uint32_t reader[2] = {}, read_code[2] = {};
  uint16_t write_thread = 0, read_thread[2] = {};
  uint32_t write_after = 0, read_after[2] = {};  ///< releases of that cluster before it
  bool atomic = false;                           ///< the write was an atomic
};

/// Tensors with bytes in common, copied to a place of their own.
struct MemoryRegion {
  std::string name;           ///< of the tensors
  uintptr_t original = 0;     ///< where the caller has it
  std::byte* base = nullptr;  ///< where the kernel sees it
  int64_t bytes = 0;
  int element = 1;  ///< bytes of a cell: the smallest element
  bool defined = true;
  bool dirty = false;               ///< a kernel wrote to it; changed as an atomic
  std::vector<GridCell> grid = {};  ///< of the running kernel
  std::unique_ptr<std::atomic<bool>[]> written = {};  ///< by any block; for regions not defined
};

/// A reserved range of addresses in which every region has gigabytes around it that hold nothing,
/// so that a wrong index meets no other tensor.
class EmulatorMemory {
 public:
  /// Copies the tensors in. `workspace` gives sizes of further tensors, in bytes; `shared_bytes`,
  /// for each of `blocks` that run at one time, is room for its shared memory, which starts at a
  /// multiple of 4096. Raises host_out_of_memory.
  EmulatorMemory(std::span<const EmulatorArgument> arguments, std::span<const std::string> names,
                 std::span<const int64_t> workspace, int64_t shared_bytes, int blocks);
  ~EmulatorMemory();
  EmulatorMemory(const EmulatorMemory&) = delete;
  EmulatorMemory& operator=(const EmulatorMemory&) = delete;

  /// What the kernel gets for tensor `source`: arguments first, then workspace.
  void* pointer(int source) const { return pointers_[static_cast<size_t>(source)]; }
  std::byte* shared(int block) const { return shared_[static_cast<size_t>(block)]; }
  std::vector<MemoryRegion>& regions() { return regions_; }
  /// The region whose surroundings hold the address; null for none.
  MemoryRegion* region_at(uintptr_t address);
  bool reserved(uintptr_t address) const { return address - begin_ < size_; }

  /// Forgets who touched what, before another kernel of a plan.
  void begin_kernel();
  /// Copies regions that were written back to the caller.
  void copy_back() const;

  /// The lock of an element's GridCell.
  std::mutex& lock_of(const void* address) {
    return locks_[reinterpret_cast<uintptr_t>(address) >> 8 & (kLocks - 1)];
  }

 private:
  static constexpr size_t kLocks = 256;

  std::byte* place(size_t slot, int64_t bytes, uintptr_t like);
  void add_regions(std::span<const EmulatorArgument> arguments, std::span<const std::string> names);

  uintptr_t begin_ = 0;
  size_t size_ = 0;
  std::vector<MemoryRegion> regions_;
  std::vector<void*> pointers_;
  std::vector<std::byte*> shared_;
  std::unique_ptr<std::mutex[]> locks_;
};

}  // namespace tilewright::runtime
