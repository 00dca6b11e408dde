// A 128-bit hash for cache keys and checksums. Not cryptographic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::runtime {

struct Hash128 {
  uint64_t low = 0, high = 0;
  std::string hex() const;  ///< 32 digits
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// The hash of some bytes: the same on every machine and in every version.
Hash128 hash_bytes(std::string_view bytes);

/// Mixes one word into a running 64-bit hash; for in-memory tables.
inline uint64_t mix(uint64_t hash, uint64_t word) {
  const auto product = static_cast<unsigned __int128>(hash ^ word) * 0x9e3779b97f4a7c15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ word;
}

}  // namespace tilewright::runtime
