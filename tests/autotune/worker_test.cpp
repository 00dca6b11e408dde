// Candidates in a worker process, which runs them by the emulator: those that crash it, hang it or
// compute something else cost only themselves.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tilewright/autotune/tune.h"
#include "tilewright/autotune/worker_evaluator.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::tune {
namespace {

using testing::expect_error;
using Status = Trial::Status;

std::shared_ptr<const ir::Function> traced(const KernelHandle& kernel, int64_t n) {
  return kernel.trace(
      std::vector<CompileArg>{contiguous_spec(DType::f32, {n}), contiguous_spec(DType::f32, {n})});
}

auto make_difference() {
  return kernel("difference", [](Tensor a, Tensor b) {
    auto [n] = sizes<1>(a);
    Tensor c = empty({n}, a.dtype());
    for (auto i : tile(n)) c(i) = a(i) - b(i);
    return c;
  });
}

// x += y, in the memory of x.
auto make_accumulate() {
  return kernel("accumulate", [](Tensor x, Tensor y) {
    auto [n] = sizes<1>(x);
    for (auto i : tile(n)) x(i) = x(i) + y(i);
  });
}

Config config_of(int warps) {
  Config config;
  config.block = {128};
  config.warps = warps;
  return config;
}

// Puts a statement at the beginning of the kernel's body.
codegen::Plan with_statement(codegen::Plan plan, const std::string& statement) {
  std::string& source = plan.steps.at(0).kernel.source;
  const size_t body = source.find("{\n", source.find("__global__"));
  source.insert(body + 2, "  " + statement + "\n");
  return plan;
}

class TuneWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!runtime::emulator_available()) GTEST_SKIP() << "this build has no emulator";
  }

  static TuneRequest request(const ir::Function& fn) {
    TuneRequest made;
    made.fn = &fn;
    made.target = parse_target("sm_80");
    made.device = Device::emulate("sm_80");
    made.calibration = Calibration::typical(made.target);
    return made;
  }

  // One warp: right; two: crashes; four: hangs; eight: wrong; sixteen: right.
  static WorkerOptions options(const ir::Function& fn, const ir::Function& other) {
    WorkerOptions made;
    made.compile_threads = 1;
    made.patience.candidate = 5;
    made.lower = [&fn, &other](const Config& config) {
      const Target target = parse_target("sm_80");
      const codegen::Plan plan = codegen::lower(config.warps == 8 ? other : fn, config, target);
      if (config.warps == 2) return with_statement(plan, "__builtin_trap();");
      if (config.warps == 4)
        return with_statement(plan, "for (volatile int go_on = 1; go_on != 0;) {}");
      return plan;
    };
    return made;
  }
};

TEST_F(TuneWorker, AFaultOrAHangCostsOneCandidate) {
  const auto fn = traced(testing::make_add(), 300), other = traced(make_difference(), 300);
  WorkerEvaluator evaluator(request(*fn), options(*fn, *other));
  EXPECT_EQ(evaluator.device(), "emulated sm_80");
  EXPECT_TRUE(evaluator.interpreted());
  const std::vector<Config> configs{config_of(1), config_of(2), config_of(4), config_of(8),
                                    config_of(16)};
  evaluator.prefetch(configs);
  const std::vector<Attempt> attempts = evaluator.attempt(configs);
  ASSERT_EQ(attempts.size(), 5u);
  EXPECT_EQ(attempts[0].status, Status::ok) << attempts[0].message;
  EXPECT_EQ(attempts[1].status, Status::crashed);
  EXPECT_NE(attempts[1].message.find("signal 4"), std::string::npos) << attempts[1].message;
  EXPECT_EQ(attempts[2].status, Status::timed_out) << attempts[2].message;
  EXPECT_EQ(attempts[3].status, Status::wrong);
  EXPECT_NE(attempts[3].message.find("300 of 300 elements of 'c' are wrong"), std::string::npos)
      << attempts[3].message;
  EXPECT_EQ(attempts[4].status, Status::ok) << attempts[4].message;
  EXPECT_EQ(evaluator.restarts(), 2);

  const std::vector<Config> passed{configs[0], configs[4]};
  for (const std::vector<double>& times : evaluator.race(passed, 2)) EXPECT_EQ(times.size(), 2u);
  for (const Attempt& again : evaluator.recheck(passed)) EXPECT_EQ(again.status, Status::ok);
  // A worker that ends between two jobs costs nothing.
  ASSERT_EQ(::kill(evaluator.worker_pid(), SIGKILL), 0);
  const std::vector<std::vector<double>> times = evaluator.race(passed, 1);
  EXPECT_EQ(times[0].size() + times[1].size(), 2u);
  EXPECT_EQ(evaluator.restarts(), 3);
}

// Without the interpreter's result, what two candidates agree on is right.
TEST_F(TuneWorker, TwoThatAgreeAreRight) {
  const auto fn = traced(testing::make_add(), 300), other = traced(make_difference(), 300);
  WorkerOptions own = options(*fn, *other);
  own.interpret = false;
  WorkerEvaluator evaluator(request(*fn), own);
  EXPECT_FALSE(evaluator.interpreted());
  const std::vector<Config> configs{config_of(8), config_of(1), config_of(16)};
  for (const Attempt& attempt : evaluator.attempt(configs)) EXPECT_EQ(attempt.status, Status::ok);
  const std::vector<std::vector<double>> times = evaluator.race(configs, 1);
  EXPECT_TRUE(times[0].empty());
  EXPECT_EQ(evaluator.why(configs[0]).status, Status::wrong);
  EXPECT_EQ(times[1].size() + times[2].size(), 2u);
  EXPECT_EQ(evaluator.recheck(configs)[0].status, Status::wrong);
  // A new worker takes what was verified before from the config that gave it.
  ASSERT_EQ(::kill(evaluator.worker_pid(), SIGKILL), 0);
  const std::vector<Attempt> again = evaluator.recheck(configs);
  EXPECT_EQ(again[1].status, Status::ok) << again[1].message;
  EXPECT_EQ(again[2].status, Status::ok) << again[2].message;
}

// Candidates run on copies of the caller's data, also where they change it; every timed call finds
// it as it was.
TEST_F(TuneWorker, InPlaceKernelsOnTheCallersData) {
  const auto fn = traced(make_accumulate(), 200), other = traced(make_difference(), 200);
  std::vector<float> x(200, 3), y(200, 4);
  const Array x_array = Array::from_host(x, {200}, Device::cpu()),
              y_array = Array::from_host(y, {200}, Device::cpu());
  TuneRequest own = request(*fn);
  own.data = {{.view = &x_array.view()}, {.view = &y_array.view()}};
  WorkerEvaluator evaluator(own, options(*fn, *fn));
  const std::vector<Config> configs{config_of(1), config_of(16)};
  for (const Attempt& attempt : evaluator.attempt(configs))
    EXPECT_EQ(attempt.status, Status::ok) << attempt.message;
  EXPECT_EQ(evaluator.race(configs, 3)[1].size(), 3u);
  for (const Attempt& attempt : evaluator.recheck(configs))
    EXPECT_EQ(attempt.status, Status::ok) << attempt.message;
  EXPECT_TRUE(std::ranges::equal(x_array.values<float>(), x));
}

// Data lies in the worker as the strides say, and what is between the elements stays as it is.
TEST_F(TuneWorker, StridedData) {
  const TensorSpec wide{DType::f32, {100}, {2}, 16}, dense = contiguous_spec(DType::f32, {100});
  const auto fn = testing::make_add().handle().trace(std::vector<CompileArg>{wide, dense});
  const Array a = Array::from_host(std::vector<float>(200, 5), {200}, Device::cpu()),
              b = Array::from_host(std::vector<float>(100, 6), {100}, Device::cpu());
  const TensorView every_second(a.data(), DType::f32, {100}, {2}, Device::cpu());
  TuneRequest own = request(*fn);
  own.data = {{.view = &every_second}, {.view = &b.view()}, {}};
  WorkerEvaluator evaluator(own, options(*fn, *fn));
  for (const Attempt& attempt : evaluator.attempt(std::vector{config_of(1), config_of(16)}))
    EXPECT_EQ(attempt.status, Status::ok) << attempt.message;
}

TEST_F(TuneWorker, AWholeSearch) {
  const auto fn = traced(testing::make_add(), 256);
  TuneRequest own = request(*fn);
  own.search.budget = 2;
  const SearchResult result = tune_kernel(own);
  ASSERT_GE(result.best, 0);
  EXPECT_EQ(result.device, "emulated sm_80");
  for (const Trial& trial : result.trials)
    EXPECT_EQ(trial.status, Status::ok) << to_json(trial.config) << " " << trial.message;
}

TEST(TuneKernel, AWorkerThatIsNotThere) {
  const auto fn = traced(testing::make_add(), 64);
  TuneRequest request;
  request.fn = fn.get();
  request.target = parse_target("sm_80");
  request.device = Device::emulate("sm_80");
  ::setenv("TILEWRIGHT_WORKER", "/nowhere/worker", 1);
  expect_error(ErrorId::worker_missing, 0, "/nowhere/worker", [&] { tune_kernel(request); });
  ::setenv("TILEWRIGHT_WORKER", "/bin/true", 1);
  expect_error(ErrorId::worker_missing, 0, "ended with status 0", [&] { tune_kernel(request); });
  ::unsetenv("TILEWRIGHT_WORKER");
}

TEST(TuneKernel, NothingRan) {
  const auto fn = traced(testing::make_add(), 64);
  std::stop_source stop;
  stop.request_stop();
  TuneRequest request;
  request.fn = fn.get();
  request.target = parse_target("sm_80");
  request.calibration = Calibration::typical(request.target);
  request.simulated = 1;
  request.search.stop = stop.get_token();
  expect_error(ErrorId::tune_failed, 0, "simulated sm_80; the first problem: there was no time",
               [&] { tuned_config(request); });
}

TEST(TuneKernel, AReproducerIsACommand) {
  const auto fn = traced(testing::make_add(), 64);
  EXPECT_EQ(
      reproducer(*fn, parse_target("sm_80"), {.config = config_of(1)}),
      "tilewright run add 'f32[64]' 'f32[64]' --config '{\"block\":[128],\"warps\":1}' --check"
      "  # for sm_80");
}

}  // namespace
}  // namespace tilewright::tune
