// Where memory lives and kernels run.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// The CPU, or one CUDA device.
struct Device {
  enum class Kind { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;  ///< CUDA ordinal; 0 for the CPU

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int index = 0) { return {Kind::cuda, index}; }
  constexpr bool is_cpu() const { return kind == Kind::cpu; }
  constexpr bool is_cuda() const { return kind == Kind::cuda; }
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

std::string to_string(Device device);  ///< "cpu", "cuda:0"
/// Reads "cpu", "cuda" or "cuda:N". Raises unknown_device; does not ask whether the device exists.
Device parse_device(std::string_view text);

/// Where arrays are made and kernels without array arguments run: TILEWRIGHT_DEVICE ("cpu", "cuda",
/// "cuda:N") when set, else cuda:0 when there is a usable GPU, else the CPU with one warning that
/// says what is missing. Raises missing_driver, no_gpu or no_such_device when TILEWRIGHT_DEVICE
/// asks for a GPU that cannot be used.
Device default_device(bool warn = true);

}  // namespace tilewright
