// Builds without Boost.Context: no fibers, and so no emulator.
#include "tilewright/ir/error.h"
#include "tilewright/runtime/fiber.h"

namespace tilewright::runtime {

bool fibers_available() { return false; }

FiberContext make_fiber(void*, size_t) { throw InternalError("there are no fibers"); }

FiberContext switch_fiber(FiberContext, FiberStart*) { throw InternalError("there are no fibers"); }

}  // namespace tilewright::runtime
