// Memory that several threads of an emulated block see, and who touched it since the last barrier.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/codegen/emulate_value.h"
#include "tilewright/ir/type.h"

namespace tilewright::testing {

/// Who touched an element since the last barrier.
struct Touched {
  int64_t write_epoch = -1, read_epoch = -1;
  int writer = 0, reader = 0;  ///< reader -1: several threads
  int filled_by = -1;          ///< thread whose asynchronous copy is in flight to it
  int copied_by = -1;          ///< .. from it
};

/// A tensor or a shared buffer.
struct Memory {
  std::string name;
  bool shared = false;
  DType dtype = DType::f32;
  std::vector<int64_t> extents = {};  ///< of a shared buffer
  int64_t offset = 0;                 ///< bytes from the start of shared memory
  int64_t alignment = 16;
  void* data = nullptr;             ///< of a tensor
  std::vector<CValue> values = {};  ///< of a shared buffer
  std::vector<Touched> touched = {};

  Touched& at(int64_t index);  ///< throws EmulationError out of bounds
  CValue load(int64_t index) const;
  void store(int64_t index, const CValue& value);
};

/// Finds accesses of two threads to one element, one of them a write, with no barrier between.
class RaceChecker {
 public:
  explicit RaceChecker(std::function<void(const std::string&)> report)
      : report_(std::move(report)) {}

  void barrier() { ++epoch_; }
  void read(Memory& memory, int64_t index, int thread);
  void write(Memory& memory, int64_t index, int thread);

 private:
  void race(const Memory& memory, int64_t index, int thread, int other, const char* what) const;

  int64_t epoch_ = 0;
  std::function<void(const std::string&)> report_;
};

}  // namespace tilewright::testing
