// Which NVRTC would be loaded, remembered on disk: loading it takes longer than finding a compiled
// kernel in the cache, and the cache's key needs only its identity.
#pragma once

#include <string>

namespace tilewright::runtime {

/// A text that differs for different NVRTC libraries: version and file size. Taken from the note in
/// `folder` when that still holds (same search settings, same file by size and time), else by
/// loading the library, after which the note is written. An empty folder means no note. Raises
/// missing_nvrtc.
std::string nvrtc_identity(const std::string& folder);

}  // namespace tilewright::runtime
