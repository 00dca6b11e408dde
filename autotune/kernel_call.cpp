#include "tilewright/autotune/kernel_call.h"

#include <algorithm>
#include <string>

#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

constexpr std::string_view kind_text(ParamKind kind) {
  constexpr std::string_view texts[] = {"a tensor", "a run-time scalar",
                                        "a value known when tracing", "a callable"};
  return texts[static_cast<int>(kind)];
}

std::string describe(ParamKind kind, DType dtype) {
  return kind == ParamKind::scalar ? fmt::format("{} {}", kind_text(kind), to_string(dtype))
                                   : std::string(kind_text(kind));
}

}  // namespace

void check_kinds(const Traceable& traceable, std::span<const CallArg> args) {
  const std::vector<ParamInfo>& params = traceable.params();
  if (args.size() != params.size()) [[unlikely]]
    raise(ErrorId::argument_count, {}, traceable.name(), params.size(), args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const bool fits = args[i].kind == params[i].kind && (args[i].kind != ParamKind::scalar ||
                                                         args[i].argument.dtype == params[i].dtype);
    if (!fits) [[unlikely]]
      raise(ErrorId::argument_kind, {}, traceable.name(), params[i].name,
            describe(params[i].kind, params[i].dtype),
            describe(args[i].kind, args[i].argument.dtype));
  }
}

std::vector<KernelArg> trace_args(std::span<const CallArg> args,
                                  std::span<const runtime::Argument> launch) {
  std::vector<KernelArg> result(args.size());
  size_t next = 0;  // in `launch`
  for (size_t i = 0; i < args.size(); ++i) {
    const CallArg& arg = args[i];
    const bool passed = arg.kind == ParamKind::tensor || arg.kind == ParamKind::scalar;
    const bool dynamic = passed && launch[next++].dynamic;
    if (arg.kind == ParamKind::tensor)
      result[i].value = dynamic ? as_dynamic(arg.argument.view->spec()) : arg.argument.view->spec();
    else if (arg.kind == ParamKind::scalar)
      result[i].value = KernelArg::Scalar{arg.argument.dtype};
    else if (arg.kind == ParamKind::constant)
      result[i].value = KernelArg::Constant{arg.constant};
    else
      result[i].value = arg.callable;
  }
  return result;
}

TensorView stand_in(const TensorSpec& spec, Device device) {
  return {reinterpret_cast<void*>(static_cast<uintptr_t>(spec.alignment)), spec.dtype,
          std::span<const int64_t>(spec.sizes), std::span<const int64_t>(spec.strides), device};
}

CompileCall compile_call(std::string_view kernel, std::span<const CompileArg> args,
                         std::span<const ParamInfo> params, Device device) {
  CompileCall result;
  result.views.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const KernelArg arg = args[i].for_param(i < params.size() ? params[i] : ParamInfo{});
    CallArg& made = result.args.emplace_back();
    made.kind = arg.kind();
    if (const auto* spec = std::get_if<TensorSpec>(&arg.value)) {
      made.argument.view = &result.views.emplace_back(stand_in(*spec, device));
      made.argument.dynamic = spec->dynamic;
      if (spec->dynamic && !runtime::can_be_dynamic(result.views.back()))
        raise(ErrorId::dynamic_argument, {}, kernel, to_string(*spec),
              fmt::format("its rows must follow one another in memory and be at most {}",
                          kMostDynamic));
    }
    if (const auto* scalar = std::get_if<KernelArg::Scalar>(&arg.value))
      made.argument.dtype = scalar->dtype;
    if (const auto* constant = std::get_if<KernelArg::Constant>(&arg.value))
      made.constant = constant->value;
    if (const auto* callable = std::get_if<KernelArg::Callable>(&arg.value))
      made.callable = *callable;
  }
  return result;
}

void append_groups(const std::vector<std::vector<int>>& groups, KeyWords& key) {
  std::vector<std::pair<int, int>> pairs;  // later position first
  for (const std::vector<int>& group : groups)
    for (const int later : group)
      for (const int earlier : group)
        if (earlier < later) pairs.emplace_back(later, earlier);
  std::ranges::sort(pairs);
  for (const auto& [later, earlier] : pairs)
    key.push_back(runtime::sharing_word({earlier, later, true}));
}

TensorSpec as_dynamic(TensorSpec spec) {
  spec.sizes.at(0) = runtime::dynamic_limit(spec.sizes.at(0));
  spec.dynamic = true;
  return spec;
}

std::vector<TensorSpec> specs_of(std::span<const TensorView> views) {
  std::vector<TensorSpec> specs;
  for (const TensorView& view : views) specs.push_back(view.spec());
  return specs;
}

}  // namespace tilewright
