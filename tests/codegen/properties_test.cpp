// What generated kernels promise, in numbers: counted in kernel IR, or by running it and looking at
// the addresses of every warp's accesses.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>

#include "examples/kernels/matmul.h"
#include "tests/codegen/run_case.h"
#include "tests/codegen/warp_traffic.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

namespace tilewright::testing {
namespace {

using codegen::Expr;
using codegen::ExprRef;
using codegen::Kernel;
using codegen::Stmt;

const char* const kHows[] = {"nn", "tn", "nt", "tt"};

Config blocks(std::vector<int64_t> block, int warps = 4, int stages = 2,
              CopyKind copy = CopyKind::cp_async) {
  Config config;
  config.block = std::move(block);
  config.warps = warps;
  config.stages = stages;
  config.copy = copy;
  return config;
}

Kernel lowered(const ir::Function& fn, const Config& config, const char* target = "sm_80") {
  return codegen::lower_to_kernel_ir(fn, config, parse_target(target)).kernel;
}

template <class Visit>
void for_each_statement(const std::vector<Stmt>& body, const Visit& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    for_each_statement(stmt.body, visit);
    for_each_statement(stmt.otherwise, visit);
  }
}

int barriers_in(const std::vector<Stmt>& body) {
  int count = 0;
  for_each_statement(body, [&](const Stmt& stmt) { count += stmt.kind == Stmt::Kind::barrier; });
  return count;
}

/// Barriers inside the kernel's loops that all threads walk together.
int barriers_per_step(const Kernel& kernel) {
  int count = 0;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    if (stmt.kind == Stmt::Kind::loop && stmt.uniform) count += barriers_in(stmt.body);
  });
  return count;
}

TEST(Barriers, TwoAStepWithOneStageOneWithARing) {
  for (const char* how : kHows)
    for (const CopyKind copy : {CopyKind::sync, CopyKind::cp_async}) {
      const KernelCase kernel = product_of(how, f32, 200, 200, 200);
      SCOPED_TRACE(std::string(how) + " " + std::string(to_string(copy)));
      EXPECT_EQ(barriers_per_step(lowered(kernel.fn, blocks({64, 64, 16}, 4, 1, copy))), 2);
      for (int stages : {2, 3, 4}) {
        const Kernel made = lowered(kernel.fn, blocks({64, 64, 16}, 4, stages, copy));
        EXPECT_EQ(barriers_per_step(made), 1);
        EXPECT_EQ(barriers_in(made.body), 1);
      }
    }
}

TEST(Barriers, NoneInElementwiseKernels) {
  const KernelCase add = vector_add(f32, dense(f32, {1000}), dense(f32, {1000}));
  EXPECT_EQ(barriers_in(lowered(add.fn, blocks({256})).body), 0);
  EXPECT_EQ(barriers_in(lowered(softmax(dense(f32, {64, 32})).fn, blocks({4}, 4)).body), 0);
}

// --- Conditions.

void collect_conditions(const ExprRef& expr, std::vector<ExprRef>& found) {
  if (!expr) return;
  if (expr->kind == Expr::Kind::conditional) found.push_back(expr->args[0]);
  // How many elements of a copy are valid is a bounds test too.
  if (expr->kind == Expr::Kind::call && expr->text.starts_with("tw::copy_async<") &&
      expr->args.size() > 2 && expr->args[2]->kind != Expr::Kind::conditional)
    found.push_back(expr->args[2]);
  for (const ExprRef& arg : expr->args) collect_conditions(arg, found);
}

/// Every condition that a kernel evaluates, but for those of loops.
std::vector<ExprRef> conditions(const Kernel& kernel) {
  std::vector<ExprRef> found;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    if (stmt.kind == Stmt::Kind::branch && !stmt.uniform) found.push_back(stmt.value);
    collect_conditions(stmt.value, found);
    collect_conditions(stmt.target, found);
  });
  return found;
}

/// Names in an expression that are not of threads: positions in tensors.
std::set<std::string> positions_in(const ExprRef& expr) {
  std::set<std::string> names;
  if (expr->kind == Expr::Kind::name && !expr->text.starts_with("thread") && expr->text != "i" &&
      expr->text != "j")
    names.insert(expr->text);
  for (const ExprRef& arg : expr->args) names.merge(positions_in(arg));
  return names;
}

std::multiset<std::string> bounds_tests(const Kernel& kernel) {
  std::multiset<std::string> tests;
  for (const ExprRef& condition : conditions(kernel))
    for (const std::string& name : positions_in(condition)) tests.insert(name);
  return tests;
}

TEST(Guards, NoneWhereBlocksDivide) {
  for (const char* how : kHows)
    for (int stages : {1, 2, 3}) {
      const Kernel kernel = lowered(product_of(how, f32, 9, 9, 9).fn, blocks({3, 3, 3}, 4, stages));
      EXPECT_TRUE(bounds_tests(kernel).empty()) << how;
    }
  for (const char* how : kHows)
    EXPECT_TRUE(
        bounds_tests(lowered(product_of(how, f32, 128, 128, 64).fn, blocks({64, 64, 16}))).empty())
        << how;
}

TEST(Guards, TheNeededOnesWhereTheyDoNot) {
  const Kernel kernel = lowered(product_of("nn", f32, 10, 10, 10).fn, blocks({3, 3, 3}, 1, 1));
  // a: rows and ks; b: ks and cols; c: rows and cols.
  const std::multiset<std::string> expected = {"cols", "cols", "ks", "ks", "rows", "rows"};
  EXPECT_EQ(bounds_tests(kernel), expected) << codegen::print_cuda(kernel, parse_target("sm_80"));
  // Only the ragged dimension is tested.
  const Kernel columns = lowered(product_of("nn", f32, 9, 10, 9).fn, blocks({3, 3, 3}, 1, 1));
  EXPECT_EQ(bounds_tests(columns), (std::multiset<std::string>{"cols", "cols"}));
}

// --- Memory.

struct TileShape {
  std::vector<int64_t> block;
  int warps;
};

class Traffic : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  static const TileShape& shape(int i) {
    static const std::vector<TileShape> shapes = {
        {{64, 64, 16}, 4}, {{128, 128, 16}, 8}, {{256, 128, 16}, 8}, {{96, 96, 16}, 4}};
    return shapes.at(i);
  }
  /// The traffic of one tile of the product, k being two steps of the loop in 64 x 64 and one else.
  static WarpTraffic measure(const char* how, const TileShape& shape) {
    const KernelCase kernel =
        product_of(how, f32, 2 * shape.block[0], 2 * shape.block[1],
                   shape.block[0] == 64 ? 2 * shape.block[2] : shape.block[2]);
    CaseMemory memory(kernel, true);
    return warp_traffic(lowered(kernel.fn, blocks(shape.block, shape.warps)), memory.args());
  }
};

TEST_P(Traffic, HasNoBankConflictsAndIsWideAndCoalesced) {
  const auto& [how, i] = GetParam();
  const WarpTraffic traffic = measure(how, shape(i));
  ASSERT_EQ(traffic.problem, "");
  EXPECT_GT(traffic.shared_accesses, 0);
  EXPECT_EQ(traffic.bank_conflicts, 0) << "of " << traffic.shared_accesses;
  ASSERT_EQ(traffic.global.size(), 3u);
  const std::vector<int64_t>& block = shape(i).block;
  const int64_t steps = block[0] == 64 ? 2 : 1;
  const std::map<std::string, int64_t> elements = {{"arg0", steps * block[0] * block[2]},
                                                   {"arg1", steps * block[1] * block[2]},
                                                   {"c", block[0] * block[1]}};
  for (const auto& [tensor, global] : traffic.global) {
    SCOPED_TRACE(tensor);
    // The layout chosen for 96 x 96 where a is transposed stores two columns at a time.
    const bool narrow = block[0] == 96 && how[0] == 't' && tensor == "c";
    EXPECT_EQ(global.narrowest, narrow ? 8 : 16);
    EXPECT_EQ(global.bytes, 4 * elements.at(tensor));  // everything, once
    EXPECT_EQ(global.sectors * 32, global.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, Traffic,
                         ::testing::Combine(::testing::ValuesIn(kHows), ::testing::Range(0, 4)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param),
                                              std::get<1>(info.param));
                         });

TEST(TrafficOf, TransposedCopyIsWideBothWays) {
  const KernelCase kernel = transposed_copy(f32, 64, 128);
  CaseMemory memory(kernel, true);
  const WarpTraffic traffic = warp_traffic(lowered(kernel.fn, blocks({32, 32})), memory.args());
  ASSERT_EQ(traffic.problem, "");
  for (const auto& [tensor, global] : traffic.global) {
    EXPECT_EQ(global.narrowest, 16) << tensor;
    EXPECT_EQ(global.sectors * 32, global.bytes) << tensor;
  }
}

TEST(TrafficOf, SoftmaxRowsAreWide) {
  const KernelCase kernel = softmax(dense(bf16, {8, 1024}));
  CaseMemory memory(kernel, true);
  const WarpTraffic traffic = warp_traffic(lowered(kernel.fn, blocks({1}, 4)), memory.args());
  ASSERT_EQ(traffic.problem, "");
  for (const auto& [tensor, global] : traffic.global) {
    EXPECT_EQ(global.narrowest, 16) << tensor;
    EXPECT_EQ(global.sectors * 32, global.bytes) << tensor;
  }
}

TEST(TrafficOf, UnalignedOperandsAreNarrower) {
  const KernelCase kernel = product(strided(f32, {64, 32}, {33, 1}), dense(f32, {32, 64}, 8));
  CaseMemory memory(kernel, true);
  const WarpTraffic traffic = warp_traffic(lowered(kernel.fn, blocks({32, 32, 16})), memory.args());
  ASSERT_EQ(traffic.problem, "");
  EXPECT_EQ(traffic.global.at("arg0").narrowest, 4);
  EXPECT_EQ(traffic.global.at("arg1").narrowest, 8);
  EXPECT_EQ(traffic.global.at("c").narrowest, 16);
}

// --- Text.

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::shared_ptr<const ir::Function> traced_matmul(int64_t m, int64_t n, int64_t k) {
  const std::vector<CompileArg> args = {contiguous_spec(f32, {m, k}), contiguous_spec(f32, {k, n})};
  return examples::matmul.handle().trace(args);
}

TEST(Text, BodyIsShortAndPlain) {
  for (const auto& [m, n, k] : {std::tuple{1000, 1008, 992}, {1000, 1001, 999}, {4096, 4096, 4096}})
    for (const char* target : {"sm_75", "sm_80", "sm_90a"})
      for (int stages : {1, 2, 3}) {
        const Target arch = parse_target(target);
        Config config = blocks({64, 64, 16}, 4, stages,
                               arch.has_cp_async() ? CopyKind::cp_async : CopyKind::sync);
        config.group = 8;
        const std::string text =
            codegen::print_cuda(lowered(*traced_matmul(m, n, k), config, target), arch);
        SCOPED_TRACE(fmt::format("{} {} {} {} stages {}", m, n, k, target, stages));
        EXPECT_EQ(text.find("#include"), std::string::npos);
        const std::string body = text.substr(text.find("extern \"C\""));
        EXPECT_EQ(body.find("asm"), std::string::npos);
        EXPECT_EQ(body.find("#if"), std::string::npos);
        EXPECT_LE(lines_of(body).size(), 100u);
        for (const std::string& line : lines_of(text)) EXPECT_LE(codegen::columns(line), 100);
      }
}

TEST(Text, UserLinesAreCommentsOfTheSourceThatIsThere) {
  const auto traced = traced_matmul(100, 100, 100);
  const Config config = blocks({64, 64, 16});
  const Target target = parse_target("sm_80");
  const std::string with = codegen::print_cuda(lowered(*traced, config), target);
  for (const char* line : {"for (auto [rows, cols] : tw::tile({m, n})) {", "acc = tw::addmm(acc,",
                           "c[rows, cols] = acc;"})
    EXPECT_NE(with.find(line), std::string::npos) << line << "\n" << with;

  std::string text = ir::print(*traced, {.locations = true});
  const std::string file(traced->loc.file);
  for (size_t at = text.find(file); at != std::string::npos; at = text.find(file, at + 1))
    text.replace(at, file.size(), "/nowhere/gone.cpp");
  const ir::Function moved = ir::parse(text);
  const std::string without = codegen::print_cuda(lowered(moved, config), target);
  EXPECT_EQ(without.find("tw::addmm"), std::string::npos);
  EXPECT_EQ(codegen::strip_comments(with), codegen::strip_comments(without));
  const std::string asked_not =
      codegen::print_cuda(lowered(*traced, config), target, {.user_lines = false});
  EXPECT_EQ(asked_not.find("tw::addmm"), std::string::npos);
  EXPECT_EQ(codegen::strip_comments(with), codegen::strip_comments(asked_not));
}

}  // namespace
}  // namespace tilewright::testing
