// Kernels of dynamic sizes: which kernel of known sizes their config is chosen for, and the lists
// of specs that stand for all sizes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tilewright/autotune/call.h"
#include "tilewright/autotune/specialization.h"

namespace tilewright {

/// A call of known sizes that stands for all of a dynamic one's when its config is chosen.
struct Twin {
  Traced traced;
  std::vector<runtime::Argument> params;  ///< contents, in its order; empty: none to speak of
  std::vector<std::vector<int>> aliases;
};

/// The first size that stands for those up to `limit`, a dynamic_limit: itself, or one of more use
/// where it is far larger than most.
int64_t representative_size(int64_t limit);

/// The twin of `dynamic`, traced for `args`, with the sizes of `launch` when that is not empty and
/// with representative ones otherwise. Nothing where the kernel cannot be traced for them (a check
/// that they fail).
std::optional<Twin> exact_twin(const Traced& dynamic, const Traceable& traceable,
                               std::span<const KernelArg> args,
                               std::span<const runtime::Argument> launch,
                               const std::vector<std::vector<int>>& aliases);

/// The argument lists for all sizes that a list with dynamic specs stands for, one for each
/// dynamic_limit; of lists without, themselves. Dynamic sizes of one list are taken to be near one
/// another.
std::vector<std::vector<CompileArg>> by_limits(const std::vector<std::vector<CompileArg>>& calls);

}  // namespace tilewright
