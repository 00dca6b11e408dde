// The cache of compiled kernels: damage, races, folders.
#include "tilewright/runtime/cubin_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/expect_error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/nvrtc_note.h"

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tw-cache-").string() + std::string(6, 'X');
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    set_log_handler({});
    fs::remove_all(folder_);
  }

  CompiledCuda entry() const {
    return {std::string("cubin\0bytes", 11), "ptx text", "log", {32, 4, 1024, 8}, 13000};
  }
  // What the cache gives, and how often it had to make it.
  std::shared_ptr<const CompiledCuda> get(CubinCache& cache, int& made) {
    return cache.get(key_, [&] {
      ++made;
      return entry();
    });
  }

  std::string folder_;
  const Hash128 key_ = hash_bytes("some kernel");
};

void expect_same(const CompiledCuda& a, const CompiledCuda& b) {
  EXPECT_EQ(a.cubin, b.cubin);
  EXPECT_EQ(a.ptx, b.ptx);
  EXPECT_EQ(a.log, b.log);
  EXPECT_EQ(a.resources, b.resources);
  EXPECT_EQ(a.compiler, b.compiler);
}

TEST_F(Cache, KeepsEntriesInMemoryAndOnDisk) {
  int made = 0;
  CubinCache cache(folder_);
  expect_same(*get(cache, made), entry());
  get(cache, made);
  EXPECT_EQ(made, 1);
  CubinCache next_process(folder_);
  expect_same(*get(next_process, made), entry());
  EXPECT_EQ(made, 1);
  for (const auto& file : fs::directory_iterator(folder_))
    EXPECT_EQ(file.path().extension(), ".twc");  // no temporary left behind
}

TEST_F(Cache, ReplacesTruncatedEntries) {
  CubinCache first(folder_);
  int made = 0;
  get(first, made);
  const std::string path = first.path_of(key_);
  const std::string good = *read_file(path);
  for (size_t length = 0; length < good.size(); ++length) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    CubinCache cache(folder_);
    made = 0;
    expect_same(*get(cache, made), entry());
    ASSERT_EQ(made, 1) << "after " << length << " bytes";
    ASSERT_EQ(*read_file(path), good);
  }
}

TEST_F(Cache, NoticesEveryFlippedByteAndAddedOnes) {
  const std::string good = encode_entry(entry());
  ASSERT_TRUE(decode_entry(good));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_FALSE(decode_entry(bad)) << "byte " << i;
  }
  EXPECT_FALSE(decode_entry(good + "x"));
}

TEST_F(Cache, NeverKeepsFailures) {
  CubinCache cache(folder_);
  EXPECT_THROW(cache.get(key_, []() -> CompiledCuda { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder_));
  int made = 0;
  get(cache, made);
  EXPECT_EQ(made, 1);
}

TEST_F(Cache, CompilesOnceForManyThreads) {
  CubinCache cache(folder_);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      expect_same(*cache.get(key_,
                             [&] {
                               ++made;
                               std::this_thread::sleep_for(std::chrono::milliseconds(20));
                               return entry();
                             }),
                  entry());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST_F(Cache, WarnsOnceAboutAFolderThatCannotBeWritten) {
  std::ofstream(folder_ + "/file") << "in the way";
  std::vector<std::string> warnings;
  set_log_handler([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  });
  CubinCache cache(folder_ + "/file/below");
  int made = 0;
  expect_same(*get(cache, made), entry());
  expect_same(*cache.get(hash_bytes("another"), [&] { return entry(); }), entry());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("TILEWRIGHT_CACHE_DIR"), std::string::npos) << warnings[0];
}

TEST_F(Cache, WorksWithoutAFolder) {
  CubinCache cache("");
  int made = 0;
  get(cache, made);
  get(cache, made);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.path_of(key_), "");
}

TEST_F(Cache, FolderComesFromTheEnvironment) {
  setenv("TILEWRIGHT_CACHE_DIR", "/a", 1);
  EXPECT_EQ(cache_folder(), "/a");
  unsetenv("TILEWRIGHT_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/b", 1);
  EXPECT_EQ(cache_folder(), "/b/tilewright");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/c", 1);
  EXPECT_EQ(cache_folder(), "/c/.cache/tilewright");
}

TEST(Hash, IsStableAndSensitive) {
  EXPECT_EQ(hash_bytes("").hex(), "6c62272e07bb014262b821756295c58d");  // FNV-1a, 128 bits
  EXPECT_NE(hash_bytes("a"), hash_bytes("b"));
  EXPECT_NE(hash_bytes(std::string_view("a\0", 2)), hash_bytes("a"));
}

TEST(File, WritesWholeFilesAndMakesFolders) {
  const std::string folder = (fs::temp_directory_path() / "tw-file-test").string();
  fs::remove_all(folder);
  std::string problem;
  EXPECT_TRUE(write_file_atomically(folder + "/a/b", "text", problem)) << problem;
  EXPECT_EQ(read_file(folder + "/a/b"), "text");
  EXPECT_FALSE(read_file(folder + "/a/c"));
  EXPECT_FALSE(write_file_atomically(folder + "/a/b/c", "text", problem));
  EXPECT_NE(problem.find("/a/b/c"), std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tilewright::runtime
