// The state of one running program: what each slot holds. Internal to the interpreter.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tilewright/runtime/interpreter.h"
#include "tilewright/runtime/interpreter_program.h"
#include "tilewright/runtime/tile_buffer.h"

namespace tilewright::interpreter {

class OverlapCheck;

/// Positions begin .. begin + extent - 1 along a dimension, of which those below limit count.
struct SliceValue {
  int64_t begin = 0;
  int64_t limit = 0;
  int64_t extent = 0;
  int64_t id = 0;  ///< number of the tile within its loop

  int64_t end() const { return std::max(begin, std::min(begin + extent, limit)); }
  int64_t size() const { return end() - begin; }  ///< clipped
};

/// A queue of slots in shared memory, and the protocol's bookkeeping.
struct Ring {
  enum class State { free, acquired, filled, committed };
  struct Slot {
    TileRef tile;
    State state = State::free;
    int64_t group = 0;  ///< that closed it, when committed
  };
  std::vector<Slot> slots;
  size_t bytes = 0;      ///< of one slot
  int64_t acquired = 0;  ///< slots handed out so far; the next is acquired % slots.size()
  int64_t released = 0;
  int64_t groups = 0;   ///< committed so far
  int64_t visible = 0;  ///< groups below this one have been waited for

  /// The slot of acquisition `number`.
  Slot& slot(int64_t number) { return slots[number % slots.size()]; }
  /// Whether what acquisition `number` was filled with may be read now.
  bool readable(int64_t number) {
    const Slot& slot = this->slot(number);
    return number >= released && slot.state == State::committed && slot.group < visible;
  }
};

/// What a slot holds; which member counts is said by the value's type.
struct Cell {
  TileRef tile;                        ///< value, shared
  SliceValue slice;                    ///< slice
  std::shared_ptr<Ring> ring;          ///< ring, and the ring a shared tile belongs to
  int64_t ring_number = 0;             ///< shared: of the slot's acquisition, from 0
  const HostTensor* tensor = nullptr;  ///< tensor
};

/// The cells of one program, and where the program stands. A thread has one and uses it for one
/// program after the other.
class Frame {
 public:
  Frame(const Program& program, const InterpreterOptions& options)
      : program(&program), options(&options), cells(program.slots.size()) {}

  const Program* program;
  const InterpreterOptions* options;
  std::vector<Cell> cells;
  OverlapCheck* overlap = nullptr;  ///< null when stores are not checked
  int64_t program_id = 0;           ///< number of the program within its grid
  int64_t repetitions = 0;          ///< iterations of while loops that the program ran
  bool in_grid = false;

  /// The elements of operand `i`.
  template <class T = void>
  const T* operand(const Step& step, size_t i) const {
    const Cell& cell = cells[step.in.at(i)];
    if (cell.ring != nullptr && !cell.ring->readable(cell.ring_number))
      fail(step, "the slot read is not one that was waited for and not released yet");
    return static_cast<const T*>(cell.tile->data());
  }

  /// The value of operand `i`, an i64 or bool scalar.
  int64_t integer(const Step& step, size_t i) const { return *operand<int64_t>(step, i); }

  /// Room for the elements of result 0, shared with nobody.
  template <class T = void>
  T* result(const Step& step) {
    const size_t bytes = count(step.out_extents) * numeric::storage_size(step.out_dtype());
    return static_cast<T*>(fresh(cells[step.out.at(0)], bytes));
  }

  static void* fresh(Cell& cell, size_t bytes) {
    if (cell.tile == nullptr || cell.tile.use_count() > 1)
      cell.tile = std::make_shared<TileBuffer>();
    cell.tile->resize(std::max<size_t>(bytes, 8));
    return cell.tile->data();
  }
};

/// Runs the steps of a block; its arguments must be set, its yields can be read afterwards.
inline void run_block(const Block& block, Frame& frame) {
  for (const Step& step : block.steps) step.run(step, frame);
}

/// Gives the slots `to` what `from` holds, as if all at once.
void assign(Frame& frame, const std::vector<int>& from, const std::vector<int>& to);

}  // namespace tilewright::interpreter
