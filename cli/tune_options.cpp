#include "cli/tune_options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::cli {
namespace {

// The whole of `text` as a number, or nothing.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

double parse_duration(std::string_view text) {
  const size_t unit = text.find_first_not_of("0123456789.");
  const std::string_view name = unit == std::string_view::npos ? "s" : text.substr(unit);
  const auto value = number_in<double>(text.substr(0, unit));
  const double scale = name == "s" ? 1 : name == "ms" ? 1e-3 : name == "m" ? 60 : 0;
  if (!value || scale == 0 || *value <= 0)
    raise(ErrorId::argument_syntax, {}, text, "expected a time such as 20s, 500ms or 2m");
  return *value * scale;
}

std::vector<int> parse_gpus(std::string_view text, int count) {
  std::vector<int> gpus;
  if (text == "all")
    for (int i = 0; i < count; ++i) gpus.push_back(i);
  std::string_view left = text == "all" ? std::string_view() : text;
  while (!left.empty()) {
    const size_t comma = std::min(left.find(','), left.size());
    const auto gpu = number_in<int>(left.substr(0, comma));
    if (!gpu || *gpu < 0 || std::ranges::find(gpus, *gpu) != gpus.end())
      raise(ErrorId::argument_syntax, {}, text, "expected GPUs such as 0,1, each once, or all");
    if (*gpu >= count) raise(ErrorId::no_such_device, {}, *gpu, count);
    gpus.push_back(*gpu);
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  if (gpus.empty()) raise(ErrorId::argument_syntax, {}, text, "expected GPUs such as 0,1, or all");
  return gpus;
}

Shard parse_shard(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto index = number_in<int>(text.substr(0, slash));
  const auto count = number_in<int>(text.substr(std::min(slash + 1, text.size())));
  if (!index || !count || *index < 1 || *index > *count)
    raise(ErrorId::argument_syntax, {}, text,
          "expected a part of a list such as 2/8, from 1/8 to 8/8");
  return {*index, *count};
}

std::vector<TuneShape> read_shapes(const std::string& file) {
  std::ifstream in(file);
  if (!in) raise(ErrorId::argument_syntax, {}, file, "the file cannot be read");
  std::vector<TuneShape> shapes;
  int line_number = 0;
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    std::istringstream words(line.substr(0, line.find('#')));
    TuneShape shape;
    for (std::string word; words >> word;) {
      try {
        shape.arguments.push_back(parse_argument(word));
      } catch (const Error& error) {
        raise(ErrorId::argument_syntax, {}, fmt::format("{}:{}", file, line_number),
              error.message());
      }
      shape.text += (shape.text.empty() ? "" : " ") + word;
    }
    if (!shape.arguments.empty()) shapes.push_back(std::move(shape));
  }
  if (shapes.empty()) raise(ErrorId::argument_syntax, {}, file, "there is no shape in it");
  return shapes;
}

TuneDevice parse_tune_device(std::string_view text) {
  constexpr std::string_view kSimulated = "simulated";
  if (text.starts_with(kSimulated)) {
    std::string_view architecture = text.substr(kSimulated.size());
    if (architecture.empty()) return {{}, parse_target("sm_90a"), true};
    if (architecture.starts_with(':')) return {{}, parse_target(architecture.substr(1)), true};
    raise(ErrorId::unknown_device, {}, text);
  }
  TuneDevice chosen;
  chosen.device = text.empty() ? default_device(false) : parse_device(text);
  if (chosen.device.is_emulator()) {
    chosen.target = parse_target(chosen.device.architecture());
    return chosen;
  }
  if (chosen.device.is_cpu()) {
    runtime::require_device(0);  // says why there is no GPU
    raise(ErrorId::bad_device, {}, "tuning", "cpu");
  }
  chosen.target = runtime::device_target(chosen.device.index);
  return chosen;
}

}  // namespace tilewright::cli
