#include "tilewright/ir/hash.h"

#include <fmt/format.h>

#include "tilewright/ir/print.h"

namespace tilewright::ir {

uint64_t hash_text(std::string_view text) {
  // FNV-1a, then the finalizer of MurmurHash3, since FNV alone mixes the last bytes poorly.
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

uint64_t hash(const Function& fn) {
  return hash_text(print(fn, {.locations = false, .names = false, .limits = false}));
}

std::string hex8(uint64_t hash) {
  return fmt::format("{:08x}", static_cast<uint32_t>(hash ^ (hash >> 32)));
}

}  // namespace tilewright::ir
