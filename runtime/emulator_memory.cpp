#include "tilewright/runtime/emulator_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tilewright/ir/error.h"

namespace tilewright::runtime {
namespace {

// Each region lies in the middle of a slot, so that any 32-bit index of bytes stays inside.
constexpr size_t kSlotBits = 33;
constexpr size_t kSlot = size_t{1} << kSlotBits;
constexpr uintptr_t kAlignment = 4096;

int64_t bytes_of(const EmulatorArgument& argument) {
  return argument.tensor ? argument.elements * size_of(argument.dtype) : 0;
}

}  // namespace

EmulatorMemory::EmulatorMemory(std::span<const EmulatorArgument> arguments,
                               std::span<const std::string> names,
                               std::span<const int64_t> workspace, int64_t shared_bytes, int blocks)
    : locks_(std::make_unique<std::mutex[]>(kLocks)) {
  const size_t slots = arguments.size() + workspace.size() + static_cast<size_t>(blocks);
  size_ = slots * kSlot;
  void* reserved =
      ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) raise(ErrorId::host_out_of_memory, {}, size_);
  begin_ = reinterpret_cast<uintptr_t>(reserved);
  try {
    add_regions(arguments, names);
    for (size_t i = 0; i < workspace.size(); ++i) {
      MemoryRegion region{.name = "workspace", .bytes = workspace[i], .defined = false};
      region.base = place(regions_.size(), region.bytes, 0);
      pointers_.push_back(region.base);
      regions_.push_back(std::move(region));
    }
    for (MemoryRegion& region : regions_)
      if (!region.defined)
        region.written = std::make_unique<std::atomic<bool>[]>(
            static_cast<size_t>(region.bytes / region.element) + 1);
    for (int i = 0; i < blocks; ++i)
      shared_.push_back(place(regions_.size() + static_cast<size_t>(i), shared_bytes, 0));
  } catch (...) {
    ::munmap(reserved, size_);
    throw;
  }
}

EmulatorMemory::~EmulatorMemory() { ::munmap(reinterpret_cast<void*>(begin_), size_); }

// Memory in the middle of a slot, as far from a page's begin as the address `like`.
std::byte* EmulatorMemory::place(size_t slot, int64_t bytes, uintptr_t like) {
  const uintptr_t page = begin_ + slot * kSlot + kSlot / 2;
  const uintptr_t offset = like % kAlignment;
  const size_t wanted = std::max<size_t>(static_cast<size_t>(bytes) + offset, 1);
  if (static_cast<size_t>(bytes) > kSlot / 4 ||
      ::mprotect(reinterpret_cast<void*>(page), wanted, PROT_READ | PROT_WRITE) != 0)
    raise(ErrorId::host_out_of_memory, {}, bytes);
  return reinterpret_cast<std::byte*>(page + offset);
}

void EmulatorMemory::add_regions(std::span<const EmulatorArgument> arguments,
                                 std::span<const std::string> names) {
  pointers_.resize(arguments.size());
  std::vector<size_t> order(arguments.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {},
                    [&](size_t i) { return reinterpret_cast<uintptr_t>(arguments[i].data); });
  for (const size_t i : order) {
    const EmulatorArgument& argument = arguments[i];
    const int64_t bytes = bytes_of(argument);
    if (!argument.tensor || bytes == 0) continue;
    const uintptr_t at = reinterpret_cast<uintptr_t>(argument.data);
    if (regions_.empty() ||
        at >= regions_.back().original + static_cast<uintptr_t>(regions_.back().bytes)) {
      regions_.push_back({.name = names[i],
                          .original = at,
                          .bytes = bytes,
                          .element = size_of(argument.dtype),
                          .defined = argument.defined});
      continue;
    }
    MemoryRegion& region = regions_.back();
    region.name += " and " + names[i];
    region.bytes = std::max(region.bytes, static_cast<int64_t>(at - region.original) + bytes);
    region.element = std::min(region.element, size_of(argument.dtype));
    region.defined |= argument.defined;
  }
  for (size_t slot = 0; slot < regions_.size(); ++slot) {
    MemoryRegion& region = regions_[slot];
    region.base = place(slot, region.bytes, region.original);
    std::memcpy(region.base, reinterpret_cast<const void*>(region.original),
                static_cast<size_t>(region.bytes));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(arguments[i].data);
    for (const MemoryRegion& region : regions_)
      if (bytes_of(arguments[i]) > 0 && at >= region.original &&
          at < region.original + static_cast<uintptr_t>(region.bytes))
        pointers_[i] = region.base + (at - region.original);
  }
}

MemoryRegion* EmulatorMemory::region_at(uintptr_t address) {
  const size_t slot = (address - begin_) >> kSlotBits;
  return slot < regions_.size() ? &regions_[slot] : nullptr;
}

void EmulatorMemory::begin_kernel() {
  for (MemoryRegion& region : regions_)
    region.grid.assign(static_cast<size_t>(region.bytes / region.element) + 1, {});
}

void EmulatorMemory::copy_back() const {
  for (const MemoryRegion& region : regions_)
    if (region.original != 0 && region.dirty)
      std::memcpy(reinterpret_cast<void*>(region.original), region.base,
                  static_cast<size_t>(region.bytes));
}

}  // namespace tilewright::runtime
