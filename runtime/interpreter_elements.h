// Accesses of tensors one element at a time: those by index tiles or under a mask, and atomics.
// Internal to the interpreter.
#pragma once

#include <cstdint>

#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {

/// Whether index `position` of an access may have positions that are not valid.
bool guarded(const ir::Op& access, int64_t position);

/// A load; elements that are masked out or at positions that are not valid are 0. `bytes`: of the
/// result.
void load_elements(const Step& step, Frame& frame, const HostTensor& tensor, size_t bytes);

/// A store. Raises overlapping_store and, for index tiles that name an element twice,
/// scatter_twice.
void store_elements(const Step& step, Frame& frame, const HostTensor& tensor);

}  // namespace tilewright::interpreter
