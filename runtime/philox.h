// The random number generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw ("Parallel random
// numbers: as easy as 1, 2, 3", 2011), with the constants of their library Random123.
#pragma once

#include <array>
#include <cstdint>

namespace tilewright {

/// The four words for a counter of 128 bits, made of `counter` and `stream`, and a key, `seed`; low
/// halves first.
constexpr std::array<uint32_t, 4> philox4x32(uint64_t counter, uint64_t stream, uint64_t seed) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  std::array<uint32_t, 4> words = {low(counter), high(counter), low(stream), high(stream)};
  uint32_t key[2] = {low(seed), high(seed)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xd2511f53} * words[0];
    const uint64_t second = uint64_t{0xcd9e8d57} * words[2];
    words = {high(second) ^ words[1] ^ key[0], low(second), high(first) ^ words[3] ^ key[1],
             low(first)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return words;
}

}  // namespace tilewright
