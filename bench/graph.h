// Calls of the driver that only benchmarks make: graphs, a bare launch, the size of the L2 cache.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/stream.h"

struct CUgraphExec_st;

namespace tilewright::bench {

/// Work that was captured from a stream and is replayed as a whole. Move-only. All calls need the
/// device's context current and throw std::runtime_error when the driver refuses.
class Graph {
 public:
  /// Captures what `enqueue` puts into the stream.
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

/// cuLaunchKernel and nothing around it: grid and threads of one dimension.
class BareLaunch {
 public:
  BareLaunch();
  int operator()(CUfunc_st* function, unsigned grid, unsigned threads, unsigned shared_bytes,
                 CUstream_st* stream, void** params) const {
    return launch_(function, grid, 1, 1, threads, 1, 1, shared_bytes, stream, params, nullptr);
  }

 private:
  int (*launch_)(CUfunc_st*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 CUstream_st*, void**, void**) = nullptr;
};

int64_t l2_bytes(int device);

}  // namespace tilewright::bench
