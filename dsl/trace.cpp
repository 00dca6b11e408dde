#include "tilewright/dsl/trace.h"

#include <algorithm>
#include <atomic>

#include "tilewright/dsl/names.h"
#include "tilewright/dsl/promote.h"
#include "tilewright/dsl/tensor.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

thread_local Trace* t_active = nullptr;
std::atomic<uint32_t> g_traces{0};

std::string name_of(const ir::Param& param) {
  return param.name.empty() ? "a result" : fmt::format("tensor '{}'", param.name);
}

}  // namespace

Trace::Trace(std::string name, Loc loc, int body_runs)
    : builder_(recording_.fn),
      number_(++g_traces),
      body_runs_(body_runs),
      outer_(t_active),
      last_loc_(loc) {
  recording_.fn.name = std::move(name);
  recording_.fn.loc = loc;
  frames_.push_back({0, recording_.fn.mutable_body(), nullptr, 0});
  frame_locs_.push_back(loc);
  t_active = this;
}

Trace::~Trace() { t_active = outer_; }

Trace* Trace::active() { return t_active; }

Trace& Trace::current(std::string_view what, Loc loc) {
  if (t_active == nullptr) raise(ErrorId::outside_trace, loc, what);
  return *t_active;
}

void Trace::check_left_early() {
  if (!left_early_.known()) return;
  const Loc loop = left_early_;
  left_early_ = {};
  raise(ErrorId::loop_left_early, loop);
}

ir::Builder& Trace::at(Loc loc) {
  check_left_early();
  if (loc.known()) last_loc_ = builder_.loc = loc;
  return builder_;
}

ir::Builder& Trace::in_loop(std::string_view what, Loc loc) {
  ir::Builder& builder = at(loc);
  if (!in_loop()) raise(ErrorId::outside_loop, loc, what);
  return builder;
}

// --- variables

Slot Trace::declare(Loc loc) {
  check_left_early();
  if (loc.known()) last_loc_ = loc;
  recording_.variables.push_back({std::nullopt, frame(), frames_.back().region, loc});
  return {static_cast<int>(recording_.variables.size()) - 1, number_};
}

const Variable& Trace::variable(Slot slot, Loc loc) const {
  if (slot.trace != number_) raise(ErrorId::foreign_value, loc, "a tile");
  const Variable& variable = recording_.variables[slot.id];
  if (std::none_of(frames_.begin(), frames_.end(),
                   [&](const Frame& frame) { return frame.id == variable.frame; }))
    raise(ErrorId::value_escapes, loc, describe(variable), frame_locs_[variable.frame].line);
  return variable;
}

void Trace::expect_open(uint64_t frame, std::string_view what, Loc loc) const {
  for (const Frame& open : frames_)
    if (open.id == frame) return;
  raise(ErrorId::value_escapes, loc, what, frame_locs_.at(frame).line);
}

void Trace::expect_axes_open(const ir::Type& type, Slot slot, Loc loc) const {
  for (const ir::Dim& dim : type.shape)
    if (dim.is_block())
      expect_open(axis_frames_.at(dim.axis), describe(recording_.variables[slot.id]), loc);
}

const ir::Type& Trace::type_of(Slot slot, Loc loc) const {
  const Variable& read = variable(slot, loc);
  if (!read.type) raise(ErrorId::used_before_assignment, loc, describe(read));
  return *read.type;
}

void Trace::record(bool write, Slot slot, const ir::Value* value, Loc loc) {
  ir::Region* region = frames_.back().region;
  recording_.events[region].push_back({region->ops.size(), write, slot.id, value, loc});
}

const ir::Value* Trace::read(Slot slot, Loc loc) {
  check_left_early();
  if (!loc.known()) loc = last_loc_;
  last_loc_ = loc;
  const ir::Type& type = type_of(slot, loc);
  expect_axes_open(type, slot, loc);
  const ir::Value* value = recording_.fn.new_value(type);
  record(false, slot, value, loc);
  return value;
}

void Trace::write(Slot slot, const ir::Value* value, Loc loc) {
  check_left_early();
  if (!loc.known()) loc = last_loc_;
  const Variable& target = variable(slot, loc);
  if (!target.type)
    recording_.variables[slot.id].type = value->type;
  else if (*target.type != value->type)
    raise(ErrorId::variable_changes, loc, describe(target), describe(*target.type),
          describe(value->type));
  record(true, slot, value, loc);
}

// --- parameters

int Trace::add_param(ir::Type type, ir::Param param) {
  ir::Value* value = recording_.fn.new_value(std::move(type));
  value->index = static_cast<int>(recording_.fn.params.size());
  value->name = param.name;
  param.value = value;
  recording_.fn.params.push_back(std::move(param));
  return value->index;
}

void Trace::add_argument_tensor(TensorSpec spec, std::string name) {
  ir::Type type = ir::Type::tensor(spec.dtype, spec.rank());
  arguments_.push_back(
      {add_param(std::move(type), {nullptr, std::move(name), std::move(spec), false}), {}});
}

void Trace::add_argument_scalar(DType dtype, std::string name) {
  const int param = add_param(ir::Type::scalar(dtype), {nullptr, std::move(name), {}, false});
  const Slot slot = declare(recording_.fn.loc);
  write(slot, recording_.fn.params[param].value, recording_.fn.loc);
  arguments_.push_back({param, slot});
}

void Trace::skip_argument() { arguments_.emplace_back(); }

Tensor Trace::argument_tensor(size_t index) const {
  return Tensor(arguments_.at(index).param, number_);
}

Slot Trace::argument_scalar(size_t index) const { return arguments_.at(index).slot; }

Tensor Trace::add_result(TensorSpec spec, Loc loc) {
  check_left_early();
  last_loc_ = loc;
  if (in_loop()) raise(ErrorId::empty_in_loop, loc);
  ir::Type type = ir::Type::tensor(spec.dtype, spec.rank());
  const int param = add_param(std::move(type), {nullptr, declared_name(loc), spec, true});
  result_locs_.push_back(loc);
  return Tensor(param, number_);
}

const ir::Param& Trace::param(const Tensor& tensor, Loc loc) const {
  if (tensor.trace() != number_) raise(ErrorId::foreign_value, loc, "a tensor");
  return recording_.fn.params.at(tensor.param());
}

// --- loops and branches

int Trace::regions_of(const std::vector<LoopDim>& dims) const {
  return in_loop() ? static_cast<int>(dims.size()) : 1;
}

std::vector<const ir::Value*> Trace::open_loops(const std::vector<LoopDim>& dims, Loc loc) {
  at(loc);
  if (!in_loop() && grid_.known()) raise(ErrorId::two_grids, loc, grid_.line);
  const bool parallel = !in_loop();
  if (parallel) grid_ = loc;
  std::vector<const ir::Value*> begins, limits;
  for (const LoopDim& dim : dims) {
    begins.push_back(dim.begin.value(loc));
    limits.push_back(dim.end.value(loc));
  }
  std::vector<int64_t> axes;
  const std::vector<std::string> names = loop_names(loc, dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    axes.push_back(static_cast<int64_t>(recording_.fn.axes.size()));
    recording_.fn.axes.push_back({names[i], dims[i].block.size, dims[i].block.size > 0, loc});
    axis_frames_.resize(recording_.fn.axes.size());
  }
  const auto open = [&](std::vector<int64_t> of, std::vector<const ir::Value*> from,
                        std::vector<const ir::Value*> to) {
    builder_.loc = loc;
    ir::Op* op = builder_.tile_loop(of, parallel, std::move(from), std::move(to), {});
    open_region(ir::Builder::region_of(op, 0), loc);
    for (int64_t axis : of) axis_frames_[axis] = frame();
    return op->regions[0]->args;
  };
  if (parallel) return open(axes, begins, limits);
  std::vector<const ir::Value*> slices;
  for (size_t i = 0; i < dims.size(); ++i)
    slices.push_back(open({axes[i]}, {begins[i]}, {limits[i]}).at(0));
  return slices;
}

void Trace::open_region(ir::Region* region, Loc loc) {
  const uint64_t id = frame_locs_.size();
  frame_locs_.push_back(loc);
  frames_.push_back({id, region, std::make_unique<ir::Builder::Scope>(builder_, region),
                     recording_.fn.axes.size()});
}

void Trace::close_regions(int count) {
  for (; count > 0; --count) frames_.pop_back();
}

void Trace::restart_body() {
  Frame& body = frames_.back();
  const Loc loc = frame_locs_[body.id];
  const uint64_t old = body.id;
  body.region->ops.clear();
  recording_.events.erase(body.region);
  recording_.fn.axes.resize(body.axes);
  axis_frames_.resize(body.axes);
  // What the last run declared is out of scope: the body counts as a new one.
  body.id = frame_locs_.size();
  frame_locs_.push_back(loc);
  std::replace(axis_frames_.begin(), axis_frames_.end(), old, body.id);
}

// --- the end

void Trace::check_results_written() const {
  size_t result = 0;
  for (const ir::Param& param : recording_.fn.params) {
    if (!param.allocated) continue;
    bool written = false;
    ir::for_each_op(recording_.fn.body(), [&](const ir::Op& op) {
      written |= op.kind == ir::OpKind::store && op.operand(0) == param.value;
    });
    if (!written) raise(ErrorId::unwritten_result, result_locs_[result], name_of(param));
    ++result;
  }
}

ir::Function Trace::finish(const std::vector<Tensor>& results) {
  check_left_early();
  if (!grid_.known()) raise(ErrorId::no_grid, recording_.fn.loc);
  for (const Tensor& result : results) {
    param(result, recording_.fn.loc);
    recording_.fn.results.push_back(result.param());
  }
  check_results_written();
  return promote(recording_);
}

// --- text for messages

Tile tile_of(const ir::Value* value, Loc loc) { return Tile::of(value, loc); }

std::string describe(const ir::Shape& shape) {
  std::vector<std::string> dims;
  for (const ir::Dim& dim : shape) {
    Trace* trace = Trace::active();
    const bool known = dim.is_block() && trace != nullptr &&
                       dim.axis < static_cast<int>(trace->function().axes.size());
    const std::string name = known ? trace->function().axes[dim.axis].name : std::string();
    dims.push_back(name.empty() ? ir::to_string(dim) : name);
  }
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::string describe(const ir::Type& type) {
  if (type.is_tile()) return fmt::format("{}{}", to_string(type.dtype), describe(type.shape));
  return ir::to_string(type);
}

}  // namespace tilewright::dsl
