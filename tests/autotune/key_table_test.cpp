// The table of specializations.
#include <gtest/gtest.h>

#include "tilewright/autotune/launch_key.h"

namespace tilewright {
namespace {

TEST(KeyTable, KeepsWhatCameFirstUnlessItIsReplaced) {
  KeyTable<int> table;
  const KeyWords key = {1, 2, 3}, other = {1, 2};
  EXPECT_EQ(table.find(key), nullptr);
  const int* first = table.insert(key, std::make_shared<const int>(10));
  EXPECT_EQ(table.insert(key, std::make_shared<const int>(11)), first);
  EXPECT_EQ(table.find(key), first);
  EXPECT_EQ(table.find(other), nullptr);
  table.replace(key, std::make_shared<const int>(12));
  EXPECT_EQ(*table.find(key), 12);
  EXPECT_EQ(*first, 10);  // who found it before may still use it
  table.replace(other, std::make_shared<const int>(20));
  EXPECT_EQ(*table.find(other), 20);
  EXPECT_EQ(*table.find(key), 12);
}

TEST(KeyTable, OneValueMayHaveTwoKeys) {
  KeyTable<int> table;
  const auto value = std::make_shared<const int>(5);
  const KeyWords first = {1}, second = {2};
  EXPECT_EQ(table.insert(first, value), table.insert(second, value));
}

}  // namespace
}  // namespace tilewright
