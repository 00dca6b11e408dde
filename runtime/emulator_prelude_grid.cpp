#include "tilewright/runtime/emulator_prelude_grid.h"

namespace tilewright::runtime {

std::string_view grid_hook_members() {
  return R"(  void (*grid_barrier)(int*, const void*);
  void (*step)(const void*);
)";
}

std::string_view grid_hook_calls() {
  return R"(
TW_PLAIN void tw_emu_grid_barrier(int* arrivals) { tw_hooks.grid_barrier(arrivals, TW_HERE); }
TW_PLAIN void tw_emu_step() { tw_hooks.step(TW_HERE); }
)";
}

std::string_view grid_twin(std::string_view helper) {
  if (helper != "grid_barrier") return {};
  return "inline void grid_barrier(int* arrivals) { tw_emu_grid_barrier(arrivals); }";
}

std::string_view counted_loops() {
  return "#define while(...) while ((tw_emu_step(), (__VA_ARGS__)))\n";
}

}  // namespace tilewright::runtime
