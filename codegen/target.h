// What a GPU architecture can do, as far as code generation asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// One CUDA architecture. Limits are per block (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
struct Target {
  int sm = 80;            ///< compute capability times ten
  bool specific = false;  ///< an architecture-specific target: the "a" of sm_90a
  int shared_bytes = 0;   ///< opt-in shared memory per block, bytes
  int multiprocessors =
      132;  ///< of the device; a typical figure when only the architecture is known

  static constexpr int max_threads = 1024;
  static constexpr int registers_per_block = 65536;
  static constexpr int max_registers = 255;  ///< per thread

  std::string name() const;  ///< "sm_90a"
  bool has_cp_async() const { return sm >= 80; }
  friend bool operator==(const Target&, const Target&) = default;
};

/// "sm_75" .. "sm_120a". Raises unknown_target.
Target parse_target(std::string_view name);
/// The target for a device of compute capability major.minor; the specific variant from 9.0 up.
Target target_of_device(int major, int minor, int multiprocessors);

}  // namespace tilewright
