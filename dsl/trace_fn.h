// From a C++ callable to tile IR: the parameters its signature declares, and the traced function.
//
// A kernel is a callable whose parameters are
//   tw::Tensor          a tensor in memory
//   tw::Scalar<T>       a number known at run time
//   bool, int, .., float, double, an enum     a number known when tracing: part of the kernel's key
//   tw::Fn<Tile(Tile)>  a callable applied while tracing (an epilogue)
// and which returns void, a Tensor, or a std::tuple, std::pair or std::array of Tensors.
#pragma once

#include <any>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "tilewright/dsl/tensor.h"
#include "tilewright/dsl/tile.h"
#include "tilewright/dsl/tunable.h"
#include "tilewright/ir/node.h"

namespace tilewright {

/// A callable as a kernel's parameter: `tw::Fn<tw::Tile(tw::Tile)> epilogue`.
template <class Signature>
class Fn;

template <class R, class... Args>
class Fn<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Fn> && std::is_invocable_r_v<R, F, Args...>)
      Fn(F callable)
      : key_(key_of(callable)), call_(std::move(callable)) {}

  R operator()(Args... args) const { return call_(std::forward<Args>(args)...); }

  /// Equal keys mean the same function. Empty for a callable with captures, whose values cannot be
  /// seen: what was traced with it must not be looked up by key.
  const std::string& key() const { return key_; }

 private:
  template <class F>
  static std::string key_of(const F& callable) {
    if constexpr (std::is_empty_v<F>) return typeid(F).name();
    if constexpr (std::is_pointer_v<F>)
      return fmt::format("{}@{}", typeid(F).name(), reinterpret_cast<uintptr_t>(callable));
    return {};
  }

  std::string key_;
  std::function<R(Args...)> call_;
};

enum class ParamKind { tensor, scalar, constant, callable };

/// A parameter as the callable's signature declares it.
struct ParamInfo {
  ParamKind kind = ParamKind::tensor;
  DType dtype = DType::f32;  ///< of a run-time scalar
  std::string name = {};     ///< from the source where it can be read, else "arg0", ..
};

/// An argument, as far as a trace depends on it.
struct KernelArg {
  struct Scalar {
    DType dtype = DType::f32;
    friend bool operator==(const Scalar&, const Scalar&) = default;
  };
  struct Constant {
    dsl::LiteralValue value;  ///< bool, int64_t (integers and enums) or double
    friend bool operator==(const Constant&, const Constant&) = default;
  };
  struct Callable {
    std::any fn;      ///< the Fn<...> that the parameter's type names
    std::string key;  ///< Fn::key(); empty: never equal to another
  };

  std::variant<TensorSpec, Scalar, Constant, Callable> value;

  static KernelArg tensor(TensorSpec spec) { return {std::move(spec)}; }
  static KernelArg scalar(DType dtype) { return {Scalar{dtype}}; }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  static KernelArg constant(T value) {
    if constexpr (std::is_enum_v<T>)
      return {Constant{static_cast<int64_t>(value)}};
    else
      return {Constant{dsl::Literal::widen(value)}};
  }
  template <class Signature>
  static KernelArg callable(Fn<Signature> fn) {
    std::string key = fn.key();
    return {Callable{std::move(fn), std::move(key)}};
  }
  ParamKind kind() const { return static_cast<ParamKind>(value.index()); }
};

/// Text that is equal for equal arguments, such as "f32[8,8]", "scalar f32", "3", "0x1.8p+1",
/// "true"; nothing when it cannot say (a callable with captures).
std::optional<std::string> key_of(const KernelArg& arg);

namespace dsl {

template <class T>
struct IsFn : std::false_type {};
template <class S>
struct IsFn<Fn<S>> : std::true_type {};
template <class T>
struct IsScalar : std::false_type {};
template <class T>
struct IsScalar<Scalar<T>> : std::true_type {};

template <class P>
concept KernelParam = std::is_same_v<P, Tensor> || IsScalar<P>::value || IsFn<P>::value ||
    std::is_arithmetic_v<P> || std::is_enum_v<P>;

/// The element type of a run-time scalar parameter.
template <class T>
constexpr DType scalar_dtype(const Scalar<T>*) {
  return dtype_of<T>();
}

/// What a parameter type (without reference and const) declares.
template <class P>
ParamInfo param_info() {
  static_assert(KernelParam<P>,
                "a kernel's parameters are tw::Tensor, tw::Scalar<T> (known at run time), bool, "
                "numbers and enums (known when tracing) and tw::Fn<Tile(Tile)>");
  if constexpr (std::is_same_v<P, Tensor>) return {ParamKind::tensor};
  if constexpr (IsScalar<P>::value)
    return {ParamKind::scalar, scalar_dtype(static_cast<const P*>(nullptr))};
  if constexpr (IsFn<P>::value) return {ParamKind::callable};
  return {ParamKind::constant};
}

/// The tensor or scalar parameter of the trace in progress that stands for argument `index`.
Tensor tensor_param(size_t index);
Slot scalar_param(size_t index);
[[noreturn]] void raise_callable_type(size_t index);

/// The object a kernel's callable receives for argument `index`.
template <class P>
P make_param(const KernelArg& arg, size_t index) {
  if constexpr (std::is_same_v<P, Tensor>) {
    return tensor_param(index);
  } else if constexpr (IsScalar<P>::value) {
    return P(scalar_param(index));
  } else if constexpr (IsFn<P>::value) {
    const P* fn = std::any_cast<P>(&std::get<KernelArg::Callable>(arg.value).fn);
    if (fn == nullptr) raise_callable_type(index);
    return *fn;
  } else if constexpr (KernelParam<P>) {
    const LiteralValue& value = std::get<KernelArg::Constant>(arg.value).value;
    return std::visit([](auto number) { return static_cast<P>(number); }, value);
  }
}

/// Result and parameter types of a callable.
template <class R, class... P>
struct SignatureTypes {
  using Result = R;
  using Params = std::tuple<std::remove_cvref_t<P>...>;
};
template <class F>
struct Signature;
template <class R, class... P>
struct Signature<R (*)(P...)> : SignatureTypes<R, P...> {};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...)> : SignatureTypes<R, P...> {};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...) const> : SignatureTypes<R, P...> {};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...) noexcept> : SignatureTypes<R, P...> {};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...) const noexcept> : SignatureTypes<R, P...> {};

template <class F>
concept HasCallOperator = requires {
  &F::operator();
};

template <class F>
auto signature_of() {
  if constexpr (std::is_pointer_v<F>) {
    return Signature<F>{};
  } else {
    static_assert(HasCallOperator<F>,
                  "a kernel is a lambda or function with one fixed signature; give each parameter "
                  "its type (tw::Tensor a) instead of auto");
    if constexpr (HasCallOperator<F>)
      return Signature<decltype(&F::operator())>{};
    else
      return SignatureTypes<void>{};
  }
}

/// The tensors in a kernel's return value.
inline std::vector<Tensor> tensors_of(const Tensor& one) { return {one}; }
template <class... T>
std::vector<Tensor> tensors_of(const std::tuple<T...>& several) {
  return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, several);
}
template <class A, class B>
std::vector<Tensor> tensors_of(const std::pair<A, B>& two) {
  return {two.first, two.second};
}
template <size_t N>
std::vector<Tensor> tensors_of(const std::array<Tensor, N>& several) {
  return {several.begin(), several.end()};
}
template <class R>
concept KernelResult = std::is_void_v<R> || requires(const R& r) {
  tensors_of(r);
};

}  // namespace dsl

/// The parameter types (a std::tuple, without references) and the result type of a kernel's
/// callable.
template <class F>
using KernelParams = typename decltype(dsl::signature_of<std::decay_t<F>>())::Params;
template <class F>
using KernelResultType = typename decltype(dsl::signature_of<std::decay_t<F>>())::Result;

/// A callable with its types erased, ready to be traced. Copyable; tracing is thread-safe as far as
/// the callable is.
class Traceable {
 public:
  /// Runs the callable on tensors and scalars that exist for this trace, giving what it returns.
  using Body = std::function<std::vector<Tensor>(std::span<const KernelArg>)>;

  Traceable(std::string name, std::vector<ParamInfo> params, Body body, Loc loc);

  const std::string& name() const { return name_; }
  Loc loc() const { return loc_; }
  const std::vector<ParamInfo>& params() const { return params_; }

  /// The IR for these arguments, in canonical order. Its parameters are the tensor and run-time
  /// scalar arguments in order, then the tensors made by tw::empty (Param::allocated);
  /// Function::results lists what the callable returns. The callable runs twice, the second time
  /// with every loop body twice, to find host state that the body changes. Every error of the
  /// language is raised here, and exceptions of the callable pass through.
  /// Errors: kernel_arguments when the arguments' number or kinds are not the parameters'.
  /// `tunables`: what the config chooses; names that the kernel does not ask for are ignored.
  ir::Function trace(std::span<const KernelArg> args, const TunableValues& tunables = {}) const;

 private:
  std::string name_;
  std::vector<ParamInfo> params_;
  Body body_;
  Loc loc_;
};

namespace dsl {

template <class F, class Result, class... P, size_t... I>
Traceable::Body erase_body(F fn, std::tuple<P...>*, Result*, std::index_sequence<I...>) {
  return [fn = std::move(fn)](std::span<const KernelArg> args) mutable -> std::vector<Tensor> {
    (void)args;
    if constexpr (std::is_void_v<Result>) {
      fn(make_param<P>(args[I], I)...);
      return {};
    } else {
      return tensors_of(fn(make_param<P>(args[I], I)...));
    }
  };
}

template <class... P>
std::vector<ParamInfo> param_infos(std::tuple<P...>*) {
  return {param_info<P>()...};
}

}  // namespace dsl

/// Makes a callable traceable under a name; `loc` is where the user names the kernel, after which
/// its parameter list is looked for. Does not compile for other signatures than the header's top
/// states.
template <class F>
Traceable make_traceable(std::string name, F fn, Loc loc = Loc::current()) {
  using Params = KernelParams<F>;
  using Result = KernelResultType<F>;
  static_assert(dsl::KernelResult<Result>,
                "a kernel returns void, a tw::Tensor, or a tuple, pair or array of tw::Tensor");
  std::vector<ParamInfo> params = dsl::param_infos(static_cast<Params*>(nullptr));
  if constexpr (dsl::KernelResult<Result>) {
    return Traceable(
        std::move(name), std::move(params),
        dsl::erase_body(std::move(fn), static_cast<Params*>(nullptr), static_cast<Result*>(nullptr),
                        std::make_index_sequence<std::tuple_size_v<Params>>{}),
        loc);
  }
}

}  // namespace tilewright
