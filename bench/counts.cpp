#include "bench/counts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include "examples/kernels/matmul.h"
#include "examples/kernels/softmax.h"
#include "tilewright/runtime/emulator.h"
#include "tilewright/runtime/half.h"

namespace tilewright::bench {
namespace {

const auto transposed_copy = kernel("transposed_copy", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = empty({n, m}, x.dtype());
  for (auto [rows, cols] : tile({m, n})) y[cols, rows] = transpose(x[rows, cols]);
  return y;
});

/// A kernel with its arguments, row-major unless the last is transposed. Copies are synchronous, so
/// that each access is an instruction whose conflicts are counted; shapes are such that edges are
/// cut.
struct Counted {
  std::string name;
  KernelHandle kernel;
  std::vector<TensorSpec> inputs;  ///< as stored
  std::string config;
  bool transposed = false;
};

// The specs of the arguments.
std::vector<TensorSpec> arguments_of(const Counted& counted) {
  std::vector<TensorSpec> specs = counted.inputs;
  if (counted.transposed) {
    std::swap(specs.back().sizes[0], specs.back().sizes[1]);
    std::swap(specs.back().strides[0], specs.back().strides[1]);
  }
  return specs;
}

std::vector<Counted> counted_kernels() {
  const auto spec = [](DType dtype, int64_t rows, int64_t columns) {
    return contiguous_spec(dtype, {rows, columns});
  };
  return {
      {"product f32 200x136x72",
       examples::matmul,
       {spec(DType::f32, 200, 72), spec(DType::f32, 72, 136)},
       R"({"block":[64,64,16],"warps":4,"stages":2,"copy":"sync","matrix":"fma"})"},
      {"product f32 200x136x72 nt",
       examples::matmul,
       {spec(DType::f32, 200, 72), spec(DType::f32, 136, 72)},
       R"({"block":[48,96,24],"warps":4,"stages":2,"copy":"sync","matrix":"fma"})",
       true},
      {"softmax bf16 50x1000",
       examples::softmax,
       {spec(DType::bf16, 50, 1000)},
       R"({"block":[2],"warps":4})"},
      // No edges here: the compiler would not read what edges then drop, and conflicts with it.
      {"transposed copy f32 192x128",
       transposed_copy,
       {spec(DType::f32, 192, 128)},
       R"({"block":[64,32],"warps":4})"},
  };
}

CompiledKernel compile(const Counted& counted, const std::optional<Target>& target) {
  const std::vector<TensorSpec> specs = arguments_of(counted);
  return counted.kernel.compile({specs.begin(), specs.end()},
                                {.target = target, .config = parse_config(counted.config)});
}

const std::string& symbol_of(const CompiledKernel& compiled) {
  if (compiled.plan().steps.size() != 1)
    throw std::runtime_error(compiled.name() + " has several steps");
  return compiled.plan().steps.front().kernel.symbol;
}

// Numbers from -1 to 1 in an array of f32 or bf16.
Array random_array(const TensorSpec& spec) {
  std::mt19937 engine(1);
  Array array(Device::cpu(), spec.sizes, spec.dtype);
  for (int64_t i = 0; i < array.elements(); ++i) {
    const float x = static_cast<float>(engine()) * 0x1p-31F - 1;
    if (spec.dtype == DType::f32)
      array.values<float>()[static_cast<size_t>(i)] = x;
    else
      array.values<uint16_t>()[static_cast<size_t>(i)] = bf16_from_double(x);
  }
  return array;
}

KernelCounts emulate(const Counted& counted, const Target& target) {
  const CompiledKernel compiled = compile(counted, target);
  const std::vector<TensorSpec> specs = arguments_of(counted);
  const auto traced = counted.kernel.trace(std::vector<CompileArg>(specs.begin(), specs.end()));
  std::vector<Array> arrays;
  std::vector<runtime::EmulatorArgument> arguments;
  for (const ir::Param& param : std::span(traced->params).first(traced->launch_params())) {
    arrays.push_back(random_array(param.spec));
    arguments.push_back(
        {arrays.back().data(), param.spec.span(), param.spec.dtype, true, !param.allocated});
  }
  const runtime::Emulation emulation =
      runtime::emulate(compiled.plan(), arguments, {.counts = true});
  if (!emulation.findings.empty()) throw std::runtime_error(emulation.report());
  KernelCounts counts{.name = counted.name, .symbol = symbol_of(compiled)};
  for (const runtime::StatementCounts& statement : emulation.statements) {
    counts.shared_requests += statement.shared_requests;
    counts.shared_conflicts += statement.bank_conflicts;
    counts.global_requests += statement.global_requests;
    counts.global_bytes += statement.global_bytes;
    counts.global_sectors += statement.global_sectors;
  }
  return counts;
}

}  // namespace

std::vector<KernelCounts> emulated_counts(const Target& target) {
  std::vector<KernelCounts> all;
  for (const Counted& counted : counted_kernels()) all.push_back(emulate(counted, target));
  return all;
}

std::string to_json(std::span<const KernelCounts> counts) {
  nlohmann::json json = nlohmann::json::array();
  for (const KernelCounts& one : counts)
    json.push_back({{"name", one.name},
                    {"symbol", one.symbol},
                    {"shared_requests", one.shared_requests},
                    {"shared_conflicts", one.shared_conflicts},
                    {"global_requests", one.global_requests},
                    {"global_bytes", one.global_bytes},
                    {"global_sectors", one.global_sectors}});
  return json.dump(2);
}

void launch_counted_kernels() {
  for (const Counted& counted : counted_kernels()) {
    std::vector<Array> arrays;
    std::vector<TensorView> views;
    std::vector<CallArg> arguments;
    for (const TensorSpec& spec : counted.inputs)
      arrays.push_back(random_array(spec).to(Device::cuda(0)));
    for (const Array& array : arrays) views.push_back(array.view());
    if (counted.transposed) views.back() = views.back().t();
    for (const TensorView& view : views) arguments.push_back(CallArg::tensor(view));
    counted.kernel.set_config(parse_config(counted.config));
    counted.kernel.call(arguments);
  }
  synchronize(Device::cuda(0));
}

}  // namespace tilewright::bench
