#include "tilewright/ir/log.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"off", "error", "warning", "info",
                                                         "debug"};

LogLevel level_from_environment() {
  const char* text = std::getenv("TILEWRIGHT_LOG");
  if (text == nullptr) return LogLevel::warning;
  for (size_t i = 0; i < kLevelNames.size(); ++i)
    if (kLevelNames[i] == text) return static_cast<LogLevel>(i);
  std::fprintf(stderr,
               "tilewright: warning: TILEWRIGHT_LOG is '%s'; expected off, error, warning, info or "
               "debug\n",
               text);
  return LogLevel::warning;
}

struct LogState {
  std::atomic<LogLevel> level = level_from_environment();
  std::mutex mutex;
  LogHandler handler;
};

LogState& state() {
  static LogState instance;
  return instance;
}

}  // namespace

void set_log_handler(LogHandler handler) {
  std::lock_guard lock(state().mutex);
  state().handler = std::move(handler);
}

void set_log_level(LogLevel level) { state().level = level; }

bool log_enabled(LogLevel level) { return level != LogLevel::off && level <= state().level; }

void log_message(LogLevel level, std::string_view message) {
  std::lock_guard lock(state().mutex);
  if (state().handler) {
    state().handler(level, message);
    return;
  }
  fmt::print(stderr, "tilewright: {}: {}\n", kLevelNames[static_cast<int>(level)], message);
}

}  // namespace tilewright
