// What a tuning result holds for: a kernel, its operands and a machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"
#include "tilewright/runtime/device.h"

namespace tilewright::tune {

/// Where kernels were timed.
struct Machine {
  std::string device;  ///< "NVIDIA H200"; "emulated sm_90a"; "simulated sm_90a"
  std::string driver;  ///< "580.65.06"; empty where there is none
  std::string nvrtc;   ///< "13.0"; empty where there is none
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The machine that kernels on `device` run on. For a device that is no GPU, and so times nothing,
/// the name says so. Does not load NVRTC where the cache knows which one would be loaded.
Machine machine_of(Device device, const Target& target);

/// Identifies what was tuned. Equal keys may use each other's results as they are.
struct TuneKey {
  std::string kernel;    ///< its name, for people
  uint64_t code = 0;     ///< hash of the canonical tile IR, sizes included, without names and
                         ///< locations
  std::string family;    ///< of the IR with sizes and constants left out: the same for the
                         ///< shapes of one kernel
  Machine machine = {};  ///< what ran it
  std::vector<TensorSpec> specs;  ///< of the tensors, in the order of the parameters; results too
  friend bool operator==(const TuneKey&, const TuneKey&) = default;
};

/// The key of a traced function (after examine, as Traced::fn is).
TuneKey tune_key(const ir::Function& fn, const Machine& machine);

/// TuneKey::family: 16 hexadecimal digits. Equal for functions that differ in sizes, strides,
/// alignments and constants only, as long as the same dimension of each tensor is contiguous.
std::string family_of(const ir::Function& fn);

/// How far two shapes of one family are apart: the sum over all sizes of |log2 of their ratio|;
/// infinite where dtypes or ranks differ.
double distance(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b);

/// The specs as one text, separated by spaces: "f32[8,8] f32[8,8]:[1,8]@4".
std::string to_string(const std::vector<TensorSpec>& specs);
/// Reads such a text. Raises pin_file (naming `where`) for anything else.
std::vector<TensorSpec> parse_specs(std::string_view text, std::string_view where);

}  // namespace tilewright::tune
