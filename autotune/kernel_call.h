// The arguments of a call or a compilation, in the forms that tracing and looking up need.
#pragma once

#include <span>
#include <vector>

#include "tilewright/autotune/call.h"
#include "tilewright/autotune/launch_key.h"

namespace tilewright {

/// Raises argument_count or argument_kind unless these are arguments for the kernel's parameters.
void check_kinds(const Traceable& traceable, std::span<const CallArg> args);

/// What a trace is made from; `launch` holds the tensors and scalars, of which some may be dynamic.
std::vector<KernelArg> trace_args(std::span<const CallArg> args,
                                  std::span<const runtime::Argument> launch);

/// A view of no memory that has this spec; its address only tells the alignment.
TensorView stand_in(const TensorSpec& spec, Device device);

/// What compile() takes apart: call arguments with stand-ins for tensors.
struct CompileCall {
  std::vector<TensorView> views;
  std::vector<CallArg> args;
};
/// Raises dynamic_argument for dynamic specs that no tensor of a dynamic call has.
CompileCall compile_call(std::string_view kernel, std::span<const CompileArg> args,
                         std::span<const ParamInfo> params, Device device);

/// Appends the words that runtime::append_sharing makes for these groups, given in positions of a
/// launch.
void append_groups(const std::vector<std::vector<int>>& groups, KeyWords& key);

/// The spec for which kernels of a dynamic tensor are made.
TensorSpec as_dynamic(TensorSpec spec);

std::vector<TensorSpec> specs_of(std::span<const TensorView> views);

}  // namespace tilewright
