#include "tilewright/codegen/prelude_evict.h"

#include <fmt/format.h>

#include <string>

namespace tilewright::codegen {
namespace {

/// One width: its PTX type, and how a word of that many bytes meets assembly.
struct Width {
  int bytes;
  const char* type;
  const char* constraint;
  const char* results[4];
};

constexpr Width kWidths[] = {
    {1, "u8", "r", {"byte"}},
    {2, "u16", "h", {"word"}},
    {4, "u32", "r", {"word"}},
    {8, "v2.u32", "r", {"word.x", "word.y"}},
    {16, "v4.u32", "r", {"word.x", "word.y", "word.z", "word.w"}},
};

std::string policy(const std::string& when) {
  return fmt::format(
      "  unsigned long long policy;\n"
      "  asm(\"createpolicy.fractional.L2::evict_{}.b64 %0, 1.0;\" : \"=l\"(policy));\n",
      when);
}

/// The access of one width as a branch of an `if constexpr` chain.
std::string branch(const Width& width, bool load, const std::string& when, bool last) {
  int count = 0;
  std::string names, operands;
  for (const char* result : width.results) {
    if (result == nullptr) break;
    names += fmt::format("{}%{}", count > 0 ? ", " : "", load ? count : count + 1);
    operands += fmt::format("{}\"{}{}\"({})", count > 0 || !load ? ", " : "", load ? "=" : "",
                            width.constraint, result);
    ++count;
  }
  if (count > 1) names = "{" + names + "}";
  const std::string hints = fmt::format("L1::evict_{}.L2::cache_hint", when);
  const std::string test = last ? "else" : fmt::format("if constexpr (bytes == {})", width.bytes);
  if (load)
    return fmt::format(
        "  {}\n    asm volatile(\"ld.global.{}.{} {}, [%{}], %{};\"\n"
        "                 : {}\n"
        "                 : \"l\"(from), \"l\"(policy) : \"memory\");\n",
        test, hints, width.type, names, count, count + 1, operands);
  return fmt::format(
      "  {}\n    asm volatile(\"st.global.{}.{} [%0], {}, %{};\"\n"
      "                 :: \"l\"(to){},\n"
      "                    \"l\"(policy) : \"memory\");\n",
      test, hints, width.type, names, count + 1, operands);
}

std::string text(bool load, const std::string& when) {
  std::string body;
  for (size_t i = 0; i < std::size(kWidths); ++i) {
    std::string part = branch(kWidths[i], load, when, i + 1 == std::size(kWidths));
    if (i > 0 && i + 1 < std::size(kWidths)) part.replace(2, 2, "else if");
    body += part;
  }
  const std::string name = fmt::format("{}_evict_{}", load ? "load" : "store", when);
  std::string all = fmt::format(
      "template <int n, class T> __device__ __forceinline__ void {}(T* to, const T* from) {{\n"
      "  constexpr int bytes = n * sizeof(T);\n"
      "  typename Word<bytes>::type word;\n",
      name);
  all += load ? "  unsigned byte;\n"
              : "  memcpy(&word, from, sizeof word);\n  unsigned byte = 0;\n"
                "  memcpy(&byte, from, bytes < 4 ? bytes : 4);\n";
  all += policy(when) + body;
  if (load)
    all +=
        "  if constexpr (bytes == 1)\n    memcpy(to, &byte, 1);\n"
        "  else\n    memcpy(to, &word, sizeof word);\n";
  return all + "}";
}

Helper helper(bool load, const std::string& when) {
  const std::string plain = load ? "load" : "store";
  return {.name = fmt::format("{}_evict_{}", plain, when),
          .doc = when == "first" ? "the same, of what caches may let go of first"
                                 : "the same, of what caches keep as long as they can",
          .text = text(load, when),
          .needs = {"Word", load ? "load" : "store"},
          .pointers = {{0, Access::write}, {1, Access::read}},
          .min_sm = 80,
          .older_text = fmt::format(
              "template <int n, class T> __device__ __forceinline__ void {}_evict_{}(T* to, "
              "const T* from) {{\n  {}<n>(to, from);\n}}",
              plain, when, plain)};
}

}  // namespace

std::vector<Helper> evict_helpers() {
  return {helper(true, "first"), helper(true, "last"), helper(false, "first"),
          helper(false, "last")};
}

}  // namespace tilewright::codegen
