#include "tilewright/runtime/emulator_shadow.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright::runtime {
namespace {

const char* verb(Agent::Kind kind, bool write) {
  switch (kind) {
    case Agent::Kind::thread:
      return write ? "write" : "read";
    case Agent::Kind::bulk_load:
      return "bulk load";
    case Agent::Kind::store_read:
    case Agent::Kind::store_write:
      return "bulk store";
    case Agent::Kind::product:
      return "product";
  }
  return "access";
}

bool is_thread(const Agent& agent) { return agent.kind == Agent::Kind::thread; }

}  // namespace

ClusterShadow::ClusterShadow(EmulatorRun& run, std::vector<std::byte*> shared,
                             const std::vector<Agent>& agents)
    : run_(run), agents_(agents) {
  for (std::byte* memory : shared) {
    shared_.push_back(reinterpret_cast<uintptr_t>(memory));
    shared_cells_.emplace_back(static_cast<size_t>(run.shared_bytes));
  }
  for (const MemoryRegion& region : run.memory.regions())
    region_cells_.emplace_back(static_cast<size_t>(region.bytes / region.element) + 1);
}

void ClusterShadow::begin_cluster(int64_t first_block) {
  first_block_ = first_block;
  known_.clear();
  releases_ = 0;
  ++runs_;
}

Place ClusterShadow::locate(uintptr_t address, int block) {
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
    place.offset = static_cast<int64_t>(address - shared_[static_cast<size_t>(block)]);
    place.limit = run_.shared_bytes;
    place.cells = &shared_cells_[static_cast<size_t>(block)];
  }
  return place;
}

AccessSite ClusterShadow::site(int agent, int issuer, uint32_t code, bool write) const {
  const Agent& who = agents_[static_cast<size_t>(agent)];
  const Agent& thread = agents_[static_cast<size_t>(issuer)];
  return {code, first_block_ + thread.block, thread.thread, verb(who.kind, write)};
}

std::string ClusterShadow::where(const Place& place, int64_t offset, int64_t bytes) const {
  const std::string range = bytes == 1 ? fmt::format("byte {}", offset)
                                       : fmt::format("bytes {} to {}", offset, offset + bytes - 1);
  if (place.space == Place::Space::shared) return range + " of shared memory";
  return fmt::format("{} of '{}'", range, place.region->name);
}

bool ClusterShadow::check_place(const AgentAccess& access, const Place& place) {
  const auto found = [&](FindingKind kind, std::string what) {
    run_.findings.add(kind, std::move(what),
                      {site(access.agent, access.issuer, access.code, access.write)});
  };
  if (place.space == Place::Space::outside) {
    found(FindingKind::out_of_bounds,
          fmt::format("{} bytes at an address that is in no tensor and not in shared memory",
                      access.bytes));
    return false;
  }
  if (place.offset < 0 || place.offset + access.bytes > place.limit) {
    found(FindingKind::out_of_bounds,
          fmt::format("{}, which has {} bytes", where(place, place.offset, access.bytes),
                      place.limit));
    return false;
  }
  if (access.aligned && access.address % static_cast<uintptr_t>(access.bytes) != 0)
    found(FindingKind::misaligned,
          fmt::format("{} at once, from an address that is no multiple of {}",
                      where(place, place.offset, access.bytes), access.bytes));
  return true;
}

void ClusterShadow::refresh(MemoryCell& cell) const {
  if (cell.run == runs_) return;
  cell = MemoryCell{};
  cell.run = runs_;
}

// Two accesses that nothing orders.
void ClusterShadow::conflict(const AgentAccess& access, const Place& place, int64_t index,
                             int other, AccessSite other_site, bool other_wrote) {
  const std::string at = where(place, index * place.element, place.element);
  const Agent::Kind kind = agents_[static_cast<size_t>(other)].kind;
  const bool shared = place.space == Place::Space::shared;
  FindingKind finding = shared ? FindingKind::shared_race : FindingKind::global_race;
  std::string what = at + ": no barrier is between";
  if (kind == Agent::Kind::bulk_load) {
    finding = FindingKind::copy_in_flight;
    what = at + ": a bulk load to it may not have arrived";
  } else if (kind == Agent::Kind::store_write) {
    finding = FindingKind::copy_in_flight;
    what = at + ": a bulk store to it may not be complete";
  } else if (!other_wrote && kind != Agent::Kind::thread) {
    finding = FindingKind::operand_in_flight;
    what = fmt::format("{}: {} may still read it", at,
                       kind == Agent::Kind::product ? "a product" : "a bulk store");
  }
  run_.findings.add(
      finding, what,
      {site(access.agent, access.issuer, access.code, access.write), std::move(other_site)});
}

// What asynchronous units need beyond the order of accesses.
bool ClusterShadow::check_proxy(const AgentAccess& access, const View& view, const Place& place,
                                int64_t index, const MemoryCell& cell) {
  const int64_t offset = index * place.element;
  if (cell.generic && !view.fenced(cell.writer, cell.write_clock)) {
    run_.findings.add(FindingKind::fence_missing,
                      fmt::format("{}: written by a thread, no proxy fence is between",
                                  where(place, offset, place.element)),
                      {site(access.agent, access.issuer, access.code, access.write),
                       site(cell.writer, cell.issuer, cell.write_code, true)});
    return false;
  }
  if (access.write || access.pattern == kAnyPattern || cell.pattern == kAnyPattern ||
      access.pattern == cell.pattern)
    return true;
  run_.findings.add(FindingKind::bad_operand,
                    fmt::format("{}: read with a swizzle of {} bytes, written with one of {}",
                                where(place, offset, place.element), access.pattern, cell.pattern),
                    {site(access.agent, access.issuer, access.code, access.write),
                     site(cell.writer, cell.issuer, cell.write_code, true)});
  return false;
}

bool ClusterShadow::check_cell(const AgentAccess& access, const View& view, const Place& place,
                               int64_t index, const MemoryCell& cell) {
  const int64_t offset = index * place.element;
  const auto self = [&] { return site(access.agent, access.issuer, access.code, access.write); };
  if (cell.in_flight) {
    AccessSite copy = site(cell.writer, cell.issuer, cell.write_code, true);
    copy.what = "asynchronous copy";
    run_.findings.add(FindingKind::copy_in_flight,
                      fmt::format("{}: an asynchronous copy to it may not have arrived",
                                  where(place, offset, place.element)),
                      {self(), std::move(copy)});
    return false;
  }
  const bool both_atomic = access.atomic && cell.atomic;
  if (cell.writer != kNoAgent && !both_atomic && !view.sees(cell.writer, cell.write_clock)) {
    conflict(access, place, index, cell.writer,
             site(cell.writer, cell.issuer, cell.write_code, true), true);
    return false;
  }
  for (int i = 0; access.write && i < MemoryCell::kReaders; ++i) {
    const int reader = cell.reader[i];
    if (reader == kNoAgent || view.sees(reader, cell.read_clock[i])) continue;
    const Agent& who = agents_[static_cast<size_t>(reader)];
    AccessSite read{cell.read_code[i], first_block_ + who.block, who.thread, verb(who.kind, false)};
    conflict(access, place, index, reader, std::move(read), false);
    return false;
  }
  const bool shared = place.space == Place::Space::shared;
  if ((!access.write || access.atomic) &&
      (shared ? !cell.written
              : place.region->written != nullptr && !place.region->written[index].load())) {
    run_.findings.add(shared ? FindingKind::unwritten_shared : FindingKind::unwritten_output,
                      where(place, offset, place.element) + " was never written", {self()});
    return false;
  }
  if (shared && !is_thread(agents_[static_cast<size_t>(access.agent)]))
    return check_proxy(access, view, place, index, cell);
  return true;
}

/// Whether an access by `block` (numbered from 1), after so many releases of its cluster, is one of
/// another cluster that nothing orders before what this one does now.
bool ClusterShadow::is_unordered(uint32_t block, uint32_t after) const {
  if (block == 0) return false;
  const auto size = static_cast<int64_t>(shared_.size());
  const int64_t first = (int64_t{block} - 1) / size * size;
  if (first == first_block_) return false;
  const auto known = known_.find(first);
  return known == known_.end() || known->second <= after;
}

// Races between clusters: the first access of each kind by this one (since its last release) is
// compared with those of others, under the element's lock.
void ClusterShadow::note_in_grid(const AgentAccess& access, const Place& place, int64_t index,
                                 MemoryCell& cell) {
  if (cell.noted_after != releases_) cell.noted_read = cell.noted_write = cell.noted_atomic = false;
  cell.noted_after = releases_;
  bool& noted = access.atomic  ? cell.noted_atomic
                : access.write ? cell.noted_write
                               : cell.noted_read;
  if (noted) return;
  noted = true;
  MemoryRegion& region = *place.region;
  if (access.write) std::atomic_ref<bool>(region.dirty).store(true, std::memory_order_relaxed);
  const Agent& who = agents_[static_cast<size_t>(access.issuer)];
  const uint32_t self = static_cast<uint32_t>(first_block_ + who.block) + 1;
  AccessSite other{0, -1, 0, "write"};
  {
    std::lock_guard lock(run_.memory.lock_of(region.base + index * region.element));
    GridCell& seen = region.grid[static_cast<size_t>(index)];
    if (is_unordered(seen.writer, seen.write_after) && !(access.atomic && seen.atomic))
      other = {seen.write_code, int64_t{seen.writer} - 1, seen.write_thread, "write"};
    for (int i = 0; i < 2 && access.write; ++i)
      if (other.block < 0 && is_unordered(seen.reader[i], seen.read_after[i]))
        other = {seen.read_code[i], int64_t{seen.reader[i]} - 1, seen.read_thread[i], "read"};
    if (access.write) {
      seen.writer = self;
      seen.atomic = access.atomic;
      seen.write_code = access.code;
      seen.write_thread = static_cast<uint16_t>(who.thread);
      seen.write_after = releases_;
    } else {
      // A place of its own, an empty one, or that of a reader that is known to be over.
      int slot = -1;
      for (int i = 1; i >= 0; --i)
        if (!is_unordered(seen.reader[i], seen.read_after[i])) slot = i;
      if (slot >= 0) {
        seen.reader[slot] = self;
        seen.read_code[slot] = access.code;
        seen.read_thread[slot] = static_cast<uint16_t>(who.thread);
        seen.read_after[slot] = releases_;
      }
    }
  }
  if (other.block < 0) return;
  run_.findings.add(
      FindingKind::global_race,
      where(place, index * place.element, place.element) + ": blocks of one grid run in any order",
      {site(access.agent, access.issuer, access.code, access.write), std::move(other)});
}

void ClusterShadow::note(const AgentAccess& access, const View& view, MemoryCell& cell) {
  if (access.write) {
    cell.writer = static_cast<uint16_t>(access.agent);
    cell.issuer = static_cast<uint16_t>(access.issuer);
    cell.write_clock = access.when;
    cell.write_code = access.code;
    cell.written = true;
    cell.atomic = access.atomic;
    cell.generic = is_thread(agents_[static_cast<size_t>(access.agent)]);
    cell.pattern = access.pattern;
    for (uint16_t& reader : cell.reader) reader = kNoAgent;
    return;
  }
  int slot = MemoryCell::kReaders - 1;
  for (int i = MemoryCell::kReaders - 1; i >= 0; --i)
    if (cell.reader[i] == kNoAgent || view.sees(cell.reader[i], cell.read_clock[i])) slot = i;
  for (int i = 0; i < MemoryCell::kReaders; ++i)
    if (cell.reader[i] == access.agent) slot = i;
  cell.reader[slot] = static_cast<uint16_t>(access.agent);
  cell.read_clock[slot] = access.when;
  cell.read_code[slot] = access.code;
}

bool ClusterShadow::access(const AgentAccess& access, const View& view, int block) {
  const Place place = locate(access.address, block);
  if (!check_place(access, place)) return false;
  if (!run_.checked) return true;  // plain accesses are not seen, so nothing is known
  if (access.releases) {
    known_[first_block_] = ++releases_;
    run_.order.release(access.address, known_);
  }
  bool checked = true;  // one finding for an access of several elements is enough
  const int64_t last = (place.offset + access.bytes - 1) / place.element;
  for (int64_t index = place.offset / place.element; index <= last; ++index) {
    MemoryCell& cell = (*place.cells)[static_cast<size_t>(index)];
    refresh(cell);
    checked = checked && check_cell(access, view, place, index, cell);
    if (!cell.in_flight) note(access, view, cell);
    if (place.space != Place::Space::tensor) continue;
    note_in_grid(access, place, index, cell);
    if (access.write && place.region->written != nullptr)
      place.region->written[static_cast<size_t>(index)].store(true);
  }
  return true;
}

bool ClusterShadow::begin_copy(const AgentAccess& write, const View& view, int block) {
  if (!access(write, view, block)) return false;
  if (!run_.checked) return true;
  const Place place = locate(write.address, block);
  for (int64_t i = place.offset; i < place.offset + write.bytes; ++i)
    (*place.cells)[static_cast<size_t>(i)].in_flight = true;
  return true;
}

void ClusterShadow::end_copy(const AgentAccess& write, int block) {
  if (!run_.checked) return;
  const Place place = locate(write.address, block);
  for (int64_t i = place.offset; i < place.offset + write.bytes; ++i) {
    MemoryCell& cell = (*place.cells)[static_cast<size_t>(i)];
    // A later copy to the same place was reported, and is the one that is in flight.
    if (cell.writer == write.agent) cell.in_flight = false;
    cell.writer = static_cast<uint16_t>(write.agent);
    cell.issuer = static_cast<uint16_t>(write.issuer);
    cell.write_clock = write.when;
    cell.write_code = write.code;
  }
}

}  // namespace tilewright::runtime
