#include "bench/gemm_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "bench/gemm_check.h"
#include "bench/gemm_kernel.h"
#include "bench/peers.h"

namespace tilewright::bench {
namespace {

constexpr Device kGpu = Device::cuda(0);

// Enough sets that every call finds its operands out of the cache.
int count_sets(const Problem& problem) {
  const int64_t wanted = problem.rotating_bytes / problem.bytes() + 1;
  return std::max(sets_for_cold_cache(problem.bytes()), static_cast<int>(wanted));
}

std::vector<Operands> make_sets(const Problem& problem, const DeviceKernels& kernels) {
  std::vector<Operands> sets(static_cast<size_t>(count_sets(problem)));
  unsigned seed = std::random_device()();
  for (Operands& set : sets) {
    set.a = Array(kGpu, a_sizes(problem), problem.input);
    set.b = Array(kGpu, b_sizes(problem), problem.b_dtype());
    set.c = Array(kGpu, c_sizes(problem), problem.output);
    if (problem.form == Form::gelu) set.bias = Array(kGpu, {problem.n}, problem.input);
    for (const Array* array : {&set.a, &set.b, &set.bias})
      if (array->device().is_cuda()) kernels.fill_normal(*array, seed++);
  }
  return sets;
}

/// cuBLASLt doing the same: one product, or one for each group.
class CublasRival {
 public:
  CublasRival(const Problem& problem, const std::vector<Operands>& sets)
      : problem_(problem), sets_(sets), parts_(parts_of(problem)) {
    if (problem.form == Form::gelu) throw std::runtime_error("cuBLASLt has no such epilogue");
    const bool batched = problem.form == Form::batched;
    if (batched) parts_.resize(1);
    for (const Part& part : parts_)
      products_.emplace_back(ProductSpec{.m = part.m,
                                         .n = problem.n,
                                         .k = problem.k,
                                         .batch = batched ? problem.batch : 1,
                                         .a_transposed = problem.a_transposed,
                                         .b_transposed = problem.b_transposed,
                                         .input = problem.input,
                                         .output = problem.output,
                                         .tf32 = problem.precision == DotPrecision::tf32,
                                         .fast_accumulation = problem.rival_fast});
    chosen_.assign(products_.size(), 0);
  }

  /// Takes the fastest algorithm of each product; what it took is said by name().
  void choose(const RaceOptions& options) {
    for (size_t i = 0; i < products_.size(); ++i) {
      std::vector<Contestant> all;
      for (int algorithm = 0; algorithm < products_[i].algorithms(); ++algorithm)
        all.push_back({"", [this, i, algorithm](int set, const Stream& stream) {
                         enqueue(i, algorithm, set, stream);
                       }});
      const std::vector<Timing> timings = race(all, static_cast<int>(sets_.size()), options);
      chosen_[i] = static_cast<int>(std::ranges::min_element(timings, {}, &Timing::median) -
                                    timings.begin());
    }
  }

  std::string name() const {
    std::string numbers;
    for (size_t i = 0; i < products_.size(); ++i)
      numbers +=
          fmt::format("{}{}/{}", i == 0 ? "" : " ", chosen_[i] + 1, products_[i].algorithms());
    return fmt::format("{} #{}", cublas_version(), numbers);
  }

  void enqueue_all(int set, const Stream& stream) const {
    for (size_t i = 0; i < products_.size(); ++i) enqueue(i, chosen_[i], set, stream);
  }

 private:
  void enqueue(size_t i, int algorithm, int set, const Stream& stream) const {
    const Operands& operands = sets_[static_cast<size_t>(set)];
    const auto at = [](const Array& array, int64_t offset) {
      return static_cast<std::byte*>(array.data()) + offset * size_of(array.dtype());
    };
    products_[i].enqueue(algorithm, at(operands.a, parts_[i].a), at(operands.b, parts_[i].b),
                         at(operands.c, parts_[i].c), stream);
  }

  const Problem& problem_;
  const std::vector<Operands>& sets_;
  std::vector<Part> parts_;
  std::vector<MatrixProduct> products_;
  std::vector<int> chosen_;
};

/// A product with its data, its rival and what the result must be.
class GemmData : public RowData {
 public:
  GemmData(const Problem& problem, const Job& job, const DeviceKernels& kernels)
      : problem_(problem), kernels_(kernels), sets_(make_sets(problem_, kernels)) {
    synchronize(kGpu);
    try {
      make_rival(job);
    } catch (const std::exception& error) {
      rival_problem_ = error.what();
    }
  }

  const std::string& name() const override { return problem_.name; }
  int sets() const override { return static_cast<int>(sets_.size()); }
  // A rival of ours has a row of its own, where it is checked.
  bool rival_is_checked() const override { return problem_.rival.empty(); }

  LoadedVariant load(const Variant& variant) override {
    auto ours = std::make_shared<OurProduct>(problem_, variant.config);
    CompiledKernel compiled = ours->load();
    return {contestant(std::move(ours)), std::move(compiled)};
  }

  Verdict run_once(const Contestant& contestant, bool compare) override {
    kernels_.poison(sets_[0].c);
    contestant.enqueue(0, {});
    synchronize(kGpu);
    if (!compare) return {};
    if (!reference_) reference_.emplace(problem_, sets_[0], kernels_);
    return reference_->check(sets_[0].c);
  }
  void drop_reference() override { reference_.reset(); }

 private:
  Contestant contestant(std::shared_ptr<const OurProduct> ours) const {
    return {"", [this, ours](int set, const Stream& stream) {
              ours->enqueue(sets_[static_cast<size_t>(set)], stream);
            }};
  }

  void make_rival(const Job& job) {
    if (problem_.rival == kCopyRival) {
      make_copy();
      return;
    }
    if (!problem_.rival.empty()) {
      const Problem& other = gemm_problem(problem_.rival);
      auto ours = std::make_shared<OurProduct>(other, job.rival_config);
      ours->load();
      rival_ = contestant(std::move(ours));
      rival_->name = "ours: " + other.name;
      return;
    }
    cublas_.emplace(problem_, sets_);
    cublas_->choose(short_race(job.race));
    rival_ = {cublas_->name(),
              [this](int set, const Stream& stream) { cublas_->enqueue_all(set, stream); }};
  }

  // Half of b is copied, so that reads and writes add up to it.
  void make_copy() {
    for (const Operands& set : sets_)
      copies_.emplace_back(kGpu, std::vector{set.b.bytes() / 2}, DType::u8);
    rival_ = {"a copy", [this](int set, const Stream& stream) {
                const auto i = static_cast<size_t>(set);
                kernels_.copy(copies_[i].data(), sets_[i].b.data(), copies_[i].bytes(), 1, stream);
              }};
  }

  const Problem& problem_;
  const DeviceKernels& kernels_;
  std::vector<Operands> sets_;
  std::vector<Array> copies_;
  std::optional<CublasRival> cublas_;
  std::optional<Reference> reference_;
};

}  // namespace

std::unique_ptr<RowData> make_gemm_data(const Problem& problem, const Job& job,
                                        const DeviceKernels& kernels) {
  return std::make_unique<GemmData>(problem, job, kernels);
}

}  // namespace tilewright::bench
