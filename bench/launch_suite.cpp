// What one launch costs the host: `kernel.launch` with views made for each call and every check on,
// against cuLaunchKernel of the same function with arguments that lie ready.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <stdexcept>

#include "bench/graph.h"
#include "bench/suites.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/vector_add.h"
#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::bench {
namespace {

constexpr Device kGpu = Device::cuda(0);
constexpr int kBatch = 256;  // fewer than the driver queues before a launch waits

/// A kernel with tensors a, b and result c small enough that the device keeps up.
struct Tiny {
  std::string name;
  std::vector<int64_t> sizes;
  std::function<CompiledKernel(const TensorSpec&)> compile;
  std::function<void(const Stream& stream, const TensorView& a, const TensorView& b,
                     const TensorView& c)>
      launch;
};

template <class Kernel>
Tiny tiny(const Kernel& kernel, std::string name, std::vector<int64_t> sizes) {
  return {std::move(name), std::move(sizes),
          [&kernel](const TensorSpec& spec) {
            return kernel.compile({spec, spec});
          },
          [&kernel](const Stream& stream, const TensorView& a, const TensorView& b,
                    const TensorView& c) { kernel.launch({.stream = stream, .out = {c}}, a, b); }};
}

/// The function of a compiled kernel, launched by the driver's own call.
class Bare {
 public:
  Bare(const CompiledKernel& compiled, std::span<const Array> arrays)
      : step_(only_step(compiled)),
        module_(0, compiled.cubin(), compiled.ptx(), compiled.name(),
                compiled.binaries().front()->compiler),
        function_(module_.function(step_.symbol, {.shared_bytes = step_.shared_bytes})),
        grid_(static_cast<unsigned>(codegen::evaluate(*step_.grid, no_scalars))) {
    for (const codegen::KernelParam& param : step_.params)
      addresses_.push_back(arrays[static_cast<size_t>(param.source)].data());
    for (void*& address : addresses_) params_.push_back(&address);
  }

  void launch(const Stream& stream) {
    const int code =
        call_(function_, grid_, static_cast<unsigned>(step_.threads),
              static_cast<unsigned>(step_.shared_bytes), stream.handle(), params_.data());
    if (code != 0) throw std::runtime_error(fmt::format("cuLaunchKernel failed with {}", code));
  }

 private:
  static int64_t no_scalars(const std::string& name) {
    throw std::runtime_error("the grid depends on " + name);
  }
  static const codegen::KernelStep& only_step(const CompiledKernel& compiled) {
    if (compiled.plan().steps.size() != 1) throw std::runtime_error("the plan has several steps");
    return compiled.plan().steps.front().kernel;
  }

  codegen::KernelStep step_;
  runtime::Module module_;
  CUfunc_st* function_;
  unsigned grid_;
  BareLaunch call_;
  std::vector<void*> addresses_;
  std::vector<void*> params_;
};

// Nanoseconds of the host for each of a batch of launches, the device idle before.
template <class Launch>
double batch_ns(const Stream& stream, const Launch& launch) {
  stream.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kBatch; ++i) launch();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / kBatch;
}

void run_tiny(const Tiny& kernel, const SuiteOptions& options, Report& report) {
  std::vector<Array> arrays;
  for (int i = 0; i < 3; ++i) arrays.push_back(Array::zeros(kGpu, kernel.sizes, DType::f32));
  const CompiledKernel compiled = kernel.compile(arrays[0].spec());
  const Stream stream = Stream::create();
  synchronize(kGpu);
  Bare bare(compiled, arrays);
  const std::array<void*, 3> pointers{arrays[0].data(), arrays[1].data(), arrays[2].data()};
  const auto ours = [&] {
    const auto view = [&](size_t i) {
      return TensorView(pointers[i], DType::f32, kernel.sizes, {}, kGpu);
    };
    kernel.launch(stream, view(0), view(1), view(2));
  };
  const auto theirs = [&] { bare.launch(stream); };

  std::vector<double> ours_us, theirs_us;
  const int batches = options.quick ? 80 : 160;  // at least 20000 launches of each
  for (int i = -4; i < batches; ++i) {           // the first ones warm up
    const double first = batch_ns(stream, ours), second = batch_ns(stream, theirs);
    if (i < 0) continue;
    ours_us.push_back(first / 1e3);
    theirs_us.push_back(second / 1e3);
  }
  stream.synchronize();
  Row row{.suite = "launch",
          .shape = kernel.name,
          .config = "default",
          .json = to_json(compiled.config()),
          .peer = "cuLaunchKernel"};
  row.ours = summarize(std::move(ours_us));
  row.theirs = summarize(std::move(theirs_us));
  row.ours.calls = row.theirs.calls = kBatch;
  report.note(fmt::format("{}: {:.0f} ns a launch, {:.0f} ns by cuLaunchKernel: {:.2f} times",
                          kernel.name, 1e3 * row.ours.median, 1e3 * row.theirs.median,
                          row.ours.median / row.theirs.median));
  report.add(std::move(row));
}

}  // namespace

void run_launch_suite(const SuiteOptions& options, Report& report) {
  for (const Tiny& kernel : {tiny(examples::vector_add, "launch vector_add f32 1024", {1024}),
                             tiny(examples::matmul, "launch matmul f32 32x32x32", {32, 32})}) {
    if (!options.wants(kernel.name, true)) continue;
    Row row{.suite = "launch", .shape = kernel.name, .config = "default"};
    guarded(row, [&] { run_tiny(kernel, options, report); });
    if (!row.problem.empty()) report.add(std::move(row));
  }
}

}  // namespace tilewright::bench
