#include "bench/graph.h"

#include <stdexcept>

#include "tilewright/runtime/shared_library.h"

namespace tilewright::bench {

BareLaunch::BareLaunch() {
  static std::string problem;
  static const runtime::SharedLibrary library =
      runtime::SharedLibrary::open(runtime::driver_status().library, problem);
  if (!library) throw std::runtime_error(problem);
  if (!library.find("cuLaunchKernel", launch_))
    throw std::runtime_error("the driver has no cuLaunchKernel");
}

}  // namespace tilewright::bench
