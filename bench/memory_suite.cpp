// Kernels whose time is that of moving memory, against plain copies of as many bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/suites.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/vector_add.h"

namespace tilewright::bench {
namespace {

constexpr Device kGpu = Device::cuda(0);

/// A kernel on one shape, of which there are several sets of inputs and outputs.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string name() const = 0;
  virtual int64_t bytes() const = 0;  ///< that a call must read and write
  virtual void make_sets(int count, const DeviceKernels& kernels) = 0;
  virtual CompiledKernel compile(const std::optional<Config>& config) const = 0;
  virtual void enqueue(int set, const std::optional<Config>& config,
                       const Stream& stream) const = 0;
  /// Runs set 0 into poisoned memory and checks it in full on the device and in part on the host.
  virtual Verdict check(const std::optional<Config>& config,
                        const DeviceKernels& kernels) const = 0;
};

// Bits of a bf16 as a number.
double from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

class VectorAdd : public Workload {
 public:
  explicit VectorAdd(int log2) : n_(int64_t{1} << log2), log2_(log2) {}

  std::string name() const override { return fmt::format("vector_add f32 2^{}", log2_); }
  int64_t bytes() const override { return 3 * 4 * n_; }
  void make_sets(int count, const DeviceKernels& kernels) override {
    unsigned seed = std::random_device()();
    for (int i = 0; i < count; ++i) {
      Set& set = sets_.emplace_back();
      for (Array* array : {&set.a, &set.b, &set.c}) *array = Array(kGpu, {n_}, DType::f32);
      kernels.fill_normal(set.a, seed++);
      kernels.fill_normal(set.b, seed++);
    }
  }
  CompiledKernel compile(const std::optional<Config>& config) const override {
    return examples::vector_add.compile({sets_[0].a, sets_[0].b}, {.config = config});
  }
  void enqueue(int i, const std::optional<Config>& config, const Stream& stream) const override {
    const Set& set = sets_[static_cast<size_t>(i)];
    examples::vector_add.launch({.stream = stream, .out = {set.c}, .config = config}, set.a, set.b);
  }
  Verdict check(const std::optional<Config>& config, const DeviceKernels& kernels) const override {
    const Set& set = sets_[0];
    kernels.poison(set.c);
    enqueue(0, config, {});
    Verdict verdict = kernels.check_sum(set.a, set.b, set.c);
    for (const int64_t begin : {int64_t{0}, n_ - kSample}) {
      const auto part = [&](const Array& all) {
        return Array::copy_of(all.slice(0, begin, begin + kSample), Device::cpu());
      };
      const Array a = part(set.a), b = part(set.b), c = part(set.c);
      for (int64_t j = 0; j < kSample; ++j)
        verdict.wrong +=
            c.value(j) != static_cast<float>(a.value(j)) + static_cast<float>(b.value(j));
    }
    return verdict;
  }

 private:
  static constexpr int64_t kSample = 4096;
  struct Set {
    Array a, b, c;
  };
  int64_t n_;
  int log2_;
  std::vector<Set> sets_;
};

class RowSoftmax : public Workload {
 public:
  RowSoftmax(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {}

  std::string name() const override { return fmt::format("softmax bf16 {}x{}", rows_, columns_); }
  int64_t bytes() const override { return 2 * 2 * rows_ * columns_; }
  void make_sets(int count, const DeviceKernels& kernels) override {
    unsigned seed = std::random_device()();
    for (int i = 0; i < count; ++i) {
      Set& set = sets_.emplace_back();
      for (Array* array : {&set.x, &set.y}) *array = Array(kGpu, {rows_, columns_}, DType::bf16);
      kernels.fill_normal(set.x, seed++);
    }
  }
  CompiledKernel compile(const std::optional<Config>& config) const override {
    return examples::softmax.compile({sets_[0].x}, {.config = config});
  }
  void enqueue(int i, const std::optional<Config>& config, const Stream& stream) const override {
    const Set& set = sets_[static_cast<size_t>(i)];
    examples::softmax.launch({.stream = stream, .out = {set.y}, .config = config}, set.x);
  }
  Verdict check(const std::optional<Config>& config, const DeviceKernels& kernels) const override {
    const Set& set = sets_[0];
    kernels.poison(set.y);
    enqueue(0, config, {});
    Verdict verdict = kernels.check_normalized_exp(set.x, set.y);
    for (const int64_t row : {int64_t{0}, rows_ / 2, rows_ - 1}) check_row(row, verdict);
    return verdict;
  }

 private:
  struct Set {
    Array x, y;
  };

  void check_row(int64_t row, Verdict& verdict) const {
    const auto part = [&](const Array& all) {
      return Array::copy_of(all.slice(0, row, row + 1), Device::cpu());
    };
    const Array x_host = part(sets_[0].x), y_host = part(sets_[0].y);
    const auto x = x_host.values<uint16_t>(), y = y_host.values<uint16_t>();
    double sum = 0;
    for (const uint16_t element : x) sum += std::exp(from_bf16(element));
    for (size_t j = 0; j < x.size(); ++j) {
      const double value = std::exp(from_bf16(x[j])) / sum;
      verdict.wrong += !(std::abs(from_bf16(y[j]) - value) <= 1.01 * 0x1p-8 * value);
    }
  }

  int64_t rows_, columns_;
  std::vector<Set> sets_;
};

/// Copies of half as many bytes as a call moves, so that reads and writes add up to the same.
class Copies {
 public:
  Copies(int64_t bytes, int sets, const DeviceKernels& kernels)
      : kernels_(kernels), bytes_(bytes / 2 / 16 * 16) {
    for (int i = 0; i < sets; ++i) {
      from_.emplace_back(kGpu, std::vector{bytes_ / 4}, DType::f32);
      to_.emplace_back(kGpu, std::vector{bytes_ / 4}, DType::f32);
      kernels.fill_normal(from_.back(), static_cast<unsigned>(i));
    }
  }

  std::vector<Contestant> contestants() const {
    std::vector<Contestant> all;
    all.push_back({"cuMemcpyDtoDAsync", [this](int i, const Stream& stream) {
                     runtime::copy_on_device(to(i), from(i), bytes_, stream.handle());
                   }});
    for (const int unroll : {1, 4})
      all.push_back({fmt::format("copy kernel, {} x 16 bytes a thread", unroll),
                     [this, unroll](int i, const Stream& stream) {
                       kernels_.copy(to(i), from(i), bytes_, unroll, stream);
                     }});
    return all;
  }

 private:
  void* to(int i) const { return to_[static_cast<size_t>(i)].data(); }
  void* from(int i) const { return from_[static_cast<size_t>(i)].data(); }

  const DeviceKernels& kernels_;
  int64_t bytes_;
  std::vector<Array> from_, to_;
};

std::vector<Ours> make_ours(const Workload& work, const SuiteOptions& options, const char* hand,
                            const DeviceKernels& kernels) {
  std::vector<Ours> all;
  for (const Variant& variant : variants(options, hand)) {
    Ours& ours = all.emplace_back();
    Row& row = ours.row;
    row.suite = "memory";
    row.shape = work.name();
    row.config = variant.name;
    row.work = static_cast<double>(work.bytes());
    row.unit = "GB/s";
    guarded(row, [&] {
      row.json = to_json(work.compile(variant.config).config());
      judge(row, work.check(variant.config, kernels));
    });
    ours.contestant = {variant.name,
                       [&work, config = variant.config](int set, const Stream& stream) {
                         work.enqueue(set, config, stream);
                       }};
  }
  return all;
}

void run_workload(Workload& work, const char* hand, const SuiteOptions& options,
                  const DeviceKernels& kernels, Report& report) {
  const int sets = sets_for_cold_cache(work.bytes());
  work.make_sets(sets, kernels);
  const Copies copies(work.bytes(), sets, kernels);
  std::vector<Ours> ours = make_ours(work, options, hand, kernels);
  std::vector<Contestant> contestants = contestants_of(ours);
  const auto own = static_cast<std::ptrdiff_t>(contestants.size());
  std::ranges::copy(copies.contestants(), std::back_inserter(contestants));
  synchronize(kGpu);
  const std::vector<Timing> timings = race(contestants, sets, options.race);
  // The better of the copies is both the peer and the floor.
  const auto best =
      std::ranges::min_element(timings.begin() + own, timings.end(), {}, &Timing::median);
  for (Ours& one : ours) {
    one.row.peer = contestants[static_cast<size_t>(best - timings.begin())].name;
    one.row.floor_us = best->median;
  }
  finish_rows(ours, timings, *best, report);
}

/// A workload with the best config known by hand.
struct Entry {
  std::unique_ptr<Workload> work;
  const char* config;
  bool main = false;  ///< part of a quick run
};

std::vector<Entry> entries() {
  std::vector<Entry> all;
  constexpr const char* add = R"({"block":[2048],"warps":8})";
  all.push_back({std::make_unique<VectorAdd>(24), add, true});
  all.push_back({std::make_unique<VectorAdd>(28), add});
  const auto softmax = [&](int64_t columns, const char* config, bool main = false) {
    all.push_back({std::make_unique<RowSoftmax>(8192, columns), config, main});
  };
  softmax(1024, R"({"block":[1],"warps":2})");
  softmax(4096, R"({"block":[1],"warps":4})", true);
  softmax(12288, R"({"block":[1],"warps":16})");
  softmax(16384, R"({"block":[1],"warps":16})");
  return all;
}

}  // namespace

void run_memory_suite(const SuiteOptions& options, const DeviceKernels& kernels, Report& report) {
  for (Entry& entry : entries()) {
    const std::unique_ptr<Workload> work = std::move(entry.work);  // its memory dies with each
    if (!options.wants(work->name(), entry.main)) continue;
    Row row{.suite = "memory", .shape = work->name(), .config = "all"};
    guarded(row, [&] { run_workload(*work, entry.config, options, kernels, report); });
    if (!row.problem.empty()) report.add(std::move(row));
  }
}

}  // namespace tilewright::bench
