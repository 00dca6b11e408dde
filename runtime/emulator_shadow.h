// Checks every access of the block that one thread of the emulator runs.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/runtime/emulator_run.h"

namespace tilewright::runtime {

/// One access of one emulated thread.
struct BlockAccess {
  uintptr_t address = 0;
  int64_t bytes = 0;
  bool write = false;
  bool aligned = true;  ///< must be a multiple of its size
  uint32_t code = 0;
  int thread = 0;
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

class BlockShadow {
 public:
  BlockShadow(EmulatorRun& run, std::byte* shared);

  void begin_block(int64_t block);
  /// All threads passed a barrier: what was before is ordered before what follows.
  void barrier() { ++epoch_; }

  /// Checks and notes an access; false, with a finding, when it must not be made.
  bool access(const BlockAccess& access);
  /// The destination of an asynchronous copy at its issue; from then on nobody may touch it.
  bool begin_copy(const BlockAccess& write);
  /// The same when the thread has waited for the copy: to others it is a write of this moment.
  void end_copy(const BlockAccess& write);

  Place locate(uintptr_t address);

 private:
  bool check_place(const BlockAccess& access, const Place& place);
  bool check_cell(const BlockAccess& access, const Place& place, int64_t index, MemoryCell& cell);
  void note_in_grid(const BlockAccess& access, const Place& place, int64_t index, MemoryCell& cell);
  void refresh(MemoryCell& cell) const;
  void race(const BlockAccess& access, const Place& place, int64_t index, AccessSite other);
  std::string where(const Place& place, int64_t offset, int64_t bytes) const;
  AccessSite site(const BlockAccess& access) const;

  EmulatorRun& run_;
  uintptr_t shared_;
  std::vector<MemoryCell> shared_cells_;
  std::vector<std::vector<MemoryCell>> region_cells_;
  int64_t block_ = 0;
  uint32_t epoch_ = 0, runs_ = 0;
};

}  // namespace tilewright::runtime
