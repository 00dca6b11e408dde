// What the products of the table must be.
#pragma once

#include <vector>

#include "bench/device_kernels.h"
#include "bench/gemm_kernel.h"
#include "bench/gemm_problem.h"

namespace tilewright::bench {

/// The result for one set of operands: in full by a product in double on the device, and for 4096
/// elements, the edges among them, by sums on the host, which depend on nothing else.
class Reference {
 public:
  /// Needs the context of device 0; the operands must be complete.
  Reference(const Problem& problem, const Operands& operands, const DeviceKernels& kernels);

  /// Compares `c` in full and at the samples.
  Verdict check(const Array& c) const;

 private:
  struct Samples {
    std::vector<int64_t> at;  ///< positions in c
    std::vector<double> value, allowed;
  };
  void sample(const Part& part, int64_t count, const Operands& operands, const Array& b);

  const Problem& problem_;
  const DeviceKernels& kernels_;
  Tolerance tolerance_;
  Array value_, magnitude_;
  Samples samples_;
};

}  // namespace tilewright::bench
