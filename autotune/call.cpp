#include "tilewright/autotune/call.h"

namespace tilewright {

KernelArg CompileArg::for_param(const ParamInfo& param) const {
  if (const auto* spec = std::get_if<TensorSpec>(&value_)) return KernelArg::tensor(*spec);
  if (const auto* dtype = std::get_if<DType>(&value_)) return KernelArg::scalar(*dtype);
  const auto& arg = std::get<KernelArg>(value_);
  const bool number = arg.kind() == ParamKind::constant;
  return number && param.kind == ParamKind::scalar ? KernelArg::scalar(param.dtype) : arg;
}

}  // namespace tilewright
