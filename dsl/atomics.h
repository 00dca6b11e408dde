// Atomic operations on elements of tensors: read, change and write back in one step.
#pragma once

#include "tilewright/dsl/tensor.h"

namespace tilewright {

/// What an atomic orders beside the element itself, for all programs of the GPU. release: who sees
/// the new value sees all that the program did before; acquire: what the program does after sees
/// all that was released with the value read.
enum class Order : uint8_t { relaxed, acquire, release, acq_rel };

/// What an atomic may be told.
struct AtomicOptions {
  dsl::MaybeOperand mask = {};  ///< bool; elements where it is false are not touched
  Order order = Order::relaxed;
};

// `tw::atomic_add(c[rows, cols], x)`: each element becomes old + x. All give what was there before
// (0 at positions outside the tensor and where the mask is false), which costs more than not using
// it. Values broadcast and convert as in a store. Several lanes or programs may name one element;
// each changes it, in no order, so that sums of floats may differ from run to run. Tensors are of
// i32, i64, f16, bf16, f32 or f64, for and, or and xor of i32 or i64.
// Errors: atomic_dtype, shape_mismatch, store_needs_cast, function_dtype of a mask.

Tile atomic_add(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
                Loc loc = Loc::current());
/// NaN if either is; -0 is below +0.
Tile atomic_min(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
                Loc loc = Loc::current());
Tile atomic_max(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
                Loc loc = Loc::current());
Tile atomic_and(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
                Loc loc = Loc::current());
Tile atomic_or(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
               Loc loc = Loc::current());
Tile atomic_xor(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
                Loc loc = Loc::current());
/// Each element becomes the value.
Tile atomic_exchange(TensorRef&& target, const Operand& value, const AtomicOptions& options = {},
                     Loc loc = Loc::current());
/// Each element that has the bits of `expected` becomes the value.
Tile atomic_cas(TensorRef&& target, const Operand& expected, const Operand& value,
                const AtomicOptions& options = {}, Loc loc = Loc::current());

}  // namespace tilewright
