// Whole files, written so that a reader never sees half of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::runtime {

/// The file's bytes; nothing when it cannot be read.
std::optional<std::string> read_file(const std::string& path);

/// Makes a folder and those above it that are missing, for the user alone (mode 0700). Whether it
/// is there then.
bool make_private_folder(const std::string& path);

/// Writes `bytes` to a temporary name beside `path`, syncs it, renames it over `path`. Makes the
/// folder. False and the reason in `problem` on failure, with `path` as it was.
bool write_file_atomically(const std::string& path, std::string_view bytes, std::string& problem);

}  // namespace tilewright::runtime
