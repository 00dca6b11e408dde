// Runs a kernel of the list through the interpreter and the emulator on the same data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/codegen/emulate.h"
#include "tests/codegen/kernel_list.h"
#include "tests/interpreter/kernel_builder.h"
#include "tilewright/codegen/config.h"

namespace tilewright::testing {

/// Memory for every tensor parameter of a kernel: inputs with random values, results poisoned.
class CaseMemory {
 public:
  /// `whole`: small whole numbers instead of values in [-1, 1), so that sums are exact in any
  /// order.
  CaseMemory(const KernelCase& kernel, bool whole);

  InterpreterArgs args();
  /// What differs from `other`, or nothing. `tolerance`: relative, 0 for equal bits.
  std::string difference(const CaseMemory& other, double tolerance = 0) const;

 private:
  const KernelCase& kernel_;
  std::vector<std::unique_ptr<TestTensor>> tensors_;  ///< null for scalars
};

/// A config with these blocks for the kernel's free axes: blocks[0] for the first, and so on,
/// from the start again when there are more axes.
Config config_for(const KernelCase& kernel, const std::vector<int64_t>& blocks, Config rest);

/// Whether the kernel has a reduction, whose order is free.
bool reduces(const KernelCase& kernel);
/// How much the results of a kernel may depend on the order in which a reduction adds.
double tolerance_of(const KernelCase& kernel);

}  // namespace tilewright::testing
