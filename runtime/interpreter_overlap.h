// Finds two programs of one grid storing to the same element. Internal to the interpreter.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {

/// For each tensor the grid writes, the program that owns each element: the first to store to it.
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

 private:
  struct Free {
    void operator()(uint32_t* owners) const { std::free(owners); }
  };
  using Owners = std::unique_ptr<uint32_t[], Free>;  // 0: nobody, else program + 1

  std::string coordinates(int64_t program) const;

  const ir::Function& fn_;
  std::unordered_map<const HostTensor*, Owners> owners_;
  std::vector<int64_t> counts_;
};

}  // namespace tilewright::interpreter
