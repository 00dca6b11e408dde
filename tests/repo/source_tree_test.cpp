// The scanner behind the other tests of this folder sees what it should.
#include "tests/repo/source_tree.h"

#include <gtest/gtest.h>

namespace tilewright::repo {
namespace {

TEST(SourceTree, BlanksCommentsLiteralsAndDirectives) {
  EXPECT_EQ(code_only("a; // {\n"), "a;     \n");
  EXPECT_EQ(code_only("f(\"{\", '}'); /* { */ g();\n").find_first_of("{}"), std::string::npos);
  EXPECT_EQ(code_only("#define X {\n").find('{'), std::string::npos);
  EXPECT_EQ(code_only("auto s = R\"(} \" {)\"; h();").find_first_of("{}"), std::string::npos);
  EXPECT_NE(code_only("auto s = R\"(} \" {)\"; h();").find("h();"), std::string::npos);
  EXPECT_NE(code_only("int n = 1'000; { }").find('{'), std::string::npos);
}

TEST(SourceTree, FindsIncludes) {
  EXPECT_EQ(includes_of("#include <a>\n  # include \"b/c.h\"\n// #include <d>\n"),
            (std::vector<std::string>{"<a>", "\"b/c.h\""}));
}

TEST(SourceTree, MeasuresFunctions) {
  const std::string text =
      "namespace a {\n"
      "struct S {\n"
      "  int one() const { return 1; }\n"
      "};\n"
      "const int table[] = {\n1,\n2,\n};\n"
      "template <class T>\n"
      "int three(T x) {\n"
      "  if (x) { return f([](int) { return 2; }); }\n"
      "}\n"
      "auto kernel = make(\"k\", [](int x) {\n"
      "  return x;\n"
      "});\n"
      "}  // namespace a\n";
  const std::vector<FunctionLength> found = functions_of(text);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].lines, 1);
  EXPECT_EQ(found[1].line, 9);
  EXPECT_EQ(found[1].lines, 4);
  EXPECT_EQ(found[2].line, 13);
  EXPECT_EQ(found[2].lines, 3);
}

TEST(SourceTree, SeesALongFunction) {
  std::string text = "void f() {\n";
  for (int i = 0; i < 150; ++i) text += "  g();\n";
  text += "}\n";
  ASSERT_EQ(functions_of(text).size(), 1u);
  EXPECT_EQ(functions_of(text)[0].lines, 152);
}

TEST(SourceTree, ReadsTheRepository) {
  EXPECT_GT(all_cpp().size(), 20u);
  EXPECT_GT(public_headers().size(), 5u);
  EXPECT_EQ(file("tests/repo/source_tree.h").layer(), "tests");
}

}  // namespace
}  // namespace tilewright::repo
