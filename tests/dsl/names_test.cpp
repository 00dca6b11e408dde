// The user's names, read from this very file.
#include "tilewright/dsl/names.h"
#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

TEST(Names, ComeFromTheSource) {
  const auto fn = trace(
      [](tw::Tensor input, const tw::Tensor& output, tw::Scalar<float> scale) {
        for (auto [rows, cols] : tw::tile({64, 32})) {
          const auto scaled = input[rows, cols] * scale;
          // clang-format off
          tw::Tile total =
              tw::sum(scaled, tw::axis(1)) +
              tw::max(scaled, tw::axis(1));
          // clang-format on
          tw::Tile shift;
          shift = total[tw::all, tw::none];
          for (auto step : tw::tile(3)) shift += tw::cast(step.size(), tw::f32);
          output[rows, cols] = scaled + shift;
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32}), KernelArg::scalar(f32)});
  const std::string text = ir::print(fn);
  for (const char* name :
       {"@k(%input: f32[64,32], %output: f32[64,32], %scale: f32)", "\"rows\"", "\"cols\"",
        "\"step\"", "%rows: slice", "%cols: slice", "%scaled = binary mul", "%total = binary add",
        "%shift = broadcast", "%shift.1 = tile_loop"})
    EXPECT_NE(text.find(name), std::string::npos) << "no " << name << " in\n" << text;
}

TEST(Names, AreNumberedWhereTheSourceIsUnknown) {
  const auto fn = trace(
      [](tw::Tensor input) {
        for (auto i : tw::tile(8)) input[i] = input[i] + 1;
      },
      {tensor(f32, {8})}, Loc{"no/such/file.cpp", 12});
  EXPECT_EQ(fn.params[0].name, "arg0");
}

TEST(Names, OfStatements) {
  const auto name = [](int line) { return dsl::declared_name({__FILE__, line}); };
  [[maybe_unused]] int x = 0;
  // clang-format off
  const int line = __LINE__ + 1;
  const std::vector<int> list = {
      1, 2};
  // clang-format on
  x = 3;
  x += list[0];
  const auto lambda = [] { return 1; };
  if (x == 4) x = lambda();
  EXPECT_EQ(name(line), "list");
  EXPECT_EQ(name(line + 1), "list");
  EXPECT_EQ(name(line + 3), "x");
  EXPECT_EQ(name(line + 4), "x");
  EXPECT_EQ(name(line + 5), "");
  EXPECT_EQ(name(line + 6), "");
  EXPECT_EQ(name(1000000), "");
  EXPECT_EQ(dsl::declared_name({}), "");
}

}  // namespace
}  // namespace tilewright::testing
