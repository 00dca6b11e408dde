#include "tilewright/dsl/trace.h"

#include <algorithm>
#include <atomic>

#include "tilewright/dsl/grids.h"
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

Trace::Trace(std::string name, Loc loc, int body_runs, TunableValues tunables)
    : builder_(recording_.fn),
      number_(++g_traces),
      body_runs_(body_runs),
      outer_(t_active),
      tunables_(std::move(tunables)),
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

void Trace::expect_own_writes(std::string_view what, Loc loc) const {
  const ir::Region* body = frames_.back().region;
  const auto events = recording_.events.find(body);
  if (events == recording_.events.end()) return;
  for (const Event& event : events->second) {
    const Variable& assigned = recording_.variables[event.variable];
    if (event.write && assigned.region != body)
      raise(ErrorId::combine_writes, loc, what, describe(assigned));
  }
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
  ir::Param param{nullptr, std::move(name), std::move(spec), false};
  if (param.spec.dynamic)
    param.size_param =
        add_param(ir::Type::scalar(DType::i64), {nullptr, param.name + "_size", {}, false});
  arguments_.push_back({add_param(std::move(type), std::move(param)), {}});
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

Tensor Trace::add_result(TensorSpec spec, Loc loc, std::optional<ir::Attr> fill, int size_param) {
  check_left_early();
  last_loc_ = loc;
  if (in_loop()) raise(ErrorId::empty_in_loop, loc);
  ir::Type type = ir::Type::tensor(spec.dtype, spec.rank());
  const int param =
      add_param(std::move(type), {nullptr, declared_name(loc), spec, true, fill, size_param});
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
  const bool parallel = !in_loop();
  has_grid_ |= parallel;
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
    lengths_.resize(recording_.fn.axes.size());
    lengths_.back() = dims[i].lengths;
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

void Trace::barrier(Loc loc) {
  ir::Builder& builder = at(loc);
  if (in_loop()) raise(ErrorId::barrier_misplaced, loc, "in a loop or a branch");
  if (!has_grid_) raise(ErrorId::barrier_misplaced, loc, "before the first grid loop");
  builder.grid_barrier();
}

Trace::Mark Trace::mark() const {
  const ir::Region* region = frames_.back().region;
  const auto found = recording_.events.find(region);
  return {recording_.variables.size(), region->ops.size(),
          found == recording_.events.end() ? 0 : found->second.size()};
}

/// The first assignment to a variable declared before `mark`, after it.
const Event* Trace::assignment_since(const ir::Region& region, const Mark& mark) const {
  if (const auto found = recording_.events.find(&region); found != recording_.events.end())
    for (size_t i = mark.events; i < found->second.size(); ++i) {
      const Event& event = found->second[i];
      if (event.write && event.variable < static_cast<int>(mark.variables)) return &event;
    }
  for (size_t i = mark.operations; i < region.ops.size(); ++i)
    for (const ir::Region* inner : region.ops[i]->regions)
      if (const Event* event = assignment_since(*inner, {mark.variables, 0, 0})) return event;
  return nullptr;
}

void Trace::expect_unassigned(const Mark& mark, Loc loc) const {
  if (const Event* event = assignment_since(*frames_.back().region, mark))
    raise(ErrorId::condition_assigns, event->loc.known() ? event->loc : loc,
          describe(recording_.variables[event->variable]));
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
  lengths_.resize(body.axes);
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
    bool written = param.fill.has_value();
    ir::for_each_op(recording_.fn.body(), [&](const ir::Op& op) {
      written |= ir::writes_tensor(op.kind) && op.operand(0) == param.value;
    });
    if (!written) raise(ErrorId::unwritten_result, result_locs_[result], name_of(param));
    ++result;
  }
}

ir::Function Trace::finish(const std::vector<Tensor>& results) {
  check_left_early();
  if (!has_grid_) raise(ErrorId::no_grid, recording_.fn.loc);
  for (const Tensor& result : results) {
    const ir::Param& returned = param(result, recording_.fn.loc);
    if (result.is_view())
      raise(ErrorId::view_index, recording_.fn.loc, "a result", name_of(returned),
            "a kernel returns whole tensors, and this is a view");
    recording_.fn.results.push_back(result.param());
  }
  check_results_written();
  check_workspace_sizes();
  order_workspace_last();
  ir::Function fn = promote(recording_);
  check_grids(fn);
  return fn;
}

/// Allocated tensors that are not returned come behind those that are.
void Trace::order_workspace_last() {
  ir::Function& fn = recording_.fn;
  std::vector<size_t> order;
  for (const bool workspace : {false, true})
    for (size_t i = 0; i < fn.params.size(); ++i)
      if (fn.is_workspace(i) == workspace) order.push_back(i);
  std::vector<ir::Param> params;
  std::vector<int> position(order.size());
  for (size_t to = 0; to < order.size(); ++to) {
    position[order[to]] = static_cast<int>(to);
    params.push_back(std::move(fn.params[order[to]]));
    const_cast<ir::Value*>(params.back().value)->index = static_cast<int>(to);
  }
  fn.params = std::move(params);
  for (int& result : fn.results) result = position[static_cast<size_t>(result)];
}

int64_t Trace::tunable(const std::string& name, std::vector<int64_t> values, Loc loc) {
  at(loc);
  const auto wrong = [&](std::string why) { raise(ErrorId::tunable_values, loc, name, why); };
  if (name.empty()) wrong("a tunable needs a name");
  if (values.empty()) wrong("it needs at least one value");
  std::vector<int64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    wrong("a value is given twice");
  for (const ir::Tunable& known : recording_.fn.tunables) {
    if (known.name != name) continue;
    if (known.values != values) wrong("it is asked for twice, with other values");
    return known.value;
  }
  const auto chosen = tunables_.find(name);
  const int64_t value = chosen == tunables_.end() ? values.front() : chosen->second;
  if (!std::binary_search(sorted.begin(), sorted.end(), value))
    raise(ErrorId::config_tunable_value, loc, name, recording_.fn.name, fmt::join(values, ", "),
          value);
  recording_.fn.tunables.push_back({name, std::move(values), value});
  return value;
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
