// Barriers of the whole grid, and loops that do not end.
#include <fmt/format.h>

#include <algorithm>

#include "tilewright/runtime/emulator_cluster.h"

namespace tilewright::runtime {

// What is wrong with the counter of arrivals at this moment; empty when nothing is.
std::string EmulatedCluster::wrong_arrivals(const int* arrivals) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(arrivals);
  const MemoryRegion* region = run_.memory.region_at(address);
  if (region == nullptr || address % sizeof(int) != 0)
    return "the counter of arrivals is not an int in a tensor or workspace";
  const int64_t offset = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(region->base));
  if (region->written != nullptr &&
      !region->written[static_cast<size_t>(offset / region->element)].load())
    return "the counter of arrivals was never set to 0";
  if (*arrivals % static_cast<int>(run_.grid) != 0)
    return fmt::format("the counter of arrivals is {} when {} blocks begin to arrive", *arrivals,
                       run_.grid);
  return {};
}

// All threads of the grid meet: every one then knows what the others did. Blocks of a launch that
// is not cooperative run one after the other here, and wait for those that cannot come.
void EmulatedCluster::on_grid_barrier(int* arrivals, const void* pc) {
  if (grid_barrier_.arrived == 0)
    if (const std::string wrong = wrong_arrivals(arrivals); !wrong.empty()) {
      report(FindingKind::barrier_misuse, wrong, pc, "waits at");
      abandon();
    }
  grid_barrier_.needed = static_cast<int>(run_.grid) * run_.threads;
  if (grid_barrier_.arrived + 1 == grid_barrier_.needed) {
    *arrivals += static_cast<int>(run_.grid);
    flush_counts();
    run_.barriers += run_.grid;
  }
  meet(grid_barrier_, Wait::grid_barrier, pc);
}

void EmulatedCluster::on_step(const void* pc) {
  if (++running().steps <= run_.max_steps) return;
  report(FindingKind::endless_loop,
         fmt::format("{} iterations of while loops were run, and this one goes on; "
                     "TILEWRIGHT_MAX_STEPS sets the limit",
                     run_.max_steps),
         pc, "iteration");
  abandon();
}

}  // namespace tilewright::runtime
