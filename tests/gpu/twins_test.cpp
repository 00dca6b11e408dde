// Device helpers and their host implementations do the same: each probe runs on the GPU and in the
// emulator. TILEWRIGHT_RECORD_FIXTURES=<folder> writes what the GPU gave, for
// tests/emulate/fixtures, against which machines without a GPU compare.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/gpu.h"
#include "tests/support/twin_probe_list.h"
#include "tilewright/runtime/array.h"
#include "tilewright/runtime/executable.h"
#include "tilewright/runtime/stream.h"

namespace tilewright::testing {
namespace {

constexpr Device kGpu = Device::cuda(0);

class GpuTwins : public GpuTest, public ::testing::WithParamInterface<TwinProbe> {};
INSTANTIATE_TEST_SUITE_P(Probes, GpuTwins, ::testing::ValuesIn(twin_probes()),
                         [](const auto& info) { return info.param.name; });

Array to_gpu(const Words& words) {
  const std::vector<int32_t> values(words.begin(), words.end());
  return Array::from_host(values, {static_cast<int64_t>(values.size())}, kGpu);
}

Words run_on_gpu(const TwinProbe& probe, const Target& target) {
  const codegen::Plan plan = probe.plan(target);
  const Array in = to_gpu(probe.inputs());
  const Array out = to_gpu(Words(static_cast<size_t>(probe.out_words)));
  const runtime::ContextScope context(0);
  const runtime::Executable executable(plan, runtime::compile_plan(plan),
                                       {{DType::i32, true}, {DType::i32, true}}, 0);
  const Stream stream = Stream::create();
  const runtime::ParamValue values[] = {{reinterpret_cast<uintptr_t>(in.data())},
                                        {reinterpret_cast<uintptr_t>(out.data())}};
  executable.launch(values, nullptr, stream.handle());
  synchronize(kGpu);
  const Array host = out.to_host();
  const auto found = host.values<int32_t>();
  return {found.begin(), found.end()};
}

void record(const TwinProbe& probe, const Words& words, const Target& target) {
  const char* folder = std::getenv("TILEWRIGHT_RECORD_FIXTURES");
  if (folder == nullptr || *folder == '\0') return;
  std::filesystem::create_directories(folder);
  std::ofstream file(fmt::format("{}/{}.txt", folder, probe.name));
  file << "# " << probe.name << " on a GPU, compiled for " << target.name() << "\n";
  int column = 0;
  for (const uint32_t word : probe.sample(words))
    file << fmt::format("{:08x}{}", word, ++column % 8 == 0 ? "\n" : " ");
  file << "\n";
  EXPECT_TRUE(file.good()) << folder;
}

TEST_P(GpuTwins, GiveTheSame) {
  const TwinProbe& probe = GetParam();
  const Target target = runtime::device_target(0);
  if (!probe.fits(target)) GTEST_SKIP() << target.name() << " does not have " << probe.name;
  const Words found = run_on_gpu(probe, target);
  record(probe, found, target);
  std::string report;
  const Words emulated = probe.emulate(target, report);
  EXPECT_EQ(report, "") << probe.code();
  EXPECT_EQ(probe.difference(emulated, found), "") << probe.code();
}

}  // namespace
}  // namespace tilewright::testing
