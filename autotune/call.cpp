#include "tilewright/autotune/call.h"

namespace tilewright {

KernelArg CompileArg::for_param(const ParamInfo& param) const {
  KernelArg arg;
  if (const auto* spec = std::get_if<TensorSpec>(&value_)) arg.value = *spec;
  if (const auto* dtype = std::get_if<DType>(&value_)) arg.value = KernelArg::Scalar{*dtype};
  if (const auto* callable = std::get_if<KernelArg::Callable>(&value_)) arg.value = *callable;
  if (const auto* number = std::get_if<dsl::LiteralValue>(&value_)) {
    if (param.kind == ParamKind::scalar)
      arg.value = KernelArg::Scalar{param.dtype};
    else
      arg.value = KernelArg::Constant{*number};
  }
  return arg;
}

}  // namespace tilewright
