// The CUDA text of the benchmarks' own kernels.
#pragma once

namespace tilewright::bench {

extern const char* const kDeviceKernelsSource;

}  // namespace tilewright::bench
