// The emulator's counts of what kernels access, beside those of the hardware.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/target.h"

namespace tilewright::bench {

/// What one kernel's accesses cost, all warps together.
struct KernelCounts {
  std::string name;              ///< for people
  std::string symbol;            ///< of the kernel
  int64_t shared_requests = 0;   ///< accesses of shared memory by a warp
  int64_t shared_conflicts = 0;  ///< times a warp had to go again beyond the fewest possible
  int64_t global_requests = 0;   ///< accesses of tensors by a warp
  int64_t global_bytes = 0;      ///< that its lanes asked for
  int64_t global_sectors = 0;    ///< of 32 bytes, that its lanes touched
};

/// Emulates three kernels: a product of f32 through shared memory, softmax of bf16 and a
/// transposing copy. Needs a C++ compiler. Throws std::runtime_error when the emulator finds a
/// mistake.
std::vector<KernelCounts> emulated_counts(const Target& target);
std::string to_json(std::span<const KernelCounts> counts);

/// Launches each of them once on device 0, for a profiler.
void launch_counted_kernels();

/// Values by kernel and metric.
using Metrics = std::map<std::string, std::map<std::string, double>>;
/// Adds what Nsight Compute wrote with --csv: one line for each kernel and metric, behind lines of
/// other text. Throws std::runtime_error when there is no such table.
void read_ncu_csv(std::string_view text, Metrics& metrics);

/// The comparison, to read, and whether every count was found and equal.
struct CountComparison {
  std::string text;
  bool equal = false;
};
CountComparison compare_counts(std::span<const KernelCounts> counts, const Metrics& metrics);
/// The metrics that compare_counts() knows, for ncu --metrics.
std::string ncu_metrics();

}  // namespace tilewright::bench
