#include "tilewright/dsl/trace_fn.h"

#include <optional>

#include "tilewright/dsl/names.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

std::string_view to_string(ParamKind kind) {
  constexpr std::string_view names[] = {"a tensor", "a run-time scalar", "a number", "a callable"};
  return names[static_cast<int>(kind)];
}

/// What an argument must be for a parameter, where it is not; empty where it is.
std::string mismatch(const ParamInfo& param, const KernelArg& arg) {
  if (arg.kind() != param.kind)
    return fmt::format("argument '{}' must be {}; found {}", param.name, to_string(param.kind),
                       to_string(arg.kind()));
  const auto* scalar = std::get_if<KernelArg::Scalar>(&arg.value);
  if (scalar != nullptr && scalar->dtype != param.dtype)
    return fmt::format("argument '{}' must be a scalar of dtype {}; found {}", param.name,
                       to_string(param.dtype), to_string(scalar->dtype));
  return {};
}

void declare(dsl::Trace& trace, const ParamInfo& param, const KernelArg& arg) {
  if (const auto* spec = std::get_if<TensorSpec>(&arg.value))
    trace.add_argument_tensor(*spec, param.name);
  else if (param.kind == ParamKind::scalar)
    trace.add_argument_scalar(param.dtype, param.name);
  else
    trace.skip_argument();
}

struct ConstantText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{:a}", value); }
};

}  // namespace

std::optional<std::string> key_of(const KernelArg& arg) {
  if (const auto* spec = std::get_if<TensorSpec>(&arg.value)) return to_string(*spec);
  if (const auto* scalar = std::get_if<KernelArg::Scalar>(&arg.value))
    return fmt::format("scalar {}", to_string(scalar->dtype));
  if (const auto* constant = std::get_if<KernelArg::Constant>(&arg.value))
    return std::visit(ConstantText{}, constant->value);
  const std::string& key = std::get<KernelArg::Callable>(arg.value).key;
  return key.empty() ? std::nullopt : std::optional(key);
}

namespace dsl {

Tensor tensor_param(size_t index) {
  return Trace::current("a kernel's parameter", Loc{}).argument_tensor(index);
}

Slot scalar_param(size_t index) {
  return Trace::current("a kernel's parameter", Loc{}).argument_scalar(index);
}

void raise_callable_type(size_t index) {
  const Trace& trace = Trace::current("a kernel's parameter", Loc{});
  raise(ErrorId::kernel_arguments, Loc{}, trace.name(),
        fmt::format("argument {} is a callable of another type than the parameter's", index));
}

}  // namespace dsl

Traceable::Traceable(std::string name, std::vector<ParamInfo> params, Body body, Loc loc)
    : name_(std::move(name)), params_(std::move(params)), body_(std::move(body)), loc_(loc) {
  const std::vector<std::string> names = dsl::parameter_names(loc, params_.size());
  for (size_t i = 0; i < params_.size(); ++i) params_[i].name = names[i];
}

ir::Function Traceable::trace(std::span<const KernelArg> args,
                              const TunableValues& tunables) const {
  if (args.size() != params_.size())
    raise(ErrorId::kernel_arguments, loc_, name_,
          fmt::format("{} arguments are given; it has {} parameters", args.size(), params_.size()));
  for (size_t i = 0; i < args.size(); ++i)
    if (const std::string wrong = mismatch(params_[i], args[i]); !wrong.empty())
      raise(ErrorId::kernel_arguments, loc_, name_, wrong);
  const auto record = [&](int body_runs) {
    dsl::Trace trace(name_, loc_, body_runs, tunables);
    for (size_t i = 0; i < args.size(); ++i) declare(trace, params_[i], args[i]);
    return trace.finish(body_(args));
  };
  ir::Function once = record(1);
  const ir::Function twice = record(2);
  if (const auto where = ir::first_difference(once, twice)) raise(ErrorId::host_state, *where);
  return once;
}

}  // namespace tilewright
