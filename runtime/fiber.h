// Stacks that one thread switches between: what the threads of an emulated block run on.
#pragma once

#include <cstddef>

namespace tilewright::runtime {

/// A suspended stack. Each is resumed once; switching gives a new one.
using FiberContext = void*;

/// What a new fiber does first. `run` gets the context to go back to, and never returns: it ends by
/// switching away for good, after which the stack may be used again.
struct FiberStart {
  void (*run)(FiberStart& self, FiberContext from) = nullptr;
};

/// Whether this build has fibers (Boost.Context was found when it was configured).
bool fibers_available();

/// A fiber on the `bytes` below `top`, which begins when it is first switched to with a FiberStart.
FiberContext make_fiber(void* top, size_t bytes);

/// Suspends the running stack and resumes `to`; returns when somebody resumes this one, with the
/// context of who did.
FiberContext switch_fiber(FiberContext to, FiberStart* start);

}  // namespace tilewright::runtime
