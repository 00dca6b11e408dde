// The main of every test program: tests never touch the user's cache of compiled kernels, and
// --update-golden renews goldens instead of comparing with them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  ::setenv("TILEWRIGHT_CACHE_DIR", TILEWRIGHT_BINARY_DIR "/test-cache", /*overwrite=*/0);
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--update-golden")
      ::setenv("TILEWRIGHT_UPDATE_GOLDENS", "1", /*overwrite=*/1);
  return RUN_ALL_TESTS();
}
