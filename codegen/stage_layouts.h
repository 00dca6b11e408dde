// Layouts of staged operands: how copies are shared among threads, how dots read them, and where
// elements lie so that both are free of bank conflicts.
#pragma once

#include <array>
#include <utility>

#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/codegen/target.h"

namespace tilewright::codegen {

/// The widest access, in elements and at most 16 bytes, that divides a run of consecutive ones.
int widest_in_run(DType dtype, int run);

/// The width, in elements, at which a tile of `extents` in `layout` can meet a shared buffer that
/// is contiguous along `axis`.
int fetch_vector(const Layout& layout, const std::vector<int64_t>& extents, int axis, DType dtype);

/// A dot's operand in shared memory: a ring's slot, transposed or cast on the way.
struct OperandView {
  const ir::Value* ring = nullptr;
  std::array<int, 2> axis = {0, 1};  ///< the ring's axis behind each dimension of the operand
  std::vector<DType> casts = {};     ///< what an element becomes, one after the other
};
OperandView view_of(const ir::Value* shared);

/// The copy or stage that fills `ring`.
const ir::Op& filler_of(const ir::Function& fn, const ir::Value* ring);

/// How a dot reads one of its operands (0: a, 1: b): `vector` consecutive elements at a time, along
/// k or along the outer dimension (m of a, n of b), whichever is contiguous in shared memory.
struct FragmentRead {
  OperandView view;
  int k_axis = 1;      ///< of the ring
  int outer_axis = 0;  ///< of the ring
  bool along_k = true;
  int vector = 1;
};
FragmentRead fragment_read(const ir::Function& fn, const ir::Op& dot, int operand,
                           const Layout& accumulator, const SharedLayout& shared);

/// Consecutive accumulator elements a thread should hold along m and n so that fragments and stores
/// are wide.
std::pair<int, int> dot_vectors(const ir::Function& fn, const ir::Facts& facts, const ir::Op& dot,
                                const Config& config);

/// Distributes a copy over the threads of a block. Asynchronous copies may be partly valid, so they
/// only need alignment; those through registers must not straddle an edge.
CopyPlan plan_copy(const ir::Function& fn, const ir::Facts& facts, const ir::Op& copy,
                   const Config& config);
/// Whether the copy uses cp.async when it is no bulk copy: at least 4 bytes per access and a config
/// that asks for it or for tma, which only targets with cp.async have.
bool is_async(const CopyPlan& plan, DType dtype, const Config& config);

/// Fills LaidOut::shared for every ring.
void choose_ring_layouts(LaidOut& out, const Config& config, const Target& target);

}  // namespace tilewright::codegen
