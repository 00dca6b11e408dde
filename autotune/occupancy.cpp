#include "tilewright/autotune/occupancy.h"

#include <algorithm>

#include "tilewright/codegen/config_needs.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kReservedBytes = 1024;  // of shared memory, for each block
constexpr int64_t kBarrierBytes = 256;    // of a ring's barriers
constexpr int kMostBlocks = 32;
constexpr int64_t kOthers = 16;  // registers beside those of tiles
constexpr int64_t kLeast = 32;   // registers where no tile is kept

/// Warps that a multiprocessor holds (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability").
int most_warps(const Target& target) {
  if (target.sm == 75) return 32;
  const bool small = target.sm == 86 || target.sm == 87 || target.sm == 89 || target.sm >= 120;
  return small ? 48 : 64;
}

}  // namespace

Occupancy occupancy_of(const ir::Function& fn, const Config& config, const Target& target) {
  const codegen::ConfigNeeds needs = codegen::estimate_needs(config, fn, target);
  Occupancy result;
  const bool roles = config.copy == CopyKind::tma && needs.shared_bytes > 0;
  result.threads = 32 * codegen::consumer_warps(config) + (roles ? 128 : 0);
  result.shared_bytes = needs.shared_bytes + needs.exchange_bytes + (roles ? kBarrierBytes : 0);
  // Estimates are low: addresses, predicates and what the compiler keeps to hide latencies.
  const int64_t needed = needs.registers == codegen::kAddressing
                             ? kLeast
                             : needs.registers + needs.registers / 8 + kOthers;
  // Of many at a time more copies are made.
  const int64_t lasting = needs.lasting + needs.lasting * needs.lasting / 1024 + kOthers;
  const int64_t available = codegen::registers_available(config);
  // The compiler keeps more where it is not told to leave room.
  const int64_t wanted = (std::max(needed, lasting + lasting / 8) + 7) / 8 * 8;
  result.registers = std::min(available, wanted);
  // Warpgroups of products get the registers of those that copy.
  if (config.matrix != MatrixUnit::wgmma)
    result.crowded =
        std::max(0.0, static_cast<double>(needed - available) / static_cast<double>(available));
  result.spilled = std::max<int64_t>(0, std::max(needed, lasting) - available);
  // Where registers move, each thread is launched with as many as all others.
  const int64_t each = std::min(result.registers, codegen::registers_launched(config));
  const int64_t by_registers = Target::registers_per_block / (each * result.threads);
  const int64_t by_shared =
      (target.shared_bytes + kReservedBytes) / (result.shared_bytes + kReservedBytes);
  const int64_t by_warps = most_warps(target) / ((result.threads + 31) / 32);
  result.resident = static_cast<int>(
      std::clamp<int64_t>(std::min({by_registers, by_shared, by_warps}), 1, kMostBlocks));
  result.occupancy = std::min(1.0, result.resident * (result.threads / 32.0) / most_warps(target));
  return result;
}

}  // namespace tilewright::tune
