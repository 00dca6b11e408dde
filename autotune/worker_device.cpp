#include "tilewright/autotune/worker_device.h"

#include "tilewright/ir/error.h"

namespace tilewright::tune {

std::unique_ptr<WorkerDevice> open_worker_device(const std::string& device) {
  const Device parsed = parse_device(device);
  if (parsed.is_cuda()) return make_cuda_device(parsed.index);
  if (parsed.is_emulator()) return make_emulated_device();
  raise(ErrorId::bad_device, {}, "tuning", device);
}

}  // namespace tilewright::tune
