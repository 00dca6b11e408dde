// Where the config of a call comes from, under each policy.
#include "tilewright/autotune/choose_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/autotune/temporary_folder.h"
#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tilewright/autotune/sqlite.h"
#include "tilewright/autotune/store.h"
#include "tilewright/autotune/time_model.h"

namespace tilewright::tune {
namespace {

using testing::expect_error;

const Target kTarget = parse_target("sm_80");

Config config_of(int64_t rows) {
  Config config;
  config.block = {rows, 32, 16};
  return config;
}

class Choosing : public testing::MemoryFolderTest {
 protected:
  // A product of [m,64] by [64,64].
  std::shared_ptr<const ir::Function> product(int64_t m) const {
    return kernel_.handle().trace(std::vector<CompileArg>{contiguous_spec(DType::f32, {m, 64}),
                                                          contiguous_spec(DType::f32, {64, 64})});
  }
  TuneKey key(int64_t m) const { return tune_key(*product(m), machine_of(Device::cpu(), kTarget)); }
  static std::vector<Trial> trials(const Config& config) {
    Trial trial;
    trial.config = config;
    trial.microseconds = 5;
    trial.unix_time = 1000;
    return {trial};
  }
  Pin pin(int64_t m, const Config& config) const { return {key(m), config, 0, 0, {}, "pins.json"}; }
  Choice choose(int64_t m, TunePolicy policy) {
    const auto fn = product(m);
    ChoiceRequest request;
    request.fn = fn.get();
    request.target = kTarget;
    request.policy = policy;
    request.pins = pins_;
    request.lower = [&](const Config& config) {
      return CompiledKernel(codegen::lower(*fn, config, kTarget));
    };
    request.search = search_;
    return choose_config(request);
  }
  void expect_choice(const Choice& choice, const Config& config, ConfigSource source) {
    EXPECT_EQ(to_json(choice.kernel.config()), to_json(config));
    EXPECT_EQ(to_string(choice.source), to_string(source));
  }
  // A search that finds `config` and counts how often it is asked.
  void find(const Config& config, Ending ending = Ending::separated) {
    search_ = [=, this](const TuneRequest& request) {
      ++searches_;
      first_ = request.search.first;
      SearchResult result;
      result.trials = trials(config);
      result.best = 0;
      result.ending = ending;
      result.effort = request.search.effort;
      return result;
    };
  }

  const Kernel<Tensor, std::tuple<Tensor, Tensor>> kernel_ = testing::make_product();
  std::vector<Pin> pins_;
  std::function<SearchResult(const TuneRequest&)> search_;
  int searches_ = 0;
  std::vector<Config> first_;
};

TEST_F(Choosing, WithoutResultsTheModelChooses) {
  const auto fn = product(64);
  expect_choice(choose(64, TunePolicy::cached),
                model_pick(*fn, kTarget, Calibration::typical(kTarget)), ConfigSource::model);
  expect_choice(choose(64, TunePolicy::off), default_config(*fn, kTarget), ConfigSource::fallback);
}

TEST_F(Choosing, TheModelsPickIsReadTheSecondTime) {
  const Choice first = choose(64, TunePolicy::cached);
  Database store(path("cache/tuning.sqlite"), Database::Mode::existing);
  EXPECT_EQ(store.number("SELECT count(*) FROM pick"), 1);
  expect_choice(choose(64, TunePolicy::cached), first.kernel.config(), ConfigSource::model);
  store.execute("UPDATE pick SET config='{\"block\":[16,32,16]}'");
  expect_choice(choose(64, TunePolicy::cached), config_of(16), ConfigSource::model);
  // Another calibration, another pick.
  Calibration own = Calibration::typical(kTarget);
  own.copy_bytes_per_us *= 2;
  const Machine machine = machine_of(Device::cpu(), kTarget);
  Store::user().set_calibration(machine.device, machine.driver, to_json(own));
  choose(64, TunePolicy::cached);
  EXPECT_EQ(store.number("SELECT count(*) FROM pick"), 2);
}

TEST_F(Choosing, PinsComeBeforeTheUsersStoreBeforeTheSites) {
  Store site(path("site.sqlite"));
  site.add(key(64), trials(config_of(16)), "full");
  setenv("TILEWRIGHT_CONFIG_PATH", path("site.sqlite").c_str(), 1);
  Choice choice = choose(64, TunePolicy::cached);
  expect_choice(choice, config_of(16), ConfigSource::store);
  EXPECT_EQ(choice.from, path("site.sqlite"));
  expect_choice(choose(64, TunePolicy::frozen), config_of(16), ConfigSource::store);

  Store::user().add(key(64), trials(config_of(32)), "quick");
  choice = choose(64, TunePolicy::cached);
  expect_choice(choice, config_of(32), ConfigSource::store);
  EXPECT_EQ(choice.from, path("cache/tuning.sqlite"));
  EXPECT_EQ(choose(64, TunePolicy::off).source, ConfigSource::fallback);

  pins_ = {pin(64, config_of(64))};
  choice = choose(64, TunePolicy::cached);
  expect_choice(choice, config_of(64), ConfigSource::pin);
  EXPECT_EQ(choice.from, "pins.json");
  expect_choice(choose(64, TunePolicy::off), config_of(64), ConfigSource::pin);
  expect_choice(choose(64, TunePolicy::quick), config_of(64), ConfigSource::pin);
}

TEST_F(Choosing, AnUntunedShapeUsesTheNearest) {
  Store::user().add(key(256), trials(config_of(16)), "quick");
  Store::user().add(key(64), trials(config_of(32)), "quick");
  expect_choice(choose(65, TunePolicy::cached), config_of(32), ConfigSource::nearest);
  expect_choice(choose(255, TunePolicy::cached), config_of(16), ConfigSource::nearest);
  pins_ = {pin(128, config_of(64))};
  expect_choice(choose(120, TunePolicy::cached), config_of(64), ConfigSource::nearest);
  expect_choice(choose(255, TunePolicy::frozen), config_of(16), ConfigSource::nearest);
}

TEST_F(Choosing, AFarShapeIsUsedUnlessTheModelKnowsMuchBetter) {
  // One row a block: fine for one row, hopeless for a thousand.
  Config poor = config_of(1);
  poor.block = {1, 8, 1};
  Store::user().add(key(1), trials(poor), "quick");
  EXPECT_EQ(choose(2, TunePolicy::cached).source, ConfigSource::nearest);
  EXPECT_EQ(choose(2048, TunePolicy::cached).source, ConfigSource::model);
  const auto fn = product(4096);
  Store::user().add(key(256), trials(model_pick(*fn, kTarget, Calibration::typical(kTarget))), "");
  EXPECT_EQ(choose(4096, TunePolicy::cached).source, ConfigSource::nearest);
}

TEST_F(Choosing, AStoredConfigThatDoesNotFitIsPassedOver) {
  Config other;
  other.block = {16, 16};  // of a kernel with two axes
  Store::user().add(key(64), trials(other), "full");
  Store::user().add(key(32), trials(config_of(32)), "full");
  expect_choice(choose(64, TunePolicy::cached), config_of(32), ConfigSource::nearest);
}

TEST_F(Choosing, APinnedConfigThatDoesNotFitIsAnError) {
  Config other;
  other.block = {16, 16};
  pins_ = {pin(64, other)};
  expect_error(ErrorId::pin_misfit, 0,
               "pins.json: the config that is pinned for kernel product and f32[64,64]",
               [&] { choose(64, TunePolicy::cached); });
}

TEST_F(Choosing, AStoredConfigThatIsNoneIsPassedOver) {
  Store::user().add(key(64), trials(config_of(32)), "quick");
  Database(path("cache/tuning.sqlite"), Database::Mode::existing)
      .execute("UPDATE trial SET config='{\"block\":[1,'");
  EXPECT_EQ(choose(64, TunePolicy::cached).source, ConfigSource::model);
}

TEST_F(Choosing, SearchingOnceIsEnough) {
  find(config_of(64));
  Store::user().add(key(32), trials(config_of(32)), "quick");
  expect_choice(choose(64, TunePolicy::quick), config_of(64), ConfigSource::search);
  EXPECT_EQ(first_, std::vector{config_of(32)});  // begins with what near shapes use
  expect_choice(choose(64, TunePolicy::quick), config_of(64), ConfigSource::store);
  expect_choice(choose(64, TunePolicy::cached), config_of(64), ConfigSource::store);
  EXPECT_EQ(searches_, 1);
  find(config_of(16));
  expect_choice(choose(64, TunePolicy::full), config_of(16), ConfigSource::search);
  choose(64, TunePolicy::full);
  choose(64, TunePolicy::quick);
  EXPECT_EQ(searches_, 2);
  EXPECT_EQ(Store::user().trials(1).size() + Store::user().trials(2).size(), 3u);
}

TEST_F(Choosing, AStoppedSearchIsMadeAgain) {
  find(config_of(64), Ending::stopped);
  expect_choice(choose(64, TunePolicy::quick), config_of(64), ConfigSource::search);
  choose(64, TunePolicy::quick);
  EXPECT_EQ(searches_, 2);
}

TEST_F(Choosing, OnlySearchingPoliciesSearch) {
  find(config_of(64));
  for (const TunePolicy policy : {TunePolicy::off, TunePolicy::cached, TunePolicy::frozen})
    EXPECT_NE(choose(64, policy).source, ConfigSource::search);
  EXPECT_EQ(searches_, 0);
}

TEST_F(Choosing, ASearchThatFailsIsAWarning) {
  search_ = [](const TuneRequest&) -> SearchResult {
    raise(ErrorId::store_file, {}, "worker", "not here");
  };
  EXPECT_EQ(choose(64, TunePolicy::quick).source, ConfigSource::model);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("kernel product could not be tuned for f32[64,64]"),
            std::string::npos);
  search_ = [](const TuneRequest&) { return SearchResult(); };
  EXPECT_EQ(choose(64, TunePolicy::quick).source, ConfigSource::model);
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_NE(warnings_[1].find("found no config that runs"), std::string::npos);
}

TEST_F(Choosing, CalibrationsComeFromTheStore) {
  const Machine machine{"GPU", "1", ""};
  EXPECT_EQ(known_calibration(machine, kTarget), Calibration::typical(kTarget));
  Calibration own = Calibration::typical(kTarget);
  own.copy_bytes_per_us *= 2;
  own.measured = true;
  Store::user().set_calibration("GPU", "1", to_json(own));
  EXPECT_EQ(known_calibration(machine, kTarget), own);
  Store::user().set_calibration("GPU", "1", "{");
  EXPECT_EQ(known_calibration(machine, kTarget), Calibration::typical(kTarget));
  EXPECT_EQ(warnings_.size(), 1u);
}

// --- families

std::string family(const KernelHandle& kernel, const std::vector<CompileArg>& args) {
  return family_of(*kernel.trace(args));
}

TensorSpec spec(std::vector<int64_t> sizes, DType dtype = DType::f32) {
  return contiguous_spec(dtype, std::move(sizes));
}

TEST(Family, IsThatOfAllShapes) {
  const auto product = testing::make_product();
  const std::string square = family(product, {spec({64, 64}), spec({64, 64})});
  EXPECT_EQ(square.size(), 16u);
  // Equal sizes are one constant of the IR, others two.
  EXPECT_EQ(family(product, {spec({100, 999}), spec({999, 8})}), square);
  EXPECT_EQ(family(product, {spec({1, 0}), spec({0, 1})}), square);
  TensorSpec unaligned = spec({64, 64});
  unaligned.alignment = 4;
  EXPECT_EQ(family(product, {unaligned, spec({64, 64})}), square);
  TensorSpec transposed = spec({64, 64});
  transposed.strides = {1, 64};
  EXPECT_NE(family(product, {transposed, spec({64, 64})}), square);
  EXPECT_NE(family(product, {spec({64, 64}, DType::f16), spec({64, 64}, DType::f16)}), square);
  EXPECT_NE(family(testing::make_add(), {spec({64}), spec({64})}), square);
  // Another function is another kernel, whatever its name.
  const auto steps = testing::make_apply();
  const auto twice = [](Tile x) { return x * 2.0f; };
  const auto more = [](Tile x) { return x + 2.0f; };
  const auto applied = [&](const Fn<Tile(Tile)>& fn) { return family(steps, {spec({64}), 1, fn}); };
  EXPECT_NE(applied(twice), applied(more));
}

TEST(Family, DistanceCountsDoublings) {
  EXPECT_EQ(distance({spec({8, 8})}, {spec({8, 8})}), 0);
  EXPECT_EQ(distance({spec({8, 8})}, {spec({16, 2})}), 3);
  EXPECT_EQ(distance({spec({0})}, {spec({2})}), 1);
  EXPECT_TRUE(std::isinf(distance({spec({8})}, {spec({8, 8})})));
  EXPECT_TRUE(std::isinf(distance({spec({8})}, {spec({8}), spec({8})})));
  EXPECT_TRUE(std::isinf(distance({spec({8})}, {spec({8}, DType::f16)})));
}

TEST(Key, LeavesOutNamesAndPlaces) {
  const auto first = kernel("same", [](Tensor x) {
    Tensor y = empty({x.size(0)}, x.dtype());
    for (auto i : tile(x.size(0))) y(i) = x(i) * 2.0f;
    return y;
  });
  const auto second = kernel("same", [](Tensor input) {
    Tensor output = empty({input.size(0)}, input.dtype());
    for (auto rows : tile(input.size(0))) {
      output(rows) = input(rows) * 2.0f;
    }
    return output;
  });
  const Machine machine = machine_of(Device::cpu(), kTarget);
  EXPECT_EQ(machine.device, "any sm_80");
  EXPECT_EQ(machine_of(Device::emulate("sm_90a"), parse_target("sm_90a")).device,
            "emulated sm_90a");
  const auto key = [&](const KernelHandle& handle, int64_t size) {
    return tune_key(*handle.trace(std::vector<CompileArg>{spec({size})}), machine);
  };
  EXPECT_EQ(key(first, 64), key(second, 64));
  EXPECT_NE(key(first, 64).code, key(first, 65).code);
  EXPECT_EQ(to_string(key(first, 64).specs), "f32[64] f32[64]");
}

}  // namespace
}  // namespace tilewright::tune
