// How statements, shared memory and whole kernels print.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/golden.h"
#include "tests/support/sample_kernel.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_cuda_shared.h"
#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/codegen/print_kernel_ir.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

ExprRef n(const char* text) { return name(text); }

std::string text_of(const std::vector<Stmt>& stmts, const PrintOptions& options = {}) {
  std::string text;
  for (const std::string& line : print_statements(stmts, 0, options)) text += line + "\n";
  return text;
}

Stmt with_comment(Stmt stmt, std::string comment) {
  stmt.comment = std::move(comment);
  return stmt;
}

Stmt set(const char* to, ExprRef value) { return assign(n(to), std::move(value)); }
Stmt count_to(const char* variable, int64_t limit, bool unroll, std::vector<Stmt> body) {
  return loop(variable, integer(0), integer(limit), integer(1), unroll, std::move(body));
}

/// A file of user's source for the test's time.
class UserSource {
 public:
  explicit UserSource(const std::string& text) {
    static int count = 0;
    // A name not seen before: files are read once and kept.
    path_ =
        std::filesystem::temp_directory_path() /
        ("tilewright_print_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ".cpp");
    std::ofstream(path_) << text;
    file_ = path_.string();
  }
  ~UserSource() { std::filesystem::remove(path_); }

  Stmt line(int number) const { return source_line(Loc{file_, number}); }
  std::string place(int number) const {
    return path_.filename().string() + ":" + std::to_string(number);
  }

 private:
  std::filesystem::path path_;
  std::string file_;
};

TEST(Statements, DeclarationsShareALine) {
  EXPECT_EQ(text_of({declare("int", "row", n("i") / integer(4)),
                     declare("int", "col", n("i") % integer(4)), array("float", "a", {8}),
                     array("float", "b", {2, 4}), array("float", "acc", {4}, true),
                     declare("int", "state", integer(1), false),
                     with_comment(declare("int", "x", n("row")), "alone")}),
            "const int row = i / 4, col = i % 4;\n"
            "float a[8], b[2][4];\n"
            "float acc[4] = {};\n"
            "int state = 1;\n"
            "const int x = row;  // alone\n");
}

TEST(Statements, PointersAndConstexpr) {
  EXPECT_EQ(text_of({declare("const float*", "p", address(global("a", n("i")))),
                     declare("tw::f16*", "q", n("r")), declare("constexpr int", "k", integer(3))}),
            "const float* p = &a[i];\n"
            "tw::f16* const q = r;\n"
            "constexpr int k = 3;\n");
}

TEST(Statements, BodiesUseBracesOnlyWhereNeeded) {
  EXPECT_EQ(text_of({count_to("i", 8, true, {count_to("j", 4, true, {set("x", n("i"))})})}),
            "#pragma unroll\n"
            "for (int i = 0; i < 8; ++i)\n"
            "#pragma unroll\n"
            "  for (int j = 0; j < 4; ++j) x = i;\n");
  EXPECT_EQ(text_of({loop("k", n("from"), n("to"), integer(4), false,
                          {set("x", n("k")), set("y", n("k"))})}),
            "for (int k = from; k < to; k += 4) {\n"
            "  x = k;\n"
            "  y = k;\n"
            "}\n");
  EXPECT_EQ(text_of({branch(n("p"), {set("x", n("k"))})}), "if (p) x = k;\n");
  EXPECT_EQ(text_of({count_to("i", 2, false, {branch(n("p"), {declare("int", "d", n("i"))})})}),
            "for (int i = 0; i < 2; ++i)\n"
            "  if (p) {\n"
            "    const int d = i;\n"
            "  }\n");
}

TEST(Statements, ElseNeverDangles) {
  EXPECT_EQ(text_of({branch(n("p"), {branch(n("q"), {set("x", n("a"))})}, {set("x", n("b"))})}),
            "if (p) {\n"
            "  if (q) x = a;\n"
            "} else {\n"
            "  x = b;\n"
            "}\n");
  EXPECT_EQ(text_of({branch(n("p"), {order("wait", {"ring"})}, {set("x", n("b"))})}),
            "if (!p) x = b;\n");
}

TEST(Statements, OrderingEdgesPrintNothing) {
  EXPECT_EQ(text_of({order("acquire", {"ring"}), count_to("i", 2, true, {order("wait", {"ring"})}),
                     set("x", n("a"))}),
            "x = a;\n");
}

TEST(Statements, LambdasStandApart) {
  EXPECT_EQ(
      text_of({set("x", n("a")),
               lambda("load_step", {"int step", "int stage"}, {call_stmt(call("f", {n("step")}))}),
               call_stmt(call("load_step", {integer(0), integer(1)})), barrier("all is there")}),
      "x = a;\n"
      "\n"
      "auto load_step = [&](int step, int stage) {\n"
      "  f(step);\n"
      "};\n"
      "\n"
      "load_step(0, 1);\n"
      "__syncthreads();  // all is there\n");
}

TEST(Statements, LongLinesBreakAtOuterPlaces) {
  const ExprRef offset = (n("first_row_of_the_tile") + n("row_in_tile")) * integer(992) +
                         n("first_column_of_the_tile") + n("column_in_tile");
  EXPECT_EQ(
      text_of({call_stmt(
          call("tw::copy_async<4>",
               {address(shared("ring", {n("stage"), n("row")})), address(global("operand", offset)),
                conditional(n("p") < n("q"), integer(4), integer(0))}))}),
      "tw::copy_async<4>(&shared.ring[stage][row],\n"
      "    &operand[(first_row_of_the_tile + row_in_tile) * 992 + first_column_of_the_tile +\n"
      "    column_in_tile], p < q ? 4 : 0);\n");
}

TEST(Statements, CommentsThatDoNotFitGoAbove) {
  const std::string long_comment(90, 'x');
  EXPECT_EQ(text_of({barrier(long_comment)}), "// " + long_comment + "\n__syncthreads();\n");
  EXPECT_EQ(text_of({comment("a\nb\\")}), "// a b\n") << "one line, no continuation";
}

TEST(UserLines, KeepTheirOwnIndentation) {
  const UserSource source(
      "    for (auto rows : tile(m)) {\n"
      "\tx = f(rows);  \\\n"
      "      y = x;\n");
  const std::string text = text_of(
      {source.line(1), set("rows", n("a")), source.line(2), source.line(3), set("y", n("b"))});
  const auto padded = [&](std::string code, int line) {
    const std::string place = source.place(line);
    return code + std::string(kLineWidth - code.size() - place.size(), ' ') + place + "\n";
  };
  EXPECT_EQ(text, padded("// for (auto rows : tile(m)) {", 1) + "rows = a;\n\n" +
                      padded("// x = f(rows);", 2) + padded("//   y = x;", 3) + "y = b;\n");
}

TEST(UserLines, AreLeftOutWithTheirFileOrOnDemand) {
  const UserSource source("x = f(rows);\n");
  const std::vector<Stmt> stmts = {set("a", n("b")), source.line(1), set("x", n("y"))};
  EXPECT_EQ(text_of(stmts, {.user_lines = false}), "a = b;\nx = y;\n");
  EXPECT_EQ(text_of({set("a", n("b")), source_line(Loc{"/no/such/file.cpp", 3}), set("x", n("y"))}),
            "a = b;\nx = y;\n");
  EXPECT_EQ(strip_comments(text_of(stmts)), strip_comments(text_of(stmts, {.user_lines = false})));
}

TEST(UserLines, LongOnesWrap) {
  const UserSource source("auto value = " + std::string(60, 'f') + "(" + std::string(50, 'g') +
                          " + 1);\n");
  std::istringstream lines(text_of({source.line(1), set("x", n("y"))}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

SharedBuffer buffer(std::string name, DType dtype, std::vector<int64_t> extents, int64_t offset) {
  SharedBuffer result;
  result.name = std::move(name);
  result.dtype = dtype;
  result.extents = std::move(extents);
  result.offset = offset;
  return result;
}

TEST(SharedStruct, GapsAreFilled) {
  EXPECT_EQ(shared_struct_text(
                {buffer("b", DType::f32, {4}, 128), buffer("a", DType::bf16, {3}, 0)}, 256),
            "struct Shared {\n"
            "  tw::bf16 a[3];\n"
            "  unsigned char gap0[122];\n"
            "  float b[4];\n"
            "};\n"
            "static_assert(sizeof(Shared) == 144);\n");
}

TEST(SharedStruct, OverlapsBecomeUnions) {
  EXPECT_EQ(shared_struct_text(
                {buffer("a", DType::f32, {64}, 0), buffer("b", DType::f32, {64}, 256),
                 buffer("whole", DType::f32, {96}, 64), buffer("last", DType::f64, {2}, 512)},
                1024),
            "struct Shared {\n"
            "  union {  // the same bytes, used one after the other\n"
            "    struct {\n"
            "      float a[64];\n"
            "      float b[64];\n"
            "    };\n"
            "    struct {\n"
            "      unsigned char gap0[64];\n"
            "      float whole[96];\n"
            "    };\n"
            "  };\n"
            "  double last[2];\n"
            "};\n"
            "static_assert(sizeof(Shared) == 528);\n");
}

TEST(SharedStruct, RefusesImpossibleMaps) {
  EXPECT_THROW(shared_struct_text({buffer("a", DType::f32, {4}, -1)}, 64), InternalError);
  EXPECT_THROW(shared_struct_text({buffer("a", DType::f32, {4}, 2)}, 64), InternalError);
  EXPECT_THROW(shared_struct_text({buffer("a", DType::f32, {4}, 0)}, 8), InternalError);
}

TEST(StripComments, KeepsCodeAndLiterals) {
  EXPECT_EQ(strip_comments("// head\n\nint a = 1;  // one\n  int b; /* two\nlines */ int c;\n"),
            "int a = 1;\n  int b;   int c;\n");
  EXPECT_EQ(strip_comments("f(\"// no\", '\"', \"a\\\"//b\");  // yes"),
            "f(\"// no\", '\"', \"a\\\"//b\");\n");
  EXPECT_EQ(strip_comments("R\"x(// \" )\" )x\"; // c\nint n = 1'000; // d\n"),
            "R\"x(// \" )\" )x\";\nint n = 1'000;\n");
  EXPECT_EQ(strip_comments("int a; // continued \\\nint b;\nint c;\n"), "int a;\nint c;\n");
  EXPECT_EQ(strip_comments("a / b; a /= 2;"), "a / b; a /= 2;\n");
}

TEST(StripComments, IsStable) {
  const std::string cuda = print_cuda(testing::sample_kernel(), parse_target("sm_80"));
  const std::string code = strip_comments(cuda);
  EXPECT_EQ(strip_comments(code), code);
  EXPECT_EQ(code.find("//"), std::string::npos);
}

TEST(PrintCuda, ParametersSayWhatTheyAre) {
  Kernel kernel;
  kernel.name = "scale_0badcafe";
  kernel.threads = 256;
  kernel.blocks_per_sm = 2;
  kernel.params = {{.name = "x", .dtype = DType::bf16},
                   {.name = "y", .dtype = DType::i8, .written = true, .may_alias = true},
                   {.name = "alpha", .dtype = DType::f32, .tensor = false}};
  EXPECT_EQ(print_cuda(kernel, parse_target("sm_80")),
            "namespace tw {  // only what this kernel uses\n"
            "// the upper half of a float, as stored\n"
            "struct bf16 { unsigned short bits; };\n"
            "}  // namespace tw\n"
            "\n"
            "extern \"C\" __global__ void __launch_bounds__(256, 2)\n"
            "scale_0badcafe(const tw::bf16* __restrict__ x, signed char* y, float alpha) {\n"
            "}\n");
}

TEST(PrintCuda, SampleKernelIsTheGolden) {
  const std::string printed = print_cuda(testing::sample_kernel(), parse_target("sm_80"));
  testing::expect_golden("kernel_ir/golden/sample_kernel.cu", printed);
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(PrintCuda, UnknownOrUnavailableHelpersAreBugs) {
  Kernel kernel;
  kernel.name = "k";
  kernel.body = {call_stmt(call("tw::no_such_helper", {}))};
  EXPECT_THROW(print_cuda(kernel, parse_target("sm_80")), InternalError);
  kernel.body = {call_stmt(call("tw::copy_async_commit", {}))};
  EXPECT_THROW(print_cuda(kernel, parse_target("sm_75")), InternalError);
}

TEST(PrintKernelIr, ShowsWhatCudaLeavesOut) {
  Kernel kernel;
  kernel.name = "k_1";
  kernel.params = {{.name = "x", .dtype = DType::f32, .written = true},
                   {.name = "s", .dtype = DType::i32, .tensor = false, .source = 1}};
  kernel.buffers = {buffer("ring", DType::f32, {2, 8}, 16)};
  kernel.buffers[0].comment = "[stage][k]";
  kernel.shared_bytes = 80;
  kernel.body = {source_line(Loc{"f.cpp", 3}),
                 order("acquire", {"ring"}),
                 declare("int", "i", n("s") + integer(1)),
                 array("float", "acc", {2, 4}, true),
                 count_to("j", 4, true, {assign(element("acc", {n("j")}), real(1), "+=")}),
                 branch(n("p"), {barrier("why")}, {comment("nothing")}),
                 lambda("f", {"int k"}, {call_stmt(call("g", {n("k")}))})};
  EXPECT_EQ(print_kernel_ir(kernel),
            "kernel k_1 grid _ threads 128 blocks_per_sm 1 shared_bytes 80\n"
            "  param x: f32* from 0 written\n"
            "  param s: i32 from 1\n"
            "  shared ring: f32[2,8] at 16 align 16  // [stage][k]\n"
            "  source f.cpp:3\n"
            "  order acquire ring\n"
            "  let i: int = s + 1\n"
            "  array acc: float[2,4] zero\n"
            "  for j in 0 .. 4 step 1 unroll\n"
            "    acc[j] += 1.0f\n"
            "  if p\n"
            "    barrier  // why\n"
            "  else\n"
            "    comment  // nothing\n"
            "  lambda f(int k)\n"
            "    g(k)\n");
}

}  // namespace
}  // namespace tilewright::codegen
