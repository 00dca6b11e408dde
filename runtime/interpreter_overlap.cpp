#include "tilewright/runtime/interpreter_overlap.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::interpreter {

std::vector<int64_t> position_of(const TensorSpec& spec, int64_t offset) {
  std::vector<size_t> order(spec.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return spec.strides[a] > spec.strides[b]; });
  std::vector<int64_t> position(spec.sizes.size());
  for (size_t d : order) {
    if (spec.sizes[d] <= 1 || spec.strides[d] == 0) continue;
    position[d] = std::min(offset / spec.strides[d], spec.sizes[d] - 1);
    offset -= position[d] * spec.strides[d];
  }
  return position;
}

OverlapCheck::OverlapCheck(const Step& loop, const Frame& frame, std::vector<int64_t> counts)
    : fn_(frame.program->fn), counts_(std::move(counts)) {
  internal_check(count(counts_) < std::numeric_limits<int32_t>::max(), "a grid is too large");
  ir::for_each_op(*loop.op->regions.at(0), [&](const ir::Op& op) {
    if (!ir::writes_tensor(op.kind)) return;
    const int slot = frame.program->slot(ir::AccessView(op).tensor);
    const HostTensor* tensor = frame.cells[slot].tensor;
    Owners& owners = owners_[tensor];
    if (owners != nullptr || tensor->spec.span() == 0) return;
    // calloc: the pages of elements that are never stored to are never made.
    owners.reset(static_cast<uint32_t*>(std::calloc(tensor->spec.span(), sizeof(uint32_t))));
    if (owners == nullptr)
      raise(ErrorId::host_out_of_memory, loop.op->loc, tensor->spec.span() * sizeof(uint32_t));
  });
}

void OverlapCheck::claim(const Step& store, const HostTensor& tensor, int64_t offset,
                         int64_t stride, int64_t n, int64_t program) {
  uint32_t* owners = owners_.at(&tensor).get();
  const uint32_t mine = static_cast<uint32_t>(program + 1);
  for (int64_t i = 0; i < n; ++i, offset += stride) {
    std::atomic_ref<uint32_t> owner(owners[offset]);
    uint32_t found = 0;
    if (owner.compare_exchange_strong(found, mine, std::memory_order_relaxed) || found == mine)
      continue;
    if (found == (mine | kAtomic)) {
      owner.store(mine, std::memory_order_relaxed);
      continue;
    }
    const bool atomic = (found & kAtomic) != 0;
    fail(atomic ? ErrorId::atomic_and_store : ErrorId::overlapping_store, store, tensor, offset,
         found, mine);
  }
}

void OverlapCheck::claim_atomic(const Step& atomic, const HostTensor& tensor, int64_t offset,
                                int64_t program) {
  std::atomic_ref<uint32_t> owner(owners_.at(&tensor)[offset]);
  const uint32_t mine = static_cast<uint32_t>(program + 1);
  uint32_t found = 0;
  if (owner.compare_exchange_strong(found, mine | kAtomic, std::memory_order_relaxed)) return;
  if (found == mine || found == (mine | kAtomic) || found == kShared) return;
  if ((found & kAtomic) == 0) fail(ErrorId::atomic_and_store, atomic, tensor, offset, found, mine);
  owner.store(kShared, std::memory_order_relaxed);
}

void OverlapCheck::fail(ErrorId id, const Step& store, const HostTensor& tensor, int64_t offset,
                        uint32_t found, uint32_t mine) const {
  const ir::Param* param = fn_.param_of(ir::AccessView(*store.op).tensor);
  const std::string at = "[" + list_of(position_of(tensor.spec, offset)) + "]";
  // Of several programs that used atomics one stands for all: it is not known which.
  const int64_t other = found == kShared ? 0 : static_cast<int64_t>(found & ~kAtomic) - 1;
  const int64_t own = static_cast<int64_t>(mine) - 1;
  raise(id, store.op->loc, coordinates(std::min(other, own)), coordinates(std::max(other, own)), at,
        param->name);
}

std::string OverlapCheck::coordinates(int64_t program) const {
  std::vector<int64_t> ids(counts_.size());
  for (size_t d = counts_.size(); d-- > 0; program /= counts_[d]) ids[d] = program % counts_[d];
  return "(" + list_of(ids) + ")";
}

}  // namespace tilewright::interpreter
