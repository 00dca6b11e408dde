// `tilewright cache` as a user runs it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cache_text.h"
#include "cli/table.h"
#include "tests/autotune/sample_trials.h"
#include "tests/autotune/temporary_folder.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

using nlohmann::json;
using testing::sample_config;
using testing::sample_key;
using testing::sample_trial;
using tune::Store;
using tune::Trial;

class CacheCommand : public testing::FolderTest {
 protected:
  // The output of a command that must end with this status.
  std::string run(const std::string& arguments, int status = 0) const {
    const testing::CommandResult result = testing::run_command(
        fmt::format("cd {} && TZ=UTC TILEWRIGHT_DEVICE=cpu {}/cli/tilewright cache {}", folder_,
                    TILEWRIGHT_BINARY_DIR, arguments));
    EXPECT_EQ(result.status, status) << arguments << "\n" << result.output;
    return result.output;
  }
  void expect_parts(const std::string& output,
                    std::initializer_list<std::string_view> parts) const {
    for (const std::string_view part : parts)
      EXPECT_NE(output.find(part), std::string::npos) << "'" << part << "' is missing in:\n"
                                                      << output;
  }
  void fill(const std::string& file) const {
    Store store(file);
    const int64_t time = 1790000000;
    store.add(sample_key(64),
              std::vector{sample_trial(16, 212.25, 0.3, time), sample_trial(32, 198.5, 0.2, time),
                          testing::failed_trial(128, Trial::Status::failed_compile,
                                                "ptxas: too many\nregisters", time)},
              "quick");
    store.add(sample_key(7, 8, 9, "other"), std::vector{sample_trial(64, 1, 0, time)}, "");
  }
  std::string user() const { return path("cache/tuning.sqlite"); }
};

TEST_F(CacheCommand, ListsAndShowsForPeopleAndPrograms) {
  expect_parts(run("ls"), {"nothing was tuned yet", user()});
  EXPECT_EQ(json::parse(run("ls --json")), json::array());
  fill(user());
  expect_parts(run("ls"), {"id  kernel", "product  f32[64,64] f32[64,64] f32[64,64]  Some GPU",
                           "198.50 us", "quick", "2026-09-21 14:13", R"({"block":[32,64,16]})"});
  const json all = json::parse(run("ls --json"));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]["kernel"], "product");
  EXPECT_EQ(all[1]["trials"], 3);
  EXPECT_EQ(all[1]["best"]["microseconds"], 198.5);
  EXPECT_EQ(all[1]["best"]["config"]["block"], json({32, 64, 16}));
  EXPECT_EQ(json::parse(run("ls other --json")).size(), 1u);
  EXPECT_EQ(json::parse(run("ls 1 --json"))[0]["kernel"], "product");
  EXPECT_EQ(json::parse(run("ls --kernel product --device 'Some GPU' --json")).size(), 1u);
  expect_parts(run("show product"), {"on Some GPU, driver 580.1, NVRTC 13.0", "3 trials, 1 failed",
                                     "a quick search was made", "212.25 us  0.30", "failed_compile",
                                     "ptxas: too many registers"});
  const json shown = json::parse(run("show product --json"));
  EXPECT_EQ(shown[0]["all"].size(), 3u);
  EXPECT_EQ(shown[0]["all"][2]["status"], "failed_compile");
  expect_parts(run("show 77", 1), {"no entry of " + user() + " matches 77", "cache ls"});
}

TEST_F(CacheCommand, NamesThatNoEntryHasAreErrors) {
  Store store(path("s"));
  EXPECT_TRUE(chosen_entries(store, {}).empty());  // all of none
  testing::expect_error(ErrorId::cache_entry, 0, "matches 3, k, GPU; 'tilewright cache ls'",
                        [&] { chosen_entries(store, {.id = 3, .kernel = "k", .device = "GPU"}); });
}

TEST_F(CacheCommand, RemovesWhatIsNamed) {
  fill(user());
  expect_parts(run("rm", 2), {"--all"});
  expect_parts(run("rm none", 1), {"matches none"});
  expect_parts(run("rm product"), {"removed 1 entry\n"});
  fill(user());
  expect_parts(run("rm --all"), {"removed 2 entries\n"});
  std::ofstream(path("cache/x.twc")) << std::string(3000, 'x');
  expect_parts(run("path"),
               {path("cache") + "\n", user(), "2.9 KiB in 1 files", "at most 2.0 GiB"});
  expect_parts(run("rm --compiled"), {"removed 2.9 KiB of compiled kernels"});
  EXPECT_FALSE(std::filesystem::exists(path("cache/x.twc")));
}

TEST_F(CacheCommand, ExportsAndImportsPins) {
  fill(user());
  const std::string text = run("export product");
  expect_parts(text, {R"("kernel":"product")", R"("config":{"block":[32,64,16]})"});
  EXPECT_EQ(run("export product -o pins.json"), "");
  EXPECT_EQ(run("import pins.json --store copy.sqlite"), "took over 1 config into copy.sqlite\n");
  EXPECT_EQ(Store(path("copy.sqlite")).best(sample_key(64))->config, sample_config(32));
  EXPECT_EQ(run("export --store copy.sqlite"), text);
  expect_parts(run("export -o none/pins.json", 1), {"none/pins.json: the file cannot be written"});
  expect_parts(run("import none.json", 1), {"none.json: the file cannot be read"});
}

TEST_F(CacheCommand, MergesTheStoresOfManyMachines) {
  fill(path("one.sqlite"));
  std::filesystem::create_directories(path("two"));
  fill(path("two/tuning.sqlite"));
  Store(path("two/tuning.sqlite")).add(sample_key(5), std::vector{sample_trial(5, 1)}, "full");
  expect_parts(run("merge one.sqlite two"),
               {"took over 4 trials of one.sqlite\n", "took over 5 trials of two/tuning.sqlite\n"});
  EXPECT_EQ(Store(user()).entries().size(), 3u);
  EXPECT_EQ(run("merge one.sqlite"), "took over 0 trials of one.sqlite\n");
  expect_parts(run("merge none.sqlite", 1), {"none.sqlite: there is no such file"});
  expect_parts(run("merge", 2), {"files is required"});
}

TEST_F(CacheCommand, TellsWhereThingsAre) {
  setenv("TILEWRIGHT_CONFIG_PATH", path("site.sqlite").c_str(), 1);
  setenv("TILEWRIGHT_CACHE_SIZE", "10M", 1);
  const json paths = json::parse(run("path --json"));
  unsetenv("TILEWRIGHT_CACHE_SIZE");
  EXPECT_EQ(paths["folder"], path("cache"));
  EXPECT_EQ(paths["store"], user());
  EXPECT_EQ(paths["site_stores"], json({path("site.sqlite")}));
  EXPECT_EQ(paths["capacity_bytes"], 10 << 20);
  expect_parts(run("path"), {"(not there yet)", "results, site"});
}

TEST(Tables, AreAsWideAsTheirCells) {
  Table table({{"n", true}, {"what"}});
  table.add({"100", "a"});
  table.add({"7", ""});
  EXPECT_EQ(table.text(), "  n  what\n100  a\n  7\n");
}

TEST(Sizes, HaveUnits) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(int64_t{2} << 30), "2.0 GiB");
}

}  // namespace
}  // namespace tilewright::cli
