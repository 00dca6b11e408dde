#include "tilewright/runtime/interpreter_program.h"

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::interpreter {
namespace {

using ir::OpKind;

constexpr Handler kHandlers[] = {
#define TW_OP(name, operands, attributes, regions, effect) &run_##name,
#include "tilewright/ir/ops.def"
#undef TW_OP
};

/// Narrow floats are reduced in f32.
DType accumulator(DType dtype) { return is_narrow_float(dtype) ? DType::f32 : dtype; }

/// Turns regions into blocks, keeping track of which slice bounds each axis where.
class Preparation {
 public:
  explicit Preparation(Program& program) : program_(program) {}

  Block block(const ir::Region& region) {
    const auto outer_loops = loop_slices_;
    const auto outer_slices = op_slices_;
    Block result;
    for (const ir::Value* arg : region.args) {
      const int slot = define(arg);
      result.args.push_back(slot);
      if (arg->type.kind == ir::Type::Kind::slice && arg->type.shape[0].is_block())
        loop_slices_[arg->type.shape[0].axis] = slot;
    }
    for (const ir::Op* op : region.ops) {
      if (op->kind == OpKind::yield)
        for (const ir::Value* value : op->operands) result.yields.push_back(program_.slot(value));
      else
        result.steps.push_back(step(*op));
    }
    loop_slices_ = outer_loops;
    op_slices_ = outer_slices;
    return result;
  }

 private:
  int define(const ir::Value* value) {
    const int slot = static_cast<int>(program_.slots.size());
    internal_check(program_.slots.emplace(value, slot).second, "a value is defined twice");
    return slot;
  }

  int limit_of(const ir::Dim& dim) const {
    if (!dim.is_block()) return -1;
    if (auto found = loop_slices_.find(dim.axis); found != loop_slices_.end()) return found->second;
    if (auto found = op_slices_.find(dim.axis); found != op_slices_.end()) return found->second;
    return -1;
  }

  Step step(const ir::Op& op) {
    Step step;
    step.op = &op;
    step.run = handler_of(op.kind);
    for (const ir::Value* operand : op.operands) step.in.push_back(program_.slot(operand));
    for (const ir::Region* region : op.regions) step.regions.push_back(block(*region));
    for (const ir::Value* result : op.results) step.out.push_back(define(result));
    if (!op.results.empty()) step.out_extents = program_.extents(op.result()->type.shape);
    if (!op.operands.empty()) {
      const ir::Shape& shape = op.operand(0)->type.shape;
      step.in_extents = program_.extents(shape);
      for (const ir::Dim& dim : shape) step.limits.push_back(limit_of(dim));
    }
    if (ir::writes_tensor(op.kind) || op.kind == OpKind::load) step.lanes = lanes_of(op);
    if (op.kind == OpKind::slice && op.result()->type.shape[0].is_block())
      op_slices_[op.result()->type.shape[0].axis] = step.out[0];
    choose_kernel(step);
    return step;
  }

  /// Step::lanes; empty when no index is a tile.
  std::vector<int> lanes_of(const ir::Op& op) const {
    const ir::AccessView access(op);
    std::vector<int> lanes;
    if (!access.gathers()) return lanes;
    const ir::Shape& shape =
        op.kind == OpKind::load ? op.result()->type.shape : access.value->type.shape;
    lanes.assign(shape.size(), -1);
    for (size_t i = 0; i < access.indices.size(); ++i)
      if (access.indices[i]->type.is_tile())
        for (int axis : access.axes_of(i)) lanes[axis] = limit_of(shape[axis]);
    return lanes;
  }

  static void choose_kernel(Step& step) {
    const ir::Op& op = *step.op;
    if (op.kind == OpKind::unary) step.unary = numeric::unary_kernel(op.fn(), step.in_dtype());
    if (op.kind == OpKind::cast)
      step.unary = numeric::cast_kernel(step.out_dtype(), step.in_dtype());
    if (op.kind == OpKind::binary) step.binary = numeric::binary_kernel(op.fn(), step.in_dtype());
    if (op.kind == OpKind::compare) step.binary = numeric::compare_kernel(op.fn(), step.in_dtype());
    if (op.kind == OpKind::reduce)
      step.binary = numeric::binary_kernel(op.fn(), accumulator(step.in_dtype()));
    if (op.kind == OpKind::atomic) step.binary = numeric::binary_kernel(op.fn(), step.out_dtype());
    if (op.kind == OpKind::fma) step.ternary = numeric::fma_kernel(step.in_dtype());
  }

  Program& program_;
  std::unordered_map<int, int> loop_slices_, op_slices_;  // axis -> slot, of those in scope
};

}  // namespace

int64_t count(const Extents& extents) {
  int64_t n = 1;
  for (int64_t extent : extents) n *= extent;
  return n;
}

std::string list_of(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

Program::Program(const ir::Function& function, std::vector<int64_t> block_sizes)
    : fn(function), blocks(std::move(block_sizes)) {
  internal_check(blocks.size() == fn.axes.size(), "one block size per axis is needed");
  for (int64_t size : blocks) internal_check(size > 0, "an axis has no block size");
  for (const ir::Param& param : fn.params) slots.emplace(param.value, slots.size());
  body = Preparation(*this).block(fn.body());
}

int Program::slot(const ir::Value* value) const {
  auto found = slots.find(value);
  internal_check(found != slots.end(), "a value is used before it is defined");
  return found->second;
}

int64_t Program::extent(const ir::Dim& dim) const {
  return dim.is_block() ? blocks.at(dim.axis) : dim.extent;
}

Extents Program::extents(const ir::Shape& shape) const {
  Extents result;
  for (const ir::Dim& dim : shape) result.push_back(extent(dim));
  return result;
}

Handler handler_of(OpKind kind) { return kHandlers[static_cast<size_t>(kind)]; }

void fail(const Step& step, const std::string& what) {
  const Loc loc = step.op->loc;
  throw InternalError(fmt::format("operation {} of {}:{}: {}", ir::info(step.op->kind).name,
                                  loc.known() ? loc.file : "?", loc.line, what));
}

}  // namespace tilewright::interpreter
