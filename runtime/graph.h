// Device work that is captured once and replayed as a whole.
#pragma once

#include <functional>
#include <utility>

#include "tilewright/runtime/stream.h"

struct CUgraphExec_st;

namespace tilewright::runtime {

/// A CUDA graph captured from a stream. Move-only. All calls need the device's context current;
/// they raise cuda_call when the driver refuses, or missing_driver where it has no graphs.
class Graph {
 public:
  /// Captures what `enqueue` puts into the stream, which must be no default stream. What `enqueue`
  /// throws passes through, with the capture ended.
  Graph(const Stream& stream, const std::function<void()>& enqueue);
  Graph(Graph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Graph();

  /// Enqueues all of it; does not wait.
  void launch(const Stream& stream) const;

 private:
  CUgraphExec_st* handle_ = nullptr;
};

}  // namespace tilewright::runtime
