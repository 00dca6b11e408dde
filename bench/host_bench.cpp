// What the host pays: tracing, lowering, printing, compiling and finding kernels; the interpreter.
// `host_bench --help` lists the options of Google Benchmark.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <stdexcept>

#include "examples/kernels/matmul.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_kernel_ir.h"
#include "tilewright/runtime/cubin_cache.h"
#include "tilewright/runtime/nvrtc.h"

namespace {

namespace tw = tilewright;

const tw::Target& target() {
  static const tw::Target sm_90a = tw::parse_target("sm_90a");
  return sm_90a;
}

tw::TensorSpec matrix(int64_t rows, int64_t columns) {
  return tw::TensorView(nullptr, tw::DType::f32, {rows, columns}, tw::Device::cpu()).spec();
}

std::vector<tw::CompileArg> operands() { return {matrix(1000, 999), matrix(999, 1001)}; }

std::shared_ptr<const tw::ir::Function> traced() {
  return examples::matmul.handle().trace(operands());
}

// What a user gets without asking.
tw::Config config() { return tw::default_config(*traced(), target()); }

std::string cuda() {
  return print_cuda(tw::codegen::lower_to_kernel_ir(*traced(), config(), target()).kernel,
                    target());
}

// The matmul of the examples as a new kernel object, which has traced nothing yet.
auto fresh_kernel() {
  return tw::kernel("matmul", [](tw::Tensor a, tw::Tensor b) {
    auto [m, k] = tw::sizes<2>(a);
    auto [k2, n] = tw::sizes<2>(b);
    tw::check(k == k2, "inner sizes differ: {} and {}", k, k2);
    tw::Tensor c = tw::empty({m, n}, a.dtype());
    for (auto [rows, cols] : tw::tile({m, n})) {
      tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
      for (auto ks : tw::tile(k)) {
        acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
      }
      c[rows, cols] = acc;
    }
    return c;
  });
}

// All that happens before NVRTC when a kernel is compiled for the first time.
void trace_lower_print(benchmark::State& state) {
  const tw::CompileOptions options{.target = target(), .config = config()};
  for (auto _ : state) {
    const auto kernel = fresh_kernel();
    benchmark::DoNotOptimize(kernel.compile(operands(), options).cuda().size());
  }
}
BENCHMARK(trace_lower_print)->Unit(benchmark::kMillisecond);

// Its parts. Tracing runs the kernel twice, to find host state that it changes. Not among them: the
// text of the tile IR that a compiled kernel keeps.
void trace(benchmark::State& state) {
  for (auto _ : state) {
    const auto kernel = fresh_kernel();
    benchmark::DoNotOptimize(kernel.handle().trace(operands()).get());
  }
}
BENCHMARK(trace)->Unit(benchmark::kMillisecond);

void lower_to_kernel_ir(benchmark::State& state) {
  const auto fn = traced();
  const tw::Config chosen = config();
  for (auto _ : state)
    benchmark::DoNotOptimize(tw::codegen::lower_to_kernel_ir(*fn, chosen, target()).kernel.threads);
}
BENCHMARK(lower_to_kernel_ir)->Unit(benchmark::kMillisecond);

void print_cuda(benchmark::State& state) {
  const auto lowered = tw::codegen::lower_to_kernel_ir(*traced(), config(), target());
  for (auto _ : state)
    benchmark::DoNotOptimize(tw::codegen::print_cuda(lowered.kernel, target()).size());
}
BENCHMARK(print_cuda)->Unit(benchmark::kMillisecond);

void print_kernel_ir(benchmark::State& state) {
  const auto lowered = tw::codegen::lower_to_kernel_ir(*traced(), config(), target());
  for (auto _ : state)
    benchmark::DoNotOptimize(tw::codegen::print_kernel_ir(lowered.kernel).size());
}
BENCHMARK(print_kernel_ir)->Unit(benchmark::kMillisecond);

void default_config(benchmark::State& state) {
  const auto fn = traced();
  for (auto _ : state) benchmark::DoNotOptimize(tw::default_config(*fn, target()).warps);
}
BENCHMARK(default_config)->Unit(benchmark::kMillisecond);

// Skips and returns true where there is no NVRTC.
bool without_nvrtc(benchmark::State& state) {
  const std::string& problem = tw::runtime::nvrtc_status().problem;
  if (problem.empty()) return false;
  state.SkipWithError(("no NVRTC: " + problem).c_str());
  return true;
}

void nvrtc(benchmark::State& state) {
  if (without_nvrtc(state)) return;
  const std::string source = cuda();
  for (auto _ : state)
    benchmark::DoNotOptimize(tw::runtime::compile_cuda(source, "matmul", target()).cubin.size());
}
BENCHMARK(nvrtc)->Unit(benchmark::kMillisecond);

// A folder that dies with its scope.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("tilewright-host-bench-{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A cache object that has nothing in memory, as in another process; the file is in the cache of
// the operating system.
void cubin_on_disk(benchmark::State& state) {
  if (without_nvrtc(state)) return;
  const TemporaryFolder folder;
  const std::string source = cuda();
  tw::runtime::CubinCache first(folder.path());
  tw::runtime::compile_cached(source, "matmul", target(), first);
  for (auto _ : state) {
    tw::runtime::CubinCache fresh(folder.path());
    benchmark::DoNotOptimize(
        tw::runtime::compile_cached(source, "matmul", target(), fresh)->cubin.size());
  }
}
BENCHMARK(cubin_on_disk)->Unit(benchmark::kMillisecond);

// n^3 in f32 by the interpreter, on all cores; the trace is kept.
void interpreter(benchmark::State& state) {
  const int64_t n = state.range(0);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n * n));
  const auto random = [&] {
    for (float& value : values) value = normal(engine);
    return tw::Array::from_host(values, {n, n}, tw::Device::cpu());
  };
  const tw::Array a = random(), b = random(), c = random();
  for (auto _ : state) examples::matmul.launch({.out = {c}}, a, b);
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(n * n * n),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(interpreter)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
