// Every error a user can meet is provoked by a test.
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "tests/repo/source_tree.h"
#include "tilewright/ir/error.h"

namespace tilewright::repo {
namespace {

constexpr const char* kIds[] = {
#define TW_ERROR(id, code, message) #id,
#include "tilewright/ir/errors.def"
#undef TW_ERROR
};

// Whether `text` has ErrorId::id as a whole name.
bool mentions(const std::string& text, const std::string& id) {
  const std::string name = "ErrorId::" + id;
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const unsigned char next = static_cast<unsigned char>(text[at + name.size()]);
    if (std::isalnum(next) == 0 && next != '_') return true;
  }
  return false;
}

std::string joined(const std::vector<SourceFile>& files) {
  std::string text;
  for (const SourceFile& source : files) text += source.text + "\n";
  return text;
}

TEST(ErrorIds, EachIsProvokedByATest) {
  const std::string tests = joined(files_under({"tests"}, {"_test.cpp"}));
  for (const std::string id : kIds)
    EXPECT_TRUE(mentions(tests, id)) << "no test expects ErrorId::" << id;
}

TEST(ErrorIds, EachIsRaised) {
  const std::string sources =
      joined(files_under({"ir", "dsl", "codegen", "runtime", "autotune", "cli"}, {".h", ".cpp"}));
  for (const std::string id : kIds)
    EXPECT_TRUE(mentions(sources, id)) << "nothing raises ErrorId::" << id;
}

}  // namespace
}  // namespace tilewright::repo
