// The contents of a tile on the host: contiguous elements in the storage of its dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::interpreter {

/// Row-major elements, stored as numeric::Storage says; its user knows dtype and shape. Grows as
/// needed and keeps its memory; new contents are undefined.
class TileBuffer {
 public:
  void resize(size_t bytes) {
    if (bytes > capacity_) {
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      capacity_ = bytes;
    }
  }

  void* data() { return bytes_.get(); }
  const void* data() const { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
};

/// Tiles are shared until one of the holders must write: passing a loop-carried tile on is a copy
/// of this pointer.
using TileRef = std::shared_ptr<TileBuffer>;

}  // namespace tilewright::interpreter
