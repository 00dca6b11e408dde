// How much room compiled kernels may take on disk, and making room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::runtime {

/// "2GiB", "500M", "1048576": bytes. K, M, G and T are powers of 1024, as are KiB, MiB, ..; KB, MB,
/// .. are powers of 1000. Nothing when `text` is no size.
std::optional<int64_t> parse_bytes(std::string_view text);

/// TILEWRIGHT_CACHE_SIZE in bytes (0: nothing is kept on disk); 2 GiB when it is not set, or, with
/// a warning, when it is no size.
int64_t cache_capacity();

/// Notes that the file was used now; a note an hour old or younger is left.
void mark_used(const std::string& path);

/// Removes compiled kernels (files .twc, each with its .cu) from `folder` until all take at most
/// `bytes`: if they take more, those used least recently, until a tenth is free again. Also removes
/// what writers left behind that were killed an hour ago or earlier. What is left, bytes.
int64_t trim_cache(const std::string& folder, int64_t bytes);

}  // namespace tilewright::runtime
