#include "bench/example_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tilewright/runtime/driver.h"

namespace tilewright::bench {
namespace {

constexpr Device kGpu = Device::cuda(0);

/// Tensors and results of one call.
struct Set {
  std::vector<Array> arrays;
  RowMemory memory;
};

Set make_set(const ExampleRow& row, const DeviceKernels& kernels, unsigned& seed) {
  Set set;
  const auto own = [&](Array array) -> const Array& {
    return set.arrays.emplace_back(std::move(array));
  };
  for (const RowInput& input : row.inputs) {
    if (input.number) continue;
    const Array& array = own(input.contents ? Array::copy_of(input.contents(), kGpu)
                                            : Array(kGpu, input.sizes, input.dtype));
    if (!input.contents) kernels.fill_normal(array, seed++);
    const TensorView view(array.data(), input.dtype, input.sizes, {}, kGpu);
    set.memory.tensors.push_back(input.transposed ? view.t() : view);
  }
  for (const RowOutput& output : row.outputs)
    set.memory.results.push_back(own(Array(kGpu, output.sizes, output.dtype)).view());
  return set;
}

/// Arguments of a call: tensors in their places among the row's numbers.
std::vector<CallArg> call_args(const ExampleRow& row, const std::vector<TensorView>& tensors,
                               const std::optional<CallArg>& number) {
  std::vector<CallArg> args;
  size_t next = 0;
  for (const RowInput& input : row.inputs)
    args.push_back(input.number ? number.value_or(*input.number)
                                : CallArg::tensor(tensors.at(next++)));
  return args;
}

/// Copies of half as many bytes as a call moves, so that reads and writes add up to the same.
class Copies {
 public:
  Copies(int64_t bytes, int sets, const DeviceKernels& kernels)
      : kernels_(kernels), bytes_(std::max<int64_t>(bytes / 2 / 16 * 16, 16)) {
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

class ExampleData : public RowData {
 public:
  ExampleData(const ExampleRow& row, const Job& job, const DeviceKernels& kernels)
      : row_(row),
        kernels_(kernels),
        copies_(row.moved_bytes(), sets_for_cold_cache(row.moved_bytes()), kernels) {
    unsigned seed = std::random_device()();
    for (int i = 0; i < sets_for_cold_cache(row.moved_bytes()); ++i)
      sets_.push_back(make_set(row, kernels, seed));
    synchronize(kGpu);
    std::vector<Contestant> copies = copies_.contestants();
    const std::vector<Timing> timings = race(copies, sets(), short_race(job.race));
    rival_ = std::move(copies[static_cast<size_t>(
        std::ranges::min_element(timings, {}, &Timing::median) - timings.begin())]);
  }

  const std::string& name() const override { return row_.name; }
  int sets() const override { return static_cast<int>(sets_.size()); }
  bool rival_is_checked() const override { return false; }

  LoadedVariant load(const Variant& variant) override {
    CompiledKernel compiled = compile_example(row_, variant, {});
    compiled.binaries();
    const Config config = compiled.config();
    // Loaded under the config itself: what the policy picks is not asked for again.
    row_.kernel->compile(row_.compile_args(), {.config = config, .out = row_.result_specs()});
    auto workspace = std::make_shared<Array>();
    if (const int64_t bytes = compiled.workspace_bytes(); bytes > 0)
      *workspace = Array(kGpu, {bytes}, DType::u8);
    return {{variant.name,
             [this, config, workspace](int i, const Stream& stream) {
               const RowMemory& memory = sets_[static_cast<size_t>(i)].memory;
               row_.kernel->launch({.stream = stream,
                                    .out = memory.results,
                                    .config = config,
                                    .workspace = workspace->view()},
                                   call_args(row_, memory.tensors, {}));
             }},
            std::move(compiled)};
  }

  Verdict run_once(const Contestant& contestant, bool compare) override {
    const Set& set = sets_[0];
    const size_t inputs = set.memory.tensors.size();
    for (size_t i = inputs; i < set.arrays.size(); ++i) kernels_.poison(set.arrays[i]);
    if (compare && (row_.in_place >= 0 || samples_.empty())) {
      samples_ = samples_of(row_, set.memory);
      expected_.clear();
      for (RowSample& sample : samples_) expected_.push_back(interpret(sample));
    }
    contestant.enqueue(0, {});
    synchronize(kGpu);
    Verdict verdict;
    if (!compare) return verdict;
    for (size_t i = 0; i < samples_.size(); ++i)
      for (size_t r = 0; r < samples_[i].results.size(); ++r)
        compare_with(samples_[i].results[r], expected_[i][r], verdict);
    if (row_.rest) {
      const Verdict rest = row_.rest(set.memory, kernels_);
      verdict.wrong += rest.wrong;
      verdict.worst = std::max(verdict.worst, rest.worst);
    }
    return verdict;
  }
  void drop_reference() override {
    samples_.clear();
    expected_.clear();
  }

 private:
  std::vector<Array> interpret(RowSample& sample) const {
    std::vector<TensorView> views;
    for (const Array& tensor : sample.tensors) views.push_back(tensor.view());
    std::vector<Array> results = row_.kernel->call(call_args(row_, views, sample.number));
    if (row_.in_place >= 0)
      results.push_back(std::move(sample.tensors.at(static_cast<size_t>(row_.in_place))));
    return results;
  }

  void compare_with(const TensorView& ours, const Array& expected, Verdict& verdict) const {
    if (ours.data() == nullptr) return;
    const Array host = Array::copy_of(ours, Device::cpu());
    if (host.elements() != expected.elements()) {
      verdict.wrong += std::max(host.elements(), expected.elements());
      return;
    }
    for (int64_t i = 0; i < host.elements(); ++i) {
      const double want = expected.value(i), error = std::abs(host.value(i) - want);
      const double over = error / (row_.relative * std::abs(want) + row_.absolute);
      verdict.wrong += !(over <= 1);
      verdict.worst = std::max(verdict.worst, over);
    }
  }

  const ExampleRow& row_;
  const DeviceKernels& kernels_;
  Copies copies_;
  std::vector<Set> sets_;
  std::vector<RowSample> samples_;
  std::vector<std::vector<Array>> expected_;
};

}  // namespace

CompiledKernel compile_example(const ExampleRow& row, const Variant& variant,
                               const std::optional<Target>& target) {
  CompileOptions options{.target = target, .config = variant.config, .out = row.result_specs()};
  if (!variant.config)
    options.tune = variant.name == "default" ? TunePolicy::off : TunePolicy::cached;
  return row.kernel->compile(row.compile_args(), options);
}

std::unique_ptr<RowData> make_example_data(const ExampleRow& row, const Job& job,
                                           const DeviceKernels& kernels) {
  return std::make_unique<ExampleData>(row, job, kernels);
}

}  // namespace tilewright::bench
