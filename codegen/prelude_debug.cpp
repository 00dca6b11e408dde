#include "tilewright/codegen/prelude_debug.h"

namespace tilewright::codegen {

std::vector<Helper> debug_helpers() {
  return {
      {.name = "philox",
       .doc = "one word of Philox4x32-10: random bits for a counter of 128 bits and a key of 64",
       .text =
           R"(template <int word> __device__ __forceinline__ int philox(
    unsigned long long counter, unsigned long long stream, unsigned long long seed) {
  unsigned x[4] = {(unsigned)counter, (unsigned)(counter >> 32),
                   (unsigned)stream, (unsigned)(stream >> 32)};
  unsigned key[2] = {(unsigned)seed, (unsigned)(seed >> 32)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long first = 0xd2511f53ull * x[0], second = 0xcd9e8d57ull * x[2];
    x[0] = (unsigned)(second >> 32) ^ x[1] ^ key[0];
    x[1] = (unsigned)second;
    x[2] = (unsigned)(first >> 32) ^ x[3] ^ key[1];
    x[3] = (unsigned)first;
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return (int)x[word];
})"},
      {.name = "assert_failed",
       .doc = "prints the message and its place, and ends the launch with an error",
       .text =
           R"(__device__ __forceinline__ void assert_failed(const char* message, const char* file,
                                              unsigned line) {
  __assertfail(message, file, line, "a kernel", 1);
})"},
  };
}

}  // namespace tilewright::codegen
