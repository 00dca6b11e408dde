// Where memory lives and kernels run.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// The CPU, one CUDA device, or an emulated GPU in host memory.
struct Device {
  enum class Kind { cpu, cuda, emulator };
  Kind kind = Kind::cpu;
  int index = 0;  ///< CUDA ordinal; of an emulated GPU its architecture; 0 for the CPU

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int index = 0) { return {Kind::cuda, index}; }
  /// A GPU of that architecture ("sm_80") as the emulator stands for it: kernels run as printed,
  /// and a launch that breaks a rule raises emulator_report. Raises unknown_target.
  static Device emulate(std::string_view architecture);
  constexpr bool is_cpu() const { return kind == Kind::cpu; }
  constexpr bool is_cuda() const { return kind == Kind::cuda; }
  constexpr bool is_emulator() const { return kind == Kind::emulator; }
  /// Whether tensors are in host memory.
  constexpr bool is_host() const { return kind != Kind::cuda; }
  /// The architecture of an emulated GPU, as parse_target reads it.
  std::string architecture() const;
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

std::string to_string(Device device);  ///< "cpu", "cuda:0", "emulate:sm_80"
/// Reads "cpu", "cuda", "cuda:N", "emulate" or "emulate:sm_NN". Raises unknown_device or
/// unknown_target; does not ask whether the device exists.
Device parse_device(std::string_view text);

/// Where arrays are made and kernels without array arguments run: TILEWRIGHT_DEVICE ("cpu", "cuda",
/// "cuda:N", "emulate:sm_NN") when set, else cuda:0 when there is a usable GPU, else the CPU with
/// one warning that says what is missing. Raises missing_driver, no_gpu or no_such_device when
/// TILEWRIGHT_DEVICE asks for a GPU that cannot be used.
Device default_device(bool warn = true);

}  // namespace tilewright
