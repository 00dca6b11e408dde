// The device helpers and everything printed with them compile for every target, and become the
// instructions they promise.
#include "tilewright/codegen/prelude.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <sstream>

#include "tests/support/sample_kernel.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/codegen/print_cuda_shared.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::codegen {
namespace {

using ir::Fn;

const std::vector<std::string> kTargets = {"sm_75",  "sm_80",   "sm_89",
                                           "sm_90a", "sm_100a", "sm_120a"};

ExprRef n(const std::string& text) { return name(text); }

/// The kernel's PTX and resources; a failed compilation fails the test with the log.
runtime::CompiledCuda compile(const std::string& source, const std::string& target) {
  return runtime::compile_cuda(source, "kernel", parse_target(target));
}

/// A kernel with a written tensor `<dtype>_` and scalars `<dtype>_x`, `<dtype>_y` of every dtype.
Kernel kernel_of_all_dtypes(std::vector<Stmt> body) {
  Kernel kernel;
  kernel.name = "kernel";
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    const std::string text(to_string(dtype));
    kernel.params.push_back({.name = text + "_", .dtype = dtype, .written = true});
    for (const char* scalar : {"_x", "_y"})
      kernel.params.push_back({.name = text + scalar, .dtype = dtype, .tensor = false});
  }
  kernel.body = std::move(body);
  return kernel;
}

Stmt write(DType dtype, int index, ExprRef value) {
  return assign(global(std::string(to_string(dtype)) + "_", integer(index)), std::move(value));
}

ExprRef scalar(DType dtype, const char* suffix) {
  return n(std::string(to_string(dtype)) + suffix);
}

/// One statement for each function and dtype it takes, fma and identities too.
std::vector<Stmt> every_function() {
  std::vector<Stmt> stmts;
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    const ExprRef x = scalar(dtype, "_x"), y = scalar(dtype, "_y");
    int index = 0;
    for (int f = 0; f <= static_cast<int>(Fn::ge); ++f) {
      const Fn fn = static_cast<Fn>(f);
      if (!ir::accepts(fn, dtype)) continue;
      const ir::FnKind kind = ir::info(fn).kind;
      const ExprRef value =
          kind == ir::FnKind::unary ? fn_expr(fn, dtype, {x}) : fn_expr(fn, dtype, {x, y});
      stmts.push_back(write(kind == ir::FnKind::compare ? DType::boolean : dtype, index++, value));
      if (ir::is_monoid(fn)) stmts.push_back(write(dtype, index++, identity_expr(fn, dtype)));
    }
    if (dtype != DType::boolean) stmts.push_back(write(dtype, index++, fma_expr(dtype, x, y, x)));
  }
  return stmts;
}

std::vector<Stmt> every_cast() {
  std::vector<Stmt> stmts;
  for (int from = 0; from < kDTypeCount; ++from)
    for (int to = 0; to < kDTypeCount; ++to) {
      const DType source = static_cast<DType>(from), result = static_cast<DType>(to);
      stmts.push_back(write(result, from, cast_expr(scalar(source, "_x"), source, result)));
      for (const double value : {0.0, -1.5, 1e300, -HUGE_VAL, double{NAN}})
        stmts.push_back(write(result, 20, constant_expr(value, result)));
      stmts.push_back(write(result, 21, constant_expr((int64_t{1} << 60) + 1, result)));
    }
  return stmts;
}

class EveryTarget : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Prelude, EveryTarget, ::testing::ValuesIn(kTargets),
                         [](const auto& info) { return info.param; });

TEST_P(EveryTarget, CompilesEveryFunction) {
  const Kernel kernel = kernel_of_all_dtypes(every_function());
  EXPECT_FALSE(compile(print_cuda(kernel, parse_target(GetParam())), GetParam()).cubin.empty());
}

TEST_P(EveryTarget, CompilesEveryCastAndConstant) {
  const Kernel kernel = kernel_of_all_dtypes(every_cast());
  EXPECT_FALSE(compile(print_cuda(kernel, parse_target(GetParam())), GetParam()).cubin.empty());
}

TEST_P(EveryTarget, CompilesEveryHelperTheTargetCanHave) {
  const Target target = parse_target(GetParam());
  std::set<std::string> all;
  for (const Helper& helper : helpers())
    if (has_helper(target, helper)) all.insert(helper.name);
  const std::string source = prelude_text(all, target) + R"(
    extern "C" __global__ void kernel(float* f, tw::bf16* b, double* d, const int* from, int n) {
      extern __shared__ int staged[];
      f[0] = tw::shuffle_xor(f[1], 16) + tw::shuffle(f[2], 3);
      d[0] = tw::shuffle_xor(d[1], 8) + tw::shuffle(d[2], 3);
      b[0] = tw::shuffle_xor(b[1], 4);
      b[1] = tw::shuffle(b[2], 2);
      const tw::TileId tile = tw::grouped_tile(blockIdx.x, n, 7, 8);
      f[3] = tile.row + tile.col;
      f[4] = tw::shared_memory<float>();
    })";
  EXPECT_FALSE(compile(source, GetParam()).cubin.empty());
}

TEST_P(EveryTarget, CompilesTheSampleKernelWithoutLocalMemory) {
  if (!parse_target(GetParam()).has_cp_async()) {
    EXPECT_THROW(print_cuda(testing::sample_kernel(), parse_target(GetParam())), InternalError);
    return;
  }
  const runtime::CompiledCuda compiled =
      compile(print_cuda(testing::sample_kernel(), parse_target(GetParam())), GetParam());
  EXPECT_EQ(compiled.resources.local_bytes, 0);
  EXPECT_EQ(compiled.resources.spill_bytes, 0);
  EXPECT_NE(compiled.ptx.find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_NE(compiled.ptx.find("cp.async.wait_group"), std::string::npos);
}

TEST(Prelude, HelpersComeAfterWhatTheyNeed) {
  std::set<std::string_view> seen;
  for (const Helper& helper : helpers()) {
    for (const std::string_view need : helper.needs)
      EXPECT_TRUE(seen.contains(need)) << helper.name << " needs " << need;
    EXPECT_TRUE(helper.only_with.empty() || seen.contains(helper.only_with)) << helper.name;
    seen.insert(helper.name);
  }
}

TEST(Prelude, PrintsOnlyWhatIsUsed) {
  const Target target = parse_target("sm_80");
  EXPECT_EQ(prelude_text({}, target), "");
  EXPECT_EQ(prelude_text({"TileId"}, target),
            "namespace tw {  // only what this kernel uses\n"
            "struct TileId { int row, col; };\n"
            "}  // namespace tw\n");
  const std::string halves = prelude_text({"to_bf16", "to_float"}, target);
  EXPECT_NE(halves.find("float to_float(bf16 x)"), std::string::npos);
  EXPECT_EQ(halves.find("f16 x) {\n  float value"), std::string::npos) << "no f16 here";
  EXPECT_EQ(helpers_used("tw::load<4>(a, b);  // tw::zeros\n tw::bf16 x;"),
            (std::set<std::string>{"load", "bf16"}));
}

TEST(Prelude, FitsTheLineWidth) {
  std::set<std::string> all;
  for (const Helper& helper : helpers()) all.insert(std::string(helper.name));
  all.merge(std::set<std::string>{"wgmma_m64n8k16_bf16", "wgmma_m64n256k16_f16",
                                  "wgmma_m64n176k32_e4m3_e5m2", "wgmma_m64n256k32_s8"});
  std::istringstream lines(prelude_text(all, parse_target("sm_90a")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Prelude, TellsEffectsOfPointerArguments) {
  ASSERT_NE(find_helper("tw::load<4>"), nullptr);
  EXPECT_EQ(find_helper("tw::load<4>"), find_helper("load"));
  EXPECT_EQ(find_helper("expf"), nullptr);
  for (const char* name : {"load", "store", "copy_async"}) {
    const std::vector<PointerUse>& uses = find_helper(name)->pointers;
    ASSERT_EQ(uses.size(), 2u);
    EXPECT_EQ(uses[0].argument, 0);
    EXPECT_EQ(uses[0].access, Access::write);
    EXPECT_EQ(uses[1].argument, 1);
    EXPECT_EQ(uses[1].access, Access::read);
  }
}

int count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

/// A kernel that moves n elements of a type from global memory through registers, picking from two
/// loads on the way.
std::string moving_kernel(const std::string& type, int elements) {
  return fmt::format(R"(
extern "C" __global__ void move_{n}(const {type}* a, {type}* b) {{
  {type} x[2][{n}], y[{n}];
#pragma unroll
  for (int i = 0; i < 2; ++i) tw::load<{n}>(x[i], &a[(threadIdx.x + 32 * i) * {n}]);
#pragma unroll
  for (int i = 0; i < {n}; ++i) y[i] = x[i % 2][i];
  tw::store<{n}>(&b[threadIdx.x * {n}], y);
}}
)",
                     fmt::arg("type", type), fmt::arg("n", elements));
}

TEST(Accesses, MoveTheirBytesAtOnce) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    std::string code =
        prelude_text({"load", "store", "f16", "bf16", "f8e4m3", "f8e5m2"}, parse_target("sm_80"));
    int widths = 0;
    for (int bytes = size_of(dtype); bytes <= 16; bytes *= 2, ++widths)
      code += moving_kernel(cuda_type(dtype), bytes / size_of(dtype));
    const runtime::CompiledCuda compiled = compile(code, "sm_80");
    const std::string where = std::string(to_string(dtype)) + "\n" + compiled.ptx;
    // Of one element only the first load is needed.
    EXPECT_EQ(count(compiled.ptx, "ld\\.global"), 2 * widths - 1) << where;
    EXPECT_EQ(count(compiled.ptx, "st\\.global"), widths) << where;
    EXPECT_EQ(count(compiled.ptx, "ld\\.global\\.(v4\\.[a-z]32|v2\\.[a-z]64)"), 2) << where;
    EXPECT_EQ(count(compiled.ptx, "st\\.global\\.(v4\\.[a-z]32|v2\\.[a-z]64)"), 1) << where;
    EXPECT_EQ(compiled.resources.local_bytes, 0) << where;
  }
}

TEST(Accesses, FourFloatsAreOneLoad) {
  const std::string ptx = compile(prelude_text({"load"}, parse_target("sm_80")) + R"(
    extern "C" __global__ void kernel(const float* __restrict__ a, float* __restrict__ b) {
      float x[4];
      tw::load<4>(x, &a[threadIdx.x * 4]);
      b[threadIdx.x] = x[0] + x[1] + x[2] + x[3];
    })",
                                  "sm_80")
                              .ptx;
  EXPECT_EQ(count(ptx, "ld\\.global(\\.nc)?\\.v4"), 1) << ptx;
  EXPECT_EQ(count(ptx, "ld\\.global"), 1) << ptx;
}

TEST(Accesses, AsynchronousCopiesNameTheirWidth) {
  const std::string ptx =
      compile(prelude_text({"copy_async", "copy_async_commit", "copy_async_wait", "bf16"},
                           parse_target("sm_80")) +
                  R"(
    extern "C" __global__ void kernel(const float* a, const tw::bf16* b, int valid) {
      __shared__ __align__(16) float x[64];
      __shared__ __align__(16) tw::bf16 y[64];
      tw::copy_async<4>(x, a);
      tw::copy_async<8>(y, b, valid);
      tw::copy_async<2>(x + 4, a + 4);
      tw::copy_async<2>(y + 8, b + 8, valid);
      tw::copy_async_commit();
      tw::copy_async_wait<1>();
    })",
              "sm_80")
          .ptx;
  EXPECT_EQ(count(ptx, "cp\\.async\\.cg\\.shared\\.global \\[%r\\d+\\], \\[%rd\\d+\\], 16"), 2)
      << ptx;
  EXPECT_EQ(count(ptx, "cp\\.async\\.ca\\.shared\\.global \\[%r\\d+\\], \\[%rd\\d+\\], 8"), 1)
      << ptx;
  EXPECT_EQ(count(ptx, "cp\\.async\\.ca\\.shared\\.global \\[%r\\d+\\], \\[%rd\\d+\\], 4"), 1)
      << ptx;
  EXPECT_EQ(count(ptx, "cp\\.async\\.commit_group"), 1);
  EXPECT_EQ(count(ptx, "cp\\.async\\.wait_group 1"), 1);
}

SharedBuffer buffer(std::string name, DType dtype, std::vector<int64_t> extents, int64_t offset) {
  SharedBuffer result;
  result.name = std::move(name);
  result.dtype = dtype;
  result.extents = std::move(extents);
  result.offset = offset;
  return result;
}

TEST(SharedStruct, MembersLieWhereThePlanPutsThem) {
  const std::vector<SharedBuffer> buffers = {
      buffer("a", DType::f32, {2, 16}, 0), buffer("b", DType::bf16, {3}, 128),
      buffer("c", DType::f64, {5}, 256),   buffer("d", DType::i8, {300}, 272),
      buffer("e", DType::bf16, {64}, 304), buffer("f", DType::boolean, {}, 700)};
  std::string code = shared_struct_text(buffers, 1024);
  std::vector<std::string> offsets;
  std::vector<int64_t> expected;
  for (const SharedBuffer& b : buffers) {
    offsets.push_back("(char*)&((Shared*)4096)->" + b.name + " - (char*)4096");
    expected.push_back(b.offset);
  }
  code += "extern \"C\" __global__ void kernel(long long* out) {\n";
  for (size_t i = 0; i < offsets.size(); ++i) {
    code += fmt::format("  if ({} == {}) out[{}] = 1;\n", offsets[i], expected[i], i);
    code += fmt::format("  if ({} != {}) asm(\"wrong_offset_{};\");\n", offsets[i], expected[i], i);
  }
  code += "}\n";
  const std::string ptx =
      compile(prelude_text(helpers_used(code), parse_target("sm_80")) + code, "sm_80").ptx;
  EXPECT_EQ(count(ptx, "wrong_offset"), 0) << code;
  EXPECT_EQ(count(ptx, "st\\.global"), static_cast<int>(buffers.size())) << ptx;
}

}  // namespace
}  // namespace tilewright::codegen
