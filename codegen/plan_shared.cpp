#include "tilewright/codegen/plan_shared.h"

#include <algorithm>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {

void plan_shared(Kernel& kernel, const Config& config, const Target& target) {
  std::stable_sort(
      kernel.buffers.begin(), kernel.buffers.end(),
      [](const SharedBuffer& a, const SharedBuffer& b) { return a.alignment > b.alignment; });
  int64_t end = 0;
  for (SharedBuffer& buffer : kernel.buffers) {
    buffer.offset = (end + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
    end = buffer.offset + buffer.bytes();
  }
  kernel.shared_bytes = (end + 15) / 16 * 16;
  if (kernel.shared_bytes > target.shared_bytes)
    raise(ErrorId::config_shared, {}, to_json(config), kernel.shared_bytes, target.shared_bytes,
          target.name());
}

}  // namespace tilewright::codegen
