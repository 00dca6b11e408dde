// Jobs in child processes that may crash or hang. The children are this test again, with a worker
// that does as the names of the variants say.
#include "bench/gemm_driver.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <limits>

namespace tilewright::bench {
namespace {

constexpr const char* kFakeWorker = "--fake-worker";

[[noreturn]] void hang() {
  while (true) ::pause();
}

void fake_variant(const Job& job, int i, std::vector<int>& ready,
                  const std::function<void(const Message&)>& say) {
  const std::string& name = job.variants[static_cast<size_t>(i)].name;
  say({.kind = Message::Kind::begin, .variant = i});
  if (name == "crash") ::raise(SIGKILL);
  if (name == "hang") hang();
  Message tried{.kind = Message::Kind::tried, .variant = i, .config = "{}"};
  if (name == "wrong" || name == "poisons the context") tried.problem = name;
  if (job.kind == Job::Kind::heats) tried.ours = {10.0 + i, 0, 1, 1};
  say(tried);
  if (name == "poisons the context") ::_exit(3);
  if (tried.problem.empty()) ready.push_back(i);
}

void fake_job(const Job& job, const std::function<void(const Message&)>& say) {
  if (job.row == "cannot begin") ::_exit(4);
  if (job.row == "fails") {
    say({.kind = Message::Kind::failed, .problem = "no memory"});
    return;
  }
  say({.kind = Message::Kind::rival, .text = "a rival"});
  std::vector<int> ready;
  for (size_t i = 0; i < job.variants.size(); ++i)
    fake_variant(job, static_cast<int>(i), ready, say);
  if (job.kind == Job::Kind::race) {
    say({.kind = Message::Kind::racing});
    for (const int i : ready)
      if (job.variants[static_cast<size_t>(i)].name == "crashes racing") ::raise(SIGKILL);
    for (const int i : ready)
      say({.kind = Message::Kind::result, .variant = i, .ours = {5, 0, 1, 1}});
  }
  say({.kind = Message::Kind::done, .theirs = {7, 0, 1, 1}});
}

// Before main, so that children never see the tests.
const bool never_in_a_child = [] {
  std::ifstream file("/proc/self/cmdline");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  if (line.find(kFakeWorker) == std::string::npos) return true;
  serve([](const std::string& job, const std::function<void(const std::string&)>& write) {
    if (job == "crash") ::raise(SIGKILL);
    if (job == "hang") hang();
    if (job.starts_with("echo"))
      write(job);
    else
      fake_job(parse_job(job), [&](const Message& message) { write(to_line(message)); });
  });
  ::_exit(0);
}();

Job job(Job::Kind kind, std::vector<std::string> names, std::string row = "row") {
  Job job{.kind = kind, .row = std::move(row), .target = parse_target("sm_90a")};
  for (std::string& name : names) job.variants.push_back({std::move(name), {}});
  return job;
}

GemmDriver driver() {
  GemmDriver driver(Command{{kFakeWorker}});
  driver.patience = {.setup = 20, .variant = 0.5, .racing = 20};
  return driver;
}

TEST(BenchDriver, AllGoWell) {
  GemmDriver driver = bench::driver();
  for (int i = 0; i < 2; ++i) {  // the second by the same child
    const JobResult result = driver.run(job(Job::Kind::race, {"a", "b"}));
    EXPECT_EQ(result.rival, "a rival");
    for (const Outcome& outcome : result.outcomes) {
      EXPECT_EQ(outcome.problem, "");
      EXPECT_EQ(outcome.ours.median, 5);
      EXPECT_EQ(outcome.theirs.median, 7);
    }
  }
}

TEST(BenchDriver, BadVariantsCostOnlyThemselves) {
  const std::vector<std::string> names = {"a", "crash", "wrong", "hang", "poisons the context",
                                          "b"};
  for (const Job::Kind kind : {Job::Kind::race, Job::Kind::heats}) {
    std::vector<size_t> heard;
    const JobResult result =
        driver().run(job(kind, names), [&](size_t i, const Outcome&) { heard.push_back(i); });
    ASSERT_EQ(result.outcomes.size(), names.size());
    EXPECT_EQ(result.outcomes[0].problem, "");
    EXPECT_GT(result.outcomes[0].ours.median, 0);
    EXPECT_NE(result.outcomes[1].problem.find("signal 9"), std::string::npos);
    EXPECT_EQ(result.outcomes[2].problem, "wrong");
    EXPECT_NE(result.outcomes[3].problem.find("no answer within"), std::string::npos);
    EXPECT_EQ(result.outcomes[4].problem, "poisons the context");
    EXPECT_EQ(result.outcomes[5].problem, "");
    EXPECT_GT(result.outcomes[5].ours.median, 0);
    if (kind == Job::Kind::heats) {
      EXPECT_EQ(heard, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));  // none twice
    }
  }
}

TEST(BenchDriver, ACrashInTheRaceIsFound) {
  const JobResult result = driver().run(job(Job::Kind::race, {"a", "crashes racing", "b"}));
  EXPECT_EQ(result.outcomes[0].ours.median, 5);
  EXPECT_NE(result.outcomes[1].problem.find("signal 9"), std::string::npos);
  EXPECT_EQ(result.outcomes[2].ours.median, 5);
}

TEST(BenchDriver, JobsThatCannotBeDone) {
  GemmDriver driver = bench::driver();
  for (const Outcome& outcome :
       driver.run(job(Job::Kind::race, {"a", "b"}, "cannot begin")).outcomes)
    EXPECT_NE(outcome.problem.find("status 4"), std::string::npos);
  for (const Outcome& outcome : driver.run(job(Job::Kind::heats, {"a", "b"}, "fails")).outcomes)
    EXPECT_EQ(outcome.problem, "no memory");
  EXPECT_EQ(driver.run(job(Job::Kind::race, {"a"})).outcomes[0].problem, "");
}

TEST(BenchWorkers, JobsAreSharedOut) {
  std::vector<std::string> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(i == 3 ? "crash" : i == 7 ? "hang" : "echo");
  std::vector<Answer> answers(jobs.size());
  run_jobs(jobs, 3, 0.5, {{kFakeWorker}},
           [&](size_t i, const Answer& answer) { answers[i] = answer; });
  for (size_t i = 0; i < jobs.size(); ++i) {
    const bool bad = jobs[i] != "echo";
    EXPECT_EQ(answers[i].line, bad ? "" : "echo");
    EXPECT_EQ(answers[i].problem.empty(), !bad) << answers[i].problem;
  }
}

TEST(BenchWorkers, AProgramThatIsNotThere) {
  EXPECT_THROW(Worker({{}, "/nowhere/program"}), std::runtime_error);
}

TEST(BenchProtocol, LinesReadBack) {
  Job job{.kind = Job::Kind::heats, .row = "a row"};
  job.variants = {{"hand", parse_config(R"({"block":[128,256,64],"matrix":"wgmma"})")},
                  {"none", {}}};
  job.rival_config = parse_config(R"({"block":[64]})");
  job.check = false;
  job.race = {.rounds = 7, .replay_us = 1234.5, .most_passes = 9};
  job.target = parse_target("sm_90a");
  job.target.multiprocessors = 114;
  const Job back = parse_job(to_line(job));
  EXPECT_EQ(back.kind, job.kind);
  EXPECT_EQ(back.row, job.row);
  ASSERT_EQ(back.variants.size(), 2U);
  EXPECT_EQ(back.variants[0].config, job.variants[0].config);
  EXPECT_FALSE(back.variants[1].config);
  EXPECT_EQ(back.rival_config, job.rival_config);
  EXPECT_EQ(back.check, false);
  EXPECT_EQ(back.race.rounds, 7);
  EXPECT_EQ(back.race.replay_us, 1234.5);
  EXPECT_EQ(back.target, job.target);
  const Message message{.kind = Message::Kind::tried,
                        .variant = 3,
                        .text = "a\nb",
                        .problem = "\"p\"",
                        .number = 0.25,
                        .ours = {1, 2, 3, 4}};
  const std::string line = to_line(message);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Message read = parse_message(line);
  EXPECT_EQ(read.kind, message.kind);
  EXPECT_EQ(read.text, message.text);
  EXPECT_EQ(read.problem, message.problem);
  EXPECT_EQ(read.number, 0.25);
  EXPECT_EQ(read.ours.replays, 4);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_message(to_line(Message{.number = infinity})).number, infinity);
}

}  // namespace
}  // namespace tilewright::bench
