// Compiled kernels, in memory and on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tilewright/codegen/target.h"
#include "tilewright/runtime/cache_size.h"
#include "tilewright/runtime/hash.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::runtime {

/// What happens to an entry that has to be made.
enum class CacheUse {
  keep,     ///< it stays in memory and is written to disk
  forget,   ///< it is not written, and leaves memory with its last user: candidates of a search
  look_up,  ///< it is not made: nothing is found
};

/// Entries found by a 128-bit key. Thread-safe: threads that ask for one key at the same time make
/// it once. Several processes may share a folder, which only its owner may enter.
class CubinCache {
 public:
  using Make = std::function<CompiledCuda()>;

  /// Keeps files in `folder`, made when first needed; an empty name keeps entries in memory only.
  /// When all entries together take more than `capacity` bytes, those that were used least recently
  /// are removed.
  explicit CubinCache(std::string folder, int64_t capacity = cache_capacity());
  /// The process's cache, in cache_folder().
  static CubinCache& instance();

  /// The entry of `key`: from memory, else from disk, else from `make`; null where `use` is look_up
  /// and it would have to be made. A missing, truncated or damaged file is replaced. What `make`
  /// throws passes through and nothing is kept. A folder that cannot be written is one warning.
  /// Asked to keep what it was asked to forget and has not forgotten yet, it does not make it
  /// again.
  std::shared_ptr<const CompiledCuda> get(const Hash128& key, const Make& make,
                                          CacheUse use = CacheUse::keep);

  const std::string& folder() const { return folder_; }
  /// The file of an entry; empty without a folder.
  std::string path_of(const Hash128& key) const;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const CompiledCuda> entry;   // kept
    std::weak_ptr<const CompiledCuda> borrowed;  // to be forgotten
  };
  std::shared_ptr<Slot> slot_of(const Hash128& key);
  std::shared_ptr<const CompiledCuda> known(Slot& slot, const std::string& path) const;
  void store(const std::string& path, const CompiledCuda& entry);
  void account(int64_t bytes);

  std::string folder_;
  int64_t capacity_ = 0;
  std::mutex mutex_;
  std::mutex trim_mutex_;
  int64_t estimate_ = -1;  // bytes on disk; negative: not looked at yet
  std::map<Hash128, std::shared_ptr<Slot>> slots_;
  std::once_flag warned_;
};

/// $TILEWRIGHT_CACHE_DIR, else $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright; empty when
/// there is no home.
std::string cache_folder();

/// An entry as the bytes of its file: a header with sizes and a checksum, then the parts.
std::string encode_entry(const CompiledCuda& entry);
/// Reads them back; nothing unless every byte is as written.
std::optional<CompiledCuda> decode_entry(std::string_view bytes);

/// compile_cuda through `cache`, keyed by everything that can change the bits: the code without
/// comments, options, NVRTC version, target. With TILEWRIGHT_LINEINFO=1 line information is
/// included and the source kept beside the entry as <key>.cu. Null where `use` is look_up and the
/// kernel would have to be compiled.
std::shared_ptr<const CompiledCuda> compile_cached(const std::string& source,
                                                   const std::string& name, const Target& target,
                                                   CubinCache& cache = CubinCache::instance(),
                                                   CacheUse use = CacheUse::keep);

}  // namespace tilewright::runtime
