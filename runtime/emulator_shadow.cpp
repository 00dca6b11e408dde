#include "tilewright/runtime/emulator_shadow.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright::runtime {
namespace {

const char* verb(bool write) { return write ? "write" : "read"; }

// A reader of this epoch other than `thread`, or kNoThread.
std::pair<uint16_t, uint32_t> other_reader(const MemoryCell& cell, int thread) {
  for (int i = 0; i < 2; ++i)
    if (cell.reader[i] != kNoThread && cell.reader[i] != thread)
      return {cell.reader[i], cell.read_code[i]};
  return {kNoThread, 0};
}

}  // namespace

BlockShadow::BlockShadow(EmulatorRun& run, std::byte* shared)
    : run_(run),
      shared_(reinterpret_cast<uintptr_t>(shared)),
      shared_cells_(static_cast<size_t>(run.shared_bytes)) {
  for (const MemoryRegion& region : run.memory.regions())
    region_cells_.emplace_back(static_cast<size_t>(region.bytes / region.element) + 1);
}

void BlockShadow::begin_block(int64_t block) {
  block_ = block;
  ++epoch_;
  ++runs_;
}

Place BlockShadow::locate(uintptr_t address) {
  Place place;
  if (MemoryRegion* region = run_.memory.region_at(address)) {
    place.space = Place::Space::tensor;
    place.region = region;
    place.offset = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(region->base));
    place.limit = region->bytes;
    place.element = region->element;
    place.cells = &region_cells_[static_cast<size_t>(region - run_.memory.regions().data())];
  } else if (run_.memory.reserved(address)) {
    place.space = Place::Space::shared;
    place.offset = static_cast<int64_t>(address - shared_);
    place.limit = run_.shared_bytes;
    place.cells = &shared_cells_;
  }
  return place;
}

AccessSite BlockShadow::site(const BlockAccess& access) const {
  return {access.code, block_, access.thread, verb(access.write)};
}

std::string BlockShadow::where(const Place& place, int64_t offset, int64_t bytes) const {
  const std::string range = bytes == 1 ? fmt::format("byte {}", offset)
                                       : fmt::format("bytes {} to {}", offset, offset + bytes - 1);
  if (place.space == Place::Space::shared) return range + " of shared memory";
  return fmt::format("{} of '{}'", range, place.region->name);
}

bool BlockShadow::check_place(const BlockAccess& access, const Place& place) {
  if (place.space == Place::Space::outside) {
    run_.findings.add(FindingKind::out_of_bounds,
                      fmt::format("{} bytes at an address that is in no tensor and not in shared "
                                  "memory",
                                  access.bytes),
                      {site(access)});
    return false;
  }
  if (place.offset < 0 || place.offset + access.bytes > place.limit) {
    run_.findings.add(FindingKind::out_of_bounds,
                      fmt::format("{}, which has {} bytes",
                                  where(place, place.offset, access.bytes), place.limit),
                      {site(access)});
    return false;
  }
  if (access.aligned && access.address % static_cast<uintptr_t>(access.bytes) != 0)
    run_.findings.add(FindingKind::misaligned,
                      fmt::format("{} at once, from an address that is no multiple of {}",
                                  where(place, place.offset, access.bytes), access.bytes),
                      {site(access)});
  return true;
}

void BlockShadow::refresh(MemoryCell& cell) const {
  if (cell.run != runs_) {
    cell.run = runs_;
    cell.written = cell.in_flight = cell.noted_read = cell.noted_write = false;
  }
  if (cell.epoch != epoch_) {
    cell.epoch = epoch_;
    cell.writer = cell.reader[0] = cell.reader[1] = kNoThread;
  }
}

void BlockShadow::race(const BlockAccess& access, const Place& place, int64_t index,
                       AccessSite other) {
  const bool shared = place.space == Place::Space::shared;
  const std::string order =
      other.block == block_ ? "no barrier is between" : "blocks of one grid run in any order";
  run_.findings.add(shared ? FindingKind::shared_race : FindingKind::global_race,
                    where(place, index * place.element, place.element) + ": " + order,
                    {site(access), std::move(other)});
}

bool BlockShadow::check_cell(const BlockAccess& access, const Place& place, int64_t index,
                             MemoryCell& cell) {
  const int64_t offset = index * place.element;
  if (cell.in_flight) {
    run_.findings.add(FindingKind::copy_in_flight,
                      fmt::format("{}: an asynchronous copy to it may not have arrived",
                                  where(place, offset, place.element)),
                      {site(access), {cell.copy_code, block_, cell.copier, "asynchronous copy"}});
    return false;
  }
  if (cell.writer != kNoThread && cell.writer != access.thread) {
    race(access, place, index, {cell.write_code, block_, cell.writer, "write"});
    return false;
  }
  if (access.write) {
    if (const auto [reader, code] = other_reader(cell, access.thread); reader != kNoThread) {
      race(access, place, index, {code, block_, reader, "read"});
      return false;
    }
    return true;
  }
  if (place.space == Place::Space::shared
          ? !cell.written
          : place.region->written != nullptr && !place.region->written[index].load()) {
    const bool shared = place.space == Place::Space::shared;
    run_.findings.add(shared ? FindingKind::unwritten_shared : FindingKind::unwritten_output,
                      where(place, offset, place.element) + " was never written", {site(access)});
    return false;
  }
  return true;
}

// Races between blocks: the first access of each kind by this block is compared with those of
// others, under the element's lock.
void BlockShadow::note_in_grid(const BlockAccess& access, const Place& place, int64_t index,
                               MemoryCell& cell) {
  bool& noted = access.write ? cell.noted_write : cell.noted_read;
  if (noted) return;
  noted = true;
  MemoryRegion& region = *place.region;
  if (access.write) std::atomic_ref<bool>(region.dirty).store(true, std::memory_order_relaxed);
  const uint32_t self = static_cast<uint32_t>(block_) + 1;
  AccessSite other{0, -1, 0, "write"};
  {
    std::lock_guard lock(run_.memory.lock_of(region.base + index * region.element));
    GridCell& seen = region.grid[static_cast<size_t>(index)];
    if (seen.writer != 0 && seen.writer != self)
      other = {seen.write_code, int64_t{seen.writer} - 1, seen.write_thread, "write"};
    for (int i = 0; i < 2 && access.write; ++i)
      if (other.block < 0 && seen.reader[i] != 0 && seen.reader[i] != self)
        other = {seen.read_code[i], int64_t{seen.reader[i]} - 1, seen.read_thread[i], "read"};
    if (access.write) {
      seen.writer = self;
      seen.write_code = access.code;
      seen.write_thread = static_cast<uint16_t>(access.thread);
    } else if (seen.reader[0] == 0 || (seen.reader[1] == 0 && seen.reader[0] != self)) {
      const int slot = seen.reader[0] != 0;
      seen.reader[slot] = self;
      seen.read_code[slot] = access.code;
      seen.read_thread[slot] = static_cast<uint16_t>(access.thread);
    }
  }
  if (other.block >= 0) race(access, place, index, std::move(other));
}

bool BlockShadow::access(const BlockAccess& access) {
  const Place place = locate(access.address);
  if (!check_place(access, place)) return false;
  bool checked = true;  // one finding for an access of several elements is enough
  const int64_t last = (place.offset + access.bytes - 1) / place.element;
  for (int64_t index = place.offset / place.element; index <= last; ++index) {
    MemoryCell& cell = (*place.cells)[static_cast<size_t>(index)];
    refresh(cell);
    checked = checked && check_cell(access, place, index, cell);
    const uint16_t self = static_cast<uint16_t>(access.thread);
    if (access.write) {
      cell.writer = self;
      cell.write_code = access.code;
      cell.written = true;
    } else {
      const int slot = cell.reader[0] == kNoThread || cell.reader[0] == self ? 0 : 1;
      if (cell.reader[slot] == kNoThread) {
        cell.reader[slot] = self;
        cell.read_code[slot] = access.code;
      }
    }
    if (place.space != Place::Space::tensor) continue;
    note_in_grid(access, place, index, cell);
    if (access.write && place.region->written != nullptr)
      place.region->written[static_cast<size_t>(index)].store(true);
  }
  return true;
}

bool BlockShadow::begin_copy(const BlockAccess& write) {
  if (!access(write)) return false;
  const Place place = locate(write.address);
  for (int64_t i = place.offset; i < place.offset + write.bytes; ++i) {
    MemoryCell& cell = (*place.cells)[static_cast<size_t>(i)];
    cell.in_flight = true;
    cell.copier = static_cast<uint16_t>(write.thread);
    cell.copy_code = write.code;
  }
  return true;
}

void BlockShadow::end_copy(const BlockAccess& write) {
  const Place place = locate(write.address);
  for (int64_t i = place.offset; i < place.offset + write.bytes; ++i) {
    MemoryCell& cell = (*place.cells)[static_cast<size_t>(i)];
    // A later copy to the same place was reported, and is the one that is in flight.
    if (cell.copier == write.thread) cell.in_flight = false;
    refresh(cell);
    cell.writer = static_cast<uint16_t>(write.thread);
    cell.write_code = write.code;
  }
}

}  // namespace tilewright::runtime
