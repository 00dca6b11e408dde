// The arguments of a call or a compilation, in the forms that tracing and looking up need.
#pragma once

#include <span>
#include <vector>

#include "tilewright/autotune/call.h"
#include "tilewright/autotune/launch_key.h"

namespace tilewright {

/// Raises argument_count or argument_kind unless these are arguments for the kernel's parameters.
void check_kinds(const Traceable& traceable, std::span<const CallArg> args);

/// What a trace is made from.
std::vector<KernelArg> trace_args(std::span<const CallArg> args);

/// A view of no memory that has this spec; its address only tells the alignment.
TensorView stand_in(const TensorSpec& spec, Device device);

/// What compile() takes apart: call arguments with stand-ins for tensors.
struct CompileCall {
  std::vector<TensorView> views;
  std::vector<CallArg> args;
};
CompileCall compile_call(std::span<const CompileArg> args, std::span<const ParamInfo> params,
                         Device device);

/// Appends the words that runtime::append_sharing makes for these groups, given in positions of a
/// launch.
void append_groups(const std::vector<std::vector<int>>& groups, KeyWords& key);

std::vector<TensorSpec> specs_of(std::span<const TensorView> views);

}  // namespace tilewright
