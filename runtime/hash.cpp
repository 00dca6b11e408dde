#include "tilewright/runtime/hash.h"

#include <fmt/format.h>

namespace tilewright::runtime {
namespace {

// FNV-1a with 128 bits.
constexpr unsigned __int128 wide(uint64_t high, uint64_t low) {
  return static_cast<unsigned __int128>(high) << 64 | low;
}
constexpr unsigned __int128 kOffset = wide(0x6c62272e07bb0142, 0x62b821756295c58d);
constexpr unsigned __int128 kPrime = wide(0x0000000001000000, 0x000000000000013b);

}  // namespace

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash_bytes(std::string_view bytes) {
  unsigned __int128 hash = kOffset;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * kPrime;
  return {static_cast<uint64_t>(hash), static_cast<uint64_t>(hash >> 64)};
}

}  // namespace tilewright::runtime
