// Parts of the tuner that need no device: comparing, plans as bytes, messages, compiling ahead.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <limits>

#include "tests/support/small_kernels.h"
#include "tilewright/autotune/compare.h"
#include "tilewright/autotune/compile_pool.h"
#include "tilewright/autotune/config_fields.h"
#include "tilewright/autotune/measure.h"
#include "tilewright/autotune/plan_text.h"
#include "tilewright/autotune/surrogate.h"
#include "tilewright/autotune/worker_protocol.h"

namespace tilewright::tune {
namespace {

TEST(TuneCompare, RoundingIsAllowedAndNothingElse) {
  const std::vector<float> expected{1, -2, 100, NAN, 0};
  std::vector<float> found = expected;
  const auto wrong = [&] {
    return compare(DType::f32, found.data(), expected.data(), 5, {}).wrong;
  };
  EXPECT_EQ(wrong(), 0);
  found[1] = std::nextafter(-2.0f, 0.0f);
  EXPECT_EQ(wrong(), 0);
  found[4] = 1e-4f;  // small beside 100
  EXPECT_EQ(wrong(), 0);
  found[0] = 1.01f;
  found[4] = NAN;
  const Difference difference = compare(DType::f32, found.data(), expected.data(), 5, {});
  EXPECT_EQ(difference.wrong, 2);
  EXPECT_EQ(difference.where, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(difference.found), 1.01f);
  EXPECT_EQ(difference.expected, 1);
}

TEST(TuneCompare, IntegersAreEqual) {
  const std::vector<int64_t> expected{int64_t{1} << 60, 5};
  const std::vector<int64_t> found{(int64_t{1} << 60) + 1, 5};
  EXPECT_EQ(compare(DType::i64, found.data(), expected.data(), 2, {}).wrong, 1);
}

TEST(TuneCompare, PoisonIsNoResult) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f8e4m3, DType::i32, DType::u8}) {
    std::vector<std::byte> poison(64 * 8), random(64 * 8);
    fill_poison(dtype, poison.data(), 64 * size_of(dtype));
    fill_random(dtype, random.data(), 64, 3);
    EXPECT_EQ(compare(dtype, poison.data(), random.data(), 64, {}).wrong, 64) << to_string(dtype);
    EXPECT_EQ(compare(dtype, poison.data(), poison.data(), 64, {}).wrong, 0) << to_string(dtype);
  }
}

// Long tensors are compared in parts, in threads.
TEST(TuneCompare, LongTensors) {
  constexpr int64_t count = 5 << 20;
  std::vector<std::byte> a(count), b(count);
  fill_random(DType::u8, a.data(), count, 1);
  b = a;
  for (const int64_t at : {int64_t{7}, count / 2, count - 1})
    b[static_cast<size_t>(at)] ^= std::byte{1};
  const Difference difference = compare(DType::u8, b.data(), a.data(), count, {});
  EXPECT_EQ(difference.wrong, 3);
  EXPECT_EQ(difference.where, 7);
}

TEST(TuneCompare, RandomContents) {
  std::vector<float> a(3'000'000), b(a.size());
  fill_random(DType::f32, a.data(), static_cast<int64_t>(a.size()), 5);
  fill_random(DType::f32, b.data(), static_cast<int64_t>(b.size()), 6);
  EXPECT_NE(a, b);
  EXPECT_NE(std::vector(a.begin(), a.begin() + 1000), std::vector(a.end() - 1000, a.end()));
  for (const float x : {a.front(), a[1'048'573], a.back()}) {
    EXPECT_GE(x, -1);
    EXPECT_LT(x, 1);
  }
}

CompiledKernel product_plan(const Config& config, const char* target = "sm_90a") {
  return testing::make_product().compile(
      {contiguous_spec(DType::bf16, {256, 128}), contiguous_spec(DType::bf16, {128, 256})},
      {.target = parse_target(target), .config = config});
}

TEST(TunePlanText, RoundTrip) {
  const Config bulk =
      parse_config(R"({"block":[64,64,64],"warps":4,"stages":2,"copy":"tma","matrix":"wgmma"})");
  const Config plain = parse_config(R"({"block":[64,64,32],"warps":4})");
  for (const Config& config : {bulk, plain}) {
    const codegen::Plan plan = product_plan(config).plan();
    const std::string bytes = encode_plan(plan);
    const codegen::Plan again = decode_plan(bytes);
    EXPECT_EQ(encode_plan(again), bytes);
    ASSERT_EQ(again.steps.size(), plan.steps.size());
    const codegen::KernelStep &found = again.steps[0].kernel, &expected = plan.steps[0].kernel;
    EXPECT_EQ(found.source, expected.source);
    EXPECT_TRUE(codegen::same(found.grid, expected.grid));
    ASSERT_EQ(found.params.size(), expected.params.size());
    for (size_t i = 0; i < found.params.size(); ++i)
      EXPECT_EQ(found.params[i].map, expected.params[i].map);
    EXPECT_EQ(again.target, plan.target);
  }
  EXPECT_THROW(decode_plan("{}"), std::exception);
}

TEST(TuneMessages, RoundTrip) {
  WorkerJob job;
  job.kind = WorkerJob::Kind::attempt;
  job.device = "cuda:3";
  job.params.push_back({.name = "x",
                        .dtype = DType::bf16,
                        .bits = 7,
                        .spec = contiguous_spec(DType::bf16, {3, 4}, 8),
                        .written = true,
                        .same_as = 2,
                        .offset = int64_t{1} << 40,
                        .seed = ~uint64_t{0}});
  job.ids = {4, 5};
  job.plan = "a plan";
  job.binaries = {{std::string("\0\xff\x80", 3), "ptx", 13000}};
  job.trusted = true;
  const std::string message = to_message(job);
  EXPECT_EQ(message_length(message), message.size());
  EXPECT_EQ(message_length(message.substr(0, message.size() - 1)), 0u);
  EXPECT_EQ(message_length(message + "more"), message.size());
  const WorkerJob again = parse_job(message);
  EXPECT_EQ(to_message(again), message);
  EXPECT_EQ(again.binaries.at(0).cubin, job.binaries[0].cubin);
  EXPECT_EQ(again.params.at(0).spec, job.params[0].spec);

  WorkerAnswer answer;
  answer.status = Trial::Status::wrong;
  answer.message = "3 elements";
  answer.times = {{1.5, 2}, {}};
  answer.disproved = {1};
  const WorkerAnswer back = parse_answer(to_message(answer));
  EXPECT_EQ(back.status, answer.status);
  EXPECT_EQ(back.times, answer.times);
  EXPECT_EQ(back.disproved, answer.disproved);
  EXPECT_THROW(parse_answer("not a message"), std::exception);
}

TEST(TuneFields, RoundTrip) {
  const Config config = parse_config(
      R"({"block":[128,64,32],"order":[1,0],"warps":8,"copy":"tma","persistent":true})");
  const ConfigFields fields = fields_of(config);
  EXPECT_EQ(fields.at("block[1]"), "64");
  EXPECT_EQ(fields.at("copy"), "\"tma\"");
  EXPECT_EQ(config_of(fields), config);
}

// A clock that slows down during a race disturbs no comparison.
TEST(TuneSummary, DriftOfARaceIsRemoved) {
  std::vector<std::vector<double>> times = {
      {100, 104, 120, 98, 101}, {}, {200, 208, 240, 196, 202}};
  remove_drift(times);
  EXPECT_TRUE(times[1].empty());
  for (size_t round = 0; round < 5; ++round) {
    EXPECT_NEAR(times[0][round], 101, 1e-9);
    EXPECT_NEAR(times[2][round], 202, 1e-9);
  }
  std::vector<std::vector<double>> one = {{1, 2, 3}};
  remove_drift(one);
  EXPECT_EQ(one[0], (std::vector<double>{1, 2, 3}));
}

TEST(TuneSummary, Quantities) {
  const Summary three = summarize({3, 1, 2});
  EXPECT_EQ(three.median, 2);
  EXPECT_GT(three.error, 0);
  EXPECT_EQ(summarize({}).median, std::numeric_limits<double>::infinity());
  EXPECT_EQ(summarize({5, 5}).error, std::numeric_limits<double>::infinity());
  // More samples of the same spread tell more; one that was disturbed tells nothing.
  std::vector<double> samples;
  for (int i = 0; i < 25; ++i) samples.push_back(100 + i % 5);
  const Summary few = summarize({samples.begin(), samples.begin() + 10}), many = summarize(samples);
  EXPECT_LT(many.error, few.error);
  samples[3] = 1000;
  EXPECT_NEAR(summarize(samples).error, many.error, 0.3 * many.error);
}

// Learns a factor for one value, and is less sure about a value it never saw.
TEST(TuneSurrogate, LearnsWhatAValueCosts) {
  std::vector<Surrogate::Sample> samples;
  for (int i = 0; i < 24; ++i)
    samples.push_back({{{"stages", i % 2 == 0 ? "2" : "3"}, {"warps", i % 3 == 0 ? "4" : "8"}},
                       i % 2 == 0 ? 0.5 : -0.1});
  const Surrogate surrogate(samples);
  const auto slow = surrogate.estimate({{"stages", "2"}, {"warps", "4"}});
  const auto fast = surrogate.estimate({{"stages", "3"}, {"warps", "4"}});
  const auto unknown = surrogate.estimate({{"stages", "4"}, {"warps", "4"}});
  EXPECT_NEAR(slow.log_ratio, 0.5, 0.06);
  EXPECT_NEAR(fast.log_ratio, -0.1, 0.06);
  EXPECT_GT(unknown.deviation, 1.2 * fast.deviation);
}

codegen::Plan plan_with_source(const std::string& source) {
  codegen::Plan plan;
  plan.steps.emplace_back().kernel.source = source;
  return plan;
}

Config config_with_warps(int warps) {
  Config config;
  config.block = {32};
  config.warps = warps;
  return config;
}

// Two configs of one source, one that cannot be lowered, one that the compiler refuses.
TEST(TuneCompilePool, EachSourceOnce) {
  std::atomic<int> compiled = 0;
  CompilePool pool(
      [](const Config& config) {
        if (config.warps == 8) throw std::runtime_error("too many warps");
        return plan_with_source(config.warps == 4 ? "bad" : "good");
      },
      [&](const codegen::Plan& plan) -> std::vector<std::shared_ptr<const runtime::CompiledCuda>> {
        ++compiled;
        if (plan.steps[0].kernel.source == "bad") throw std::runtime_error("the log");
        return {std::make_shared<runtime::CompiledCuda>()};
      },
      3);
  const std::vector<Config> all{config_with_warps(1), config_with_warps(2), config_with_warps(4),
                                config_with_warps(8)};
  pool.want(all);
  EXPECT_EQ(pool.get(all[0])->status, Trial::Status::ok);
  EXPECT_EQ(pool.get(all[1])->binaries, pool.get(all[0])->binaries);
  EXPECT_EQ(pool.get(all[2])->status, Trial::Status::failed_compile);
  EXPECT_EQ(pool.get(all[2])->message, "the log");
  EXPECT_EQ(pool.get(all[3])->status, Trial::Status::refused);
  EXPECT_EQ(pool.get(all[3])->message, "too many warps");
  EXPECT_EQ(compiled, 2);
}

TEST(TuneCompilePool, WhatIsNotWantedAnyMoreIsDropped) {
  std::promise<void> begun, go_on;
  std::atomic<int> compiled = 0;
  std::set<std::string> sources;
  {
    CompilePool pool(
        [](const Config& config) { return plan_with_source(fmt::to_string(config.warps)); },
        [&](const codegen::Plan& plan)
            -> std::vector<std::shared_ptr<const runtime::CompiledCuda>> {
          if (compiled++ == 0) {
            begun.set_value();
            go_on.get_future().wait();
          }
          sources.insert(plan.steps[0].kernel.source);
          return {};
        },
        1);
    pool.want(std::vector{config_with_warps(1), config_with_warps(2), config_with_warps(3)});
    begun.get_future().wait();
    pool.want(std::vector{config_with_warps(4)});
    go_on.set_value();
    pool.get(config_with_warps(4));
  }
  EXPECT_EQ(sources, (std::set<std::string>{"1", "4"}));
}

}  // namespace
}  // namespace tilewright::tune
