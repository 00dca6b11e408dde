// NumPy files: read back what was written, and files as NumPy writes them.
#include "cli/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "cli/arguments.h"
#include "tests/support/expect_error.h"

namespace tilewright::cli {
namespace {

using testing::expect_error;

std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "tilewright_" + name + ".npy";
}

std::string write_bytes(const std::string& name, const std::string& bytes) {
  std::ofstream(temporary(name), std::ios::binary) << bytes;
  return temporary(name);
}

// A version 1 file with this header, as numpy.save writes it.
std::string file_text(std::string header, const std::string& data) {
  header += '\n';
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

TEST(Npy, ReadsBackWhatItWrote) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (dtype == DType::bf16 || is_f8(dtype)) continue;
    NpyArray array{dtype, {2, 3}, false, {}};
    for (int byte = 0; byte < 6 * size_of(dtype); ++byte) array.data.push_back(std::byte(byte % 2));
    const std::string path = temporary("all");
    write_npy(path, array);
    const NpyArray read = read_npy(path);
    EXPECT_EQ(read.dtype, dtype);
    EXPECT_EQ(read.sizes, array.sizes);
    EXPECT_FALSE(read.column_major);
    EXPECT_EQ(read.data, array.data);
  }
}

TEST(Npy, WritesTheHeaderOfVersionOne) {
  const std::string path = temporary("header");
  write_npy(path, {DType::f32, {2}, false, std::vector<std::byte>(8)});
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(text.size(), 128u + 8u);
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\1\0\x76\0", 10));
  EXPECT_EQ(text.substr(10, header.size()), header);
  EXPECT_EQ(text[127], '\n');
}

TEST(Npy, WidensBf16) {
  const std::string path = temporary("bf16");
  const uint16_t bits[] = {0x3f80, 0xc000};  // 1, -2
  NpyArray array{DType::bf16, {2}, false, std::vector<std::byte>(4)};
  std::memcpy(array.data.data(), bits, 4);
  write_npy(path, array);
  const NpyArray read = read_npy(path);
  ASSERT_EQ(read.dtype, DType::f32);
  float values[2];
  std::memcpy(values, read.data.data(), 8);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -2);
}

TEST(Npy, WritesTheBitsOfF8) {
  for (const DType dtype : {DType::f8e4m3, DType::f8e5m2}) {
    const std::string path = temporary("f8");
    NpyArray array{dtype, {256}, false, {}};
    for (int code = 0; code < 256; ++code) array.data.push_back(std::byte(code));
    write_npy(path, array);
    const NpyArray read = read_npy(path);
    EXPECT_EQ(read.dtype, DType::u8);
    EXPECT_EQ(read.data, array.data);
  }
}

TEST(Npy, ReadsColumnMajorAndScalars) {
  const std::string path =
      write_bytes("columns", file_text("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                                       std::string(12, '\0')));
  EXPECT_EQ(read_npy(path).strides(), (std::vector<int64_t>{1, 2}));
  const auto argument = std::get<TensorArgument>(parse_argument(path));
  EXPECT_EQ(argument.spec, (TensorSpec{DType::i16, {2, 3}, {1, 2}, 16}));
  EXPECT_EQ(argument.path, path);
  const std::string scalar = write_bytes(
      "scalar",
      file_text("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", std::string(1, '\7')));
  EXPECT_TRUE(read_npy(scalar).sizes.empty());
  EXPECT_EQ(read_npy(scalar).data.size(), 1u);
}

void expect_refused(const std::string& name, const std::string& bytes, std::string_view problem) {
  const std::string path = write_bytes(name, bytes);
  expect_error(ErrorId::npy_file, 0, problem, [&] { read_npy(path); });
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  expect_error(ErrorId::npy_file, 0, "cannot be opened", [] { read_npy("/nonexistent/x.npy"); });
  expect_refused("empty", "", "is not a .npy file");
  expect_refused("text", "hello, this is some text", "is not a .npy file");
  expect_refused("short", file_text(good, "").substr(0, 30), "cut off in its header");
  expect_refused("few", file_text(good, "1234"), "has 4 bytes of elements where its shape needs 8");
  expect_refused("many", file_text(good, std::string(12, 'x')), "has 12 bytes");
  expect_refused("big_endian",
                 file_text("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"),
                 "element type '>f4' is not supported");
  expect_refused("complex",
                 file_text("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
                 "'<c8' is not supported");
  expect_refused("negative",
                 file_text("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""),
                 "bad size '-1'");
  expect_refused("no_shape", file_text("{'descr': '<f4', 'fortran_order': False, }", ""),
                 "has no shape");
  expect_refused("huge",
                 file_text("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, "
                           "4294967296), }",
                           ""),
                 "too large");
}

TEST(Npy, SaysWhatItCannotWrite) {
  expect_error(ErrorId::npy_file, 0, "cannot be written", [] {
    write_npy("/nonexistent/x.npy", {DType::f32, {1}, false, std::vector<std::byte>(4)});
  });
}

}  // namespace
}  // namespace tilewright::cli
