#include "tilewright/autotune/compiled_kernel.h"

#include <mutex>
#include <vector>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/executable.h"

namespace tilewright {

struct CompiledKernel::State {
  codegen::Plan plan;
  std::mutex mutex;
  bool compiled = false;
  std::vector<std::shared_ptr<const runtime::CompiledCuda>> binaries;
};

CompiledKernel::CompiledKernel(codegen::Plan plan) : state_(std::make_shared<State>()) {
  state_->plan = std::move(plan);
}

const std::string& CompiledKernel::name() const { return state_->plan.name; }
const Config& CompiledKernel::config() const { return state_->plan.config; }
const Target& CompiledKernel::target() const { return state_->plan.target; }
const codegen::Plan& CompiledKernel::plan() const { return state_->plan; }
const std::string& CompiledKernel::tile_ir() const { return state_->plan.tile_ir; }
const std::string& CompiledKernel::kernel_ir() const { return state_->plan.kernel_ir; }

int CompiledKernel::kernels() const {
  int count = 0;
  for (const codegen::Step& step : state_->plan.steps)
    count += step.kind == codegen::Step::Kind::kernel;
  return count;
}

int CompiledKernel::launches() const { return state_->plan.launches(); }

int64_t CompiledKernel::workspace_bytes(
    const std::function<int64_t(const std::string&)>& scalars) const {
  return state_->plan.workspace_bytes(scalars);
}

int64_t CompiledKernel::no_scalars(const std::string& name) {
  throw InternalError(fmt::format("the workspace depends on '{}', whose value is not given", name));
}

const std::string& CompiledKernel::cuda(int step) const {
  int left = step;
  for (const codegen::Step& candidate : state_->plan.steps)
    if (candidate.kind == codegen::Step::Kind::kernel && left-- == 0)
      return candidate.kernel.source;
  throw InternalError(fmt::format("plan {} has no kernel step {}", name(), step));
}

const std::vector<std::shared_ptr<const runtime::CompiledCuda>>& CompiledKernel::binaries() const {
  std::lock_guard lock(state_->mutex);
  if (!state_->compiled) {
    state_->binaries = runtime::compile_plan(state_->plan);
    state_->compiled = true;
  }
  return state_->binaries;
}

const runtime::CompiledCuda& CompiledKernel::binary(int step) const {
  return *binaries().at(static_cast<size_t>(step));
}

const std::string& CompiledKernel::ptx(int step) const { return binary(step).ptx; }
const std::string& CompiledKernel::cubin(int step) const { return binary(step).cubin; }
const std::string& CompiledKernel::log(int step) const { return binary(step).log; }
std::vector<std::string> CompiledKernel::notes(int step) const { return binary(step).notes(); }
const runtime::Resources& CompiledKernel::resources(int step) const {
  return binary(step).resources;
}

}  // namespace tilewright
