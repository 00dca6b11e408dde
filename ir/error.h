// The two kinds of error: what the user can fix, and what is a bug in Tilewright.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "tilewright/ir/loc.h"

namespace tilewright {

/// What went wrong, coarsely; for programs that must react.
enum class ErrorCode {
  bad_argument,     ///< a value, shape, dtype, stride or pointer passed by the caller
  trace,            ///< the kernel's C++ body uses the language wrongly
  config,           ///< a config is malformed, unsupported or over a limit
  compile,          ///< NVRTC refused the generated code
  cuda,             ///< the CUDA driver reported an error
  missing_library,  ///< libcuda, libnvrtc or a GPU is needed and not there
  out_of_memory,    ///< host or device memory ran out
};

std::string_view to_string(ErrorCode code);

/// Every error Tilewright can raise; see errors.def for its code and message.
enum class ErrorId {
#define TW_ERROR(id, code, message) id,
#include "tilewright/ir/errors.def"
#undef TW_ERROR
};

std::string_view to_string(ErrorId id);
ErrorCode code_of(ErrorId id);
/// The fmt format string of the message.
std::string_view message_of(ErrorId id);

/// An error the user can fix. what() is "file:line: message", then the log if there is one.
class Error : public std::runtime_error {
 public:
  Error(ErrorId id, Loc loc, std::string message, std::string log = {});
  ErrorId id() const { return id_; }
  ErrorCode code() const { return code_of(id_); }
  Loc loc() const { return loc_; }
  /// The message alone, without the position and the log.
  const std::string& message() const { return message_; }
  /// The compiler's or driver's log; empty when there is none.
  const std::string& log() const { return log_; }

 private:
  ErrorId id_;
  Loc loc_;
  std::string message_, log_;
};

/// A bug in Tilewright. what() says so and asks for a report.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message, Loc where = Loc::current());
  /// What was given to the constructor.
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

[[noreturn]] void throw_error(ErrorId id, Loc loc, std::string message, std::string log = {});

/// Raises `id` at the user's line `loc`; `args` fill the message's placeholders.
template <class... Args>
[[noreturn]] void raise(ErrorId id, Loc loc, const Args&... args) {
  throw_error(id, loc, fmt::format(fmt::runtime(message_of(id)), args...));
}

/// Throws InternalError unless `ok`.
inline void internal_check(bool ok, const char* message, Loc where = Loc::current()) {
  if (!ok) throw InternalError(message, where);
}

}  // namespace tilewright
