// Encoding and decoding of f16 and bf16, exhaustively.
#include "tilewright/runtime/half.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/interpreter/half_reference.h"

namespace tilewright::testing {
namespace {

struct Format {
  const char* name;
  HalfReference reference;
  float (*decode)(uint16_t);
  uint16_t (*encode)(double);
};

const Format kFormats[] = {{"f16", kF16Reference, &f16_to_float, &f16_from_double},
                           {"bf16", kBF16Reference, &bf16_to_float, &bf16_from_double}};

TEST(Half, DecodesEveryPattern) {
  for (const Format& format : kFormats) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      const double expected = format.reference.decode(bits);
      const float found = format.decode(bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(found)) << format.name << " " << bits;
      } else {
        ASSERT_EQ(found, expected) << format.name << " " << bits;
      }
      ASSERT_EQ(std::signbit(found), bits >> 15 != 0) << format.name << " " << bits;
    }
  }
}

TEST(Half, EncodesEveryValueAsItself) {
  for (const Format& format : kFormats) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      const uint16_t found = format.encode(format.decode(bits));
      if (std::isnan(format.reference.decode(bits))) {
        ASSERT_TRUE(std::isnan(format.reference.decode(found))) << format.name << " " << bits;
        ASSERT_EQ(found >> 15, bits >> 15) << format.name << " " << bits;
      } else {
        ASSERT_EQ(found, bits) << format.name;
      }
    }
  }
}

// Between every two neighbours, infinity and the subnormals included.
TEST(Half, RoundsToNearestEvenEverywhere) {
  for (const Format& format : kFormats) {
    const std::vector<double> values = format.reference.magnitudes();
    for (size_t low = 0; low + 1 < values.size(); ++low) {
      const double middle = values[low] + (values[low + 1] - values[low]) / 2;
      const size_t even = low % 2 == 0 ? low : low + 1;
      const double under = std::nextafter(middle, 0.0), over = std::nextafter(middle, INFINITY);
      ASSERT_EQ(format.encode(middle), even) << format.name << " " << middle;
      ASSERT_EQ(format.encode(under), low) << format.name << " " << under;
      ASSERT_EQ(format.encode(over), low + 1) << format.name << " " << over;
      ASSERT_EQ(format.encode(-middle), even | 0x8000) << format.name << " " << middle;
      ASSERT_EQ(format.encode(-under), low | 0x8000) << format.name << " " << under;
      ASSERT_EQ(format.encode(-over), (low + 1) | 0x8000) << format.name << " " << over;
    }
  }
}

TEST(Half, ExtremesOfDouble) {
  for (const Format& format : kFormats) {
    const uint16_t infinity = format.reference.infinity();
    EXPECT_EQ(format.encode(1e308), infinity);
    EXPECT_EQ(format.encode(-1e308), infinity | 0x8000);
    EXPECT_EQ(format.encode(INFINITY), infinity);
    EXPECT_EQ(format.encode(5e-324), 0);
    EXPECT_EQ(format.encode(-5e-324), 0x8000);
    EXPECT_EQ(format.encode(-0.0), 0x8000);
  }
}

TEST(Half, KnownPatterns) {
  EXPECT_EQ(f16_from_double(1), 0x3c00);
  EXPECT_EQ(f16_from_double(65504), 0x7bff);
  EXPECT_EQ(f16_from_double(65519.996), 0x7bff);
  EXPECT_EQ(f16_from_double(65520), 0x7c00);
  EXPECT_EQ(f16_from_double(0x1p-24), 1);
  EXPECT_EQ(bf16_from_double(1), 0x3f80);
  EXPECT_EQ(bf16_to_float(bf16_from_double(259)), 260);
  EXPECT_EQ(bf16_to_float(bf16_from_double(33000)), 33024);
  // A NaN whose payload rounds up must not become -0.
  EXPECT_TRUE(std::isnan(bf16_to_float(bf16_from_double(std::bit_cast<float>(0x7fff8c22u)))));
  // One whose payload is cut off must not become infinity.
  EXPECT_TRUE(std::isnan(bf16_to_float(bf16_from_double(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(f16_to_float(f16_from_double(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace tilewright::testing
