#include "bench/gemm_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace tilewright::bench {

/// One child's go at some variants of a job.
struct GemmDriver::Pass {
  const Job& job;
  const std::vector<size_t>& group;  // the variants, positions in the job
  JobResult& result;
  const std::function<void(size_t, const Outcome&)>& report;
  std::optional<size_t> begun = {};  // running just now
  bool racing = false;
  bool heard = false;  // some variant was settled
  bool lost = false;   // with a problem
  bool over = false;
};

void GemmDriver::settle(Pass& pass, size_t variant, const std::string& problem) {
  Outcome& outcome = pass.result.outcomes[variant];
  outcome.problem = problem;
  outcome.tried = pass.heard = true;
  pass.lost = pass.lost || !problem.empty();
  if (pass.report) pass.report(variant, outcome);
}

void GemmDriver::hear(Pass& pass, const Message& message) {
  using Kind = Message::Kind;
  const auto variant = [&] { return pass.group.at(static_cast<size_t>(message.variant)); };
  switch (message.kind) {
    case Kind::rival:
      pass.result.rival = message.text;
      pass.result.rival_problem = message.problem;
      break;
    case Kind::begin:
      pass.begun = variant();
      break;
    case Kind::tried: {
      Outcome& outcome = pass.result.outcomes[variant()];
      outcome.config = message.config;
      outcome.note = message.text;
      outcome.error = message.number;
      outcome.ours = message.ours;
      outcome.theirs = message.theirs;
      pass.begun.reset();
      settle(pass, variant(), message.problem);
      break;
    }
    case Kind::racing:
      pass.racing = true;
      break;
    case Kind::result:
      pass.result.outcomes[variant()].ours = message.ours;
      break;
    case Kind::done:
      pass.over = true;
      if (pass.job.kind == Job::Kind::race)
        for (const size_t i : pass.group) pass.result.outcomes[i].theirs = message.theirs;
      break;
    case Kind::failed:
      pass.over = true;
      for (const size_t i : pass.group)
        if (pass.result.outcomes[i].problem.empty()) settle(pass, i, message.problem);
      break;
  }
}

// Whether the child did all it was given.
bool GemmDriver::listen(Pass& pass) {
  while (!pass.over) {
    const double seconds = pass.racing                ? patience.racing
                           : pass.begun || pass.heard ? patience.variant
                                                      : patience.setup;
    const std::optional<std::string> line = worker_->receive(seconds);
    if (!line) return false;
    hear(pass, parse_message(*line));
  }
  return true;
}

// What is left to do after a child's end, as groups that are given to children of their own.
std::vector<std::vector<size_t>> GemmDriver::after_end(Pass& pass) {
  const std::string& why = worker_->why();
  const auto& outcomes = pass.result.outcomes;
  if (pass.begun) settle(pass, *pass.begun, "while it ran, " + why);
  const bool race = pass.job.kind == Job::Kind::race;
  // Another go makes sense when it has less to do.
  const bool smaller = pass.racing ? pass.group.size() > 1 : race ? pass.lost : pass.heard;
  if (!smaller) {
    for (const size_t i : pass.group)
      if (outcomes[i].problem.empty()) settle(pass, i, why);
    return {};
  }
  std::vector<std::vector<size_t>> left;
  for (const size_t i : pass.group) {
    if (!outcomes[i].problem.empty() || (!race && outcomes[i].tried)) continue;
    // Which of several made the race end is seen when each is alone.
    if (left.empty() || pass.racing) left.emplace_back();
    left.back().push_back(i);
  }
  return left;
}

JobResult GemmDriver::run(const Job& job,
                          const std::function<void(size_t, const Outcome&)>& tried) {
  JobResult result;
  result.outcomes.resize(job.variants.size());
  std::deque<std::vector<size_t>> groups(1);
  for (size_t i = 0; i < job.variants.size(); ++i) groups[0].push_back(i);
  while (!groups.empty()) {
    const std::vector<size_t> group = std::move(groups.front());
    groups.pop_front();
    Job part = job;
    part.variants.clear();
    for (const size_t i : group) part.variants.push_back(job.variants[i]);
    if (!worker_ || !worker_->alive()) worker_.emplace(command_);
    worker_->send(to_line(part));
    Pass pass{job, group, result, tried};
    if (listen(pass)) continue;
    for (std::vector<size_t>& left : after_end(pass)) groups.push_back(std::move(left));
  }
  return result;
}

double GemmDriver::copy_rate() {
  if (!worker_ || !worker_->alive()) worker_.emplace(command_);
  worker_->send(to_line(Job{.kind = Job::Kind::copy}));
  const std::optional<std::string> line = worker_->receive(patience.setup);
  return line ? parse_message(*line).number : 0;
}

void compile_all(const std::vector<Compilation>& all, const Target& target, int count,
                 double seconds, const std::function<void(size_t, const Compilation&)>& done) {
  std::vector<std::string> jobs;
  for (const Compilation& one : all)
    jobs.push_back(to_line(Job{
        .kind = Job::Kind::compile, .row = one.row, .variants = {one.variant}, .target = target}));
  run_jobs(jobs, count, seconds, {{"--worker"}}, [&](size_t i, const Answer& answer) {
    Compilation result = all[i];
    result.problem = answer.problem;
    if (answer.problem.empty()) {
      const Message message = parse_message(answer.line);
      result.problem = message.problem;
      result.note = message.text;
      result.config = message.config;
      result.seconds = message.number;
    }
    done(i, result);
  });
}

}  // namespace tilewright::bench
