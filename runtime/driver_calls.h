// Calling the CUDA driver: for the files that know its types.
#pragma once

#include <string_view>

namespace tilewright::runtime {

/// Pointers to the driver's functions; defined by driver_functions.def, which needs <cuda.h>.
struct DriverFunctions;

/// Those of this process's driver; all null while it is not loaded.
const DriverFunctions& driver_calls();
/// Raises what a failed call (a CUresult) means. `what` says in the error's words what was being
/// done.
void check_driver(int code, std::string_view what);
/// The driver's name of a CUresult.
std::string_view driver_error_name(int code);

}  // namespace tilewright::runtime
