// A kernel as a C++ function object: `auto scale = tw::kernel("scale", [](tw::Tensor x) { .. });`
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewright/autotune/kernel_handle.h"
#include "tilewright/dsl/trace_fn.h"

namespace tilewright {

namespace detail {

/// What a caller passes for a parameter.
template <class P>
struct Passed {
  using Type = P;  ///< a value known when tracing
  static CallArg arg(P value) { return CallArg::known(value); }
};
template <>
struct Passed<Tensor> {
  using Type = const TensorView&;
  static CallArg arg(const TensorView& view) { return CallArg::tensor(view); }
};
template <class T>
struct Passed<Scalar<T>> {
  using Type = T;
  static CallArg arg(T value) { return CallArg::scalar(value); }
};
template <class S>
struct Passed<Fn<S>> {
  using Type = const Fn<S>&;
  static CallArg arg(const Fn<S>& fn) { return CallArg::function(fn); }
};

/// What a call returns: arrays where the kernel has tensors.
template <class R>
struct Returned;
template <>
struct Returned<void> {
  static void from(std::vector<Array>) {}
};
template <>
struct Returned<Tensor> {
  static Array from(std::vector<Array> results) { return std::move(results.at(0)); }
};
template <class... T>
struct Returned<std::tuple<T...>> {
  template <size_t... I>
  static auto unpack(std::vector<Array>& results, std::index_sequence<I...>) {
    return std::tuple(std::move(results.at(I))...);
  }
  static auto from(std::vector<Array> results) {
    return unpack(results, std::make_index_sequence<sizeof...(T)>{});
  }
};
template <class A, class B>
struct Returned<std::pair<A, B>> {
  static std::pair<Array, Array> from(std::vector<Array> results) {
    return {std::move(results.at(0)), std::move(results.at(1))};
  }
};
template <size_t N>
struct Returned<std::array<Tensor, N>> {
  static std::array<Array, N> from(std::vector<Array> results) {
    std::array<Array, N> arrays;
    for (size_t i = 0; i < N; ++i) arrays[i] = std::move(results.at(i));
    return arrays;
  }
};

}  // namespace detail

template <class R, class Params>
class Kernel;

/// A kernel returning R with parameters P. Copies are the same kernel. Thread-safe. Callers pass
/// arrays or views for tensors, numbers for scalars and for values known when tracing, and
/// callables for Fn parameters.
template <class R, class... P>
class Kernel<R, std::tuple<P...>> {
 public:
  explicit Kernel(Traceable traceable) : handle_(std::move(traceable)) {}

  /// Runs the kernel and returns new arrays for its results: an Array, a tuple, pair or std::array
  /// of them, or nothing. See KernelHandle::call.
  auto operator()(typename detail::Passed<P>::Type... args) const {
    const std::array<CallArg, sizeof...(P)> passed{detail::Passed<P>::arg(args)...};
    return detail::Returned<R>::from(handle_.call(passed));
  }

  /// Runs the kernel in the form for production: `.launch({.stream = s, .out = {c}}, a, b)`. See
  /// KernelHandle::launch.
  void launch(const LaunchOptions& options, typename detail::Passed<P>::Type... args) const {
    const std::array<CallArg, sizeof...(P)> passed{detail::Passed<P>::arg(args)...};
    handle_.launch(options, passed);
  }

  /// Compiles: `.compile({a.spec(), b.spec()}).cuda()`. See KernelHandle::compile.
  CompiledKernel compile(std::vector<CompileArg> args, const CompileOptions& options = {}) const {
    return handle_.compile(std::move(args), options);
  }
  CompiledKernel compile(std::vector<CompileArg> args, const Target& target) const {
    return handle_.compile(std::move(args), target);
  }

  /// Compiles ahead of time: `.prepare({{a.spec(), b.spec()}, ..})`. See KernelHandle::prepare.
  void prepare(const std::vector<std::vector<CompileArg>>& calls,
               const CompileOptions& options = {}) const {
    handle_.prepare(calls, options);
  }

  /// See KernelHandle::set_dynamic: `k.dynamic(0)` takes the rows of the first argument at run
  /// time.
  void dynamic(int param, int axis = 0) const { handle_.set_dynamic(param, axis); }
  void set_config(std::optional<Config> config) const { handle_.set_config(std::move(config)); }
  /// Takes configs from a file. See KernelHandle::pin.
  void pin(const std::string& file) const { handle_.pin(file); }
  /// See KernelHandle::set_tune_inputs: `k.tune_inputs([](std::span<const TensorSpec> specs) { ..
  /// })`.
  void tune_inputs(TuneInputs make) const { handle_.set_tune_inputs(std::move(make)); }
  const std::string& name() const { return handle_.name(); }
  const KernelHandle& handle() const { return handle_; }
  operator const KernelHandle&() const { return handle_; }

 private:
  KernelHandle handle_;
};

/// Makes a kernel of a callable: see dsl/trace_fn.h for what it may take and return. Nothing is
/// traced yet.
template <class F>
auto kernel(std::string name, F fn, Loc loc = Loc::current()) {
  return Kernel<KernelResultType<F>, KernelParams<F>>(
      make_traceable(std::move(name), std::move(fn), loc));
}

}  // namespace tilewright
