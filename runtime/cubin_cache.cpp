#include "tilewright/runtime/cubin_cache.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/nvrtc_note.h"

namespace tilewright::runtime {
namespace {

constexpr std::string_view kMagic = "TWCUBIN1";

// What follows the magic in a file, before the parts.
struct EntryHeader {
  std::array<uint64_t, 3> sizes;   // cubin, ptx, log
  std::array<int32_t, 5> figures;  // resources and compiler
  int32_t reserved = 0;
  uint64_t checksum_low = 0, checksum_high = 0;  // of the parts and the fields above
};

Hash128 checksum(const EntryHeader& header, std::string_view parts) {
  std::string text(reinterpret_cast<const char*>(&header), offsetof(EntryHeader, checksum_low));
  const Hash128 of_parts = hash_bytes(parts);
  text.append(reinterpret_cast<const char*>(&of_parts), sizeof of_parts);
  return hash_bytes(text);
}

bool lineinfo_wanted() {
  const char* value = std::getenv("TILEWRIGHT_LINEINFO");
  return value != nullptr && std::string_view(value) == "1";
}

// The text that profilers show, where line information says that it is.
void keep_source(const std::string& folder, const std::string& file, const std::string& source,
                 const std::string& name) {
  std::string problem;
  make_private_folder(folder);
  if (!write_file_atomically(file, source, problem))
    log(LogLevel::warning, "the source of kernel {} cannot be kept: {}", name, problem);
}

Hash128 key_of(const std::string& source, const Target& target, bool lineinfo,
               const std::string& compiler) {
  CudaOptions options;
  options.lineinfo = lineinfo;
  // Comments and line breaks move line information, so there they count.
  std::string text = lineinfo ? source : codegen::strip_comments(source);
  text += "\n" + compiler + "\n" + target.name();
  for (const std::string& option : nvrtc_options(target, options, 0)) text += "\n" + option;
  return hash_bytes(text);
}

}  // namespace

CubinCache::CubinCache(std::string folder, int64_t capacity)
    : folder_(capacity > 0 ? std::move(folder) : std::string()), capacity_(capacity) {}

CubinCache& CubinCache::instance() {
  static CubinCache cache(cache_folder());
  return cache;
}

std::string CubinCache::path_of(const Hash128& key) const {
  return folder_.empty() ? std::string() : folder_ + "/" + key.hex() + ".twc";
}

std::shared_ptr<CubinCache::Slot> CubinCache::slot_of(const Hash128& key) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Slot>& known = slots_[key];
  if (!known) known = std::make_shared<Slot>();
  return known;
}

// The entry that is on disk; the slot is locked.
std::shared_ptr<const CompiledCuda> CubinCache::known(Slot& slot, const std::string& path) const {
  if (path.empty()) return nullptr;
  const auto bytes = read_file(path);
  if (!bytes) return nullptr;
  if (auto entry = decode_entry(*bytes)) {
    mark_used(path);
    return slot.entry = std::make_shared<const CompiledCuda>(std::move(*entry));
  }
  log(LogLevel::info, "the cached kernel {} is damaged and is made again", path);
  return nullptr;
}

std::shared_ptr<const CompiledCuda> CubinCache::get(const Hash128& key, const Make& make,
                                                    CacheUse use) {
  const std::shared_ptr<Slot> slot = slot_of(key);
  std::lock_guard lock(slot->mutex);
  if (slot->entry) return slot->entry;
  const std::string path = path_of(key);
  std::shared_ptr<const CompiledCuda> entry = slot->borrowed.lock();
  if (entry && use != CacheUse::keep) return entry;
  if (!entry) {
    if (auto found = known(*slot, path)) return found;
    if (use == CacheUse::look_up) return nullptr;
    entry = std::make_shared<const CompiledCuda>(make());
    if (use == CacheUse::forget) {
      slot->borrowed = entry;
      return entry;
    }
  }
  if (!path.empty()) store(path, *entry);
  return slot->entry = std::move(entry);
}

void CubinCache::store(const std::string& path, const CompiledCuda& entry) {
  std::string problem;
  const std::string bytes = encode_entry(entry);
  make_private_folder(folder_);
  if (write_file_atomically(path, bytes, problem))
    return account(static_cast<int64_t>(bytes.size()));
  std::call_once(warned_, [&] {
    log(LogLevel::warning,
        "compiled kernels cannot be kept ({}), so every process compiles them again; set "
        "TILEWRIGHT_CACHE_DIR to a writable folder",
        problem);
  });
}

// Looks at the folder when first written to, and then only when what this process added may have
// filled it.
void CubinCache::account(int64_t bytes) {
  std::lock_guard lock(trim_mutex_);
  if (estimate_ >= 0) estimate_ += bytes;
  if (estimate_ < 0 || estimate_ > capacity_) estimate_ = trim_cache(folder_, capacity_);
}

std::string cache_folder() {
  if (const char* chosen = std::getenv("TILEWRIGHT_CACHE_DIR");
      chosen != nullptr && *chosen != '\0')
    return chosen;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    return std::string(xdg) + "/tilewright";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/tilewright";
  return {};
}

std::string encode_entry(const CompiledCuda& entry) {
  const Resources& r = entry.resources;
  EntryHeader header{{entry.cubin.size(), entry.ptx.size(), entry.log.size()},
                     {r.registers, r.spill_bytes, r.shared_bytes, r.local_bytes, entry.compiler}};
  const std::string parts = entry.cubin + entry.ptx + entry.log;
  const Hash128 sum = checksum(header, parts);
  header.checksum_low = sum.low;
  header.checksum_high = sum.high;
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + parts;
}

std::optional<CompiledCuda> decode_entry(std::string_view bytes) {
  EntryHeader header;
  if (bytes.size() < kMagic.size() + sizeof header || !bytes.starts_with(kMagic))
    return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  uint64_t total = 0;
  for (const uint64_t size : header.sizes)
    if (size > bytes.size() || (total += size) > bytes.size()) return std::nullopt;
  if (total != bytes.size()) return std::nullopt;
  const Hash128 sum = checksum(header, bytes);
  if (sum != Hash128{header.checksum_low, header.checksum_high}) return std::nullopt;
  CompiledCuda entry;
  entry.cubin = bytes.substr(0, header.sizes[0]);
  entry.ptx = bytes.substr(header.sizes[0], header.sizes[1]);
  entry.log = bytes.substr(header.sizes[0] + header.sizes[1]);
  const auto& figures = header.figures;
  entry.resources = {figures[0], figures[1], figures[2], figures[3]};
  entry.compiler = figures[4];
  return entry;
}

std::shared_ptr<const CompiledCuda> compile_cached(const std::string& source,
                                                   const std::string& name, const Target& target,
                                                   CubinCache& cache, CacheUse use) {
  const bool lineinfo = lineinfo_wanted();
  const Hash128 key = key_of(source, target, lineinfo, nvrtc_identity(cache.folder()));
  CudaOptions options;
  options.lineinfo = lineinfo;
  if (lineinfo && !cache.folder().empty()) {
    options.file = fmt::format("{}/{}.cu", cache.folder(), key.hex());
    if (use == CacheUse::keep) keep_source(cache.folder(), options.file, source, name);
  }
  return cache.get(
      key, [&] { return compile_cuda(source, name, target, options); }, use);
}

}  // namespace tilewright::runtime
