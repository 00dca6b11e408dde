#include "bench/gemm_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>

#include "bench/device_kernels.h"
#include "bench/measure.h"
#include "bench/row_data.h"
#include "bench/worker.h"

namespace tilewright::bench {
namespace {

constexpr Device kGpu = Device::cuda(0);
using Say = std::function<void(const Message&)>;

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
  const CompiledKernel compiled = compile_variant(job.row, job.variants.at(0), job.target);
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
  std::unique_ptr<RowData> row;

  struct Ready {
    int variant = 0;
    Contestant contestant;
  };

  void prepare(const Job& job, const Say& say) {
    if (!row || row->name() != job.row) {
      row.reset();  // its memory first
      row = make_row_data(job, kernels);
    }
    Message message{.kind = Message::Kind::rival, .problem = row->rival_problem()};
    if (row->rival()) message.text = row->rival()->name;
    if (row->rival() && row->rival_is_checked() && job.check) {
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
      LoadedVariant loaded = row->load(job.variants[static_cast<size_t>(at)]);
      message.config = to_json(loaded.compiled.config());
      message.text = warnings_of(loaded.compiled);
      const Verdict verdict = row->run_once(loaded.contestant, job.check);
      message.number = verdict.worst;
      if (verdict.wrong > 0)
        message.problem = fmt::format("WRONG RESULT: {} elements", verdict.wrong);
      else
        ready = Ready{at, std::move(loaded.contestant)};
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
