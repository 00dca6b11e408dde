// Fibers by Boost.Context.
#include <boost/context/detail/fcontext.hpp>

#include "tilewright/runtime/fiber.h"

namespace tilewright::runtime {
namespace {

void begin(boost::context::detail::transfer_t from) {
  FiberStart& start = *static_cast<FiberStart*>(from.data);
  start.run(start, from.fctx);
}

}  // namespace

bool fibers_available() { return true; }

FiberContext make_fiber(void* top, size_t bytes) {
  return boost::context::detail::make_fcontext(top, bytes, begin);
}

FiberContext switch_fiber(FiberContext to, FiberStart* start) {
  return boost::context::detail::jump_fcontext(to, start).fctx;
}

}  // namespace tilewright::runtime
