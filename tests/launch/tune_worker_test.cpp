// Candidates on a GPU as a worker process runs them, by a driver without a GPU, whose kernels do
// what their names say.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/small_kernels.h"
#include "tests/support/use_fake_cuda.h"
#include "tilewright/autotune/worker_evaluator.h"

namespace tilewright::tune {
namespace {

using Status = Trial::Status;
using testing::fake_cuda;

// What the kernel of a config with so many warps is called.
std::string name_of(int warps) {
  switch (warps) {
    case 1:
      return "add_9us";
    case 2:
      return "add_crash";
    case 4:
      return "add_hang";
    case 8:
      return "add_wrong";
    case 16:
      return "add_fault";
    default:
      return "add_3us";
  }
}

// Likewise, where most of them run.
std::string gentle_name_of(int warps) {
  return warps == 8 ? "add_wrong" : warps == 32 ? "add_3us" : fmt::format("add_{}us", 4 + warps);
}

Config config_of(int warps) {
  Config config;
  config.block = {128};
  config.warps = warps;
  return config;
}

class TuneCudaWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda();
    ::setenv("FAKE_CUDA_ELEMENTS", "300", 1);
  }
  void TearDown() override { ::unsetenv("FAKE_CUDA_ELEMENTS"); }

  WorkerOptions options(std::string (*name)(int) = name_of) const {
    WorkerOptions made;
    made.compile_threads = 1;
    made.patience.candidate = 2;
    made.lower = [this, name](const Config& config) {
      codegen::Plan plan = codegen::lower(*fn_, config, parse_target("sm_80"));
      plan.steps.at(0).kernel.symbol = name(config.warps);
      return plan;
    };
    made.compile = [](const codegen::Plan& plan) {
      std::vector<std::shared_ptr<const runtime::CompiledCuda>> binaries;
      for (size_t i = 0; i < plan.steps.size(); ++i)
        binaries.push_back(std::make_shared<runtime::CompiledCuda>());
      return binaries;
    };
    return made;
  }

  TuneRequest request() const {
    TuneRequest made;
    made.fn = fn_.get();
    made.target = parse_target("sm_80");
    made.device = Device::cuda(0);
    made.calibration = Calibration::typical(made.target);
    return made;
  }

  std::shared_ptr<const ir::Function> fn_ =
      testing::make_add().handle().trace(std::vector<CompileArg>{
          contiguous_spec(DType::f32, {300}), contiguous_spec(DType::f32, {300})});
};

TEST_F(TuneCudaWorker, CandidatesAreRunComparedAndTimed) {
  WorkerEvaluator evaluator(request(), options());
  EXPECT_EQ(evaluator.device(), "Fake GPU");
  const std::vector<Config> configs{config_of(1), config_of(32)};
  for (const Attempt& attempt : evaluator.attempt(configs))
    EXPECT_EQ(attempt.status, Status::ok) << attempt.message;
  const std::vector<std::vector<double>> times = evaluator.race(configs, 4);
  ASSERT_EQ(times.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(times[i].size(), 4u);
    for (const double time : times[i]) EXPECT_NEAR(time, i == 0 ? 9 : 3, 1e-3);
  }
  for (const Attempt& attempt : evaluator.recheck(configs))
    EXPECT_EQ(attempt.status, Status::ok) << attempt.message;
  evaluator.keep(std::vector{configs[1]});
  EXPECT_NEAR(evaluator.race(std::vector{configs[1]}, 1)[0].at(0), 3, 1e-3);
  EXPECT_NEAR(evaluator.race(configs, 1)[0].at(0), 9, 1e-3) << "it is loaded again";
  EXPECT_EQ(evaluator.restarts(), 0);
}

TEST_F(TuneCudaWorker, FaultsCostOneCandidateEach) {
  WorkerEvaluator evaluator(request(), options());
  const std::vector<Config> configs{config_of(1),  config_of(2), config_of(4),
                                    config_of(16), config_of(8), config_of(32)};
  const std::vector<Attempt> attempts = evaluator.attempt(configs);
  ASSERT_EQ(attempts.size(), 6u);
  const Status expected[] = {Status::ok,      Status::crashed, Status::timed_out,
                             Status::crashed, Status::wrong,   Status::ok};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(attempts[i].status, expected[i]) << name_of(configs[i].warps) << attempts[i].message;
  EXPECT_NE(attempts[3].message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
      << attempts[3].message;
  EXPECT_EQ(evaluator.restarts(), 3);
  // Those that passed before a worker ended are loaded into the next.
  const std::vector<Config> passed{configs[0], configs[5]};
  EXPECT_EQ(evaluator.race(passed, 2)[0].size(), 2u);
}

TEST_F(TuneCudaWorker, AFasterOneWinsASearch) {
  const SearchSpace space = SearchSpace::of(*fn_, parse_target("sm_80"));
  WorkerEvaluator evaluator(request(), options(gentle_name_of));
  const SearchResult result =
      search(space, Calibration::typical(parse_target("sm_80")), evaluator, {.budget = 4});
  ASSERT_GE(result.best, 0);
  EXPECT_EQ(result.winner().config.warps, 32);
  EXPECT_NEAR(result.winner().microseconds, 3, 1e-3);
}

}  // namespace
}  // namespace tilewright::tune
