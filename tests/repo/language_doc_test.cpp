// docs/language.md lists the language, and its examples compile.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/repo/source_tree.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/ir/functions.h"
#include "tilewright/ir/node.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::repo {
namespace {

struct Example {
  std::string kind;  // "": in the body of a loop; "body": of a kernel; "kernel": whole
  std::string code;
};

std::vector<Example> examples() {
  const std::string text = file("docs/language.md").text;
  const std::regex block("```cpp ?([a-z]*)\n([^`]*)```");
  std::vector<Example> found;
  for (std::sregex_iterator it(text.begin(), text.end(), block), end; it != end; ++it)
    found.push_back({(*it)[1], (*it)[2]});
  return found;
}

// One program with all of them, so that headers are read once.
std::string program() {
  std::string kernel,
      text = "#include <tilewright/tilewright.h>\n#include <cmath>\nnamespace tw = tilewright;\n";
  int number = 0;
  for (const Example& example : examples()) {
    if (example.kind == "kernel") kernel = example.code;
    const size_t loop = kernel.find("  for (auto [rows, cols]"),
                 place = kernel.find("    // the example\n");
    std::string whole = example.code;
    if (example.kind.empty())
      whole = kernel.substr(0, place) + "    {\n" + example.code + "    }\n" + kernel.substr(place);
    if (example.kind == "body")
      whole = kernel.substr(0, loop) + "  {\n" + example.code + "  }\n});\n";
    text += fmt::format("namespace example_{} {{\n{}}}\n", number++, whole);
  }
  return text;
}

TEST(LanguageDoc, ExamplesCompile) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("tw_language_{}.cpp", ::getpid());
  std::ofstream(path) << program();
  const std::string command = fmt::format("{} -std=c++23 -fsyntax-only -I{}/include {} 2>&1",
                                          TILEWRIGHT_CXX, TILEWRIGHT_BINARY_DIR, path.string());
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  EXPECT_EQ(::pclose(pipe), 0) << output;
  std::filesystem::remove(path);
}

/// Functions that dsl headers declare for users: at the start of a line, outside of namespace dsl.
std::set<std::string> public_functions() {
  const std::regex function(
      "\n(?:inline |constexpr "
      ")*(?:Tile|Tensor|ValuesAndIndices|BlockSize|Each|StaticRange|Size|Axes|bool|void|"
      "int64_t|std::(?:array|pair|tuple)<[^\n]*>|(?:    "
      ")?(?:requires[^\n]*)?dsl::LoopRange<[^\n]*>) (\\w+)\\(");
  const std::regex of_library("\nnamespace dsl \\{[\\s\\S]*?\n\\}  // namespace dsl\n");
  std::set<std::string> names;
  for (const SourceFile& header : files_under({"dsl"}, {".h"})) {
    const std::string code = code_only(std::regex_replace(header.text, of_library, "\n"));
    // Headers for the library itself are all in namespace dsl.
    if (header.text.find("namespace tilewright::dsl {") != std::string::npos) continue;
    for (std::sregex_iterator it(code.begin(), code.end(), function), end; it != end; ++it)
      names.insert((*it)[1]);
  }
  for (const char* internal : {"raise_callable_type", "tensor_param", "scalar_param"})
    names.erase(internal);
  return names;
}

TEST(LanguageDoc, ListsEveryFunctionWithAnExample) {
  const std::string text = file("docs/language.md").text;
  std::string code;
  for (const Example& example : examples()) code += example.code;
  const std::set<std::string> names = public_functions();
  EXPECT_TRUE(names.contains("exp") && names.contains("tile") && names.contains("topk") &&
              names.size() > 100)
      << names.size();
  for (const std::string& name : names) {
    EXPECT_TRUE(std::regex_search(text, std::regex("`(tw::)?" + name + "[`<(,]")))
        << name << " is in no table";
    EXPECT_TRUE(std::regex_search(code, std::regex("tw::" + name + "[<(]")))
        << name << " has no example";
  }
}

TEST(LanguageDoc, ListsEveryOperationAndFunctionOfTileIr) {
  const std::string text = file("docs/language.md").text;
  const std::vector<std::string> names = {
#define TW_OP(name, operands, attributes, regions, effect) #name,
#include "tilewright/ir/ops.def"
#undef TW_OP
#define TW_FN(name, kind, operands, ulp) #name,
#include "tilewright/ir/functions.def"
#undef TW_FN
  };
  for (const std::string& name : names)
    EXPECT_TRUE(text.find("`" + name + "`") != std::string::npos ||
                text.find("`tw::" + name + "`") != std::string::npos)
        << name;
}

std::string text_of(const std::vector<std::string>& folders, const std::string& begin) {
  std::string text;
  for (const SourceFile& source : files_under(folders, {".cpp", ".h"}))
    if (source.path.starts_with(begin)) text += code_only(source.text);
  return text;
}

TEST(LanguageDoc, InterpreterAndCompilerHaveEveryOperation) {
  const std::string interpreter = text_of({"runtime"}, "runtime/interpreter"),
                    lowering = text_of({"codegen"}, "codegen/");
  for (const char* name : {
#define TW_OP(name, operands, attributes, regions, effect) #name,
#include "tilewright/ir/ops.def"
#undef TW_OP
       }) {
    const std::regex step(fmt::format("run_{}\\b", name)), used(fmt::format("OpKind::{}\\b", name));
    EXPECT_TRUE(std::regex_search(interpreter, step)) << name << " is unknown to the interpreter";
    if (std::string_view(name) == "role") continue;  // made by no pass
    EXPECT_TRUE(std::regex_search(lowering, used)) << name << " is not lowered";
  }
}

// The emulator gives every built-in function that kernels call a definition of its own.
TEST(LanguageDoc, InterpreterAndEmulatorHaveEveryFunction) {
  const std::string emulator = file("runtime/emulator_prelude.cpp").text;
  using ir::Fn;
  for (const Fn fn : {
#define TW_FN(name, kind, operands, ulp) Fn::name,
#include "tilewright/ir/functions.def"
#undef TW_FN
       })
    for (const DType dtype : {DType::f32, DType::f64}) {
      if (!ir::accepts(fn, dtype)) continue;
      const ir::FnKind kind = ir::info(fn).kind;
      if (kind == ir::FnKind::unary) numeric::unary_kernel(fn, dtype);  // throws when there is none
      if (kind == ir::FnKind::binary) numeric::binary_kernel(fn, dtype);
      if (kind == ir::FnKind::compare) numeric::compare_kernel(fn, dtype);
      std::vector<codegen::ExprRef> args = {codegen::name("x"), codegen::name("y")};
      if (ir::info(fn).kind == ir::FnKind::unary) args.pop_back();
      const codegen::ExprRef expr = codegen::fn_expr(fn, dtype, args);
      if (expr->kind != codegen::Expr::Kind::call || expr->text.starts_with("tw::")) continue;
      EXPECT_NE(emulator.find("#define " + expr->text + " "), std::string::npos) << expr->text;
    }
}

}  // namespace
}  // namespace tilewright::repo
