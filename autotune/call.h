// What is passed to a kernel: arguments of a call, of a compilation, and their options.
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "tilewright/autotune/policy.h"
#include "tilewright/codegen/config.h"
#include "tilewright/dsl/trace_fn.h"
#include "tilewright/runtime/arguments.h"
#include "tilewright/runtime/array.h"
#include "tilewright/runtime/stream.h"

namespace tilewright {

/// How to launch.
struct LaunchOptions {
  Stream stream = {};                 ///< GPU only
  std::vector<TensorView> out = {};   ///< one for each result that the kernel makes, in its order
  std::optional<Config> config = {};  ///< else the kernel's (set_config), else as .tune says
  /// At least CompiledKernel::workspace_bytes, on the GPU, contiguous, at a multiple of 256 bytes;
  /// by default the launch allocates what it needs. Launches that run at the same time need their
  /// own.
  TensorView workspace = {};
  std::optional<TunePolicy> tune = {};  ///< else TILEWRIGHT_TUNE's
};

/// What to compile for.
struct CompileOptions {
  /// Else the default device's; sm_80 where there is no GPU.
  std::optional<Target> target = {};
  std::optional<Config> config = {};  ///< as for LaunchOptions
  /// Memory of the results, in the kernel's order; none: row-major and aligned to 16 bytes.
  std::vector<TensorSpec> out = {};
  /// Arguments that will be the same memory: positions among tensors and run-time scalars, then
  /// results.
  std::vector<std::vector<int>> alias_groups = {};
  /// Else TILEWRIGHT_TUNE's; off when that is not set and .target is given or there is no GPU.
  std::optional<TunePolicy> tune = {};
};

/// An argument of one call. Tensors are borrowed.
struct CallArg {
  ParamKind kind = ParamKind::tensor;
  runtime::Argument argument = {};         ///< tensor or run-time scalar
  dsl::LiteralValue constant = int64_t{};  ///< of a parameter known when tracing
  KernelArg::Callable callable = {};       ///< of a Fn parameter

  static CallArg tensor(const TensorView& view) { return {ParamKind::tensor, {&view}}; }
  template <Element T>
  static CallArg scalar(T value) {
    CallArg arg{ParamKind::scalar, {nullptr, dtype_of<T>()}};
    std::memcpy(&arg.argument.bits, &value, sizeof value);
    return arg;
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  static CallArg known(T value) {
    CallArg arg{ParamKind::constant};
    if constexpr (std::is_enum_v<T>)
      arg.constant = static_cast<int64_t>(value);
    else
      arg.constant = dsl::Literal::widen(value);
    return arg;
  }
  template <class S>
  static CallArg function(const Fn<S>& fn) {
    CallArg arg{ParamKind::callable};
    arg.callable = {fn, fn.key()};
    return arg;
  }
};

/// An argument of a compilation: a tensor's spec (or a tensor that has it; a dynamic one serves all
/// first sizes up to its own, rounded up as runtime::dynamic_limit does), a number (of a
/// parameter known when tracing; for a run-time scalar only its place counts), a dtype (a run-time
/// scalar) or a Fn.
class CompileArg {
 public:
  CompileArg(TensorSpec spec) : value_(std::move(spec)) {}
  CompileArg(const TensorView& view) : value_(view.spec()) {}
  CompileArg(const Array& array) : value_(array.spec()) {}
  CompileArg(DType scalar) : value_(scalar) {}
  template <class T>
  requires std::is_arithmetic_v<T> ||
      (std::is_enum_v<T> && !std::is_same_v<T, DType>)CompileArg(T number)
      : value_(CallArg::known(number).constant) {}
  template <class S>
  CompileArg(const Fn<S>& fn) : value_(KernelArg::Callable{fn, fn.key()}) {}

  /// The argument as the parameter takes it; of another kind when it does not fit.
  KernelArg for_param(const ParamInfo& param) const;
  /// The spec, of a dynamic tensor; else null.
  const TensorSpec* dynamic_spec() const {
    const auto* spec = std::get_if<TensorSpec>(&value_);
    return spec != nullptr && spec->dynamic ? spec : nullptr;
  }

 private:
  std::variant<TensorSpec, DType, dsl::LiteralValue, KernelArg::Callable> value_;
};

}  // namespace tilewright
