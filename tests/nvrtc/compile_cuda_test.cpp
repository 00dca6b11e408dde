// Compiling CUDA text, and finding the result again in a second process.
#include <gtest/gtest.h>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/support/expect_error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/cubin_cache.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/nvrtc_note.h"

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;

constexpr const char* kSource =
    "// Adds one.\n"
    "extern \"C\" __global__ void __launch_bounds__(128) plus_one(float* x) {\n"
    "  x[blockIdx.x * 128 + threadIdx.x] += 1.0f;  // each thread its own\n"
    "}\n";

class CompileCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tw-nvrtc-").string() + std::string(6, 'X');
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  int files(std::string_view extension) const {
    int count = 0;
    for (const auto& file : fs::directory_iterator(folder_))
      count += file.path().extension() == extension;
    return count;
  }
  std::string folder_;
};

TEST_F(CompileCuda, GivesMachineCodePtxAndResourcesForEveryTarget) {
  for (const char* arch : {"sm_75", "sm_80", "sm_90a", "sm_120"}) {
    const CompiledCuda made = compile_cuda(kSource, "plus_one", parse_target(arch));
    EXPECT_EQ(made.cubin.substr(0, 4), std::string(ELFMAG, SELFMAG)) << arch;
    EXPECT_NE(made.ptx.find(".entry plus_one"), std::string::npos) << arch;
    EXPECT_GT(made.resources.registers, 0) << arch;
    EXPECT_EQ(made.resources.spill_bytes, 0) << arch;
    EXPECT_GE(made.compiler, 12000);
  }
}

TEST_F(CompileCuda, DoesNotContractProductsAndSums) {
  const CompiledCuda made =
      compile_cuda("extern \"C\" __global__ void k(float* x) { x[0] = x[1] * x[2] + x[3]; }", "k",
                   parse_target("sm_80"));
  EXPECT_EQ(made.ptx.find("fma"), std::string::npos) << made.ptx;
}

// A product's accumulator is changed before the product is waited for.
constexpr const char* kSerialized = R"(
extern "C" __global__ void __launch_bounds__(128) serialized(float* out, long long a, int n) {
  float d[4] = {};
  for (int i = 0; i < n; ++i) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a + i));
    asm volatile("wgmma.commit_group.sync.aligned;");
    d[0] += 1.0f;
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
})";

TEST_F(CompileCuda, TellsOfSerializedProducts) {
  std::vector<std::string> warnings;
  set_log_handler([&](LogLevel level, std::string_view message) {
    if (level == LogLevel::warning) warnings.emplace_back(message);
  });
  const CompiledCuda made = compile_cuda(kSerialized, "serialized", parse_target("sm_90a"));
  set_log_handler({});
  const std::vector<std::string> notes = made.notes();
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("wgmma.mma_async instructions are serialized") != note.npos;
  })) << made.log;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("kernel serialized: (C75"), std::string::npos) << warnings[0];
  // The cache keeps the log, and with it the notes.
  EXPECT_EQ(decode_entry(encode_entry(made))->notes(), notes);
}

TEST_F(CompileCuda, OrdinaryKernelsHaveNoNotes) {
  EXPECT_EQ(compile_cuda(kSource, "plus_one", parse_target("sm_90a")).notes(),
            std::vector<std::string>{});
}

TEST_F(CompileCuda, ErrorsCarryTheLog) {
  expect_error(ErrorId::nvrtc_compile, 0, "broken.cu(1): error", [] {
    compile_cuda("extern \"C\" __global__ void k() { int x = ; }", "broken", parse_target("sm_80"));
  });
}

TEST_F(CompileCuda, HeadersAreNotThere) {
  expect_error(ErrorId::nvrtc_compile, 0, "cuda_fp16.h",
               [] { compile_cuda("#include <cuda_fp16.h>\n", "k", parse_target("sm_80")); });
}

TEST_F(CompileCuda, CommentsDoNotCount) {
  CubinCache cache(folder_);
  const Target target = parse_target("sm_80");
  const auto first = compile_cached(kSource, "plus_one", target, cache);
  EXPECT_EQ(compile_cached("// Another comment.\n" + std::string(kSource), "x", target, cache),
            first);
  EXPECT_NE(compile_cached(kSource, "plus_one", parse_target("sm_86"), cache), first);
  EXPECT_EQ(files(".twc"), 2);
}

TEST_F(CompileCuda, SecondProcessFindsItAndReplacesDamage) {
  const Target target = parse_target("sm_80");
  CubinCache first(folder_);
  const std::string good = compile_cached(kSource, "plus_one", target, first)->cubin;
  std::string path;
  for (const auto& file : fs::directory_iterator(folder_))
    if (file.path().extension() == ".twc") path = file.path();
  const std::string bytes = *read_file(path);
  for (const size_t length : {size_t{0}, bytes.size() / 2}) {
    fs::resize_file(path, length);
    CubinCache next(folder_);
    EXPECT_EQ(compile_cached(kSource, "plus_one", target, next)->cubin.substr(0, 4),
              good.substr(0, 4));
    EXPECT_EQ(read_file(path)->size(), bytes.size());
  }
}

TEST_F(CompileCuda, LibraryIsRememberedByANote) {
  const std::string identity = nvrtc_identity(folder_);
  EXPECT_EQ(files(".note"), 1);
  EXPECT_EQ(nvrtc_identity(folder_), identity);
  EXPECT_EQ(nvrtc_identity(""), identity);
  for (const auto& file : fs::directory_iterator(folder_)) fs::resize_file(file.path(), 3);
  EXPECT_EQ(nvrtc_identity(folder_), identity);  // a damaged note is written again
  EXPECT_EQ(nvrtc_identity(folder_), identity);
}

TEST_F(CompileCuda, LineInfoKeepsTheSource) {
  setenv("TILEWRIGHT_LINEINFO", "1", 1);
  CubinCache cache(folder_);
  const auto made = compile_cached(kSource, "plus_one", parse_target("sm_80"), cache);
  unsetenv("TILEWRIGHT_LINEINFO");
  EXPECT_EQ(files(".cu"), 1);
  EXPECT_NE(made->cubin.find(folder_), std::string::npos);  // where profilers look
  CubinCache plain(folder_);
  EXPECT_EQ(compile_cached(kSource, "plus_one", parse_target("sm_80"), plain)->cubin.find(folder_),
            std::string::npos);
}

TEST_F(CompileCuda, ManyThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      const std::string name = fmt::format("k{}", i);
      const std::string source =
          fmt::format("extern \"C\" __global__ void {}(int* x) {{ *x = {}; }}", name, i);
      right +=
          compile_cuda(source, name, parse_target("sm_80")).ptx.find(name) != std::string::npos;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
}

}  // namespace
}  // namespace tilewright::runtime
