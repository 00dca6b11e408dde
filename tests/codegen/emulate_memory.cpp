#include "tests/codegen/emulate_memory.h"

#include <fmt/format.h>

namespace tilewright::testing {

Touched& Memory::at(int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(touched.size()))
    throw EmulationError(
        fmt::format("{} accessed out of bounds: element {} of {}", name, index, touched.size()));
  return touched[index];
}

CValue Memory::load(int64_t index) const {
  if (shared) return values[index];
  return load_value(dtype, static_cast<const std::byte*>(data) + index * size_of(dtype));
}

void Memory::store(int64_t index, const CValue& value) {
  if (shared)
    values[index] = value;
  else
    store_value(dtype, value, static_cast<std::byte*>(data) + index * size_of(dtype));
}

void RaceChecker::read(Memory& memory, int64_t index, int thread) {
  Touched& state = memory.at(index);
  if (state.filled_by >= 0) race(memory, index, thread, state.filled_by, "read during the copy");
  if (state.write_epoch == epoch_ && state.writer != thread)
    race(memory, index, thread, state.writer, "write and read");
  state.reader = state.read_epoch == epoch_ && state.reader != thread ? -1 : thread;
  state.read_epoch = epoch_;
}

void RaceChecker::write(Memory& memory, int64_t index, int thread) {
  Touched& state = memory.at(index);
  if (state.filled_by >= 0) race(memory, index, thread, state.filled_by, "write during the copy");
  if (state.copied_by >= 0)
    race(memory, index, thread, state.copied_by, "write before the end of the copy");
  if (state.write_epoch == epoch_ && state.writer != thread)
    race(memory, index, thread, state.writer, "write and write");
  if (state.read_epoch == epoch_ && state.reader != thread)
    race(memory, index, thread, state.reader, "read and write");
  state.writer = thread;
  state.write_epoch = epoch_;
}

void RaceChecker::race(const Memory& memory, int64_t index, int thread, int other,
                       const char* what) const {
  report_(fmt::format("threads {} and {}: {} of element {} of {} with no barrier between", other,
                      thread, what, index, memory.name));
}

}  // namespace tilewright::testing
