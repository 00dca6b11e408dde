// PTX in a kernel, for what the language does not have.
#pragma once

#include <initializer_list>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tilewright/dsl/operand.h"
#include "tilewright/ir/host_function.h"

namespace tilewright {

namespace dsl {

/// What a host function takes and gives, in the order result, operands: float stands for all floats
/// up to 32 bits.
struct HostTwin {
  std::string_view identity;  ///< the same for the same function
  ir::HostFunction function = nullptr;
  std::vector<DType> types;
};

template <class F>
concept HostCallable = requires {
  &F::operator();
};

template <class F, class R, class... A, size_t... I>
void call_host(const void* const* arguments, void* result, std::index_sequence<I...>) {
  *static_cast<R*>(result) = F{}(*static_cast<const std::remove_cvref_t<A>*>(arguments[I])...);
}

template <class F, class R, class... A>
HostTwin host_twin(R (F::*)(A...) const) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "the host function of tw::inline_ptx is a lambda that captures nothing");
  return {typeid(F).name(),
          [](const void* const* arguments, void* result) {
            call_host<F, R, A...>(arguments, result, std::index_sequence_for<A...>{});
          },
          {dtype_of<R>(), dtype_of<std::remove_cvref_t<A>>()...}};
}

Tile inline_ptx(std::string_view ptx, DType dtype, const std::vector<Operand>& x,
                const HostTwin& twin, Loc loc);

}  // namespace dsl

/// Applies PTX to every element: `tw::inline_ptx("lg2.approx.f32 %0, %1;", tw::f32, {x},
/// [](float v) { return std::log2(v); })`. %0 is the result, of `dtype`; %1, .. are the elements of
/// the operands, which broadcast. Values of 8 bits are in 32-bit registers, f16 and bf16 in 16-bit
/// ones. The PTX must be a function of its operands.
///
/// The host function is what the interpreter and the emulator compute instead: a lambda without
/// captures on the same types, float for the narrower floats. Without one they refuse the kernel
/// (ptx_without_twin). Errors: ptx_operands.
Tile inline_ptx(std::string_view ptx, DType dtype, std::initializer_list<Operand> x,
                Loc loc = Loc::current());
template <dsl::HostCallable F>
Tile inline_ptx(std::string_view ptx, DType dtype, std::initializer_list<Operand> x, const F&,
                Loc loc = Loc::current()) {
  return dsl::inline_ptx(ptx, dtype, x, dsl::host_twin(&F::operator()), loc);
}

}  // namespace tilewright
