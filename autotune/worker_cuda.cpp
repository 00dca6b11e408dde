// Candidates on a GPU.
#include <algorithm>
#include <optional>

#include "tilewright/autotune/measure.h"
#include "tilewright/autotune/worker_device.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::tune {
namespace {

constexpr int kMostNodes = 2048;  // calls in one graph

std::vector<runtime::Parameter> parameters_of(std::span<const WorkerParam> params) {
  std::vector<runtime::Parameter> parameters;
  for (const WorkerParam& param : params) parameters.push_back({param.dtype, param.tensor});
  return parameters;
}

// Device memory that is freed.
struct Memory {
  void* pointer = nullptr;
  explicit Memory(int64_t bytes) : pointer(runtime::allocate_device(bytes)) {}
  Memory(Memory&& other) noexcept : pointer(std::exchange(other.pointer, nullptr)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(pointer, other.pointer);
    return *this;
  }
  ~Memory() { runtime::free_device(pointer); }
};

struct CudaPlan : LoadedPlan {
  std::optional<runtime::Executable> executable;
  std::optional<Memory> workspace;
  std::optional<Runner> runner;
  std::optional<runtime::Graph> graph;  // of all sets, some times
  int calls = 0;
};

class CudaDevice : public WorkerDevice {
 public:
  explicit CudaDevice(int index)
      : index_(index), context_(index), stream_(Stream::create(cuda())) {}

  std::byte* allocate(int64_t bytes) override {
    return static_cast<std::byte*>(memory_.emplace_back(std::max<int64_t>(bytes, 1)).pointer);
  }
  void release_all() override { memory_.clear(); }
  void upload(std::byte* to, const std::byte* from, int64_t bytes) override {
    runtime::copy_to_device(to, from, bytes, stream_.handle());
    stream_.synchronize(cuda());
  }
  void download(std::byte* to, const std::byte* from, int64_t bytes) override {
    runtime::copy_to_host(to, from, bytes, stream_.handle());
    stream_.synchronize(cuda());
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
    runtime::copy_on_device(to, from, bytes, stream_.handle());
  }

  std::unique_ptr<LoadedPlan> load(const codegen::Plan& plan,
                                   std::span<const WorkerBinary> binaries,
                                   std::span<const WorkerParam> params) override {
    std::vector<std::shared_ptr<const runtime::CompiledCuda>> compiled;
    for (const WorkerBinary& binary : binaries) {
      auto one = std::make_shared<runtime::CompiledCuda>();
      one->cubin = binary.cubin;
      one->ptx = binary.ptx;
      one->compiler = binary.compiler;
      compiled.push_back(std::move(one));
    }
    auto loaded = std::make_unique<CudaPlan>();
    loaded->executable.emplace(plan, compiled, parameters_of(params), index_);
    return loaded;
  }

  void run(LoadedPlan& plan, const ParamValues& values) override {
    auto& own = static_cast<CudaPlan&>(plan);
    if (!own.workspace) own.workspace.emplace(own.executable->workspace_bytes(values));
    own.executable->launch(values, own.workspace->pointer, stream_.handle());
    stream_.synchronize(cuda());
  }

  std::vector<std::vector<double>> race(std::span<LoadedPlan* const> plans,
                                        const RaceSettings& settings) override {
    std::vector<Replayed> contestants;
    for (LoadedPlan* plan : plans)
      contestants.push_back(ready(static_cast<CudaPlan&>(*plan), settings));
    return replay_in_turns(contestants, settings.rounds, stream_, cuda());
  }

  // Some is left to others, and to workspaces.
  int64_t memory_limit() const override { return runtime::free_device_bytes() / 2; }
  int64_t l2_bytes() const override { return runtime::device_info(index_).l2_bytes; }
  bool healthy() override {
    try {
      runtime::synchronize_device();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  Device cuda() const { return Device::cuda(index_); }

  // The graph is made when a plan is raced for the first time. Where data is restored, once over
  // the sets, so that every call sees what it was given.
  Replayed ready(CudaPlan& plan, const RaceSettings& settings) {
    const int sets = static_cast<int>(settings.sets.size());
    if (!plan.graph) {
      std::function<void(const Stream&)> restore;
      if (settings.restore) restore = [again = settings.restore](const Stream&) { again(); };
      plan.runner.emplace(
          [&plan, all = std::vector(settings.sets.begin(), settings.sets.end())](
              int set, const Stream& stream) {
            plan.executable->launch(all[static_cast<size_t>(set)], plan.workspace->pointer,
                                    stream.handle());
          },
          restore);
      const double pass = time_pass(*plan.runner, sets, stream_, cuda());
      const int most = settings.restore ? 1 : std::max(1, kMostNodes / sets);
      const int passes = passes_for(pass, settings.replay_us, most);
      plan.graph.emplace(plan.runner->capture(sets, passes, stream_));
      plan.calls = passes * sets;
      plan.runner->restore(stream_);
      plan.graph->launch(stream_);  // uploads it
    }
    return {&*plan.graph, plan.runner->restores() ? &*plan.runner : nullptr, plan.calls};
  }

  int index_;
  runtime::ContextScope context_;
  Stream stream_;
  std::vector<Memory> memory_;
};

}  // namespace

std::unique_ptr<WorkerDevice> make_cuda_device(int index) {
  runtime::require_device(index);
  return std::make_unique<CudaDevice>(index);
}

}  // namespace tilewright::tune
