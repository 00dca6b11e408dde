// Where plan_shared places buffers.
#include "tilewright/codegen/plan_shared.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tilewright::codegen {
namespace {

SharedBuffer buffer(const char* name, DType dtype, std::vector<int64_t> extents, int alignment) {
  SharedBuffer made{name, dtype, std::move(extents)};
  made.alignment = alignment;
  return made;
}

const SharedBuffer& named(const Kernel& kernel, std::string_view name) {
  for (const SharedBuffer& buffer : kernel.buffers)
    if (buffer.name == name) return buffer;
  throw std::out_of_range("no such buffer");
}

TEST(PlanShared, AlignsAndDoesNotOverlap) {
  Kernel kernel;
  kernel.buffers = {buffer("bytes", DType::i8, {5}, 1), buffer("wide", DType::f32, {3, 7}, 128),
                    buffer("halves", DType::f16, {9}, 16)};
  plan_shared(kernel, Config{}, parse_target("sm_80"));
  EXPECT_EQ(named(kernel, "wide").offset, 0);
  EXPECT_EQ(named(kernel, "halves").offset, 96);  // 84 bytes, up to a multiple of 16
  EXPECT_EQ(named(kernel, "bytes").offset, 114);
  EXPECT_EQ(kernel.shared_bytes, 128);
}

TEST(PlanShared, NothingNeedsNothing) {
  Kernel kernel;
  plan_shared(kernel, Config{}, parse_target("sm_80"));
  EXPECT_EQ(kernel.shared_bytes, 0);
}

TEST(PlanShared, FillsTheTargetToTheLastByteAndNoFurther) {
  const Target target = parse_target("sm_80");
  Kernel kernel;
  kernel.buffers = {buffer("all", DType::f32, {target.shared_bytes / 4}, 16)};
  plan_shared(kernel, Config{}, target);
  EXPECT_EQ(kernel.shared_bytes, target.shared_bytes);
  kernel.buffers.push_back(buffer("more", DType::i8, {1}, 1));
  testing::expect_error(ErrorId::config_shared, 0, std::to_string(target.shared_bytes + 16),
                        [&] { plan_shared(kernel, Config{}, target); });
}

}  // namespace
}  // namespace tilewright::codegen
