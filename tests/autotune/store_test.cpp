// What a store of tuning results finds, and how several become one.
#include "tilewright/autotune/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/autotune/sample_trials.h"
#include "tests/autotune/temporary_folder.h"
#include "tests/support/expect_error.h"
#include "tilewright/autotune/sqlite.h"

namespace tilewright::tune {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::failed_trial;
using testing::sample_config;
using testing::sample_key;
using testing::sample_trial;
using Status = Trial::Status;

using StoreTest = testing::MemoryFolderTest;

TEST_F(StoreTest, NothingIsFoundAndMadeBeforeTheFirstAddition) {
  Store store(path("s"));
  EXPECT_FALSE(store.best(sample_key(64)));
  EXPECT_TRUE(store.nearest(sample_key(64)).empty());
  EXPECT_TRUE(store.entries().empty());
  EXPECT_FALSE(store.calibration("GPU", "1"));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(StoreTest, EveryFieldOfATrialComesBack) {
  const std::vector<Trial> trials = {
      sample_trial(64, 12.5, 0.25),
      failed_trial(128, Status::failed_compile, "too many registers: \"x\"\n\xc3\xa9"),
      failed_trial(16, Status::crashed, "illegal address"),
      failed_trial(32, Status::timed_out, ""),
      failed_trial(8, Status::refused, "no"),
      failed_trial(4, Status::wrong, "element 7")};
  TuneKey key = sample_key(64);
  key.specs.push_back({DType::f8e4m3, {4, 0, 7}, {1, 4, 0}, 4});
  Store(path("s")).add(key, trials, "full");
  Store next_process(path("s"));
  const std::vector<Entry> entries = next_process.entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].key, key);
  EXPECT_EQ(entries[0].effort, "full");
  EXPECT_EQ(entries[0].trials, 6);
  EXPECT_EQ(entries[0].failed, 5);
  EXPECT_EQ(entries[0].unix_time, 1000);
  const std::vector<Trial> found = next_process.trials(entries[0].id);
  ASSERT_EQ(found.size(), trials.size());
  for (size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(found[i].config, trials[i].config);
    EXPECT_EQ(found[i].status, trials[i].status);
    EXPECT_EQ(found[i].microseconds, trials[i].microseconds);
    EXPECT_EQ(found[i].error, trials[i].error);
    EXPECT_EQ(found[i].predicted, trials[i].predicted);
    EXPECT_EQ(found[i].samples, trials[i].samples);
    EXPECT_EQ(found[i].message, trials[i].message);
    EXPECT_EQ(found[i].unix_time, trials[i].unix_time);
  }
  EXPECT_EQ(next_process.check(), "");
}

TEST_F(StoreTest, TheBestIsTheLeastUpperEndOfTheLastMeasurements) {
  Store store(path("s"));
  const TuneKey key = sample_key(64);
  store.add(key, std::vector{sample_trial(16, 10, 5), sample_trial(32, 12, 0.5)}, "quick");
  auto best = store.best(key);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->config, sample_config(32));  // 12.5 at most; the other one perhaps 15
  EXPECT_EQ(best->microseconds, 12);
  EXPECT_EQ(best->error, 0.5);
  EXPECT_EQ(best->effort, "quick");
  EXPECT_EQ(best->key, key);
  EXPECT_EQ(best->origin, path("s"));
  // Measured again, in the same second: slower than it seemed.
  store.add(key, std::vector{sample_trial(32, 20), sample_trial(64, 18)}, "");
  EXPECT_EQ(store.best(key)->config, sample_config(16));
  EXPECT_EQ(store.best(key)->effort, "quick");
  // An older measurement that arrives late changes nothing.
  store.add(key, std::vector{sample_trial(64, 1, 0, 900)}, "full");
  EXPECT_EQ(store.best(key)->config, sample_config(16));
  EXPECT_EQ(store.best(key)->effort, "full");
  store.add(key, std::vector{sample_trial(16, 10, 0)}, "quick");
  EXPECT_EQ(store.best(key)->effort, "full");
}

TEST_F(StoreTest, WhatWasWrongOnceIsNeverTheBest) {
  Store store(path("s"));
  const TuneKey key = sample_key(64);
  store.add(key, std::vector{failed_trial(16, Status::wrong, "element 3")}, "");
  store.add(key, std::vector{sample_trial(16, 1), sample_trial(32, 2)}, "");
  EXPECT_EQ(store.best(key)->config, sample_config(32));
  // A crash counts until the config is measured again.
  store.add(key, std::vector{failed_trial(32, Status::crashed, "")}, "");
  EXPECT_FALSE(store.best(key));
  store.add(key, std::vector{sample_trial(32, 3)}, "");
  EXPECT_EQ(store.best(key)->microseconds, 3);
}

TEST_F(StoreTest, AConfigOfANewerVersionIsPassedOver) {
  Store store(path("s"));
  const TuneKey key = sample_key(64);
  store.add(key, std::vector{sample_trial(16, 1), sample_trial(32, 2)}, "quick");
  Database(path("s"), Database::Mode::existing)
      .execute("UPDATE trial SET config='{\"block\":[16],\"novel\":1}' WHERE microseconds=1");
  EXPECT_EQ(store.best(key)->config, sample_config(32));
  EXPECT_EQ(store.best(key)->effort, "quick");
  EXPECT_EQ(store.nearest(key).front().config, sample_config(32));
  // It is taken over as it is.
  Store other(path("other"));
  EXPECT_EQ(other.merge(store), 2);
  EXPECT_EQ(Database(path("other"), Database::Mode::read_only)
                .number("SELECT count(*) FROM trial WHERE config LIKE '%novel%'"),
            1);
  EXPECT_EQ(other.best(key)->config, sample_config(32));
}

TEST_F(StoreTest, KeysAreTheirOwn) {
  Store store(path("s"));
  const TuneKey key = sample_key(64);
  store.add(key, std::vector{sample_trial(64, 1)}, "");
  std::vector<TuneKey> others(7, key);
  others[0].code += 1;
  others[1].machine.device = "Other GPU";
  others[2].machine.driver = "581.0";
  others[3].machine.nvrtc = "13.1";
  others[4].specs[0].strides = {1, 64};
  others[5].specs[0].alignment = 4;
  others[6].kernel = "another";
  for (const TuneKey& other : others) EXPECT_FALSE(store.best(other));
  EXPECT_TRUE(store.best(key));
}

TEST_F(StoreTest, NearestShapesComeFirst) {
  Store store(path("s"));
  for (const int64_t m : {16, 1024, 4096})
    store.add(sample_key(m), std::vector{sample_trial(m, 1)}, "");
  TuneKey other_family = sample_key(512);
  other_family.family = "0000000000000000";
  store.add(other_family, std::vector{sample_trial(1, 1)}, "");
  TuneKey other_gpu = sample_key(512);
  other_gpu.machine.device = "Other GPU";
  store.add(other_gpu, std::vector{sample_trial(2, 1)}, "");
  store.add(sample_key(513), std::vector{failed_trial(3, Status::crashed, "")}, "");
  TuneKey other_dtype = sample_key(512);
  other_dtype.specs[0].dtype = DType::f64;
  store.add(other_dtype, std::vector{sample_trial(4, 1)}, "");

  const std::vector<Best> near = store.nearest(sample_key(512));
  ASSERT_EQ(near.size(), 3u);
  EXPECT_EQ(near[0].config, sample_config(1024));
  EXPECT_EQ(near[0].distance, 2);  // M of two of the three tensors, one doubling each
  EXPECT_EQ(near[0].key, sample_key(1024));
  EXPECT_EQ(near[1].config, sample_config(4096));
  EXPECT_EQ(near[2].config, sample_config(16));
  EXPECT_EQ(store.nearest(sample_key(512), 1).size(), 1u);
  EXPECT_EQ(store.nearest(sample_key(0)).front().config, sample_config(16));  // sizes of 0 are fine
}

TEST_F(StoreTest, TheSameShapeOfAnotherDriverIsNearest) {
  Store store(path("s"));
  TuneKey updated = sample_key(64);
  updated.machine.driver = "590.0";
  TuneKey older = sample_key(64);
  older.machine.driver = "570.0";
  store.add(sample_key(65), std::vector{sample_trial(65, 1)}, "");
  store.add(older, std::vector{sample_trial(57, 1)}, "");
  EXPECT_FALSE(store.best(updated));
  EXPECT_EQ(store.nearest(updated).front().config, sample_config(57));
  store.add(updated, std::vector{sample_trial(59, 1)}, "");
  EXPECT_EQ(store.nearest(updated).front().config, sample_config(59));
}

TEST_F(StoreTest, EntriesAreFilteredAndRemoved) {
  Store store(path("s"));
  for (const int64_t m : {8, 16}) store.add(sample_key(m), std::vector{sample_trial(m, 1)}, "");
  store.add(sample_key(8, 64, 64, "a"), std::vector{sample_trial(8, 1)}, "");
  TuneKey other_gpu = sample_key(8);
  other_gpu.machine.device = "Other GPU";
  store.add(other_gpu, std::vector{sample_trial(8, 1)}, "");
  std::vector<Entry> entries = store.entries();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].key.kernel, "a");
  EXPECT_EQ(entries[1].key.machine.device, "Other GPU");
  EXPECT_EQ(store.entries({.kernel = "product"}).size(), 3u);
  EXPECT_EQ(store.entries({.device = "Other GPU"}).size(), 1u);
  const int64_t id = entries[2].id;
  EXPECT_EQ(store.entries({.id = id}).size(), 1u);
  EXPECT_EQ(store.remove({.id = id}), 1);
  EXPECT_TRUE(store.trials(id).empty());
  EXPECT_EQ(store.remove({.id = id}), 0);
  EXPECT_EQ(store.remove({.kernel = "product"}), 2);
  EXPECT_EQ(store.remove({}), 1);
  EXPECT_TRUE(store.entries().empty());
}

TEST_F(StoreTest, MergingTakesWhatIsMissing) {
  Store mine(path("mine")), theirs(path("theirs"));
  mine.add(sample_key(8), std::vector{sample_trial(8, 5)}, "quick");
  theirs.add(sample_key(8), std::vector{sample_trial(16, 4), sample_trial(16, 4)}, "full");
  theirs.add(sample_key(16), std::vector{failed_trial(2, Status::wrong, "no")}, "");
  EXPECT_EQ(mine.merge(theirs), 3);
  EXPECT_EQ(mine.merge(theirs), 0);
  EXPECT_EQ(mine.best(sample_key(8))->config, sample_config(16));
  EXPECT_EQ(mine.best(sample_key(8))->effort, "full");
  EXPECT_EQ(mine.entries().size(), 2u);
  // Back again: theirs lacks one trial; what both had is known by its mark.
  EXPECT_EQ(theirs.merge(mine), 1);
  EXPECT_EQ(theirs.merge(mine), 0);
  EXPECT_EQ(theirs.trials(theirs.entries()[1].id).size(), 3u);
}

TEST_F(StoreTest, MergingRefusesWhatIsNoStore) {
  Store mine(path("mine"));
  Store none(path("none"), Store::Mode::read_only);
  expect_error(ErrorId::store_file, 0, "none: there is no such file", [&] { mine.merge(none); });
  std::ofstream(path("text")) << std::string(5000, 'x');
  Store text(path("text"), Store::Mode::read_only);
  expect_error(ErrorId::store_file, 0, "not a database", [&] { mine.merge(text); });
  EXPECT_EQ(files("text").size(), 1u);  // not set aside: it is somebody else's
  Store other(path("other"));
  other.add(sample_key(8), std::vector{sample_trial(8, 5)}, "");
  Store unwritable(path("text/below"));
  expect_error(ErrorId::store_file, 0, "text/below", [&] { unwritable.merge(other); });
}

TEST_F(StoreTest, CalibrationsAreKept) {
  Store store(path("s"));
  EXPECT_TRUE(store.set_calibration("GPU", "1", "old"));
  EXPECT_TRUE(store.set_calibration("GPU", "1", "new"));
  EXPECT_EQ(store.calibration("GPU", "1"), "new");
  EXPECT_FALSE(store.calibration("GPU", "2"));
}

TEST_F(StoreTest, PicksOfTheModelAreKept) {
  Store store(path("s"));
  EXPECT_FALSE(store.pick("k"));
  store.set_pick("k", sample_config(16));
  store.set_pick("k", sample_config(32));
  EXPECT_EQ(Store(path("s")).pick("k"), sample_config(32));
  EXPECT_FALSE(store.pick("other"));
  Database(path("s"), Database::Mode::existing).execute("UPDATE pick SET time=1000");
  store.set_pick("other", sample_config(8));
  EXPECT_FALSE(store.pick("k"));  // nobody asked for it for a long time
  EXPECT_TRUE(store.entries().empty());
  std::ofstream(path("file")) << "in the way";
  Store nowhere(path("file/below"));
  nowhere.set_pick("k", sample_config(8));
  EXPECT_TRUE(warnings_.empty());  // it is only computed again
  nowhere.add(sample_key(8), std::vector{sample_trial(8, 1)}, "");
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(StoreTest, StoresComeFromTheEnvironment) {
  fs::create_directories(path("site"));
  setenv("TILEWRIGHT_CONFIG_PATH", (path("site") + "::" + path("file.sqlite") + ":").c_str(), 1);
  const std::vector<Store*> stores = Store::all();
  ASSERT_EQ(stores.size(), 3u);
  EXPECT_EQ(stores[0], &Store::user());
  EXPECT_EQ(stores[0]->path(), path("cache/tuning.sqlite"));
  EXPECT_EQ(stores[1]->path(), path("site/tuning.sqlite"));
  EXPECT_EQ(stores[2]->path(), path("file.sqlite"));
  EXPECT_FALSE(stores[1]->add(sample_key(1), {}, ""));  // read only
  unsetenv("TILEWRIGHT_CONFIG_PATH");
  EXPECT_EQ(Store::all().size(), 1u);
}

}  // namespace
}  // namespace tilewright::tune
