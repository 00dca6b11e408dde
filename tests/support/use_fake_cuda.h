// Puts the fake driver in place of the real one, for the whole test program.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/support/fake_cuda.h"

namespace tilewright::testing {

/// The state of the fake driver. The first call must come before anything uses the driver.
inline FakeCuda& fake_cuda() {
  static FakeCuda* const state = [] {
    ::setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_FAKE_CUDA, 1);
    void* library = dlopen(TILEWRIGHT_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda_state"))();
  }();
  return *state;
}

}  // namespace tilewright::testing
