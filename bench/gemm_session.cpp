#include "bench/gemm_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>

#include "bench/device_kernels.h"
#include "bench/gemm_check.h"
#include "bench/gemm_kernel.h"
#include "bench/gemm_problem.h"
#include "bench/measure.h"
#include "bench/peers.h"
#include "bench/worker.h"

namespace tilewright::bench {
namespace {

constexpr Device kGpu = Device::cuda(0);
using Say = std::function<void(const Message&)>;

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

RaceOptions short_race(const RaceOptions& options) {
  return {.rounds = 3, .replay_us = std::min(2000.0, options.replay_us)};
}

/// A row with its data, its rival and what the result must be.
class RowData {
 public:
  RowData(const Job& job, const DeviceKernels& kernels)
      : problem_(gemm_problem(job.row)), kernels_(kernels), sets_(make_sets(problem_, kernels)) {
    synchronize(kGpu);
    try {
      make_rival(job);
    } catch (const std::exception& error) {
      rival_problem_ = error.what();
    }
  }
  RowData(const RowData&) = delete;

  const Problem& problem() const { return problem_; }
  int sets() const { return static_cast<int>(sets_.size()); }
  /// Empty when there is none: then rival_problem() says why.
  const std::optional<Contestant>& rival() const { return rival_; }
  const std::string& rival_problem() const { return rival_problem_; }

  Contestant contestant(std::shared_ptr<const OurProduct> ours) const {
    return {"", [this, ours](int set, const Stream& stream) {
              ours->enqueue(sets_[static_cast<size_t>(set)], stream);
            }};
  }

  /// Runs once into a poisoned result, and compares that when `compare`.
  Verdict run_once(const Contestant& contestant, bool compare) {
    kernels_.poison(sets_[0].c);
    contestant.enqueue(0, {});
    synchronize(kGpu);
    if (!compare) return {};
    if (!reference_) reference_.emplace(problem_, sets_[0], kernels_);
    return reference_->check(sets_[0].c);
  }
  void drop_reference() { reference_.reset(); }

 private:
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
  std::optional<Contestant> rival_;
  std::string rival_problem_;
  std::optional<Reference> reference_;
};

// Whether the device still answers after a failure.
bool context_lives() {
  try {
    synchronize(kGpu);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void end_if_context_died() {
  if (!context_lives()) std::_Exit(3);  // its destructors would only fail
}

// What a compiler's log says that a fast kernel must not have.
std::string warnings_of(const CompiledKernel& compiled) {
  std::string text;
  for (int step = 0; step < compiled.kernels(); ++step) {
    const runtime::Resources& resources = compiled.resources(step);
    text += fmt::format("{}{} registers", step == 0 ? "" : " + ", resources.registers);
    if (resources.spill_bytes > 0) text += fmt::format(", {} B SPILLED", resources.spill_bytes);
    if (compiled.log(step).find("serialized") != std::string::npos) text += ", SERIALIZED WGMMA";
  }
  return text;
}

Message compile(const Job& job) {
  const auto begin = std::chrono::steady_clock::now();
  const OurProduct ours(gemm_problem(job.row), job.variants.at(0).config);
  const CompiledKernel compiled = ours.compile_for(job.target);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {.kind = Message::Kind::done,
          .text = warnings_of(compiled),
          .config = to_json(compiled.config()),
          .number = took.count()};
}

}  // namespace

struct GemmSession::State {
  runtime::ContextScope context{0};
  DeviceKernels kernels;
  std::optional<RowData> row;

  struct Ready {
    int variant = 0;
    Contestant contestant;
  };

  void prepare(const Job& job, const Say& say) {
    if (!row || row->problem().name != job.row) {
      row.reset();  // its memory first
      row.emplace(job, kernels);
    }
    Message message{.kind = Message::Kind::rival, .problem = row->rival_problem()};
    if (row->rival()) message.text = row->rival()->name;
    // A rival of ours has a row of its own, where it is checked.
    if (row->rival() && row->problem().rival.empty() && job.check) {
      const Verdict verdict = row->run_once(*row->rival(), true);
      if (verdict.wrong > 0)
        message.problem = fmt::format("{} elements of it are wrong", verdict.wrong);
      message.number = verdict.worst;
    }
    say(message);
  }

  // Runs a variant for the first time.
  std::optional<Ready> attempt(const Job& job, int at, const Say& say) {
    say({.kind = Message::Kind::begin, .variant = at});
    Message message{.kind = Message::Kind::tried, .variant = at};
    std::optional<Ready> ready;
    try {
      auto ours = std::make_shared<OurProduct>(row->problem(),
                                               job.variants[static_cast<size_t>(at)].config);
      const CompiledKernel compiled = ours->load();
      message.config = to_json(compiled.config());
      message.text = warnings_of(compiled);
      Contestant contestant = row->contestant(std::move(ours));
      const Verdict verdict = row->run_once(contestant, job.check);
      message.number = verdict.worst;
      if (verdict.wrong > 0)
        message.problem = fmt::format("WRONG RESULT: {} elements", verdict.wrong);
      else
        ready = Ready{at, std::move(contestant)};
      if (ready && job.kind == Job::Kind::heats) heat(job, ready->contestant, message);
    } catch (const std::exception& error) {
      message.problem = error.what();
      ready.reset();
    }
    say(message);
    if (!message.problem.empty()) end_if_context_died();
    return ready;
  }

  void heat(const Job& job, const Contestant& contestant, Message& message) const {
    std::vector<Contestant> contestants{contestant};
    if (row->rival()) contestants.push_back(*row->rival());
    const std::vector<Timing> timings = race(contestants, row->sets(), short_race(job.race));
    message.ours = timings[0];
    if (row->rival()) message.theirs = timings[1];
  }

  void measure(const Job& job, const Say& say) {
    prepare(job, say);
    std::vector<Ready> ready;
    for (size_t i = 0; i < job.variants.size(); ++i)
      if (auto one = attempt(job, static_cast<int>(i), say)) ready.push_back(std::move(*one));
    row->drop_reference();
    Message done{.kind = Message::Kind::done};
    if (job.kind == Job::Kind::race && !ready.empty()) {
      say({.kind = Message::Kind::racing});
      std::vector<Contestant> contestants;
      for (const Ready& one : ready) contestants.push_back(one.contestant);
      if (row->rival()) contestants.push_back(*row->rival());
      const std::vector<Timing> timings = race(contestants, row->sets(), job.race);
      for (size_t i = 0; i < ready.size(); ++i)
        say({.kind = Message::Kind::result, .variant = ready[i].variant, .ours = timings[i]});
      if (row->rival()) done.theirs = timings.back();
    }
    say(done);
  }

  // The best copy of half a gigabyte.
  Message copy() const {
    constexpr int64_t bytes = int64_t{1} << 29;
    const Array from(kGpu, {bytes / 4}, DType::f32), to(kGpu, {bytes / 4}, DType::f32);
    kernels.fill_normal(from, 1);
    std::vector<Contestant> all;
    for (const int unroll : {1, 4})
      all.push_back({"", [&, unroll](int, const Stream& stream) {
                       kernels.copy(to.data(), from.data(), bytes, unroll, stream);
                     }});
    const std::vector<Timing> timings = race(all, 2, {.rounds = 5, .replay_us = 2000});
    const double best = std::min(timings[0].median, timings[1].median);
    return {.kind = Message::Kind::done, .number = 2e-6 * static_cast<double>(bytes) / best};
  }
};

GemmSession::GemmSession() = default;
GemmSession::~GemmSession() = default;

void GemmSession::run(const Job& job, const Say& say) {
  try {
    if (job.kind == Job::Kind::compile) {
      say(compile(job));
      return;
    }
    if (!state_) state_ = std::make_unique<State>();
    if (job.kind == Job::Kind::copy)
      say(state_->copy());
    else
      state_->measure(job, say);
  } catch (const std::exception& error) {
    say({.kind = Message::Kind::failed, .problem = error.what()});
    if (state_) end_if_context_died();
  }
}

void serve_gemm() {
  GemmSession session;
  serve([&](const std::string& line, const std::function<void(const std::string&)>& write) {
    session.run(parse_job(line), [&](const Message& message) { write(to_line(message)); });
  });
}

}  // namespace tilewright::bench
