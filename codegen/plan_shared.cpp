#include "tilewright/codegen/plan_shared.h"

#include <algorithm>
#include <functional>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {

namespace {

/// Places the buffers that `chosen` picks one after the other from byte `begin` on; returns the
/// end.
int64_t place(Kernel& kernel, int64_t begin,
              const std::function<bool(const SharedBuffer&)>& chosen) {
  int64_t end = begin;
  for (SharedBuffer& buffer : kernel.buffers) {
    if (!chosen(buffer)) continue;
    buffer.offset = (end + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
    end = buffer.offset + buffer.bytes();
  }
  return end;
}

}  // namespace

void plan_shared(Kernel& kernel, const Config& config, const Target& target) {
  std::stable_sort(
      kernel.buffers.begin(), kernel.buffers.end(),
      [](const SharedBuffer& a, const SharedBuffer& b) { return a.alignment > b.alignment; });
  // Rings first; what is used after them takes the same bytes; then the others.
  const int64_t rings = place(kernel, 0, [](const SharedBuffer& b) { return b.ring; });
  const int64_t later = place(kernel, 0, [](const SharedBuffer& b) { return b.after_rings; });
  const int64_t end = place(kernel, std::max(rings, later),
                            [](const SharedBuffer& b) { return !b.ring && !b.after_rings; });
  kernel.shared_bytes = (end + 15) / 16 * 16;
  if (kernel.shared_bytes > target.shared_bytes)
    raise(ErrorId::config_shared, {}, to_json(config), kernel.shared_bytes, target.shared_bytes,
          target.name());
}

}  // namespace tilewright::codegen
