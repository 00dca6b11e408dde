// Compiled kernels, in memory and on disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tilewright/codegen/target.h"
#include "tilewright/runtime/hash.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::runtime {

/// Entries found by a 128-bit key. Thread-safe: threads that ask for one key at the same time make
/// it once. Several processes may share a folder.
class CubinCache {
 public:
  using Make = std::function<CompiledCuda()>;

  /// Keeps files in `folder`, made when first needed; an empty name keeps entries in memory only.
  explicit CubinCache(std::string folder) : folder_(std::move(folder)) {}
  /// The process's cache, in cache_folder().
  static CubinCache& instance();

  /// The entry of `key`: from memory, else from disk, else from `make`. A missing, truncated or
  /// damaged file is replaced. What `make` throws passes through and nothing is kept. A folder that
  /// cannot be written is one warning.
  std::shared_ptr<const CompiledCuda> get(const Hash128& key, const Make& make);

  const std::string& folder() const { return folder_; }
  /// The file of an entry; empty without a folder.
  std::string path_of(const Hash128& key) const;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const CompiledCuda> entry;
  };
  void store(const std::string& path, const CompiledCuda& entry);

  std::string folder_;
  std::mutex mutex_;
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
/// included and the source kept beside the entry as <key>.cu.
std::shared_ptr<const CompiledCuda> compile_cached(const std::string& source,
                                                   const std::string& name, const Target& target,
                                                   CubinCache& cache = CubinCache::instance());

}  // namespace tilewright::runtime
