#include "tilewright/dsl/atomics.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/tensor_access.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using ir::Fn;
using ir::Value;

std::string text_of(Order order) {
  switch (order) {
    case Order::relaxed:
      return "";
    case Order::acquire:
      return "acquire";
    case Order::release:
      return "release";
    case Order::acq_rel:
      return "acq_rel";
  }
  return "";
}

/// An atomic being recorded.
class Atomic {
 public:
  Atomic(std::string_view what, const TensorRef& target, const AtomicOptions& options, Loc loc)
      : what_(what), loc_(loc), access_(target.access(what, loc)) {
    const Value* mask = dsl::mask_of(options.mask, access_, loc);
    options_ = {.mask = dsl::whole_mask(access_, mask, loc), .order = text_of(options.order)};
    builder().loc = loc;
  }

  void expect(bool accepted, std::string_view dtypes) const {
    if (!accepted)
      raise(ErrorId::atomic_dtype, loc_, what_, dsl::name_of_tensor(access_.tensor),
            to_string(dtype()), dtypes);
  }

  DType dtype() const { return access_.tensor->type.dtype; }

  const Value* operand(const Operand& operand) const {
    const Value* value = dsl::materialize(operand, dtype(), loc_);
    if (!dsl::stores_implicitly(value->type.dtype, dtype()))
      raise(ErrorId::store_needs_cast, loc_, to_string(value->type.dtype),
            dsl::name_of_tensor(access_.tensor), to_string(dtype()), to_string(dtype()));
    return dsl::in_access_order(access_, builder().cast(value, dtype()), what_, loc_);
  }

  Tile result(const Value* old) const {
    return dsl::tile_of(dsl::as_seen(access_, old, loc_), loc_);
  }

  ir::Builder& builder() const { return dsl::Trace::current(what_, loc_).in_loop(what_, loc_); }
  const dsl::TensorAccess& access() const { return access_; }
  const ir::AccessOptions& options() const { return options_; }

 private:
  std::string_view what_;
  Loc loc_;
  dsl::TensorAccess access_;
  ir::AccessOptions options_;
};

constexpr std::string_view kNumbers = "i32, i64, f16, bf16, f32 or f64";

Tile update(Fn fn, std::string_view what, const TensorRef& target, const Operand& value,
            const AtomicOptions& options, Loc loc) {
  const Atomic atomic(what, target, options, loc);
  const bool bits = !ir::has_atomic(fn, DType::f32);
  atomic.expect(ir::has_atomic(fn, atomic.dtype()), bits ? "i32 or i64" : kNumbers);
  const Value* operand = atomic.operand(value);
  return atomic.result(atomic.builder().atomic(fn, atomic.access().tensor, operand,
                                               atomic.access().indices, atomic.options()));
}

}  // namespace

Tile atomic_add(TensorRef&& target, const Operand& value, const AtomicOptions& options, Loc loc) {
  return update(Fn::add, "atomic_add", target, value, options, loc);
}
Tile atomic_min(TensorRef&& target, const Operand& value, const AtomicOptions& options, Loc loc) {
  return update(Fn::min, "atomic_min", target, value, options, loc);
}
Tile atomic_max(TensorRef&& target, const Operand& value, const AtomicOptions& options, Loc loc) {
  return update(Fn::max, "atomic_max", target, value, options, loc);
}
Tile atomic_and(TensorRef&& target, const Operand& value, const AtomicOptions& options, Loc loc) {
  return update(Fn::bit_and, "atomic_and", target, value, options, loc);
}
Tile atomic_or(TensorRef&& target, const Operand& value, const AtomicOptions& options, Loc loc) {
  return update(Fn::bit_or, "atomic_or", target, value, options, loc);
}
Tile atomic_xor(TensorRef&& target, const Operand& value, const AtomicOptions& options, Loc loc) {
  return update(Fn::bit_xor, "atomic_xor", target, value, options, loc);
}

Tile atomic_exchange(TensorRef&& target, const Operand& value, const AtomicOptions& options,
                     Loc loc) {
  const Atomic atomic("atomic_exchange", target, options, loc);
  atomic.expect(ir::has_atomics(atomic.dtype()), kNumbers);
  const Value* operand = atomic.operand(value);
  return atomic.result(atomic.builder().atomic_exchange(atomic.access().tensor, operand,
                                                        atomic.access().indices, atomic.options()));
}

Tile atomic_cas(TensorRef&& target, const Operand& expected, const Operand& value,
                const AtomicOptions& options, Loc loc) {
  const Atomic atomic("atomic_cas", target, options, loc);
  atomic.expect(ir::has_atomics(atomic.dtype()), kNumbers);
  const Value* wanted = atomic.operand(expected);
  const Value* operand = atomic.operand(value);
  return atomic.result(atomic.builder().atomic_cas(atomic.access().tensor, operand, wanted,
                                                   atomic.access().indices, atomic.options()));
}

}  // namespace tilewright
