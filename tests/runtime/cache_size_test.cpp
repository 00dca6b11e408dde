// The size of the cache of compiled kernels, what is removed from it, and who may read it.
#include "tilewright/runtime/cache_size.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tilewright/ir/log.h"
#include "tilewright/runtime/cubin_cache.h"

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

class CacheSize : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tw-size-").string() + std::string(6, 'X');
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    set_log_handler({});
    unsetenv("TILEWRIGHT_CACHE_SIZE");
    fs::remove_all(folder_);
  }

  // A file that was last used `age` seconds ago.
  void put(const std::string& name, size_t bytes, int64_t age) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    set_age(path, age);
  }
  static void set_age(const std::string& path, int64_t age) {
    const timespec then = {time(nullptr) - age, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  static int64_t age_of(const std::string& path) {
    struct stat info {};
    stat(path.c_str(), &info);
    return time(nullptr) - info.st_mtim.tv_sec;
  }
  bool has(const std::string& name) const { return fs::exists(folder_ + "/" + name); }

  std::string folder_;
};

CompiledCuda entry_of(size_t bytes) {
  CompiledCuda entry;
  entry.cubin = std::string(bytes, 'c');
  return entry;
}

TEST(Bytes, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("1048576"), 1 << 20);
  EXPECT_EQ(parse_bytes("3K"), 3 << 10);
  EXPECT_EQ(parse_bytes("500MB"), 500'000'000);
  EXPECT_EQ(parse_bytes("2 GiB"), int64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1T"), int64_t{1} << 40);
  for (const char* wrong : {"", "-1", "G", "2 gigs", "1.5G", "99999999T", "99999999999999999999"})
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST_F(CacheSize, CapacityComesFromTheEnvironment) {
  std::vector<std::string> warnings;
  set_log_handler([&](LogLevel, std::string_view text) { warnings.emplace_back(text); });
  EXPECT_EQ(cache_capacity(), int64_t{2} << 30);
  setenv("TILEWRIGHT_CACHE_SIZE", "10M", 1);
  EXPECT_EQ(cache_capacity(), 10 << 20);
  EXPECT_TRUE(warnings.empty());
  setenv("TILEWRIGHT_CACHE_SIZE", "plenty", 1);
  EXPECT_EQ(cache_capacity(), int64_t{2} << 30);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("'plenty'"), std::string::npos);
}

TEST_F(CacheSize, RemovesWhatWasUsedLeastRecently) {
  put("old.twc", 400, 3000);
  put("old.cu", 100, 3000);
  put("middle.twc", 400, 2000);
  put("new.twc", 400, 1000);
  put("tuning.sqlite", 5000, 9000);
  EXPECT_EQ(trim_cache(folder_, 1300), 1300);  // all of it fits
  EXPECT_TRUE(has("old.twc"));
  EXPECT_EQ(trim_cache(folder_, 1000), 800);
  EXPECT_FALSE(has("old.twc"));
  EXPECT_FALSE(has("old.cu"));
  EXPECT_TRUE(has("middle.twc") && has("new.twc") && has("tuning.sqlite"));
}

TEST_F(CacheSize, RemovesWhatKilledWritersLeft) {
  put("a.twc.1.0.tmp", 10, 4000);
  put("b.twc.2.0.tmp", 10, 10);  // may still be written to
  EXPECT_EQ(trim_cache(folder_, 1000), 0);
  EXPECT_FALSE(has("a.twc.1.0.tmp"));
  EXPECT_TRUE(has("b.twc.2.0.tmp"));
}

TEST_F(CacheSize, AMissingFolderIsEmpty) { EXPECT_EQ(trim_cache(folder_ + "/none", 10), 0); }

TEST_F(CacheSize, AFullCacheMakesRoom) {
  CubinCache cache(folder_, 5000);
  for (int i = 0; i < 20; ++i) {
    const Hash128 key = hash_bytes(std::to_string(i));
    cache.get(key, [] { return entry_of(900); });
    set_age(cache.path_of(key), 1000 - i);
    EXPECT_LE(trim_cache(folder_, 1 << 20), 5000) << "after " << i;
  }
  EXPECT_TRUE(fs::exists(cache.path_of(hash_bytes("19"))));
  EXPECT_FALSE(fs::exists(cache.path_of(hash_bytes("0"))));
}

TEST_F(CacheSize, UsingAnEntryKeepsIt) {
  CubinCache first(folder_, 5000);
  const Hash128 used = hash_bytes("used");
  int64_t age = 90000;
  for (const char* name : {"used", "b", "c", "d"}) {
    first.get(hash_bytes(name), [] { return entry_of(1000); });
    set_age(first.path_of(hash_bytes(name)), age);
    age -= 1000;
  }
  CubinCache next_process(folder_, 5000);
  next_process.get(used, []() -> CompiledCuda { throw std::runtime_error("made again"); });
  EXPECT_LT(age_of(first.path_of(used)), 1000);
  next_process.get(hash_bytes("e"), [] { return entry_of(1000); });
  EXPECT_TRUE(fs::exists(first.path_of(used)));
  EXPECT_FALSE(fs::exists(first.path_of(hash_bytes("b"))));
}

TEST_F(CacheSize, NothingIsKeptInACacheWithoutRoom) {
  CubinCache cache(folder_, 0);
  cache.get(hash_bytes("a"), [] { return entry_of(10); });
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CacheSize, TheFolderIsTheUsersAlone) {
  CubinCache cache(folder_ + "/above/cache");
  cache.get(hash_bytes("a"), [] { return entry_of(10); });
  for (const char* made : {"/above", "/above/cache"}) {
    struct stat info {};
    ASSERT_EQ(stat((folder_ + made).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << made;
  }
}

TEST_F(CacheSize, CandidatesAreForgotten) {
  CubinCache cache(folder_);
  const Hash128 key = hash_bytes("candidate");
  int made = 0;
  const auto make = [&] {
    ++made;
    return entry_of(10);
  };
  auto loser = cache.get(key, make, CacheUse::forget);
  EXPECT_EQ(cache.get(key, make, CacheUse::forget), loser);
  EXPECT_EQ(cache.get(key, make, CacheUse::look_up), loser);
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(fs::is_empty(folder_));
  loser.reset();
  EXPECT_EQ(cache.get(key, make, CacheUse::look_up), nullptr);
  const auto winner = cache.get(key, make, CacheUse::forget);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(cache.get(key, make), winner);  // kept after all
  EXPECT_EQ(made, 2);
  CubinCache next_process(folder_);
  EXPECT_NE(next_process.get(key, make, CacheUse::look_up), nullptr);
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace tilewright::runtime
