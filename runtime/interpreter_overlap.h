// Finds two programs of one grid storing to the same element. Internal to the interpreter.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {

/// The position in a tensor of the element `offset` elements from the first, as the strides say.
std::vector<int64_t> position_of(const TensorSpec& spec, int64_t offset);

/// For each tensor the grid writes, the program that owns each element: the first to store to it.
/// Elements that several programs change by atomics belong to nobody any more.
class OverlapCheck {
 public:
  /// For the programs of the grid `loop`, numbered with the last axis fastest; `counts`: tiles
  /// along each axis. Raises host_out_of_memory when there is no room for the owners.
  OverlapCheck(const Step& loop, const Frame& frame, std::vector<int64_t> counts);

  /// Claims `n` elements for a program, `stride` apart, from `offset` in elements on. Raises
  /// overlapping_store at the store's line when one is another program's. Safe to call from many
  /// threads.
  void claim(const Step& store, const HostTensor& tensor, int64_t offset, int64_t stride, int64_t n,
             int64_t program);
  /// The same for one element that a program changes by an atomic. Raises atomic_and_store.
  void claim_atomic(const Step& atomic, const HostTensor& tensor, int64_t offset, int64_t program);

 private:
  struct Free {
    void operator()(uint32_t* owners) const { std::free(owners); }
  };
  // 0: nobody, else program + 1; kAtomic with it: by atomics so far; kShared: several, by atomics.
  using Owners = std::unique_ptr<uint32_t[], Free>;
  static constexpr uint32_t kAtomic = uint32_t{1} << 31, kShared = ~uint32_t{0};

  std::string coordinates(int64_t program) const;
  [[noreturn]] void fail(ErrorId id, const Step& store, const HostTensor& tensor, int64_t offset,
                         uint32_t found, uint32_t mine) const;

  const ir::Function& fn_;
  std::unordered_map<const HostTensor*, Owners> owners_;
  std::vector<int64_t> counts_;
};

}  // namespace tilewright::interpreter
