#include "tilewright/runtime/executable.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <future>
#include <limits>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/stream_memory.h"

namespace tilewright::runtime {
namespace {

// The function parameter that the plan calls `name`: printed names may differ from the user's.
int source_of(const codegen::Plan& plan, const std::string& name) {
  for (const codegen::Step& step : plan.steps)
    for (const codegen::KernelParam& param : step.kernel.params)
      if (param.name == name) return param.source;
  throw InternalError("plan " + plan.name + " has a buffer '" + name + "' that no kernel takes");
}

// Parameters of a launch that need no heap; kernels with more use one.
constexpr size_t kInlineParams = 64;
constexpr size_t kInlineMaps = 8;

// `count` values, on the stack when at most `Inline`.
template <class T, size_t Inline = kInlineParams>
class Scratch {
 public:
  explicit Scratch(size_t count) {
    if (count > Inline) heap_.resize(count);
    values_ = {count > Inline ? heap_.data() : inline_.data(), count};
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::span<T> values() { return values_; }

 private:
  std::array<T, Inline> inline_;
  std::vector<T> heap_;
  std::span<T> values_;
};

}  // namespace

int64_t scalar_integer(uint64_t bits, DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return dtype == DType::i8 ? static_cast<int8_t>(bits) : static_cast<uint8_t>(bits);
    case 2:
      return static_cast<int16_t>(bits);
    case 4:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

Executable::Executable(const codegen::Plan& plan,
                       std::span<const std::shared_ptr<const CompiledCuda>> binaries,
                       std::vector<Parameter> params, int device)
    : name_(plan.name), params_(std::move(params)), device_(device) {
  for (const codegen::Buffer& buffer : plan.buffers)
    if (buffer.role == codegen::Buffer::Role::workspace) workspace_.push_back(amount(buffer.bytes));
  if (!workspace_.empty()) StreamMemory::prepare(device);
  size_t next = 0;
  for (const codegen::Step& step : plan.steps) {
    Step& made = steps_.emplace_back();
    if (step.kind == codegen::Step::Kind::kernel) {
      internal_check(next < binaries.size(), "a kernel step has no binary");
      made.kernel = load(step.kernel, *binaries[next++]);
    } else {
      const int buffer = step.memset.buffer;
      made.fill = {source_of_buffer(plan, buffer), step.memset.value,
                   amount(plan.buffers.at(static_cast<size_t>(buffer)).bytes)};
    }
  }
}

Executable::KernelLaunch Executable::load(const codegen::KernelStep& step,
                                          const CompiledCuda& binary) {
  const Module& module =
      modules_.emplace_back(device_, binary.cubin, binary.ptx, step.symbol, binary.compiler);
  KernelLaunch made;
  made.symbol = step.symbol;
  made.shape = {1, step.threads, step.cluster, step.shared_bytes, step.cooperative};
  made.function = module.function(step.symbol, made.shape);
  made.grid = amount(step.grid);
  // Blocks that meet at barriers are all resident; each takes as many tiles as there are for it.
  if (step.cooperative) {
    const ContextScope scope(device_);
    made.most_blocks = resident_blocks(made.function, made.shape, device_, step.symbol);
  }
  for (const codegen::KernelParam& param : step.params) {
    internal_check(
        param.source >= 0 && static_cast<size_t>(param.source) < params_.size() + workspace_.size(),
        "a kernel parameter has no source");
    made.sources.push_back(param.source);
    made.maps.push_back(
        param.map ? std::make_unique<TensorMapCache>(
                        *param.map, fmt::format("{}, mapping '{}'", step.symbol, param.name))
                  : nullptr);
    made.mapped += param.map.has_value();
    if (!param.tensor) scalars_.emplace_back(param.name, param.source);
  }
  return made;
}

Executable::Amount Executable::amount(const codegen::ExprRef& expression) const {
  if (expression == nullptr) return {0, nullptr};
  if (expression->kind == codegen::Expr::Kind::integer) return {expression->value, nullptr};
  return {0, expression};
}

int Executable::source_of_buffer(const codegen::Plan& plan, int buffer) const {
  const codegen::Buffer& wanted = plan.buffers.at(static_cast<size_t>(buffer));
  if (wanted.role == codegen::Buffer::Role::parameter) return source_of(plan, wanted.name);
  int number = static_cast<int>(params_.size());
  for (int i = 0; i < buffer; ++i)
    number += plan.buffers[static_cast<size_t>(i)].role == codegen::Buffer::Role::workspace;
  return number;
}

int64_t Executable::evaluate(const Amount& amount, std::span<const ParamValue> values) const {
  if (amount.expression == nullptr) return amount.value;
  return codegen::evaluate(*amount.expression, [&](const std::string& name) {
    for (const auto& [scalar, source] : scalars_)
      if (scalar == name)
        return scalar_integer(values[static_cast<size_t>(source)].bits,
                              params_[static_cast<size_t>(source)].dtype);
    throw InternalError("a size of plan " + name_ + " depends on '" + name +
                        "', which is no scalar parameter");
  });
}

int64_t Executable::workspace_bytes(std::span<const ParamValue> values) const {
  int64_t total = 0;
  for (const Amount& bytes : workspace_) total += codegen::workspace_span(evaluate(bytes, values));
  return total;
}

void Executable::launch(std::span<const ParamValue> values, void* workspace,
                        CUstream_st* stream) const {
  internal_check(values.size() == params_.size(), "a launch has another number of parameters");
  Scratch<ParamValue> all(params_.size() + workspace_.size());
  std::copy(values.begin(), values.end(), all.values().begin());
  if (!workspace_.empty()) {
    int64_t offset = 0;
    for (size_t i = 0; i < workspace_.size(); ++i) {
      const uint64_t address =
          reinterpret_cast<uintptr_t>(workspace) + static_cast<uint64_t>(offset);
      all.values()[params_.size() + i].bits = address;
      offset += codegen::workspace_span(evaluate(workspace_[i], values));
    }
  }
  for (const Step& step : steps_) {
    if (step.kernel) {
      run(*step.kernel, all.values(), values, stream);
    } else {
      void* pointer = reinterpret_cast<void*>(all.values()[step.fill.source].bits);
      fill_bytes(pointer, step.fill.value, evaluate(step.fill.bytes, values), stream);
    }
  }
}

void Executable::run(const KernelLaunch& kernel, std::span<ParamValue> values,
                     std::span<const ParamValue> params, CUstream_st* stream) const {
  LaunchShape shape = kernel.shape;
  shape.grid = evaluate(kernel.grid, params);
  if (shape.grid == 0) return;
  if (shape.cooperative)
    shape.grid = std::min(shape.grid, std::max<int64_t>(kernel.most_blocks, 1));
  if (shape.grid > std::numeric_limits<int32_t>::max())
    raise(ErrorId::grid_too_large, {}, name_, shape.grid);
  Scratch<void*> pointers(kernel.sources.size());
  Scratch<TensorMap, kInlineMaps> maps(kernel.mapped);
  size_t next_map = 0;
  for (size_t i = 0; i < kernel.sources.size(); ++i) {
    ParamValue& value = values[static_cast<size_t>(kernel.sources[i])];
    pointers.values()[i] = &value;
    if (kernel.maps[i] == nullptr) continue;
    TensorMap& map = maps.values()[next_map++];
    const int size = kernel.maps[i]->size_source();
    map = kernel.maps[i]->get(
        value.bits, size < 0 ? 0 : static_cast<int64_t>(params[static_cast<size_t>(size)].bits));
    pointers.values()[i] = &map;
  }
  launch_kernel(kernel.function, shape, stream, pointers.values().data(), kernel.symbol);
}

std::vector<std::shared_ptr<const CompiledCuda>> compile_plan(const codegen::Plan& plan,
                                                              CubinCache& cache, CacheUse use) {
  std::vector<const codegen::KernelStep*> kernels;
  for (const codegen::Step& step : plan.steps)
    if (step.kind == codegen::Step::Kind::kernel) kernels.push_back(&step.kernel);
  const auto compile = [&](const codegen::KernelStep& kernel) {
    return compile_cached(kernel.source, kernel.symbol, plan.target, cache, use);
  };
  // All but the first on threads of their own; an exception of one comes out of its future.
  std::vector<std::future<std::shared_ptr<const CompiledCuda>>> others;
  for (size_t i = 1; i < kernels.size(); ++i)
    others.push_back(std::async(std::launch::async, compile, std::cref(*kernels[i])));
  std::vector<std::shared_ptr<const CompiledCuda>> binaries;
  if (!kernels.empty()) binaries.push_back(compile(*kernels[0]));
  for (auto& other : others) binaries.push_back(other.get());
  return binaries;
}

}  // namespace tilewright::runtime
