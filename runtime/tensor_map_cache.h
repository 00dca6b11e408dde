// The tensor maps of one kernel parameter, by the address and the dynamic size they are of.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::runtime {

/// Keeps the maps of the addresses and sizes that launches used last, so that repeated launches
/// encode none. Thread-safe; maps of known sizes take no heap memory after it is made.
class TensorMapCache {
 public:
  static constexpr int kEntries = 32;

  /// `what` names the kernel in errors.
  TensorMapCache(codegen::TensorMapSpec spec, std::string what)
      : spec_(std::move(spec)), what_(std::move(what)) {}

  /// The map for a tensor at `base`, whose dynamic dimension, if there is one, has this size;
  /// encoded when it is none of the last kEntries. Raises what encode_tensor_map does.
  TensorMap get(uint64_t base, int64_t size = 0);
  /// The parameter that `size` is the value of; -1: of none.
  int size_source() const { return spec_.size_source; }

 private:
  TensorMap encode(uint64_t base, int64_t size) const;
  int oldest() const;

  const codegen::TensorMapSpec spec_;
  const std::string what_;
  std::mutex mutex_;
  int last_ = 0;        // where the address of the last launch is
  uint64_t clock_ = 0;  // launches so far
  std::array<uint64_t, kEntries> bases_{};
  std::array<int64_t, kEntries> sizes_{};
  std::array<uint64_t, kEntries> used_{};  // when; 0: never
  std::array<TensorMap, kEntries> maps_;
};

}  // namespace tilewright::runtime
