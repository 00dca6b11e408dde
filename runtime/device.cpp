#include "tilewright/runtime/device.h"

#include <charconv>
#include <cstdlib>
#include <mutex>

#include "tilewright/codegen/target.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/driver.h"

namespace tilewright {

std::string to_string(Device device) {
  if (device.is_emulator()) return "emulate:" + device.architecture();
  return device.is_cpu() ? "cpu" : fmt::format("cuda:{}", device.index);
}

// The index holds the number and, in the lowest bit, the "a" of sm_90a.
Device Device::emulate(std::string_view architecture) {
  const Target target = parse_target(architecture);
  return {Kind::emulator, target.sm * 2 + target.specific};
}

std::string Device::architecture() const {
  return is_emulator() ? fmt::format("sm_{}{}", index / 2, index % 2 != 0 ? "a" : "") : "";
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda(0);
  constexpr std::string_view emulate = "emulate:";
  if (text == "emulate") return Device::emulate("sm_80");
  if (text.starts_with(emulate)) return Device::emulate(text.substr(emulate.size()));
  constexpr std::string_view prefix = "cuda:";
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc{} && end == digits.data() + digits.size() && index >= 0)
      return Device::cuda(index);
  }
  raise(ErrorId::unknown_device, {}, text);
}

Device default_device(bool warn) {
  const char* wanted = std::getenv("TILEWRIGHT_DEVICE");
  if (wanted != nullptr && *wanted != '\0') {
    const Device device = parse_device(wanted);
    if (device.is_cuda()) runtime::require_device(device.index);
    return device;
  }
  const runtime::DriverStatus& status = runtime::driver_status();
  if (status.usable()) return Device::cuda(0);
  if (!warn) return Device::cpu();
  static std::once_flag warned;
  std::call_once(warned, [&] {
    log(LogLevel::warning,
        "no GPU can be used ({}); kernels run on the CPU, slowly. Set "
        "TILEWRIGHT_DEVICE=cpu to choose that without this warning.",
        status.problem);
  });
  return Device::cpu();
}

}  // namespace tilewright
