// Parts of bytes are recognized in what unpacks them, and are what the interpreter computes.
#include "tilewright/codegen/byte_fields.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>

#include "tests/codegen/kernel_case.h"
#include "tilewright/runtime/interpreter.h"

namespace tilewright::testing {
namespace {

using codegen::ByteField;

struct Unpacking {
  const char* name;
  DType stored;
  std::function<Tile(Tile)> unpack;
  const char* expected;  // first, width, signedness, offset; empty: no part of a byte
};

const Unpacking kUnpackings[] = {
    {"byte", i8, [](Tile x) { return cast(x, i32); }, "0 8 signed +0"},
    {"unsigned_byte", u8, [](Tile x) { return cast(x, i32); }, "0 8 unsigned +0"},
    {"low_nibble", i8, [](Tile x) { return cast(x << 4 >> 4, i32); }, "0 4 signed +0"},
    {"high_nibble", i8, [](Tile x) { return cast(x >> 4, i32); }, "4 4 signed +0"},
    {"masked", i8, [](Tile x) { return cast(x, i32) & 15; }, "0 4 unsigned +0"},
    {"masked_high", u8, [](Tile x) { return (cast(x, i32) >> 4 & 15) - 8; }, "4 4 unsigned -8"},
    {"middle", u8, [](Tile x) { return cast(x << 1 >> 3, i32) + 5; }, "2 5 unsigned +5"},
    {"bits_in_i32", i8, [](Tile x) { return cast(x, i32) << 3 >> 5; }, "2 6 signed +0"},
    {"twice", u8, [](Tile x) { return (cast(x, i32) >> 2 & 31) >> 1 & 3; }, "3 2 unsigned +0"},
    {"sign_copies", i8, [](Tile x) { return cast(x, i32) & 4095; }, ""},
    {"wraps", i8, [](Tile x) { return cast(x + 100, i32); }, ""},
    {"not_low_bits", u8, [](Tile x) { return cast(x, i32) & 12; }, ""},
    {"shifted_up", u8, [](Tile x) { return cast(x, i32) << 2; }, ""},
    {"sum_shifted", u8, [](Tile x) { return (cast(x, i32) + 1) >> 1; }, ""},
    {"of_two", u8, [](Tile x) { return cast(x, i32) + cast(x, i32); }, ""},
};

int64_t part_of(int byte, const ByteField& field) {
  int64_t bits = byte >> field.first & ((1 << field.width) - 1);
  if (field.is_signed && bits >> (field.width - 1) != 0) bits -= int64_t{1} << field.width;
  return bits + field.plus;
}

class ByteFields : public ::testing::TestWithParam<Unpacking> {};

TEST_P(ByteFields, AreWhatTheInterpreterComputes) {
  const Unpacking& unpacking = GetParam();
  const KernelCase kernel = make_case("unpack",
                                      [&](Tensor x) {
                                        Tensor y = empty({x.size(0)}, i32);
                                        for (auto all : tile(x.size(0)))
                                          y[all] = unpacking.unpack(x[all]);
                                        return y;
                                      },
                                      {dense(unpacking.stored, {256})});
  std::optional<ByteField> field;
  const ir::Facts facts(kernel.fn);
  ir::for_each_op(kernel.fn.body(), [&](const ir::Op& op) {
    if (op.kind == ir::OpKind::store)
      field = codegen::byte_field(facts, op.operand(1), [](const ir::Value* value) {
        return value->def != nullptr && value->def->kind == ir::OpKind::load;
      });
  });
  const std::string found = field
                                ? fmt::format("{} {} {} {:+}", field->first, field->width,
                                              field->is_signed ? "signed" : "unsigned", field->plus)
                                : "";
  EXPECT_EQ(found, unpacking.expected);
  if (!field) return;
  std::vector<uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  std::vector<int32_t> results(256);
  interpret(kernel.fn,
            {HostTensor{bytes.data(), contiguous_spec(unpacking.stored, {256})},
             HostTensor{results.data(), contiguous_spec(i32, {256})}},
            {.block = {64}});
  for (int i = 0; i < 256; ++i) EXPECT_EQ(results[static_cast<size_t>(i)], part_of(i, *field)) << i;
}

INSTANTIATE_TEST_SUITE_P(Unpackings, ByteFields, ::testing::ValuesIn(kUnpackings),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tilewright::testing
