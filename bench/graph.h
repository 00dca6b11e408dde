// Calls of the driver that only benchmarks make.
#pragma once

#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/stream.h"

namespace tilewright::bench {

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

}  // namespace tilewright::bench
