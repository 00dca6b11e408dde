// The arguments of a launch: what makes a specialization, and every check on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/node.h"
#include "tilewright/runtime/executable.h"
#include "tilewright/runtime/view.h"

namespace tilewright::runtime {

/// One argument: a tensor when `view` is set, else a scalar's memory.
struct Argument {
  const TensorView* view = nullptr;
  DType dtype = DType::f32;  ///< of a scalar
  uint64_t bits = 0;
  bool dynamic = false;  ///< a tensor whose first size the kernel takes at run time
};

/// The largest first size for which a kernel of a dynamic tensor of `size` rows is made: 8, powers
/// of two up to 4096, 65536 or kMostDynamic.
int64_t dynamic_limit(int64_t size);
/// Whether kernels can take the first size of the tensor at run time: it has one, of at most
/// kMostDynamic, and its rows follow one another in memory.
bool can_be_dynamic(const TensorView& view);

/// A pair of tensor arguments with memory in common: positions in the argument list.
struct SharedMemory {
  int first = 0, second = 0;
  bool exact = false;
};

/// Appends words that differ whenever a launch needs another specialization: dtypes, ranks, sizes
/// (limits of dynamic ones),
/// normalized strides, alignments, devices, null pointers, and which arguments share memory. Costs
/// no heap allocation once `key` has grown.
void append_key(std::span<const Argument> args, std::vector<uint64_t>& key);
void append_sharing(std::span<const Argument> args, std::vector<uint64_t>& key);
/// The word that append_sharing adds for one pair.
uint64_t sharing_word(const SharedMemory& pair);

/// The pairs among `args` whose bytes overlap.
std::vector<SharedMemory> find_sharing(std::span<const Argument> args);

/// Raises out_spec unless the view has the dtype and sizes of a result that the kernel makes. A
/// dynamic size is left to check_dynamic.
void check_result(std::string_view kernel, const ir::Param& param, const TensorView& view);

/// Checks all of what a key tells apart; `args` are in the order of the function's parameters.
/// Raises argument_* , out_spec, output_overlap or alias_partial naming the parameter.
void check_arguments(const ir::Function& fn, const std::vector<bool>& written,
                     std::span<const Argument> args);

/// Checks what differs among launches of one dynamic function: that its results have the sizes of
/// its arguments, its own checks, and that no result overlaps itself. Raises out_spec,
/// check_failed, output_overlap.
void check_dynamic(const ir::Function& fn, std::span<const Argument> args);

/// The device of the tensors, or `otherwise` when there are none. Raises argument_device.
Device common_device(std::string_view kernel, std::span<const Argument> args,
                     std::span<const std::string> names, Device otherwise);

/// Checks that a tensor said to be on a GPU is memory that this GPU can use; each thread remembers
/// the pointers it has checked. Needs the device's context current. Raises argument_host_memory or
/// argument_other_gpu.
void check_pointer(std::string_view kernel, std::string_view name, const TensorView& view);

/// The groups of parameters that may alias, of which one is written, for the compiler.
std::vector<std::vector<int>> alias_groups(std::span<const Argument> args,
                                           const std::vector<bool>& written);

}  // namespace tilewright::runtime
