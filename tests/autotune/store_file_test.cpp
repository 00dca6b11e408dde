// Stores that are damaged, foreign, newer, unwritable, removed, killed in the middle of a write or
// used by many processes at once.
#include "tilewright/autotune/store_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "tests/autotune/sample_trials.h"
#include "tests/autotune/temporary_folder.h"
#include "tilewright/autotune/store.h"
#include "tilewright/runtime/file.h"

namespace tilewright::tune {
namespace {

namespace fs = std::filesystem;
using testing::sample_config;
using testing::sample_key;
using testing::sample_trial;

class StoreFileTest : public testing::MemoryFolderTest {
 protected:
  // A store with one result in it.
  std::string filled(const std::string& name = "s") {
    Store(path(name)).add(sample_key(8), std::vector{sample_trial(8, 1)}, "quick");
    return path(name);
  }
  bool warned(const std::string& text) const {
    return std::ranges::any_of(
        warnings_, [&](const std::string& warning) { return warning.find(text) != warning.npos; });
  }
  static void overwrite(const std::string& file, size_t at, const std::string& bytes) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(at));
    stream << bytes;
  }
  // Works like a new one after a warning; the old file is kept.
  void expect_set_aside(const std::string& file) {
    warnings_.clear();
    Store store(file);
    store.best(sample_key(8));
    EXPECT_TRUE(store.add(sample_key(9), std::vector{sample_trial(9, 2)}, ""));
    EXPECT_EQ(store.best(sample_key(9))->config, sample_config(9));
    EXPECT_EQ(store.check(), "");
    EXPECT_TRUE(warned("are damaged")) << warnings_.size();
    EXPECT_EQ(warnings_.size(), 1u);
    EXPECT_FALSE(files(fs::path(file).filename().string() + ".damaged-").empty());
  }
};

TEST_F(StoreFileTest, LocalFileSystemsLogAheadAndOthersRollBack) {
  EXPECT_EQ(journal_mode(0xEF53), "WAL");         // ext4
  EXPECT_EQ(journal_mode(0x01021994), "WAL");     // tmpfs
  EXPECT_EQ(journal_mode(0x6969), "DELETE");      // NFS
  EXPECT_EQ(journal_mode(0x0BD00BD0), "DELETE");  // Lustre
  EXPECT_EQ(journal_mode(0x65735546), "DELETE");  // FUSE
  EXPECT_EQ(journal_mode(0), "DELETE");           // unknown
}

TEST_F(StoreFileTest, TheJournalIsTheOneOfTheFileSystem) {
  for (const char* mode : {"WAL", "DELETE", "WAL"}) {  // also of a file made with another one
    StoreFile file(path("s"), false, mode);
    std::string found;
    EXPECT_TRUE(file.write([](const Database&) {}));
    EXPECT_TRUE(file.read([&](const Database& db) { found = db.text("PRAGMA journal_mode"); }));
    std::ranges::transform(found, found.begin(), toupper);
    EXPECT_EQ(found, mode);
  }
}

TEST_F(StoreFileTest, ADamagedFileIsSetAside) {
  std::ofstream(path("text")) << std::string(5000, 'x');
  expect_set_aside(path("text"));
  const std::string header = filled("header");
  overwrite(header, 0, std::string(16, '\0'));
  expect_set_aside(header);
  const std::string pages = filled("pages");
  const size_t size = fs::file_size(pages);
  ASSERT_GT(size, 4096u);
  overwrite(pages, 4096, std::string(size - 4096, '\xff'));
  expect_set_aside(pages);
  const std::string cut = filled("cut");
  fs::resize_file(cut, size / 2);
  expect_set_aside(cut);
}

TEST_F(StoreFileTest, DamageWhileTheFileIsOpenIsNoticed) {
  const std::string file = filled();
  Store store(file);
  ASSERT_TRUE(store.best(sample_key(8)));
  std::ofstream(file, std::ios::binary | std::ios::trunc) << std::string(50000, 'x');
  store.best(sample_key(8));
  EXPECT_TRUE(store.add(sample_key(9), std::vector{sample_trial(9, 2)}, ""));
  EXPECT_TRUE(Store(file).best(sample_key(9)));
  EXPECT_TRUE(warned("are damaged"));
}

TEST_F(StoreFileTest, AnEmptyFileIsFilled) {
  std::ofstream(path("s")).flush();
  Store store(path("s"));
  EXPECT_FALSE(store.best(sample_key(8)));
  EXPECT_TRUE(store.add(sample_key(8), std::vector{sample_trial(8, 1)}, ""));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(StoreFileTest, ARemovedFileIsMadeAgain) {
  const std::string file = filled();
  Store store(file);
  ASSERT_TRUE(store.best(sample_key(8)));
  for (const std::string& part : files("s")) fs::remove(part);
  EXPECT_FALSE(store.best(sample_key(8)));
  EXPECT_TRUE(store.add(sample_key(8), std::vector{sample_trial(8, 1)}, ""));
  EXPECT_TRUE(Store(file).best(sample_key(8)));
}

TEST_F(StoreFileTest, AFileOfANewerVersionIsLeftAlone) {
  const std::string file = filled();
  Database(file, Database::Mode::existing).execute("PRAGMA user_version=99");
  const auto before = runtime::read_file(file);
  Store store(file);
  EXPECT_FALSE(store.best(sample_key(8)));
  EXPECT_FALSE(store.add(sample_key(8), std::vector{sample_trial(8, 1)}, ""));
  EXPECT_TRUE(warned("newer Tilewright"));
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(runtime::read_file(file), before);
}

TEST_F(StoreFileTest, ADatabaseOfSomethingElseIsLeftAlone) {
  Database(path("s"), Database::Mode::create).execute("CREATE TABLE song(name TEXT)");
  Store store(path("s"));
  EXPECT_FALSE(store.add(sample_key(8), std::vector{sample_trial(8, 1)}, ""));
  EXPECT_TRUE(warned("none of results of tuning"));
  EXPECT_EQ(Database(path("s"), Database::Mode::read_only).number("SELECT count(*) FROM song"), 0);
}

TEST_F(StoreFileTest, WithoutAPlaceToWriteThereIsOneWarning) {
  std::ofstream(path("file")) << "in the way";
  Store store(path("file/below/s"));
  EXPECT_FALSE(store.best(sample_key(8)));
  EXPECT_TRUE(warnings_.empty());  // nothing was lost yet
  EXPECT_FALSE(store.add(sample_key(8), std::vector{sample_trial(8, 1)}, ""));
  EXPECT_FALSE(store.add(sample_key(9), std::vector{sample_trial(9, 1)}, ""));
  EXPECT_FALSE(store.best(sample_key(8)));
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(warned("file/below/s"));
  Store homeless("");
  EXPECT_FALSE(homeless.add(sample_key(8), {}, ""));
  EXPECT_TRUE(warned("TILEWRIGHT_CACHE_DIR"));
}

TEST_F(StoreFileTest, AStoreForReadingIsNeverWritten) {
  const std::string file = filled();
  const auto before = runtime::read_file(file);
  Store store(file, Store::Mode::read_only);
  EXPECT_TRUE(store.best(sample_key(8)));
  EXPECT_FALSE(store.add(sample_key(9), std::vector{sample_trial(9, 1)}, ""));
  EXPECT_FALSE(store.best(sample_key(9)));
  EXPECT_EQ(runtime::read_file(file), before);
}

TEST_F(StoreFileTest, ACopyOfTheFileAloneHasItAll) {
  Store store(path("s"));
  for (int64_t m = 1; m < 20; ++m) store.add(sample_key(m), std::vector{sample_trial(m, 1)}, "");
  fs::copy_file(path("s"), path("copy"));
  EXPECT_EQ(Store(path("copy"), Store::Mode::read_only).entries().size(), 19u);
}

TEST_F(StoreFileTest, PathsMayHoldAnyCharacter) {
  EXPECT_TRUE(Store(filled("a b?c#d%20&e")).best(sample_key(8)));
  EXPECT_TRUE(fs::exists(path("a b?c#d%20&e")));
}

TEST_F(StoreFileTest, TheFolderIsMadeForTheUserAlone) {
  filled("above/s");
  struct stat info {};
  ASSERT_EQ(stat(path("above").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

// Runs `work` in a child process, which ends without the test's cleanups.
template <class Work>
pid_t in_child(const Work& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  bool done = false;
  try {
    done = work();
  } catch (...) {
  }
  _exit(done ? 0 : 1);
}

bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(StoreFileTest, ManyProcessesAddAtOnce) {
  constexpr int processes = 16, keys = 3;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(in_child([&] {
      Store store(path("s"));
      bool all = true;
      for (int k = 0; k < keys; ++k)
        all &= store.add(sample_key(1 + p, 1 + k), std::vector{sample_trial(1 + p, 1 + k)}, "");
      return all;
    }));
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  Store store(path("s"));
  EXPECT_EQ(store.check(), "");
  for (int p = 0; p < processes; ++p)
    for (int k = 0; k < keys; ++k) {
      const auto best = store.best(sample_key(1 + p, 1 + k));
      ASSERT_TRUE(best) << "key " << k << " of process " << p;
      EXPECT_EQ(best->microseconds, 1 + k);
    }
}

TEST_F(StoreFileTest, AForkedProcessOpensTheFileAnew) {
  Store store(filled());
  ASSERT_TRUE(store.best(sample_key(8)));  // it is open
  const auto add_some = [&](int64_t first) {
    bool all = true;
    for (int64_t m = first; m < first + 5; ++m)
      all &= store.add(sample_key(m), std::vector{sample_trial(m, 1)}, "");
    return all;
  };
  const pid_t child = in_child([&] { return add_some(100); });
  EXPECT_TRUE(add_some(200));
  EXPECT_TRUE(ended_well(child));
  EXPECT_EQ(store.entries().size(), 11u);
  EXPECT_EQ(store.check(), "");
}

TEST_F(StoreFileTest, ProcessesThatFindDamageAgree) {
  std::ofstream(path("s")) << std::string(5000, 'x');
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p)
    children.push_back(in_child([&] {
      Store store(path("s"));
      return store.add(sample_key(1 + p), std::vector{sample_trial(1 + p, 1)}, "");
    }));
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  EXPECT_EQ(files("s.damaged-").size(), 1u);
  EXPECT_EQ(Store(path("s")).entries().size(), 8u);
}

class Killed : public StoreFileTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // Adds row after row and tells the number of each once it is committed.
  static bool write_rows(const std::string& file, const std::string& journal, int64_t first,
                         int report) {
    StoreFile store(file, false, journal);
    for (int64_t row = first;; ++row) {
      const bool added = store.write([&](const Database& db) {
        db.prepare("INSERT INTO calibration VALUES('row', ?, ?, 0)")
            .bind(std::to_string(row))
            .bind(std::string(static_cast<size_t>(row % 50) * 100, 'x'))
            .step();
      });
      if (!added || ::write(report, &row, sizeof row) != sizeof row) return false;
    }
  }
};

// Each committed row is there after the writer was killed at a random moment, and the file is
// sound. A few times; a hundred with TILEWRIGHT_ALL_CASES=1.
TEST_P(Killed, LosesNothingCommitted) {
  const int kills = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr ? 100 : 5;
  std::mt19937 random(7);
  int64_t committed = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const int64_t first = committed + 1000;  // the last one may or may not have been committed
    const pid_t child =
        in_child([&] { return write_rows(path("s"), GetParam(), first, pipe_ends[1]); });
    close(pipe_ends[1]);
    int64_t row = 0;
    // Some rows, and then some time into the next ones.
    for (unsigned i = 0; i <= random() % 4; ++i)
      ASSERT_EQ(::read(pipe_ends[0], &row, sizeof row), static_cast<ssize_t>(sizeof row));
    usleep(static_cast<useconds_t>(random() % 3000));
    kill(child, SIGKILL);
    EXPECT_FALSE(ended_well(child));
    while (::read(pipe_ends[0], &row, sizeof row) == sizeof row) continue;
    close(pipe_ends[0]);

    StoreFile store(path("s"), false, GetParam());
    const bool readable = store.read([&](const Database& db) {
      EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
      const int64_t rows = db.number(fmt::format(
          "SELECT count(*) FROM calibration WHERE CAST(driver AS INTEGER) >= {}", first));
      EXPECT_TRUE(rows == row - first + 1 || rows == row - first + 2) << rows << " rows, " << row;
    });
    ASSERT_TRUE(readable) << store.problem();
    committed = row;
  }
  EXPECT_TRUE(warnings_.empty());
}

INSTANTIATE_TEST_SUITE_P(Journals, Killed, ::testing::Values("WAL", "DELETE"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tilewright::tune
