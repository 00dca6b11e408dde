// The rows of the examples' kernels: none is missing, configs fit, and samples show what whole
// calls give.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "bench/example_row.h"
#include "bench/example_samples.h"
#include "bench/torch_peers.h"
#include "examples/kernels/embedding.h"
#include "examples/kernels/grouped_matmul.h"
#include "examples/kernels/jagged.h"
#include "examples/kernels/segments.h"

namespace tilewright::bench {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::shared_ptr<const ir::Function> trace(const ExampleRow& row, const Config& config) {
  return row.kernel->trace(row.compile_args(), config);
}

TEST(BenchExamples, EveryKernelHasARow) {
  std::set<std::string> measured;
  for (const ExampleRow& row : example_rows()) measured.insert(row.kernel->name());
  // These tell what tiles are; nobody waits for them.
  measured.insert({"tile_pairs", "tile_ranges"});
  const std::string text = text_of("examples/kernels/register.cpp");
  const std::regex kernel("RegisterKernel\\(examples::(\\w+)\\)");
  int kernels = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), kernel), end; at != end; ++at, ++kernels)
    EXPECT_TRUE(measured.contains((*at)[1])) << (*at)[1];
  EXPECT_GT(kernels, 30);
}

TEST(BenchExamples, NamesAreUniqueAndKnownToPyTorch) {
  const std::string script = text_of("bench/peers_torch.py");
  std::set<std::string> names;
  for (const ExampleRow& row : example_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const std::string kind = row.name.substr(0, row.name.find(' '));
    EXPECT_NE(script.find("\"" + kind + "\": "), std::string::npos) << kind;
  }
}

TEST(BenchExamples, HandSetAndDefaultConfigsFit) {
  const Target target = parse_target("sm_90a");
  for (const ConfigEntry& entry : example_configs()) {
    int rows = 0;
    for (const ExampleRow& row : example_rows()) rows += matches(entry.shape, row.name);
    EXPECT_GT(rows, 0) << entry.shape;
  }
  for (const ExampleRow& row : example_rows()) {
    SCOPED_TRACE(row.name);
    if (const std::optional<Config> hand = config_for(example_configs(), row.name)) {
      EXPECT_NO_THROW(check_config(*hand, *trace(row, *hand), target));
    }
    const auto fn = trace(row, {});
    EXPECT_NO_THROW(check_config(default_config(*fn, target), *fn, target));
  }
}

Array random(std::vector<int64_t> sizes, DType dtype = DType::f32) {
  static int seed = 0;
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i * 37 + ++seed * 11) % 17 - 8) / 8);
  EXPECT_EQ(dtype, DType::f32);
  return Array::from_host(values, std::move(sizes), Device::cpu());
}

/// Does a whole call, then its samples.
void expect_samples_agree(const KernelHandle& kernel, const std::vector<Array>& tensors,
                          const std::function<std::vector<RowSample>(const RowMemory&)>& samples,
                          const std::optional<CallArg>& number = {}) {
  SCOPED_TRACE(kernel.name());
  const auto call = [&](const std::vector<Array>& arrays, const std::optional<CallArg>& last) {
    std::vector<CallArg> args;
    for (const Array& array : arrays) args.push_back(CallArg::tensor(array.view()));
    if (last) args.push_back(*last);
    return kernel.call(args);
  };
  const std::vector<Array> whole = call(tensors, number);
  RowMemory memory;
  for (const Array& tensor : tensors) memory.tensors.push_back(tensor.view());
  for (const Array& result : whole) memory.results.push_back(result.view());
  int compared = 0;
  for (const RowSample& sample : samples(memory)) {
    const std::vector<Array> part = call(sample.tensors, sample.number ? sample.number : number);
    const Array expected = Array::copy_of(sample.results.at(0), Device::cpu());
    ASSERT_EQ(part.at(0).elements(), expected.elements());
    for (int64_t i = 0; i < expected.elements(); ++i, ++compared)
      EXPECT_NEAR(part[0].value(i), expected.value(i), 1e-5);
  }
  EXPECT_GT(compared, 0);
}

TEST(BenchExamples, SamplesOfCallsAgreeWithThem) {
  const auto all = [](auto... arrays) {
    std::vector<Array> list;
    (list.push_back(std::move(arrays)), ...);
    return list;
  };
  const auto groups = [](int matrices, int offsets, int bias) {
    return [=](const RowMemory& memory) { return rows_of_groups(memory, matrices, offsets, bias); };
  };
  const std::vector<int64_t> tokens = {3, 0, 2, 0, 4, 3};
  const auto list = [](const std::vector<int64_t>& values) {
    return Array::from_host(values, {static_cast<int64_t>(values.size())}, Device::cpu());
  };
  expect_samples_agree(examples::grouped_matmul,
                       all(random({6, 4}), random({3, 4, 5}), offsets_of({1, 2, 3})),
                       groups(1, 2, -1));
  expect_samples_agree(
      examples::jagged_dense,
      all(random({6, 4}), offsets_of({4, 0, 2}), random({3, 4, 5}), random({3, 5})),
      groups(2, 1, 3));
  expect_samples_agree(examples::jagged_softmax, all(random({6, 4}), offsets_of({4, 0, 2})),
                       groups(-1, 1, -1));
  expect_samples_agree(
      examples::moe_matmul,
      all(random({5, 4}), random({2, 4, 3}), list(tokens), random({6}), offsets_of({2, 4})),
      one_token);
  expect_samples_agree(examples::embedding, all(list(tokens), random({5, 3})), tokens_of_embedding);
  expect_samples_agree(examples::segment_sum, all(random({20, 3}), ascending(20, 12)),
                       first_segments, CallArg::known(int64_t{12}));
}

TEST(BenchExamples, ContentsAreInBounds) {
  const Array offsets = random_offsets(5, 40);
  EXPECT_EQ(offsets.value(0), 0);
  EXPECT_EQ(offsets.value(5), 40);
  for (int i = 0; i < 5; ++i) EXPECT_LE(offsets.value(i), offsets.value(i + 1));
  EXPECT_LE(falling(2, 30).value(29), 0);
}

TEST(BenchExamples, AnswersOfPyTorchAreRead) {
  const PeerTimes times =
      parse_peer_times(R"({"row":"a","eager":3.5,"copy":2,"compile_problem":"no"})");
  EXPECT_EQ(times.us.size(), 2U);
  EXPECT_EQ(times.us.at("eager"), 3.5);
  EXPECT_EQ(times.problem, "no");
  EXPECT_NE(parse_peer_times("Traceback").problem, "");
}

}  // namespace
}  // namespace tilewright::bench
