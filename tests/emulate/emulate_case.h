// Runs kernels through the interpreter and the emulator on the same data.
#pragma once

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/codegen/kernel_case.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::testing {

/// Memory of a case's tensors. Inputs hold random numbers, for kernels with reductions small whole
/// ones, whose sums are exact in any order; results hold 0x5a bytes.
class EmulateMemory {
 public:
  explicit EmulateMemory(const KernelCase& kernel);

  /// Puts NaN where memory of inputs between rows belongs to no element.
  void spoil_gaps();

  InterpreterArgs interpreter_args();
  std::vector<runtime::EmulatorArgument> emulator_args();
  /// What differs from `other`, or nothing; `tolerance` is relative, 0 for equal bits.
  std::string difference(const EmulateMemory& other, double tolerance, double absolute = 0) const;

 private:
  const KernelCase& kernel_;
  std::vector<std::vector<unsigned char>> tensors_;  // of scalars: empty
};

/// What became of one case.
struct EmulateResult {
  runtime::Emulation emulation;
  std::string difference;  ///< from the interpreter's results

  bool clean() const { return emulation.findings.empty() && difference.empty(); }
};

/// A config with these blocks for the kernel's free axes, from the start again when there are more.
Config emulate_config(const KernelCase& kernel, const std::vector<int64_t>& blocks, int warps,
                      int stages, CopyKind copy);

/// How much the results of a kernel may depend on the order in which a reduction adds: 0 unless
/// it sums what is not whole.
double emulate_tolerance(const KernelCase& kernel);

/// Runs a plan of the kernel and compares, with that relative tolerance or emulate_tolerance's, or
/// this much.
EmulateResult emulate_case(const KernelCase& kernel, const codegen::Plan& plan,
                           const Config& config, std::optional<double> tolerance = {},
                           double absolute = 0);

std::string describe(const KernelCase& kernel, const codegen::Plan& plan);

}  // namespace tilewright::testing
