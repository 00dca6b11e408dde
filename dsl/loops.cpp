#include "tilewright/dsl/loops.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {

using dsl::Trace;

const ir::Value* TileIndex::slice(Loc loc) const {
  Trace::current("a loop's index", loc).expect_open(frame_, "a loop's index", loc);
  return slice_;
}

Scalar<int64_t> TileIndex::begin(Loc loc) const {
  const ir::Value* from = slice(loc);
  return Scalar<int64_t>::of(Trace::current("begin", loc).at(loc).slice_begin(from), loc);
}

Scalar<int64_t> TileIndex::end(Loc loc) const {
  const ir::Value* from = slice(loc);
  return Scalar<int64_t>::of(Trace::current("end", loc).at(loc).slice_end(from), loc);
}

Scalar<int64_t> TileIndex::size(Loc loc) const {
  const ir::Value* from = slice(loc);
  ir::Builder& builder = Trace::current("size", loc).at(loc);
  const ir::Value* end = builder.slice_end(from);
  const ir::Value* begin = builder.slice_begin(from);
  return Scalar<int64_t>::of(builder.binary(ir::Fn::sub, end, begin), loc);
}

Scalar<int64_t> TileIndex::id(Loc loc) const {
  const ir::Value* from = slice(loc);
  return Scalar<int64_t>::of(Trace::current("id", loc).at(loc).slice_id(from), loc);
}

Tile TileIndex::index(Loc loc) const {
  const ir::Value* from = slice(loc);
  return dsl::tile_of(Trace::current("index", loc).at(loc).slice_index(from), loc);
}

BlockSize block(int64_t size, Loc loc) {
  if (size <= 0) raise(ErrorId::bad_block, loc, size);
  return {size};
}

namespace dsl {

Bound::Bound(const Tile& scalar, Loc loc)
    : value_(integer_scalar(Operand(scalar, loc), "a loop's bound", loc)) {}

Bound::Bound(const TileIndex& single, Loc loc)
    : value_(integer_scalar(Operand(single, loc), "a loop's bound", loc)) {}

const ir::Value* Bound::value(Loc loc) const {
  if (value_ != nullptr) return value_;
  return Trace::current("a loop's bound", loc).value_of(size_, loc);
}

LoopDim::LoopDim(const TileIndex& tile, Loc loc)
    : begin(tile.single() ? Bound(0) : Bound(tile.begin(loc), loc)),
      end(tile.single() ? Bound(tile, loc) : Bound(tile.end(loc), loc)) {}

LoopDim in_steps(Bound begin, Bound end, Size step, Loc loc) {
  if (known_size(step, "the step of a loop", loc) <= 0) raise(ErrorId::bad_step, loc, step);
  LoopDim dim(std::move(begin), std::move(end));
  dim.step = step;
  return dim;
}

std::vector<LoopDim> one_by_one(std::vector<LoopDim> dims) {
  for (LoopDim& dim : dims) {
    dim.single = true;
    dim.block = {1};
  }
  return dims;
}

namespace {

/// The loop that walks a dimension one by one, given where and in which steps it is to be walked:
/// 0 to the number of steps.
LoopDim counted(const LoopDim& dim, ir::Builder& builder, Loc loc) {
  if (dim.step == 1) return dim;
  const ir::Value *begin = dim.begin.value(loc), *end = dim.end.value(loc);
  const ir::Value* length = builder.binary(ir::Fn::sub, end, begin);
  const ir::Value* up = builder.binary(ir::Fn::add, length, builder.index(dim.step.value() - 1));
  LoopDim result = dim;
  result.begin = Bound(0);
  result.end = Bound(builder.binary(ir::Fn::div, up, builder.index(dim.step.value())));
  return result;
}

}  // namespace

LoopRun::LoopRun(std::vector<LoopDim> dims, Loc loc) : dims_(std::move(dims)), loc_(loc) {
  Trace& trace = Trace::current("a tile loop", loc);
  for (LoopDim& dim : dims_) {
    first_.push_back(dim.begin);
    dim = counted(dim, trace.at(loc), loc);
  }
  const int regions = trace.regions_of(dims_);
  slices_ = trace.open_loops(dims_, loc);
  opened_ = regions;
  runs_left_ = trace.body_runs();
}

LoopRun::~LoopRun() {
  Trace* trace = Trace::active();
  if (opened_ == 0 || trace == nullptr) return;
  trace->close_regions(opened_);
  trace->note_left_early(loc_);
}

bool LoopRun::more() {
  if (runs_left_ > 0) return true;
  Trace::current("a tile loop", loc_).close_regions(opened_);
  opened_ = 0;
  return false;
}

void LoopRun::next() {
  if (--runs_left_ > 0) Trace::current("a tile loop", loc_).restart_body();
}

TileIndex LoopRun::index(size_t dim) const {
  return TileIndex(slices_.at(dim), dims_.at(dim).single,
                   Trace::current("a tile loop", loc_).frame());
}

Scalar<int64_t> LoopRun::position(size_t dim) const {
  const Scalar<int64_t> number = index(dim).begin(loc_);
  const int64_t step = dims_.at(dim).step.value();
  if (step == 1) return number;
  ir::Builder& builder = Trace::current("a tile loop", loc_).at(loc_);
  const ir::Value* walked =
      builder.binary(ir::Fn::mul, Operand(number, loc_).value(), builder.index(step));
  return Scalar<int64_t>::of(builder.binary(ir::Fn::add, first_[dim].value(loc_), walked), loc_);
}

}  // namespace dsl
}  // namespace tilewright
