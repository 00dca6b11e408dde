// What docs/architecture.md and README.md show of the compiler's output is what it gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "examples/kernels/matmul.h"
#include "tests/repo/source_tree.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/print.h"

namespace tilewright::repo {
namespace {

// The kernel that both documents show.
constexpr const char* kConfig = R"({"block":[64,64,16],"group":8})";

std::shared_ptr<const ir::Function> traced() {
  const std::vector<CompileArg> args = {contiguous_spec(f32, {1000, 992}),
                                        contiguous_spec(f32, {992, 1008})};
  return examples::matmul.handle().trace(args);
}

codegen::Plan lowered() {
  return codegen::lower(*traced(), parse_config(kConfig), parse_target("sm_80"));
}

std::string printed() { return lowered().steps.at(0).kernel.source; }

/// The fenced blocks of a document that are marked with `language`.
std::vector<std::string> blocks_of(const std::string& path, std::string_view language) {
  const std::string text = file(path).text, fence = fmt::format("\n```{}\n", language);
  std::vector<std::string> blocks;
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const size_t begin = at + fence.size();
    blocks.push_back(text.substr(begin, text.find("```", begin) - begin));
  }
  return blocks;
}

std::string trimmed(std::string line) {
  line.erase(0, line.find_first_not_of(' '));
  return line;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(trimmed(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

TEST(ArchitectureDoc, TileIrIsWhatThePassesGive) {
  const Config config = parse_config(kConfig);
  const auto trace = traced();
  const std::vector<bool> written = codegen::written_params(*trace);
  ir::Function fn = ir::Rewriter::run(*trace, [](ir::Rewriter&, const ir::Op&) { return false; });
  std::set<std::string> stages = {ir::print(fn)};
  std::string all = ir::print(fn);
  for (const codegen::TilePass& pass :
       codegen::tile_passes(config, parse_target("sm_80"), written)) {
    fn = pass.run(fn);
    stages.insert(ir::print(fn));
    all += ir::print(fn);
  }
  const auto whole = blocks_of("docs/architecture.md", "tile-ir");
  EXPECT_EQ(whole.size(), 2u);
  for (const std::string& block : whole)
    EXPECT_TRUE(stages.contains(block)) << "no pass gives this:\n" << block;
  // Excerpts: every line with an operation occurs in some dump.
  int lines = 0;
  for (const std::string& block : blocks_of("docs/architecture.md", "text"))
    for (const std::string& line : lines_of(block)) {
      if (!line.starts_with("%") && !line.starts_with("axis ") && !line.starts_with("ring_") &&
          !line.starts_with("copy %") && !line.starts_with("store "))
        continue;
      EXPECT_NE(all.find(line), std::string::npos) << "no pass gives this line: " << line;
      ++lines;
    }
  EXPECT_GT(lines, 10);
}

TEST(ArchitectureDoc, CudaIsWhatIsPrinted) {
  const std::string cuda = printed();
  const size_t helpers = cuda.find("\n\nnamespace tw"), after = cuda.find("struct Shared");
  ASSERT_NE(helpers, std::string::npos);
  const std::string expected = cuda.substr(0, helpers) +
                               "\n\n// .. device helpers, left out here ..\n\n" +
                               cuda.substr(after);
  const auto blocks = blocks_of("docs/architecture.md", "cuda");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0], expected) << "copy the kernel into the document";
}

TEST(ArchitectureDoc, KernelIrIsWhatLoweringGives) {
  const codegen::Plan plan = lowered();
  int lines = 0;
  for (const std::string& block : blocks_of("docs/architecture.md", "text")) {
    if (block.find("  lambda load_step") == std::string::npos) continue;
    for (const std::string& line : lines_of(block)) {
      if (line == "..") continue;
      EXPECT_NE(plan.kernel_ir.find(line), std::string::npos) << "not in kernel IR: " << line;
      ++lines;
    }
  }
  EXPECT_GT(lines, 10);
  EXPECT_NE(file("docs/architecture.md").text.find("`" + plan.steps.at(0).kernel.symbol + "`"),
            std::string::npos);
}

TEST(ArchitectureDoc, RolesAreThoseOfTheGolden) {
  const std::vector<std::string> golden =
      lines_of(file("tests/codegen/golden/matmul_wgmma.cu").text);
  const std::set<std::string> known(golden.begin(), golden.end());
  int lines = 0;
  for (const std::string& block : blocks_of("docs/architecture.md", "text")) {
    if (block.find("tw::barrier_wait(") == std::string::npos) continue;
    for (const std::string& line : lines_of(block)) {
      if (line.starts_with("// ..")) continue;
      EXPECT_TRUE(known.contains(line)) << "not in the golden: " << line;
      ++lines;
    }
  }
  EXPECT_GT(lines, 20);
}

TEST(ReadmeDoc, CudaIsAPartOfTheKernel) {
  const std::vector<std::string> cuda = lines_of(printed());
  const auto blocks = blocks_of("README.md", "cuda");
  ASSERT_EQ(blocks.size(), 1u);
  const std::vector<std::string> shown = lines_of(blocks[0]);
  EXPECT_NE(std::search(cuda.begin(), cuda.end(), shown.begin(), shown.end()), cuda.end())
      << "copy the kernel's loop into README.md";
}

TEST(ReadmeDoc, KernelIsTheExample) {
  const std::string example = file("examples/kernels/matmul.h").text;
  const size_t begin = example.find("tw::kernel(\"matmul\"");
  // Comments are aligned by the formatter in the example.
  const auto code = [](const std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    for (std::string& line : lines) {
      line.erase(std::min(line.find("//"), line.size()));
      line.erase(line.find_last_not_of(' ') + 1);
    }
    return lines;
  };
  const std::vector<std::string> expected =
      code(example.substr(begin, example.find("\n});", begin) + 4 - begin));
  ASSERT_GT(expected.size(), 10u);
  const std::string readme = blocks_of("README.md", "cpp").at(0);
  const std::vector<std::string> shown = code(readme.substr(readme.find("tw::kernel(")));
  EXPECT_EQ(shown, expected);
}

}  // namespace
}  // namespace tilewright::repo
