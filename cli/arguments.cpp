#include "cli/arguments.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "cli/npy.h"
#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) names.push_back(to_string(static_cast<DType>(i)));
  return names;
}

// Reads an argument from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view problem) const {
    raise(ErrorId::argument_syntax, {}, text_, problem);
  }
  bool done() const { return at_ == text_.size(); }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail(done() ? fmt::format("'{}' is missing at the end", c)
                  : fmt::format("expected '{}' before '{}'", c, rest()));
  }
  std::string_view rest() const { return text_.substr(at_); }

  DType dtype() {
    const size_t end = std::min(text_.find_first_of("[=", at_), text_.size());
    const std::string_view name = text_.substr(at_, end - at_);
    DType result;
    if (!parse_dtype(name, result))
      fail(fmt::format(
          "'{}' is no dtype; expected {}, followed by sizes or a value, or the path of a "
          ".npy file",
          name, fmt::join(dtype_names(), ", ")));
    at_ = end;
    return result;
  }
  int64_t integer() {
    int64_t value = 0;
    const std::string_view digits = rest();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) fail("a number has more than 63 bits");
    if (error != std::errc{} || value < 0)
      fail(fmt::format("expected a number, not negative, before '{}'", digits));
    at_ += end - digits.data();
    return value;
  }
  // A list whose first may be "?" or "?4096": at most that.
  std::vector<int64_t> sizes(bool& dynamic) {
    dynamic = rest().starts_with("[?");
    if (!dynamic) return list();
    at_ += 2;
    std::vector<int64_t> values = {kMostDynamic};
    if (!done() && rest()[0] >= '0' && rest()[0] <= '9') values[0] = integer();
    if (values[0] > kMostDynamic) fail(fmt::format("a dynamic size is at most {}", kMostDynamic));
    while (take(',')) values.push_back(integer());
    expect(']');
    return values;
  }
  // "[1,2,3]" or "[]"
  std::vector<int64_t> list() {
    std::vector<int64_t> values;
    expect('[');
    if (take(']')) return values;
    do values.push_back(integer());
    while (take(','));
    expect(']');
    return values;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

void check_span(const Reader& reader, const TensorSpec& spec) {
  int64_t last = 0;  // of the element addressed last
  bool fits = true;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    int64_t reach = 0;
    if (spec.sizes[i] == 0) return;
    fits = fits && !__builtin_mul_overflow(spec.sizes[i] - 1, spec.strides[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  if (!fits || last > std::numeric_limits<int64_t>::max() / size_of(spec.dtype) - 1)
    reader.fail("the tensor is larger than 2^63 bytes");
}

bool overflows(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product)) return true;
  return false;
}

TensorArgument parse_tensor(Reader& reader, DType dtype) {
  bool dynamic = false;
  const std::vector<int64_t> sizes = reader.sizes(dynamic);
  if (overflows(sizes)) reader.fail("the tensor is larger than 2^63 bytes");
  TensorSpec spec = contiguous_spec(dtype, sizes);
  spec.dynamic = dynamic;
  if (reader.take(':')) {
    spec.strides = reader.list();
    if (spec.strides.size() != sizes.size())
      reader.fail(fmt::format("{} sizes but {} strides", sizes.size(), spec.strides.size()));
  }
  if (reader.take('@')) {
    const int64_t alignment = reader.integer();
    if (alignment < size_of(dtype) || alignment > 16 || (alignment & (alignment - 1)) != 0)
      reader.fail(fmt::format("alignment must be a power of two from {} to 16 bytes; found {}",
                              size_of(dtype), alignment));
    spec.alignment = static_cast<int>(alignment);
  }
  if (!reader.done())
    reader.fail(fmt::format("nothing is expected after it, but '{}' is", reader.rest()));
  check_span(reader, spec);
  return {spec, {}};
}

// "FILE.npy", or "DTYPE:FILE.npy" for a file whose bytes are of another type than it says.
TensorArgument parse_file(const Reader& reader, std::string_view text) {
  const size_t colon = text.find(':');
  DType viewed;
  const bool views = colon != text.npos && parse_dtype(text.substr(0, colon), viewed);
  const std::string path(views ? text.substr(colon + 1) : text);
  const NpyArray array = read_npy(path);
  if (views && size_of(viewed) != size_of(array.dtype))
    reader.fail(fmt::format("the file holds {} of {} bytes, and a {} has {}",
                            to_string(array.dtype), size_of(array.dtype), to_string(viewed),
                            size_of(viewed)));
  TensorSpec spec = contiguous_spec(views ? viewed : array.dtype, array.sizes);
  spec.strides = array.strides();
  return {spec, path};
}

int64_t parse_integer_value(const Reader& reader, DType dtype, std::string_view text) {
  if (dtype == DType::boolean) {
    if (text == "true" || text == "1") return 1;
    if (text == "false" || text == "0") return 0;
    reader.fail("a bool is true or false");
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    reader.fail(fmt::format("'{}' is no whole number", text));
  const int bits = 8 * size_of(dtype);
  const int64_t highest =
      dtype == DType::u8 ? 255 : static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  const int64_t lowest = dtype == DType::u8 ? 0 : -highest - 1;
  if (error != std::errc{} || value < lowest || value > highest)
    reader.fail(fmt::format("{} holds {} .. {}", to_string(dtype), lowest, highest));
  return value;
}

double parse_float_value(const Reader& reader, std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);  // takes inf and nan too
  if (copy.empty() || end != copy.c_str() + copy.size())
    reader.fail(fmt::format("'{}' is no number", text));
  return value;
}

ScalarArgument parse_scalar(const Reader& reader, DType dtype) {
  if (is_float(dtype)) return {dtype, parse_float_value(reader, reader.rest())};
  return {dtype, parse_integer_value(reader, dtype, reader.rest())};
}

}  // namespace

Argument parse_argument(std::string_view text) {
  Reader reader(text);
  if (text.ends_with(".npy")) return parse_file(reader, text);
  const DType dtype = reader.dtype();
  if (reader.take('=')) return parse_scalar(reader, dtype);
  return parse_tensor(reader, dtype);
}

double number_of(const ScalarArgument& scalar) {
  return std::visit([](auto value) { return static_cast<double>(value); }, scalar.value);
}

}  // namespace tilewright::cli
