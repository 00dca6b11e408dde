#include "tilewright/ir/error.h"

#include <array>

namespace tilewright {
namespace {

struct ErrorEntry {
  std::string_view name;
  ErrorCode code;
  std::string_view message;
};

constexpr ErrorEntry kErrors[] = {
#define TW_ERROR(id, code, message) {#id, ErrorCode::code, message},
#include "tilewright/ir/errors.def"
#undef TW_ERROR
};

const ErrorEntry& entry(ErrorId id) { return kErrors[static_cast<int>(id)]; }

std::string compose(Loc loc, const std::string& message, const std::string& log) {
  std::string text = loc.known() ? fmt::format("{}:{}: {}", loc.file, loc.line, message) : message;
  if (!log.empty()) text += "\n" + log;
  return text;
}

}  // namespace

std::string_view to_string(ErrorCode code) {
  constexpr std::array<std::string_view, 7> names = {
      "bad_argument", "trace", "config", "compile", "cuda", "missing_library", "out_of_memory"};
  return names[static_cast<int>(code)];
}

std::string_view to_string(ErrorId id) { return entry(id).name; }
ErrorCode code_of(ErrorId id) { return entry(id).code; }
std::string_view message_of(ErrorId id) { return entry(id).message; }

Error::Error(ErrorId id, Loc loc, std::string message, std::string log)
    : std::runtime_error(compose(loc, message, log)),
      id_(id),
      loc_(loc),
      message_(std::move(message)),
      log_(std::move(log)) {}

InternalError::InternalError(const std::string& message, Loc where)
    : std::logic_error(fmt::format(
          "{}:{}: internal error in Tilewright: {}\nThis is a bug in Tilewright, not in your "
          "kernel; please report it with this text.",
          where.file, where.line, message)),
      message_(message) {}

void throw_error(ErrorId id, Loc loc, std::string message, std::string log) {
  throw Error(id, loc, std::move(message), std::move(log));
}

}  // namespace tilewright
