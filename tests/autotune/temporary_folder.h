// A folder of a test's own, with the environment pointing to it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tilewright/ir/log.h"

namespace tilewright::testing {

/// Each test has a fresh, empty folder, in which it finds the user's cache; messages are collected.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (parent() / "tw-tune-").string() + std::string(6, 'X');
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    if (const char* known = std::getenv("TILEWRIGHT_CACHE_DIR")) cache_dir_ = known;
    setenv("TILEWRIGHT_CACHE_DIR", (folder_ + "/cache").c_str(), 1);
    set_log_handler([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) warnings_.emplace_back(text);
    });
  }
  void TearDown() override {
    set_log_handler({});
    for (const char* name : {"TILEWRIGHT_TUNE", "TILEWRIGHT_CONFIG_PATH"}) unsetenv(name);
    setenv("TILEWRIGHT_CACHE_DIR", cache_dir_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  /// Where the folder is made.
  virtual std::filesystem::path parent() const { return std::filesystem::temp_directory_path(); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// The files of the folder whose names begin so.
  std::vector<std::string> files(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      if (file.path().filename().string().starts_with(prefix)) found.push_back(file.path());
    return found;
  }

  std::string folder_, cache_dir_;
  std::vector<std::string> warnings_;
};

/// The same in memory, where the system has such a place (which may forbid to run programs in it):
/// stores sync their files to the disk, which takes longer than all else.
class MemoryFolderTest : public FolderTest {
 protected:
  std::filesystem::path parent() const override {
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : FolderTest::parent();
  }
};

}  // namespace tilewright::testing
