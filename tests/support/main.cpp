// The main of every test program: tests never touch the user's cache of compiled kernels.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  ::setenv("TILEWRIGHT_CACHE_DIR", TILEWRIGHT_BINARY_DIR "/test-cache", /*overwrite=*/0);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
