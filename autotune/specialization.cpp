#include "tilewright/autotune/specialization.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/ir/form_fma.h"

#include <algorithm>
#include <bit>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/cpu_launch.h"
#include "tilewright/runtime/stream_memory.h"

namespace tilewright {
namespace {

// Per-thread memory of the production launch, which must not touch the heap once it has grown.
struct RunScratch {
  std::vector<runtime::Argument> params;
  std::vector<runtime::ParamValue> values;
};

RunScratch& run_scratch() {
  thread_local RunScratch scratch;
  return scratch;
}

int64_t bytes_of(const TensorView& view) {
  return view.data() == nullptr ? 0 : view.elements() * size_of(view.dtype());
}

// "1023 bytes on cuda:0", and the address where that is what is wrong.
std::string describe_workspace(const TensorView& workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace.data());
  std::string text =
      fmt::format("{} bytes on {}", bytes_of(workspace), to_string(workspace.device()));
  if (!workspace.contiguous()) text += ", not contiguous";
  if (address % codegen::kWorkspaceAlignment != 0)
    text += fmt::format(", at address {:#x}", address);
  return text;
}

// The memory of .workspace, which must hold `bytes` on this device.
void* given_workspace(const ir::Function& fn, const TensorView& workspace, Device device,
                      int64_t bytes) {
  const bool usable =
      workspace.contiguous() && workspace.device() == device && bytes_of(workspace) >= bytes &&
      reinterpret_cast<uintptr_t>(workspace.data()) % codegen::kWorkspaceAlignment == 0;
  if (!usable)
    raise(ErrorId::workspace_needed, {}, fn.name, bytes, to_string(device),
          codegen::kWorkspaceAlignment, describe_workspace(workspace));
  runtime::check_pointer(fn.name, ".workspace", workspace);
  return workspace.data();
}

void run_on_gpu(const Specialization& specialization, const LaunchOptions& options,
                std::span<const runtime::Argument> params) {
  const runtime::ContextScope scope(specialization.device.index);
  const ir::Function& fn = *specialization.traced.fn;
  std::vector<runtime::ParamValue>& values = run_scratch().values;
  values.clear();
  for (size_t i = 0; i < params.size(); ++i) {
    const TensorView* view = params[i].view;
    if (view != nullptr) runtime::check_pointer(fn.name, fn.params[i].name, *view);
    values.push_back(
        {view != nullptr ? reinterpret_cast<uintptr_t>(view->data()) : params[i].bits});
  }
  const int64_t bytes = specialization.executable->workspace_bytes(values);
  void* workspace = nullptr;
  runtime::StreamMemory own;
  if (bytes > 0 && options.workspace.data() != nullptr) {
    workspace = given_workspace(fn, options.workspace, specialization.device, bytes);
  } else if (bytes > 0) {
    own = runtime::StreamMemory(specialization.device.index, bytes, options.stream.handle());
    workspace = own.data();
  }
  specialization.executable->launch(values, workspace, options.stream.handle());
}

// Whether the kernel reads a tensor. (Writes, atomic ones too, name it first.)
bool is_loaded(const ir::Function& fn, const ir::Value* tensor) {
  bool found = false;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.effect() == ir::Effect::pure || op.kind == ir::OpKind::store) return;
    found |= std::ranges::find(op.operands, tensor) != op.operands.end();
  });
  return found;
}

}  // namespace

void Traced::order(std::span<const runtime::Argument> launch,
                   std::vector<runtime::Argument>& params) const {
  params.resize(launch.size() + sizes.size());
  for (size_t i = 0; i < launch.size(); ++i) params[static_cast<size_t>(param_of(i))] = launch[i];
  for (const SizeOf& size : sizes)
    params[static_cast<size_t>(size.param)] = {
        nullptr, DType::i64, static_cast<uint64_t>(launch[size.position].view->size(0))};
}

TensorSpec Traced::spec_of(int made, std::span<const runtime::Argument> launch) const {
  const ir::Param& param = fn->params.at(static_cast<size_t>(made));
  TensorSpec spec = param.spec;
  for (const SizeOf& size : sizes)
    if (size.param == param.size_param) spec.sizes[0] = launch[size.position].view->size(0);
  spec.dynamic = false;
  return spec;
}

std::vector<TensorSpec> as_traced(const Traced& traced, std::vector<TensorSpec> results) {
  for (size_t i = 0; i < results.size() && i < traced.made.size(); ++i) {
    const TensorSpec& spec = traced.fn->params[static_cast<size_t>(traced.made[i])].spec;
    if (!spec.dynamic) continue;
    results[i].sizes.at(0) = spec.sizes[0];
    results[i].dynamic = true;
  }
  return results;
}

Traced examine(ir::Function fn) {
  // Contraction is part of a kernel's meaning: the interpreter and generated code round alike.
  fn = ir::form_fma(fn);
  Traced traced;
  for (const int result : fn.results) {
    const ir::Param& param = fn.params.at(static_cast<size_t>(result));
    if (!param.allocated) continue;
    if (std::ranges::find(traced.made, result) != traced.made.end())
      raise(ErrorId::result_twice, fn.loc, fn.name, param.name);
    traced.made.push_back(result);
  }
  for (size_t i = fn.launch_params(); i < fn.params.size(); ++i)
    if (!is_loaded(fn, fn.params[i].value))
      raise(ErrorId::result_not_returned, fn.loc, fn.name, fn.params[i].name);
  for (size_t i = 0; i < fn.params.size(); ++i) {
    if (fn.params[i].allocated || fn.size_limit(i)) continue;
    const int size = fn.params[i].size_param;
    const auto known = [&](const Traced::SizeOf& of) { return of.param == size; };
    if (size >= 0 && std::ranges::none_of(traced.sizes, known))
      traced.sizes.push_back({size, traced.positions.size()});
    traced.positions.push_back(static_cast<int>(i));
  }
  traced.positions.insert(traced.positions.end(), traced.made.begin(), traced.made.end());
  traced.written = codegen::written_params(fn);
  ir::for_each_op(fn.body(),
                  [&](const ir::Op& op) { traced.prints |= op.kind == ir::OpKind::print; });
  traced.fn = std::make_shared<const ir::Function>(std::move(fn));
  return traced;
}

Traced with_result_specs(const Traced& traced, std::span<const TensorSpec> results,
                         const Traceable& traceable, std::span<const KernelArg> args,
                         const TunableValues& tunables) {
  bool same = true;
  for (size_t i = 0; i < results.size(); ++i)
    same &= results[i] == traced.fn->params[static_cast<size_t>(traced.made[i])].spec;
  if (same) return traced;
  ir::Function fresh = traceable.trace(args, tunables);
  for (size_t i = 0; i < results.size(); ++i)
    fresh.params.at(static_cast<size_t>(traced.made[i])).spec = results[i];
  return examine(std::move(fresh));
}

std::vector<runtime::Parameter> parameters(const ir::Function& fn) {
  std::vector<runtime::Parameter> result;
  for (const ir::Param& param : std::span(fn.params).first(fn.launch_params()))
    result.push_back({param.value->type.dtype, param.is_tensor()});
  return result;
}

void run_specialization(const Specialization& specialization, const LaunchOptions& options,
                        std::span<const runtime::Argument> launch) {
  if (specialization.nothing_to_do) return;
  std::vector<runtime::Argument>& params = run_scratch().params;
  specialization.traced.order(launch, params);
  if (specialization.traced.dynamic()) runtime::check_dynamic(*specialization.traced.fn, params);
  if (specialization.device.is_cuda())
    run_on_gpu(specialization, options, params);
  else if (specialization.device.is_emulator())
    runtime::launch_emulated(*specialization.traced.fn, specialization.compiled->plan(), params,
                             specialization.device);
  else
    runtime::launch_on_cpu(*specialization.traced.fn, params, specialization.block);
}

void append_config(const Config& config, KeyWords& key) {
  // Naming every field makes a new one a compile error here.
  const auto& [block, order, group, warps, stages, copy, matrix, vector, blocks_per_sm, persistent,
               turns, cluster, split_k, repitch, reduction_loop, tunables] = config;
  key.push_back(block.size());
  key.insert(key.end(), block.begin(), block.end());
  key.push_back(order.size());
  key.insert(key.end(), order.begin(), order.end());
  for (const int64_t field :
       {int64_t{group}, int64_t{warps}, int64_t{stages}, static_cast<int64_t>(copy),
        static_cast<int64_t>(matrix), int64_t{vector}, int64_t{blocks_per_sm}, int64_t{persistent},
        int64_t{turns}, int64_t{cluster}, int64_t{split_k}, int64_t{repitch},
        int64_t{reduction_loop}})
    key.push_back(static_cast<uint64_t>(field));
  append_tunables(tunables, key);
}

void append_tunables(const TunableValues& tunables, KeyWords& key) {
  key.push_back(tunables.size());
  for (const auto& [name, value] : tunables) {
    append_text(name, key);
    key.push_back(static_cast<uint64_t>(value));
  }
}

void append_constant(const dsl::LiteralValue& value, KeyWords& key) {
  key.push_back(value.index());
  if (const auto* truth = std::get_if<bool>(&value)) key.push_back(*truth);
  if (const auto* integer = std::get_if<int64_t>(&value))
    key.push_back(static_cast<uint64_t>(*integer));
  if (const auto* real = std::get_if<double>(&value)) key.push_back(std::bit_cast<uint64_t>(*real));
}

void append_text(std::string_view text, KeyWords& key) {
  const runtime::Hash128 hash = runtime::hash_bytes(text);
  key.push_back(hash.low);
  key.push_back(hash.high);
}

}  // namespace tilewright
