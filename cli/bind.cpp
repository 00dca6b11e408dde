#include "cli/bind.h"

#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

std::string described(const ParamInfo& param) {
  switch (param.kind) {
    case ParamKind::tensor:
      return "a tensor";
    case ParamKind::scalar:
      return fmt::format("a scalar {}", to_string(param.dtype));
    case ParamKind::constant:
      return "a number";
    case ParamKind::callable:
      return "a C++ callable, which the command line cannot give";
  }
  return {};
}

std::string described(const Argument& argument) {
  if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return to_string(tensor->spec);
  return fmt::format("a scalar {}", to_string(std::get<ScalarArgument>(argument).dtype));
}

bool fits(const ParamInfo& param, const Argument& argument) {
  if (std::holds_alternative<TensorArgument>(argument)) return param.kind == ParamKind::tensor;
  if (param.kind == ParamKind::scalar)
    return std::get<ScalarArgument>(argument).dtype == param.dtype;
  return param.kind == ParamKind::constant;
}

void check(const KernelHandle& kernel, const std::vector<Argument>& arguments) {
  const std::vector<ParamInfo>& params = kernel.params();
  if (params.size() != arguments.size())
    raise(ErrorId::argument_count, {}, kernel.name(), params.size(), arguments.size());
  for (size_t i = 0; i < params.size(); ++i)
    if (!fits(params[i], arguments[i]))
      raise(ErrorId::argument_kind, {}, kernel.name(), params[i].name, described(params[i]),
            described(arguments[i]));
}

CompileArg compile_argument(const ParamInfo& param, const Argument& argument) {
  if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return tensor->spec;
  const ScalarArgument& scalar = std::get<ScalarArgument>(argument);
  if (param.kind == ParamKind::scalar) return scalar.dtype;
  if (scalar.dtype == DType::boolean) return std::get<int64_t>(scalar.value) != 0;
  return std::visit([](auto value) { return CompileArg(value); }, scalar.value);
}

CallArg runtime_scalar(const ScalarArgument& scalar) {
  switch (scalar.dtype) {
    case DType::f32:
      return CallArg::scalar(static_cast<float>(std::get<double>(scalar.value)));
    case DType::f64:
      return CallArg::scalar(std::get<double>(scalar.value));
    default:
      break;
  }
  // Little-endian: the low bytes of an i64 are the value in every integer type that holds it.
  CallArg arg = CallArg::scalar(std::get<int64_t>(scalar.value));
  arg.argument.dtype = scalar.dtype;
  return arg;
}

}  // namespace

CallArg scalar_argument(const ParamInfo& param, const ScalarArgument& scalar) {
  if (param.kind == ParamKind::scalar) return runtime_scalar(scalar);
  if (scalar.dtype == DType::boolean) return CallArg::known(std::get<int64_t>(scalar.value) != 0);
  return std::visit([](auto value) { return CallArg::known(value); }, scalar.value);
}

std::vector<CompileArg> compile_arguments(const KernelHandle& kernel,
                                          const std::vector<Argument>& arguments,
                                          DynamicSizes dynamic) {
  check(kernel, arguments);
  for (const Argument& argument : arguments)
    if (const auto* tensor = std::get_if<TensorArgument>(&argument);
        tensor != nullptr && tensor->spec.dynamic && dynamic == DynamicSizes::refused)
      raise(ErrorId::argument_syntax, {}, to_string(tensor->spec),
            "dynamic sizes are for 'show' and 'run'; here the size itself is needed");
  std::vector<CompileArg> result;
  for (size_t i = 0; i < arguments.size(); ++i)
    result.push_back(compile_argument(kernel.params()[i], arguments[i]));
  return result;
}

LaunchArguments::LaunchArguments(const KernelHandle& kernel, const std::vector<Argument>& arguments,
                                 Device device, uint64_t seed) {
  check(kernel, arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ParamInfo& param = kernel.params()[i];
    if (const auto* tensor = std::get_if<TensorArgument>(&arguments[i])) {
      if (tensor->spec.dynamic && tensor->spec.sizes[0] == kMostDynamic)
        raise(ErrorId::argument_syntax, {}, to_string(tensor->spec),
              "how many rows there are is said behind the '?'");
      tensors_.push_back({param.name, make_tensor(*tensor, device, seed + i)});
      args_.push_back(CallArg::tensor(tensors_.back().tensor.view));
      args_.back().argument.dynamic = tensor->spec.dynamic;
    } else {
      args_.push_back(scalar_argument(param, std::get<ScalarArgument>(arguments[i])));
    }
  }
}

}  // namespace tilewright::cli
