// c[m,n] = a[m,k] . b[k,n] in IEEE f32, against the best algorithm of cuBLASLt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/peers.h"
#include "bench/suites.h"
#include "examples/kernels/matmul.h"

namespace tilewright::bench {
namespace {

/// A shape with the best config known by hand.
struct Shape {
  int64_t m, n, k;
  const char* config;
  bool main = false;  ///< part of a quick run

  std::string name() const { return fmt::format("matmul f32 {}x{}x{}", m, n, k); }
  double operations() const { return 2.0 * static_cast<double>(m) * n * k; }
};

constexpr const char* kSmall = R"({"block":[64,64,16],"warps":2,"stages":4,"group":8})";
constexpr const char* kLarge = R"({"block":[128,256,32],"warps":8,"stages":3,"group":8})";
constexpr const char* kOdd = R"({"block":[256,128,32],"warps":8,"stages":3,"group":4})";

constexpr Shape kShapes[] = {
    {1000, 1000, 1000, kSmall, true}, {1024, 1024, 1024, kSmall},       {2048, 2048, 2048, kLarge},
    {4095, 4095, 4095, kOdd},         {4096, 4096, 4096, kLarge, true}, {8192, 8192, 8192, kLarge},
};

// What the f32 units of an H200 sustain at the clock it holds under this load; other devices of its
// kind by their number of multiprocessors.
double sustained_flops() {
  const runtime::DeviceInfo& info = runtime::device_info(0);
  return info.major == 9 ? 60.4e12 * info.multiprocessors / 132 : 0;
}

struct Operands {
  Array a, b, c;
};

std::vector<Operands> make_sets(const Shape& shape, const DeviceKernels& kernels) {
  const Device device = Device::cuda(0);
  const int64_t bytes = 4 * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  std::vector<Operands> sets(static_cast<size_t>(sets_for_cold_cache(bytes)));
  unsigned seed = std::random_device()();
  for (Operands& set : sets) {
    set.a = Array(device, {shape.m, shape.k}, DType::f32);
    set.b = Array(device, {shape.k, shape.n}, DType::f32);
    set.c = Array(device, {shape.m, shape.n}, DType::f32);
    kernels.fill_normal(set.a, seed++);
    kernels.fill_normal(set.b, seed++);
  }
  return sets;
}

/// What the product of one set must be: in full by a product in f64 on the device, and for some
/// elements by sums on the host, which depend on nothing else.
class Reference {
 public:
  Reference(const Shape& shape, const Operands& set, const DeviceKernels& kernels)
      : kernels_(kernels),
        terms_(shape.k),
        value_(f64(shape.m, shape.n)),
        magnitude_(f64(shape.m, shape.n)) {
    const MatrixProduct product(shape.m, shape.n, shape.k, DType::f64);
    const Array a = f64(shape.m, shape.k), b = f64(shape.k, shape.n);
    for (const bool absolute : {false, true}) {
      kernels.widen(a, set.a, absolute);
      kernels.widen(b, set.b, absolute);
      product.enqueue(0, a.data(), b.data(), (absolute ? magnitude_ : value_).data(), {});
    }
    sample(shape, set);
    synchronize(Device::cuda(0));
  }

  /// Compares `c` in full and at the samples.
  Verdict check(const Array& c) const {
    Verdict verdict = kernels_.check_product(c, value_, magnitude_, terms_);
    const Array host = c.to_host();
    const auto values = host.values<float>();
    for (const Sample& sample : samples_) {
      const double error = std::abs(values[static_cast<size_t>(sample.at)] - sample.value);
      verdict.wrong += !(error <= sample.allowed);
      if (error <= 1e300) verdict.worst = std::max(verdict.worst, error / sample.allowed);
    }
    return verdict;
  }

 private:
  struct Sample {
    int64_t at = 0;
    double value = 0, allowed = 0;
  };

  static Array f64(int64_t rows, int64_t columns) {
    return Array(Device::cuda(0), {rows, columns}, DType::f64);
  }

  // 4096 elements: corners, last row, last column, and any.
  void sample(const Shape& shape, const Operands& set) {
    constexpr int count = 4096;
    const Array a_host = set.a.to_host(), b_host = set.b.to_host();
    const auto a = a_host.values<float>(), b = b_host.values<float>();
    std::mt19937_64 engine(std::random_device{}());
    for (int i = 0; i < count; ++i) {
      int64_t row = static_cast<int64_t>(engine() % static_cast<uint64_t>(shape.m));
      int64_t column = static_cast<int64_t>(engine() % static_cast<uint64_t>(shape.n));
      if (i < 4) row = i / 2 * (shape.m - 1), column = i % 2 * (shape.n - 1);
      if (i >= 4 && i < count / 8) row = shape.m - 1;
      if (i >= count / 8 && i < count / 4) column = shape.n - 1;
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < shape.k; ++l) {
        const double term = double{a[static_cast<size_t>(row * shape.k + l)]} *
                            b[static_cast<size_t>(l * shape.n + column)];
        sum += term;
        magnitude += std::abs(term);
      }
      const double rounding = 4 * std::sqrt(static_cast<double>(shape.k)) * 0x1p-24;
      samples_.push_back(
          {row * shape.n + column, sum, 0x1p-23 * std::abs(sum) + rounding * magnitude});
    }
  }

  const DeviceKernels& kernels_;
  int64_t terms_;
  Array value_, magnitude_;
  std::vector<Sample> samples_;
};

Ours make_ours(const Shape& shape, const Variant& variant, const std::vector<Operands>& sets) {
  Ours ours;
  Row& row = ours.row;
  row.suite = "gemm";
  row.shape = shape.name();
  row.config = variant.name;
  row.work = shape.operations();
  row.unit = "TFLOP/s";
  if (const double flops = sustained_flops(); flops > 0) row.floor_us = 1e6 * row.work / flops;
  guarded(row, [&] {
    const CompiledKernel compiled =
        examples::matmul.compile({sets[0].a.spec(), sets[0].b.spec()}, {.config = variant.config});
    row.json = to_json(compiled.config());
  });
  ours.contestant = {variant.name, [&sets, config = variant.config](int i, const Stream& stream) {
                       const Operands& set = sets[static_cast<size_t>(i)];
                       examples::matmul.launch({.stream = stream, .out = {set.c}, .config = config},
                                               set.a, set.b);
                     }};
  return ours;
}

// The algorithm of cuBLASLt that is fastest on these sets, as a contestant.
Contestant best_peer(const MatrixProduct& product, const std::vector<Operands>& sets,
                     const SuiteOptions& options) {
  std::vector<Contestant> all;
  for (int i = 0; i < product.algorithms(); ++i)
    all.push_back(
        {fmt::format("{} algorithm {} of {}", cublas_version(), i + 1, product.algorithms()),
         [&product, &sets, i](int at, const Stream& stream) {
           const Operands& set = sets[static_cast<size_t>(at)];
           product.enqueue(i, set.a.data(), set.b.data(), set.c.data(), stream);
         }});
  RaceOptions heats = options.race;
  heats.rounds = 3;
  heats.replay_us = 2000;
  const std::vector<Timing> timings = race(all, static_cast<int>(sets.size()), heats);
  const auto best = std::ranges::min_element(timings, {}, &Timing::median);
  return all[static_cast<size_t>(best - timings.begin())];
}

// Runs a contestant once into a poisoned result and compares that.
Verdict check_once(const Contestant& contestant, const Operands& set, const Reference& reference,
                   const DeviceKernels& kernels) {
  kernels.poison(set.c);
  contestant.enqueue(0, {});
  return reference.check(set.c);
}

void run_shape(const Shape& shape, const SuiteOptions& options, const DeviceKernels& kernels,
               Report& report) {
  const std::vector<Operands> sets = make_sets(shape, kernels);
  std::vector<Ours> ours;
  for (const Variant& variant : variants(options, shape.config))
    ours.push_back(make_ours(shape, variant, sets));
  const MatrixProduct product(shape.m, shape.n, shape.k, DType::f32);
  synchronize(Device::cuda(0));
  const Contestant peer = best_peer(product, sets, options);
  {
    const Reference reference(shape, sets[0], kernels);
    for (Ours& one : ours)
      if (one.row.problem.empty())
        guarded(one.row,
                [&] { judge(one.row, check_once(one.contestant, sets[0], reference, kernels)); });
    const Verdict verdict = check_once(peer, sets[0], reference, kernels);
    if (verdict.wrong > 0)
      report.problem(
          fmt::format("{}: {} is wrong in {} elements", shape.name(), peer.name, verdict.wrong));
  }
  std::vector<Contestant> contestants = contestants_of(ours);
  contestants.push_back(peer);
  const std::vector<Timing> timings =
      race(contestants, static_cast<int>(sets.size()), options.race);
  for (Ours& one : ours) one.row.peer = peer.name;
  finish_rows(ours, timings, timings.back(), report);
}

}  // namespace

void run_gemm_suite(const SuiteOptions& options, const DeviceKernels& kernels, Report& report) {
  if (!cublas_problem().empty()) {
    report.note("gemm was left out: " + cublas_problem());
    return;
  }
  for (const Shape& shape : kShapes) {
    if (!options.wants(shape.name(), shape.main)) continue;
    Row row{.suite = "gemm", .shape = shape.name(), .config = "all"};
    guarded(row, [&] { run_shape(shape, options, kernels, report); });
    if (!row.problem.empty()) report.add(std::move(row));
  }
}

}  // namespace tilewright::bench
