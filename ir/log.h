// Messages to the user that are not errors. Level from TILEWRIGHT_LOG (off, error, warning, info,
// debug; default warning); output to stderr unless a handler is set.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

namespace tilewright {

enum class LogLevel { off, error, warning, info, debug };

using LogHandler = std::function<void(LogLevel, std::string_view message)>;

/// Replaces where messages go; an empty handler restores stderr. Thread-safe.
void set_log_handler(LogHandler handler);
/// Overrides TILEWRIGHT_LOG.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_message(LogLevel level, std::string_view message);

/// Formats and reports a message when `level` is enabled.
template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_message(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tilewright
