#include "bench/gemm_kernel.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "examples/kernels/linear.h"
#include "examples/kernels/matmul.h"

namespace tilewright::bench {
namespace {

// The matmul of the examples, with results of another dtype, and the precision of the dot.
auto product_kernel(DType output, DType accumulator, DotPrecision precision) {
  return kernel("product", [=](Tensor a, Tensor b) {
    auto [m, k] = sizes<2>(a);
    auto [k2, n] = sizes<2>(b);
    check(k == k2, "inner sizes differ: {} and {}", k, k2);
    Tensor c = empty({m, n}, output);
    for (auto [rows, cols] : tile({m, n})) {
      Tile acc = zeros({rows, cols}, accumulator);
      for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols], precision);
      c[rows, cols] = acc;
    }
    return c;
  });
}

const auto batched_product = kernel("batched_product", [](Tensor a, Tensor b) {
  auto [count, m, k] = sizes<3>(a);
  auto [count2, k2, n] = sizes<3>(b);
  check(k == k2 && count == count2, "{} products over {}, but {} over {}", count, k, count2, k2);
  Tensor c = empty({count, m, n}, a.dtype());
  for (auto [i, rows, cols] : tile({each(count), m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[i, rows, ks], b[i, ks, cols]);
    c[i, rows, cols] = acc;
  }
  return c;
});

const auto int8_weights = kernel("int8_weights", [](Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  auto [k2, n] = sizes<2>(b);
  check(k == k2, "inner sizes differ: {} and {}", k, k2);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], cast(b[ks, cols], a.dtype()));
    c[rows, cols] = acc;
  }
  return c;
});

// a is seen as [m, 2, k/2], for the two weights in each byte of b.
const auto int4_weights = kernel("int4_weights", [](Tensor a, Tensor b) {
  auto [m, two, half] = sizes<3>(a);
  auto [half2, n] = sizes<2>(b);
  check(half == half2 && two == 2, "inner sizes differ: {} and {}", half, half2);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(half)) {
      Tile bytes = cast(b[ks, cols], i32);
      acc = addmm(acc, a[rows, 0, ks], cast((bytes & 15) - 8, a.dtype()));
      acc = addmm(acc, a[rows, 1, ks], cast((bytes >> 4) - 8, a.dtype()));
    }
    c[rows, cols] = acc;
  }
  return c;
});

// Kernels live as long as the process, so that what was compiled is found again.
const KernelHandle& product_of(DType output, DotPrecision precision) {
  static std::map<std::pair<DType, DotPrecision>, KernelHandle> kernels;
  const std::pair key(output, precision);
  const auto found = kernels.find(key);
  if (found != kernels.end()) return found->second;
  const DType accumulator = is_integer(output) ? DType::i32 : DType::f32;
  return kernels.emplace(key, product_kernel(output, accumulator, precision)).first->second;
}

const KernelHandle& kernel_of(const Problem& problem) {
  if (problem.form == Form::gelu) return examples::linear_gelu;
  if (problem.form == Form::batched) return batched_product;
  if (problem.form == Form::int8_weights) return int8_weights;
  if (problem.form == Form::int4_weights) return int4_weights;
  if (problem.input == problem.output && problem.precision == DotPrecision::ieee)
    return examples::matmul;
  return product_of(problem.output, problem.precision);
}

// Operands as the kernels take them.
TensorView a_view(const Problem& p, const TensorView& a) {
  if (p.form == Form::int4_weights)
    return TensorView(a.data(), a.dtype(), {p.m, 2, p.k / 2}, a.device());
  return p.a_transposed ? a.t() : a;
}
TensorView b_view(const Problem& p, const TensorView& b) { return p.b_transposed ? b.t() : b; }

// What the sizes of an array and no memory give.
TensorView stand_in(DType dtype, const std::vector<int64_t>& sizes) {
  return TensorView(nullptr, dtype, sizes, {}, Device::cpu());
}

TensorView at(const TensorView& base, int64_t offset, int64_t rows, int64_t columns) {
  std::byte* data = static_cast<std::byte*>(base.data());
  if (data != nullptr) data += offset * size_of(base.dtype());
  return TensorView(data, base.dtype(), {rows, columns}, base.device());
}

}  // namespace

OurProduct::OurProduct(const Problem& problem, std::optional<Config> config)
    : problem_(problem), config_(std::move(config)), kernel_(kernel_of(problem)) {}

// The specs of what launch() passes: views without memory have them, alignment included.
template <class Visit>
void OurProduct::for_each_launch(const Visit& visit) const {
  const auto with_views = [&](const TensorView& a, const TensorView& b, const TensorView& c) {
    std::vector<CompileArg> args{a.spec(), b.spec()};
    if (has_bias()) args.push_back(stand_in(problem_.input, {problem_.n}).spec());
    visit(std::move(args), c.spec());
  };
  const TensorView a = stand_in(problem_.input, a_sizes(problem_));
  const TensorView b = stand_in(problem_.b_dtype(), b_sizes(problem_));
  const TensorView c = stand_in(problem_.output, c_sizes(problem_));
  if (problem_.form != Form::grouped)
    return with_views(a_view(problem_, a), b_view(problem_, b), c);
  for (const Part& part : parts_of(problem_))
    with_views(at(a, 0, part.m, problem_.k), at(b, 0, problem_.k, problem_.n),
               at(c, 0, part.m, problem_.n));
}

CompiledKernel OurProduct::compile(const std::optional<Target>& target) const {
  std::optional<CompiledKernel> last;
  for_each_launch([&](std::vector<CompileArg> args, const TensorSpec& out) {
    last = kernel_.compile(std::move(args), {.target = target, .config = config_, .out = {out}});
    last->binaries();  // runs NVRTC
  });
  return *last;
}

std::vector<std::shared_ptr<const ir::Function>> OurProduct::traces() const {
  std::vector<std::shared_ptr<const ir::Function>> all;
  for_each_launch([&](const std::vector<CompileArg>& args, const TensorSpec&) {
    all.push_back(kernel_.trace(args));
  });
  return all;
}

CompiledKernel OurProduct::compile_for(const Target& target) const { return compile(target); }

CompiledKernel OurProduct::load() {
  const CompiledKernel compiled = compile({});
  const int64_t bytes = compiled.workspace_bytes();
  if (bytes > 0) workspace_ = Array(Device::cuda(0), {bytes}, DType::u8);
  return compiled;
}

void OurProduct::launch(const Views& views, const Stream& stream) const {
  const std::array<CallArg, 3> args{CallArg::tensor(views.a), CallArg::tensor(views.b),
                                    CallArg::tensor(views.bias)};
  kernel_.launch(
      {.stream = stream, .out = {views.c}, .config = config_, .workspace = workspace_.view()},
      std::span(args).first(has_bias() ? 3 : 2));
}

void OurProduct::enqueue(const Operands& operands, const Stream& stream) const {
  if (problem_.form != Form::grouped) {
    launch({a_view(problem_, operands.a), b_view(problem_, operands.b), operands.bias, operands.c},
           stream);
    return;
  }
  const Problem& p = problem_;
  for (const Part& part : parts_of(p))
    launch({at(operands.a, part.a, part.m, p.k),
            at(operands.b, part.b, p.k, p.n),
            {},
            at(operands.c, part.c, part.m, p.n)},
           stream);
}

}  // namespace tilewright::bench
