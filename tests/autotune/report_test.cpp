// Reports of searches.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/small_kernels.h"
#include "tests/support/xml.h"
#include "tilewright/autotune/report.h"
#include "tilewright/autotune/simulated_device.h"
#include "tilewright/autotune/svg_chart.h"

namespace tilewright::tune {
namespace {

using testing::parse_xml;
using testing::XmlPage;

ReportEntry searched(const ir::Function& fn, const SimulationOptions& options) {
  ReportEntry entry;
  entry.fn = &fn;
  entry.target = parse_target("sm_90a");
  const Calibration calibration = Calibration::typical(entry.target);
  SimulatedDevice device(fn, entry.target, calibration, options);
  entry.result = search(SearchSpace::of(fn, entry.target), calibration, device, {});
  entry.cuda = {"__global__ void f() { if (a < b && c > d) \"text\"; }"};
  return entry;
}

const ReportEntry& entry() {
  static const auto fn = testing::make_product().handle().trace(std::vector<CompileArg>{
      contiguous_spec(DType::bf16, {512, 256}), contiguous_spec(DType::bf16, {256, 512})});
  static const ReportEntry made =
      searched(*fn, {.seed = 2, .crashes = 0.1, .wrong = 0.1, .refused = 0.1});
  return made;
}

void expect_self_contained(const std::string& html) {
  const XmlPage page = parse_xml(html);
  EXPECT_EQ(page.problem, "");
  EXPECT_GT(page.names.size(), 20u);
  for (const std::string_view word : {"http:", "https:", "//", "url(", "@import"})
    EXPECT_EQ(html.find(word), std::string::npos) << word;
  for (const auto& [key, value] : page.attributes) {
    EXPECT_NE(key, "src");
    if (key == "href") {
      EXPECT_TRUE(value.starts_with('#')) << value;
    }
  }
  for (const std::string_view name : {"script", "link", "img", "iframe", "object"})
    EXPECT_EQ(std::ranges::count(page.names, name), 0) << name;
}

TEST(TuneReport, IsOneWellFormedPage) {
  const std::string html = report_page(std::vector{entry()});
  expect_self_contained(html);
  const XmlPage page = parse_xml(html);
  EXPECT_GE(std::ranges::count(page.names, "svg"), 4);
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(TuneReport, ShowsTheSearch) {
  const XmlPage page = parse_xml(report_page(std::vector{entry()}));
  const Trial& best = entry().result.winner();
  const std::vector<std::string> parts = {
      "product on simulated sm_90a",
      "Simulated: no GPU was involved",
      "a bf16[512,256], b bf16[256,512], c bf16[512,512]",
      to_json(best.config),
      fmt::format("{:.4g} us", best.microseconds),
      std::string(to_string(entry().result.ending)),
      entry().cuda[0],
      "block rows",
      "simulated: an illegal memory access",
      "A wrong result is a bug in Tilewright. To see it: tilewright run product"};
  for (const std::string& part : parts) EXPECT_NE(page.text.find(part), std::string::npos) << part;
  // A dot for each config that ran, and one for each improvement.
  const auto ran = std::ranges::count(entry().result.trials, Trial::Status::ok, &Trial::status);
  EXPECT_EQ(std::ranges::count(page.names, "circle"),
            ran + static_cast<int64_t>(entry().result.improvements.size()));
}

TEST(TuneReport, SeveralSearchesAndThoseWithoutAResult) {
  static const auto fn = testing::make_add().handle().trace(std::vector<CompileArg>{
      contiguous_spec(DType::f32, {100}), contiguous_spec(DType::f32, {100})});
  ReportEntry failed = searched(*fn, {.crashes = 1});
  failed.cuda.clear();
  EXPECT_EQ(failed.result.best, -1);
  const std::string html = report_page(std::vector{entry(), failed});
  expect_self_contained(html);
  EXPECT_NE(html.find("2 searches"), std::string::npos);
  EXPECT_NE(html.find("nothing was measured"), std::string::npos);
}

TEST(TuneReport, TextIsEscaped) {
  EXPECT_EQ(escaped("a < b && \"c\" > d"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escaped(std::string_view("\x1b[1m\n", 5)), "[1m\n");
}

TEST(TuneReport, ScalesHaveRoundTicks) {
  const Scale line(Scale::Kind::linear, 0.3, 8.9, 0, 100);
  EXPECT_EQ(line.ticks(), (std::vector<double>{2, 4, 6, 8}));
  EXPECT_DOUBLE_EQ(line.at(0.3), 0);
  EXPECT_DOUBLE_EQ(line.at(8.9), 100);
  const Scale log(Scale::Kind::logarithmic, 0.9, 110, 0, 100);
  EXPECT_EQ(log.ticks(), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
  EXPECT_NEAR(log.at(std::sqrt(0.9 * 110)), 50, 1e-9);
}

}  // namespace
}  // namespace tilewright::tune
