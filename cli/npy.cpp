#include "cli/npy.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/half.h"

namespace tilewright::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct TypeCode {
  DType dtype;
  std::string_view code;  // kind and bytes
};

// The first that matches is taken when reading.
constexpr TypeCode kCodes[] = {{DType::f16, "f2"},    {DType::f32, "f4"},   {DType::f64, "f8"},
                               {DType::i8, "i1"},     {DType::i16, "i2"},   {DType::i32, "i4"},
                               {DType::i64, "i8"},    {DType::u8, "u1"},    {DType::boolean, "b1"},
                               {DType::f8e4m3, "u1"}, {DType::f8e5m2, "u1"}};

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  raise(ErrorId::npy_file, {}, path, problem);
}

// The text after `'key':` in the header, up to the next key's comma at the outer level.
std::string_view entry(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const size_t end = value.starts_with('(') ? value.find(')') : value.find_first_of(",}");
  return value.substr(0, end);
}

DType parse_descr(const std::string& path, std::string_view descr) {
  const bool quoted = descr.size() == 5 && descr.front() == '\'' && descr.back() == '\'';
  const char order = quoted ? descr[1] : '?';
  const std::string_view code = quoted ? descr.substr(2, 2) : std::string_view();
  for (const TypeCode& known : kCodes)
    if (known.code == code && (order == '<' || (order == '|' && code[1] == '1')))
      return known.dtype;
  fail(path, fmt::format("element type {} is not supported; expected little-endian f2, f4, f8, i1, "
                         "i2, i4, i8, u1 or b1",
                         descr));
}

std::vector<int64_t> parse_shape(const std::string& path, std::string_view shape) {
  std::vector<int64_t> sizes;
  if (!shape.starts_with('(')) fail(path, "the header has no shape");
  for (size_t i = 1; i < shape.size();) {
    const size_t end = std::min(shape.find(',', i), shape.size());
    const std::string number(shape.substr(i, end - i));
    i = end + 1;
    if (number.find_first_not_of(' ') == std::string::npos) continue;  // "(3,)"
    if (number.find_first_not_of(" 0123456789") != std::string::npos || number.size() > 19)
      fail(path, fmt::format("bad size '{}' in the shape", number));
    sizes.push_back(std::stoll(number));
  }
  return sizes;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
}

// The header dictionary; `data` becomes where the elements begin.
std::string_view header_of(const std::string& path, std::string_view file, size_t& data) {
  if (!file.starts_with(kMagic) || file.size() < 12) fail(path, "is not a .npy file");
  const bool long_header = file[6] > 1;
  const size_t begin = long_header ? 12 : 10;
  size_t length = 0;
  for (size_t i = begin; i-- > 8;) length = length << 8 | static_cast<unsigned char>(file[i]);
  if (file.size() < begin + length) fail(path, "is cut off in its header");
  data = begin + length;
  return file.substr(begin, length);
}

// bf16 elements as f32.
NpyArray widened(const NpyArray& array) {
  NpyArray wide{DType::f32, array.sizes, array.column_major, {}};
  wide.data.resize(array.data.size() * 2);
  for (size_t i = 0; i < array.data.size() / 2; ++i) {
    uint16_t bits;
    std::memcpy(&bits, &array.data[2 * i], 2);
    const float value = bf16_to_float(bits);
    std::memcpy(&wide.data[4 * i], &value, 4);
  }
  return wide;
}

std::string header_text(const NpyArray& array) {
  std::string code, shape = fmt::format("{}", fmt::join(array.sizes, ", "));
  for (const TypeCode& known : kCodes)
    if (known.dtype == array.dtype)
      code = fmt::format("{}{}", size_of(array.dtype) == 1 ? '|' : '<', known.code);
  if (array.sizes.size() == 1) shape += ',';
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", code,
                                   array.column_major ? "True" : "False", shape);
  header.append(63 - (header.size() + 10) % 64, ' ');  // the elements begin at a multiple of 64
  return header + '\n';
}

}  // namespace

std::vector<int64_t> NpyArray::strides() const {
  std::vector<int64_t> result(sizes.size());
  int64_t stride = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t dim = column_major ? i : sizes.size() - 1 - i;
    result[dim] = stride;
    stride *= sizes[dim];
  }
  return result;
}

NpyArray read_npy(const std::string& path) {
  const std::string file = read_file(path);
  size_t begin = 0;
  const std::string_view header = header_of(path, file, begin);
  NpyArray array;
  array.dtype = parse_descr(path, entry(header, "descr"));
  array.column_major = entry(header, "fortran_order") == "True";
  array.sizes = parse_shape(path, entry(header, "shape"));
  int64_t bytes = size_of(array.dtype);
  for (const int64_t size : array.sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes)) fail(path, "its shape is too large");
  if (static_cast<int64_t>(file.size() - begin) != bytes)
    fail(path, fmt::format("has {} bytes of elements where its shape needs {}", file.size() - begin,
                           bytes));
  array.data.resize(bytes);
  std::memcpy(array.data.data(), file.data() + begin, bytes);
  return array;
}

void write_npy(const std::string& path, const NpyArray& array) {
  if (array.dtype == DType::bf16) return write_npy(path, widened(array));
  const std::string header = header_text(array);
  std::ofstream out(path, std::ios::binary);
  out << kMagic << '\1' << '\0' << static_cast<char>(header.size() & 0xff)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(reinterpret_cast<const char*>(array.data.data()),
            static_cast<std::streamsize>(array.data.size()));
  out.close();
  if (!out) fail(path, "cannot be written");
}

}  // namespace tilewright::cli
