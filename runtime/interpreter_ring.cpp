// Rings: queues of slots in shared memory, with their protocol checked.
#include <cstring>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {
namespace {

Ring& ring_operand(const Step& step, const Frame& frame, size_t i = 0) {
  return *frame.cells[step.in.at(i)].ring;
}

/// Puts a slot's tile in the cell of the result.
void give(const Step& step, Frame& frame, int64_t number) {
  const std::shared_ptr<Ring> ring = frame.cells[step.in[0]].ring;
  Cell& cell = frame.cells[step.out[0]];
  cell.ring = ring;
  cell.ring_number = number;
  cell.tile = ring->slot(number).tile;
}

}  // namespace

void run_ring(const Step& step, Frame& frame) {
  const ir::Type& type = step.op->result()->type;
  if (type.stages < 1) fail(step, "a ring needs a slot");
  auto ring = std::make_shared<Ring>();
  ring->bytes = count(step.out_extents) * numeric::storage_size(type.dtype);
  ring->slots.resize(type.stages);
  for (Ring::Slot& slot : ring->slots) {
    slot.tile = std::make_shared<TileBuffer>();
    slot.tile->resize(std::max<size_t>(ring->bytes, 8));
  }
  frame.cells[step.out[0]].ring = std::move(ring);
}

void run_ring_acquire(const Step& step, Frame& frame) {
  Ring& ring = ring_operand(step, frame);
  Ring::Slot& slot = ring.slot(ring.acquired);
  if (slot.state != Ring::State::free) fail(step, "every slot of the ring is in use");
  slot.state = Ring::State::acquired;
  give(step, frame, ring.acquired++);
}

void run_stage(const Step& step, Frame& frame) {
  const Cell& cell = frame.cells[step.in[0]];
  Ring::Slot& slot = cell.ring->slot(cell.ring_number);
  if (slot.state != Ring::State::acquired && slot.state != Ring::State::filled)
    fail(step, "the slot is not one being filled");
  std::memcpy(slot.tile->data(), frame.operand(step, 1), cell.ring->bytes);
  slot.state = Ring::State::filled;
}

void run_ring_commit(const Step& step, Frame& frame) {
  for (size_t i = 0; i < step.in.size(); ++i) {
    Ring& ring = ring_operand(step, frame, i);
    for (Ring::Slot& slot : ring.slots) {
      if (slot.state != Ring::State::filled) continue;
      slot.state = Ring::State::committed;
      slot.group = ring.groups;
    }
    ++ring.groups;
  }
}

void run_ring_wait(const Step& step, Frame& frame) {
  const int64_t pending = step.op->integer(ir::AttrKey::pending);
  for (size_t i = 0; i < step.in.size(); ++i) {
    Ring& ring = ring_operand(step, frame, i);
    ring.visible = std::max(ring.visible, ring.groups - pending);
  }
}

void run_ring_read(const Step& step, Frame& frame) {
  Ring& ring = ring_operand(step, frame);
  const Ring::Slot& slot = ring.slot(ring.released);
  if (slot.state != Ring::State::committed) fail(step, "the oldest slot was not filled");
  if (slot.group >= ring.visible) fail(step, "the oldest slot was not waited for");
  give(step, frame, ring.released);
}

void run_fetch(const Step& step, Frame& frame) {
  const size_t bytes = count(step.out_extents) * numeric::storage_size(step.out_dtype());
  std::memcpy(frame.result(step), frame.operand(step, 0), bytes);
}

void run_ring_release(const Step& step, Frame& frame) {
  for (size_t i = 0; i < step.in.size(); ++i) {
    Ring& ring = ring_operand(step, frame, i);
    Ring::Slot& slot = ring.slot(ring.released);
    if (slot.state != Ring::State::committed) fail(step, "there is no filled slot to release");
    if (slot.group >= ring.visible) fail(step, "the oldest slot was not waited for");
    slot.state = Ring::State::free;
    ++ring.released;
  }
}

}  // namespace tilewright::interpreter
