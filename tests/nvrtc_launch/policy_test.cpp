// Tuning policies of kernels that are compiled for real and launched on a driver without a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/autotune/temporary_folder.h"
#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tests/support/use_fake_cuda.h"
#include "tilewright/autotune/pins.h"
#include "tilewright/autotune/store.h"
#include "tilewright/runtime/cubin_cache.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::fake_cuda;
using testing::FakeCuda;

FakeCuda& installed = fake_cuda();

Config blocks_of(int64_t size) {
  Config config;
  config.block = {size};
  return config;
}

class Policy : public testing::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    fake_.launches.clear();
    fake_.capturing = nullptr;
  }
  void TearDown() override {
    fake_.capturing = nullptr;
    FolderTest::TearDown();
  }
  // A name that no run before this one has compiled.
  static std::string fresh_name() {
    static int count = 0;
    return fmt::format("add_{}_{}_{}", getpid(), time(nullptr), count++);
  }
  // The blocks of a launch of 4096 elements.
  template <class K>
  uint64_t blocks(const K& add, LaunchOptions options = {}) {
    options.out = {c_};
    add.launch(options, a_, b_);
    return fake_.launches.back().grid;
  }
  template <class K>
  tune::TuneKey key_of(const K& add, int64_t n) const {
    const TensorSpec spec = contiguous_spec(DType::f32, {n});
    const auto fn = add.handle().trace(std::vector<CompileArg>{spec, spec});
    return tune::tune_key(*fn, tune::machine_of(Device::cuda(0), runtime::device_target(0)));
  }
  static std::vector<tune::Trial> trials(int64_t block) {
    tune::Trial trial;
    trial.config = blocks_of(block);
    trial.microseconds = 1;
    return {trial};
  }

  FakeCuda& fake_ = installed;
  Array a_{Device::cuda(0), {4096}, DType::f32}, b_{Device::cuda(0), {4096}, DType::f32},
      c_{Device::cuda(0), {4096}, DType::f32};
};

TEST_F(Policy, LaunchesUseTheStoredBest) {
  const auto add = testing::make_add(fresh_name());
  tune::Store::user().add(key_of(add, 4096), trials(64), "quick");
  EXPECT_EQ(blocks(add), 64u);
  EXPECT_EQ(blocks(add, {.config = blocks_of(1024)}), 4u);  // the call's own first
  const auto by_default = blocks(add, {.tune = TunePolicy::off});
  EXPECT_NE(by_default, 64u);
  add.set_config(blocks_of(512));
  EXPECT_EQ(blocks(add), 8u);
  add.set_config({});
  setenv("TILEWRIGHT_TUNE", "off", 1);
  EXPECT_EQ(blocks(add), by_default);
  EXPECT_EQ(blocks(add, {.tune = TunePolicy::cached}), 64u);
}

TEST_F(Policy, AnUntunedSizeUsesTheNearest) {
  const auto add = testing::make_add(fresh_name());
  tune::Store::user().add(key_of(add, 4000), trials(64), "quick");
  EXPECT_EQ(blocks(add), 64u);
}

TEST_F(Policy, PinsComeFromAFile) {
  const auto add = testing::make_add(fresh_name());
  tune::Store::user().add(key_of(add, 4096), trials(64), "quick");
  const std::vector<tune::Pin> pins = {{key_of(add, 4096), blocks_of(128), 0, 0, {}, {}}};
  std::ofstream(path("pins.json")) << tune::to_json(pins);
  EXPECT_EQ(blocks(add), 64u);
  add.pin(path("pins.json"));
  EXPECT_EQ(blocks(add), 32u);
  add.set_config(blocks_of(512));
  EXPECT_EQ(blocks(add), 8u);  // nearer to the call than a file
  expect_error(ErrorId::pin_file, 0, "none.json", [&] { add.pin(path("none.json")); });
}

TEST_F(Policy, CompileAgreesWithLaunch) {
  const auto add = testing::make_add(fresh_name());
  tune::Store::user().add(key_of(add, 4096), trials(64), "quick");
  const TensorSpec spec = a_.spec();
  EXPECT_EQ(add.compile({spec, spec}).config(), blocks_of(64));
  EXPECT_EQ(add.compile({spec, spec}, {.tune = TunePolicy::off}).config(),
            default_config(*add.handle().trace(std::vector<CompileArg>{spec, spec}),
                           runtime::device_target(0)));
  const int loaded = fake_.loaded_modules;
  EXPECT_EQ(blocks(add), 64u);
  EXPECT_EQ(fake_.loaded_modules, loaded);
}

TEST_F(Policy, FrozenNeverCompiles) {
  const auto add = testing::make_add(fresh_name());
  const LaunchOptions frozen{.tune = TunePolicy::frozen};
  expect_error(ErrorId::frozen_compile, 0, "would have to be compiled for f32[4096] f32[4096]",
               [&] { blocks(add, frozen); });
  setenv("TILEWRIGHT_TUNE", "frozen", 1);
  expect_error(ErrorId::frozen_compile, 0, runtime::CubinCache::instance().folder(),
               [&] { add(a_, b_); });
  const TensorSpec spec = a_.spec();
  expect_error(ErrorId::frozen_compile, 0, add.name(), [&] { add.compile({spec, spec}); });
  EXPECT_TRUE(fake_.launches.empty());
  unsetenv("TILEWRIGHT_TUNE");
  blocks(add);
  // Another process would find the machine code too: a kernel of the same text does.
  setenv("TILEWRIGHT_TUNE", "frozen", 1);
  const auto again = testing::make_add(add.name());
  EXPECT_EQ(blocks(again), fake_.launches.front().grid);
}

TEST_F(Policy, PreparedLaunchesCompileNothing) {
  const auto add = testing::make_add(fresh_name());
  std::vector<std::vector<CompileArg>> calls;
  for (int64_t n = 4092; n <= 4096; ++n)
    calls.push_back({contiguous_spec(DType::f32, {n}), contiguous_spec(DType::f32, {n})});
  add.prepare(calls);
  const int loaded = fake_.loaded_modules;
  for (int64_t n = 4092; n <= 4096; ++n) {
    const Stream stream = Stream::create();
    fake_.capturing = stream.handle();  // where compiling would be an error
    add.launch({.stream = stream, .out = {c_.slice(0, 0, n)}, .tune = TunePolicy::frozen},
               a_.slice(0, 0, n), b_.slice(0, 0, n));
  }
  EXPECT_EQ(fake_.loaded_modules, loaded);
  EXPECT_EQ(fake_.launches.size(), 5u);
}

TEST_F(Policy, PreparingForATargetFillsTheCache) {
  const auto add = testing::make_add(fresh_name());
  const TensorSpec spec = a_.spec();
  add.prepare({{spec, spec}}, {.target = runtime::device_target(0), .tune = TunePolicy::off});
  blocks(add, {.tune = TunePolicy::off});
  const auto again = testing::make_add(add.name());
  setenv("TILEWRIGHT_TUNE", "frozen", 1);
  again.set_config(add.compile({spec, spec}, {.tune = TunePolicy::off}).config());
  EXPECT_EQ(blocks(again), fake_.launches.front().grid);
}

TEST_F(Policy, PrepareRaisesTheFirstErrorAfterAll) {
  const auto add = testing::make_add(fresh_name());
  const TensorSpec good = a_.spec(), other = contiguous_spec(DType::f32, {7});
  expect_error(ErrorId::check_failed, 0, "lengths differ: 4096 and 7", [&] {
    add.prepare({{good, other}, {good}, {good, good}});
  });
  const int loaded = fake_.loaded_modules;
  blocks(add);
  EXPECT_EQ(fake_.loaded_modules, loaded);
}

TEST_F(Policy, DynamicSizesCompileFewKernelsAndNoneAfterPrepare) {
  const auto product = testing::make_product(fresh_name());
  const TensorSpec weights = contiguous_spec(DType::f32, {24, 40});
  const int before = fake_.loaded_modules;
  product.prepare({{dynamic_spec(DType::f32, {4096, 24}), weights}});
  const Array a(Device::cuda(0), {4096, 24}, DType::f32),
      c(Device::cuda(0), {4096, 40}, DType::f32), b(Device::cuda(0), {24, 40}, DType::f32);
  const int loaded = fake_.loaded_modules;
  const Stream stream = Stream::create();
  fake_.capturing = stream.handle();  // where compiling would be an error
  fake_.recording = false;
  for (int64_t m = 0; m <= 4096; ++m)
    product.launch({.stream = stream, .out = {c.slice(0, 0, m)}, .tune = TunePolicy::frozen},
                   a.slice(0, 0, m), b);
  fake_.recording = true;
  EXPECT_EQ(fake_.loaded_modules, loaded);
  EXPECT_LE(loaded - before, 12);
  product.launch({.stream = stream, .out = {c.slice(0, 0, 130)}}, a.slice(0, 0, 130), b);
  const uint64_t blocks = fake_.launches.back().grid;
  product.launch({.stream = stream, .out = {c.slice(0, 0, 250)}}, a.slice(0, 0, 250), b);
  EXPECT_GT(fake_.launches.back().grid, blocks);
}

}  // namespace
}  // namespace tilewright
