// Predicted times: what must hold of them whatever the figures are.
#include "tilewright/autotune/time_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/config/config_samples.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/parse.h"

namespace tilewright::tune {
namespace {

using testing::looped_sum_text;
using testing::product_text;
using testing::sum_text;
using testing::transposition_text;
using testing::two_dots_text;
using testing::whole_rows_text;

Prediction predicted(const std::string& text, const std::string& config,
                     std::string_view target = "sm_90a") {
  const Target on = parse_target(target);
  return predict(ir::parse(text), parse_config(config), on, Calibration::typical(on));
}

constexpr const char* kLarge =
    R"({"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true})";

TEST(TimeModel, SaysWhatBounds) {
  EXPECT_EQ(predicted(product_text(4096, 4096, 4096, "bf16"), kLarge).bound, "tensor cores");
  EXPECT_EQ(predicted(product_text(2048, 2048, 2048), R"({"block":[128,128,16],"warps":8})").bound,
            "CUDA cores");
  EXPECT_EQ(predicted(sum_text(1 << 28), R"({"block":[2048],"warps":8})").bound, "memory");
  EXPECT_EQ(predicted(product_text(64, 64, 16384, "bf16"),
                      R"({"block":[64,64,64],"stages":2,"copy":"tma","matrix":"wgmma"})")
                .bound,
            "latency");
}

TEST(TimeModel, CountsBlocksAndWaves) {
  const Prediction one = predicted(product_text(4096, 4096, 4096, "bf16"), kLarge);
  EXPECT_EQ(one.resident, 1);
  EXPECT_DOUBLE_EQ(one.waves, 512.0 / 132);
  EXPECT_EQ(one.blocks, 132);
  const Prediction split = predicted(
      product_text(256, 256, 8192, "bf16"),
      R"({"block":[128,128,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","split_k":4})");
  EXPECT_EQ(split.blocks, 16);
}

// A cluster has its blocks, whether or not the grid has tiles for them.
TEST(TimeModel, ClustersThatTheGridDoesNotFillCost) {
  const std::string text = product_text(64, 8192, 8192, "bf16");
  const auto us = [&](int cluster) {
    return predicted(text, fmt::format(R"({{"block":[64,64,128],"stages":5,"copy":"tma",)"
                                       R"("matrix":"wgmma","cluster":{}}})",
                                       cluster))
        .microseconds;
  };
  EXPECT_GE(us(2), us(1));
  EXPECT_GT(us(8), us(1));
}

TEST(TimeModel, MoreWorkTakesLonger) {
  double last = 0;
  for (const int size : {512, 1024, 2048, 4096, 8192}) {
    const double us = predicted(product_text(size, size, size, "bf16"), kLarge).microseconds;
    EXPECT_GT(us, last) << size;
    last = us;
  }
  // No faster than memory and the unit allow, and not much slower for a large product.
  const Calibration typical = Calibration::typical(parse_target("sm_90a"));
  const double least = 2.0 * 8192 * 8192 * 8192 / typical.rate(MatrixUnit::wgmma, "bf16");
  EXPECT_GT(last, least);
  EXPECT_LT(last, 1.3 * least);
}

TEST(TimeModel, AFasterDeviceIsFaster) {
  const Target target = parse_target("sm_90a");
  const Calibration typical = Calibration::typical(target);
  const auto us = [&](const std::string& text, const std::string& config, const Calibration& with) {
    return predict(ir::parse(text), parse_config(config), target, with).microseconds;
  };
  Calibration faster = typical;
  faster.copy_bytes_per_us *= 2;
  const std::string sum = sum_text(1 << 26), sum_config = R"({"block":[2048],"warps":8})";
  EXPECT_LT(us(sum, sum_config, faster), 0.6 * us(sum, sum_config, typical));
  faster = typical;
  for (auto& [name, rate] : faster.operations_per_us) rate *= 2;
  const std::string product = product_text(4096, 4096, 4096, "bf16");
  EXPECT_LT(us(product, kLarge, faster), 0.8 * us(product, kLarge, typical));
}

TEST(TimeModel, PipelinesAndOccupancyHideLatency) {
  const std::string text = product_text(4096, 4096, 4096, "bf16");
  const auto us = [&](int stages, const char* copy) {
    return predicted(text, fmt::format(
                               R"({{"block":[128,128,32],"stages":{},"copy":"{}","matrix":"mma"}})",
                               stages, copy))
        .microseconds;
  };
  EXPECT_GT(us(1, "cp_async"), us(2, "cp_async"));
  EXPECT_GT(us(2, "cp_async"), us(4, "cp_async"));
  EXPECT_GT(us(2, "sync"), us(2, "cp_async"));
}

TEST(TimeModel, OneModelForManyConfigsGivesTheSame) {
  const ir::Function fn = ir::parse(product_text(1000, 999, 998, "bf16"));
  const Target target = parse_target("sm_90a");
  const Calibration typical = Calibration::typical(target);
  const TimeModel model(fn, target, typical);
  for (const char* json : {R"({"block":[64,64,64],"matrix":"mma"})", R"({"block":[32,128,64]})",
                           R"({"block":[64,64,64],"matrix":"mma","stages":3})"}) {
    const Config config = parse_config(json);
    EXPECT_EQ(model.microseconds(config), predict(fn, config, target, typical).microseconds);
    EXPECT_EQ(model.microseconds(config), model.microseconds(config));
  }
}

std::vector<std::string> kernels() {
  return {product_text(4096, 4096, 4096, "bf16"),
          product_text(16, 4096, 4096, "bf16"),
          product_text(333, 222, 111),
          product_text(128, 128, 0),
          product_text(0, 5, 7),
          sum_text(1 << 20),
          sum_text(0),
          transposition_text(1000, 700),
          whole_rows_text(100, 3000, "bf16"),
          whole_rows_text(16, 100000),
          looped_sum_text(300, 5000, 1),
          two_dots_text(512, 64)};
}

// What an untuned kernel runs: never worse than the default by the model's own figures, and the
// whole compiler takes it.
TEST(ModelPick, IsNoWorseThanTheDefaultAndCompiles) {
  for (const std::string& text : kernels())
    for (const char* name : {"sm_75", "sm_80", "sm_90a"}) {
      const ir::Function fn = ir::parse(text);
      const Target target = parse_target(name);
      SCOPED_TRACE(text.substr(0, 80) + name);
      const Calibration typical = Calibration::typical(target);
      const Config pick = model_pick(fn, target, typical);
      EXPECT_LE(predict(fn, pick, target, typical).microseconds,
                predict(fn, default_config(fn, target), target, typical).microseconds)
          << to_json(pick);
      EXPECT_NO_THROW(codegen::lower(fn, pick, target)) << to_json(pick);
      if (target.sm == 80) {
        EXPECT_EQ(pick, model_pick(fn, target, typical));
      }
    }
}

// Where the kernel pins more than fits, compiling the pick says so.
TEST(ModelPick, OfAKernelThatNoConfigFits) {
  const ir::Function fn = ir::parse(whole_rows_text(10, 1 << 20));
  const Target target = parse_target("sm_80");
  EXPECT_NO_THROW(model_pick(fn, target, Calibration::typical(target)));
}

}  // namespace
}  // namespace tilewright::tune
