// The tensor maps of one kernel parameter, by the address they are of.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::runtime {

/// Keeps the maps of the addresses that launches used last, so that repeated launches encode none.
/// Thread-safe; allocates nothing after it is made.
class TensorMapCache {
 public:
  static constexpr int kEntries = 32;

  /// `what` names the kernel in errors.
  TensorMapCache(codegen::TensorMapSpec spec, std::string what)
      : spec_(std::move(spec)), what_(std::move(what)) {}

  /// The map for a tensor at `base`; encoded when it is none of the last kEntries. Raises what
  /// encode_tensor_map does.
  TensorMap get(uint64_t base);

 private:
  int oldest() const;

  const codegen::TensorMapSpec spec_;
  const std::string what_;
  std::mutex mutex_;
  int last_ = 0;        // where the address of the last launch is
  uint64_t clock_ = 0;  // launches so far
  std::array<uint64_t, kEntries> bases_{};
  std::array<uint64_t, kEntries> used_{};  // when; 0: never
  std::array<TensorMap, kEntries> maps_;
};

}  // namespace tilewright::runtime
