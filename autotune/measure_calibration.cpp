// The microbenchmark behind a calibration. What the model calls a unit's rate is what a product
// compiled by this project reaches with it, so that is what is run.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/time_model.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/parse.h"
#include "tilewright/runtime/array.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/executable.h"
#include "tilewright/runtime/graph.h"
#include "tilewright/runtime/nvrtc.h"
#include "tilewright/runtime/stream.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kCopyBytes = int64_t{256} << 20;
constexpr int kThreads = 256;
constexpr int kSamples = 5;
constexpr int kLaunches = 200;       // in one graph
constexpr int64_t kHalfSize = 4096;  // rows, columns and depth of the product of half types
constexpr int64_t kFloatSize = 2048;
constexpr double kMostChange = 8;  // of a rate, over what is typical: beyond, something is wrong

// Numbers of magnitude 0.5 to 2 in bf16, f16 and f32: zeros would take less power, and run faster.
constexpr const char* kFill =
    R"(extern "C" __global__ void tilewright_fill(unsigned* words, long long count) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned hash = (unsigned)i * 2654435761u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    hash ^= hash >> 13;
    words[i] = (hash & 0x807f807fu) | 0x3f003f00u;
  }
}
)";

constexpr const char* kCopy = R"(struct alignas(16) Words {
  unsigned x, y, z, w;
};
extern "C" __global__ void tilewright_copy(const Words* __restrict__ from, Words* __restrict__ to, long long count) {
  const long long first = blockIdx.x * (4LL * blockDim.x) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (first + i * blockDim.x < count) to[first + i * blockDim.x] = from[first + i * blockDim.x];
}
)";

// Every block reads the whole buffer from L2, past L1, beginning at a place of its own.
constexpr const char* kRead =
    R"(extern "C" __global__ void tilewright_read(const unsigned* words, int count, unsigned* sink) {
  unsigned sum = 0;
  const int pieces = count / (4 * blockDim.x);
  for (int i = 0; i < pieces; ++i) {
    const int piece = (int)(((long long)blockIdx.x * 61 + i) % pieces);
    const unsigned* at = words + 4 * (piece * (int)blockDim.x + (int)threadIdx.x);
    unsigned x, y, z, w;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(at));
    sum += x ^ y ^ z ^ w;
  }
  if (sum == 0x12345u) *sink = sum;
}
)";

constexpr const char* kNothing = R"(extern "C" __global__ void tilewright_nothing() {}
)";

/// c = a b for square matrices, b stored by columns so that every unit takes it.
ir::Function square_product(std::string_view dtype, int64_t size) {
  return ir::parse(fmt::format(
      R"(func @calibration(%a: {0}[{1},{1}], %b: {0}[{1},{1}]:[1,{1}], %c: {0}[{1},{1}]) {{
  axis B0 "rows"
  axis B1 "cols"
  axis B2 "ks"
  %0 = constant 0 : i64
  %n = constant {1} : i64
  tile_loop (%0, %0) (%n, %n) () {{axes=[0,1], parallel=1}} (%rows: slice<B0>, %cols: slice<B1>) {{
    %1 = constant 0.0 : f32
    %2 = broadcast %1 {{shape=[B0,B1], dims=[]}} : f32[B0,B1]
    %3 = tile_loop (%0) (%n) (%2) {{axes=[2], parallel=0}} : f32[B0,B1] (%ks: slice<B2>, %4: f32[B0,B1]) {{
      %5 = load %a, %rows, %ks : {0}[B0,B2]
      %6 = load %b, %ks, %cols : {0}[B2,B1]
      %7 = dot %5, %6, %4 : f32[B0,B1]
      yield %7
    }}
    %8 = cast %3 : {0}[B0,B1]
    store %c, {2}, %rows, %cols
  }}
}}
)",
      dtype, size, dtype == "f32" ? "%3" : "%8"));
}

/// The dtype of the product that the target's fastest unit multiplies.
std::string_view half_of(const Target& target) { return target.sm >= 80 ? "bf16" : "f16"; }

/// Runs things on one device and takes their times.
class Bench {
 public:
  explicit Bench(int device)
      : device_(Device::cuda(device)),
        target_(runtime::device_target(device)),
        context_(device),
        stream_(Stream::create(device_)) {}

  const Target& target() const { return target_; }

  Array memory(int64_t bytes) const { return Array(device_, {bytes}, DType::u8); }

  /// Microseconds of one of `calls` calls, the median of several samples.
  double time(int calls, const std::function<void()>& enqueue) const {
    enqueue();
    std::vector<double> times;
    for (int sample = 0; sample < kSamples; ++sample) {
      Event begin(device_), end(device_);
      begin.record(stream_);
      for (int i = 0; i < calls; ++i) enqueue();
      end.record(stream_);
      times.push_back(1e3 * static_cast<double>(end.since(begin)) / calls);
    }
    std::ranges::sort(times);
    return std::max(1e-3, times[times.size() / 2]);
  }

  /// A kernel of plain text, compiled and loaded.
  class Kernel {
   public:
    Kernel(const Bench& bench, const char* text, const std::string& symbol)
        : bench_(bench), symbol_(symbol), module_(load(bench, text, symbol)) {}

    template <class... Args>
    void launch(int64_t grid, Args... args) const {
      std::vector<void*> params = {static_cast<void*>(&args)...};
      const runtime::LaunchShape shape{.grid = grid, .threads = kThreads};
      runtime::launch_kernel(module_.function(symbol_, shape), shape, bench_.stream_.handle(),
                             params.data(), "calibrating");
    }

   private:
    static runtime::Module load(const Bench& bench, const char* text, const std::string& symbol) {
      const runtime::CompiledCuda compiled = runtime::compile_cuda(text, symbol, bench.target_);
      return {bench.device_.index, compiled.cubin, compiled.ptx, symbol, compiled.compiler};
    }
    const Bench& bench_;
    std::string symbol_;
    runtime::Module module_;
  };

  double copy_rate() const {
    const int64_t free = runtime::free_device_bytes();
    const int64_t bytes = (free > 0 ? std::min(kCopyBytes, free / 4) : kCopyBytes) / 4096 * 4096;
    const Array from = memory(bytes), to = memory(bytes);
    fill(from);
    const Kernel copy(*this, kCopy, "tilewright_copy");
    const auto count = static_cast<long long>(bytes / 16);
    const double us = time(4, [&] {
      copy.launch((count + 4 * kThreads - 1) / (4 * kThreads), from.data(), to.data(), count);
    });
    return 2 * static_cast<double>(bytes) / us;
  }

  double l2_rate(double l2_bytes) const {
    const auto bytes = static_cast<int64_t>(l2_bytes / 4) / 65536 * 65536;
    const Array words = memory(bytes), sink = memory(16);
    fill(words);
    const Kernel read(*this, kRead, "tilewright_read");
    const int64_t blocks = int64_t{4} * target_.multiprocessors;
    const int count = static_cast<int>(bytes / 4);
    const double us = time(2, [&] { read.launch(blocks, words.data(), count, sink.data()); });
    return static_cast<double>(bytes) * static_cast<double>(blocks) / us;
  }

  /// `otherwise` where the driver has no graphs.
  double launch_us(double otherwise) const {
    const Kernel nothing(*this, kNothing, "tilewright_nothing");
    nothing.launch(1);
    try {
      const runtime::Graph graph(stream_, [&] {
        for (int i = 0; i < kLaunches; ++i) nothing.launch(1);
      });
      return time(3, [&] { graph.launch(stream_); }) / kLaunches;
    } catch (const Error& error) {
      if (error.id() != ErrorId::missing_driver) throw;
      return otherwise;
    }
  }

  /// Microseconds of a product with its default config, and that config.
  std::pair<double, Config> product(const ir::Function& fn, int64_t elements, int bytes) const {
    const Config config = default_config(fn, target_);
    const codegen::Plan plan = codegen::lower(fn, config, target_);
    const auto binaries = runtime::compile_plan(plan);
    const runtime::Executable executable(
        plan, binaries, std::vector<runtime::Parameter>(3, {fn.params[0].spec.dtype, true}),
        device_.index);
    std::vector<Array> arrays;
    std::vector<runtime::ParamValue> values;
    for (int i = 0; i < 3; ++i) {
      arrays.push_back(memory(elements * bytes));
      fill(arrays.back());
      values.push_back({reinterpret_cast<uint64_t>(arrays.back().data())});
    }
    return {time(3, [&] { executable.launch(values, nullptr, stream_.handle()); }), config};
  }

 private:
  void fill(const Array& array) const {
    const Kernel fill(*this, kFill, "tilewright_fill");
    fill.launch(1024, array.data(), static_cast<long long>(array.elements() / 4));
    stream_.synchronize(device_);
  }

  Device device_;
  Target target_;
  runtime::ContextScope context_;
  Stream stream_;
};

/// Scales the rates whose names begin with one of `units` so that the model gives the measured
/// time.
void fit(Calibration& calibration, const std::vector<std::string_view>& units,
         const ir::Function& fn, const Config& config, const Target& target, double measured) {
  const std::map<std::string, double> typical = calibration.operations_per_us;
  double factor = 1;
  for (int i = 0; i < 6; ++i) {
    factor *= predict(fn, config, target, calibration).microseconds / measured;
    factor = std::clamp(factor, 1 / kMostChange, kMostChange);
    for (auto& [name, rate] : calibration.operations_per_us)
      for (const std::string_view unit : units)
        if (name.starts_with(unit)) rate = typical.at(name) * factor;
  }
}

}  // namespace

Calibration measure_calibration(int device) {
  runtime::require_device(device);
  const Bench bench(device);
  const Target& target = bench.target();
  Calibration result = Calibration::typical(target);
  result.device = runtime::device_info(device).name;
  result.measured = true;
  result.copy_bytes_per_us = bench.copy_rate();
  result.l2_bytes_per_us = bench.l2_rate(result.l2_bytes);
  result.launch_us = bench.launch_us(result.launch_us);
  const ir::Function halves = square_product(half_of(target), kHalfSize);
  const auto [half_us, half_config] = bench.product(halves, kHalfSize * kHalfSize, 2);
  fit(result, {"wgmma", "mma"}, halves, half_config, target, half_us);
  const ir::Function floats = square_product("f32", kFloatSize);
  const auto [float_us, float_config] = bench.product(floats, kFloatSize * kFloatSize, 4);
  fit(result, {"fma"}, floats, float_config, target, float_us);
  return result;
}

std::map<std::string, std::string> calibration_kernels(const Target& target) {
  std::map<std::string, std::string> texts = {{"tilewright_fill", kFill},
                                              {"tilewright_copy", kCopy},
                                              {"tilewright_read", kRead},
                                              {"tilewright_nothing", kNothing}};
  for (const auto& [dtype, size] :
       {std::pair(half_of(target), kHalfSize), {std::string_view("f32"), kFloatSize}}) {
    const ir::Function fn = square_product(dtype, size);
    const codegen::Plan plan = codegen::lower(fn, default_config(fn, target), target);
    for (const codegen::Step& step : plan.steps) texts[step.kernel.symbol] = step.kernel.source;
  }
  return texts;
}

}  // namespace tilewright::tune
