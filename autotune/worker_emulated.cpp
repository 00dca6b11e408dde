// Candidates on an emulated GPU, in host memory. The times are those of the emulation.
#include <chrono>
#include <cstring>
#include <new>

#include "tilewright/autotune/worker_device.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::tune {
namespace {

struct EmulatedPlan : LoadedPlan {
  codegen::Plan plan;
  std::vector<WorkerParam> params;
};

struct Freed {
  void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{256}); }
};

class EmulatedDevice : public WorkerDevice {
 public:
  std::byte* allocate(int64_t bytes) override {
    auto* fresh = static_cast<std::byte*>(
        ::operator new (static_cast<size_t>(std::max<int64_t>(bytes, 1)), std::align_val_t{256}));
    memory_.emplace_back(fresh);
    return fresh;
  }
  void release_all() override { memory_.clear(); }
  void upload(std::byte* to, const std::byte* from, int64_t bytes) override {
    copy(to, from, bytes);
  }
  void download(std::byte* to, const std::byte* from, int64_t bytes) override {
    copy(to, from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }

  std::unique_ptr<LoadedPlan> load(const codegen::Plan& plan, std::span<const WorkerBinary>,
                                   std::span<const WorkerParam> params) override {
    auto loaded = std::make_unique<EmulatedPlan>();
    loaded->plan = plan;
    loaded->params.assign(params.begin(), params.end());
    return loaded;
  }

  void run(LoadedPlan& plan, const ParamValues& values) override {
    const auto& own = static_cast<const EmulatedPlan&>(plan);
    std::vector<runtime::EmulatorArgument> arguments;
    for (size_t i = 0; i < own.params.size(); ++i) {
      const WorkerParam& param = own.params[i];
      runtime::EmulatorArgument& made = arguments.emplace_back();
      made.tensor = param.tensor;
      made.dtype = param.dtype;
      made.bits = values[i].bits;
      if (!param.tensor) continue;
      made.elements = param.spec.span();
      if (made.elements > 0) made.data = reinterpret_cast<void*>(values[i].bits);
      made.defined = !param.poisoned;
    }
    const runtime::Emulation emulation = runtime::emulate(own.plan, arguments);
    if (!emulation.findings.empty())
      throw CandidateMistake("the emulator finds mistakes:\n" + emulation.report());
  }

  std::vector<std::vector<double>> race(std::span<LoadedPlan* const> plans,
                                        const RaceSettings& settings) override {
    std::vector<std::vector<double>> times(plans.size());
    for (int round = 0; round < settings.rounds; ++round)
      for (size_t i = 0; i < plans.size(); ++i) {
        if (settings.restore) settings.restore();
        const auto begin = std::chrono::steady_clock::now();
        run(*plans[i], settings.sets[static_cast<size_t>(round) % settings.sets.size()]);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        times[i].push_back(took.count());
      }
    return times;
  }

  int64_t memory_limit() const override { return int64_t{1} << 30; }
  int64_t l2_bytes() const override { return 0; }
  bool healthy() override { return true; }

 private:
  std::vector<std::unique_ptr<std::byte, Freed>> memory_;
};

}  // namespace

std::unique_ptr<WorkerDevice> make_emulated_device() { return std::make_unique<EmulatedDevice>(); }

}  // namespace tilewright::tune
