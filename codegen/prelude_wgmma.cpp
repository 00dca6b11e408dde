#include "tilewright/codegen/prelude_wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tilewright/codegen/print_cuda_wrap.h"

namespace tilewright::codegen {
namespace {

struct OperandType {
  std::string_view name;
  int bytes;
  std::string_view element;  // of MatrixOperand; empty: any
};

constexpr OperandType kTypes[] = {{"bf16", 2, "bf16"}, {"f16", 2, "f16"}, {"tf32", 4, "float"},
                                  {"e4m3", 1, {}},     {"e5m2", 1, {}},   {"s8", 1, "signed char"}};

constexpr int kOperandBytes = 32;  // of k that one instruction takes

const OperandType* type_of(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &OperandType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

bool is_fp8(const OperandType& type) { return type.bytes == 1 && type.element.empty(); }

// Takes the number in front of `text` away; 0 when there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || text[0] == '0') return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool has_shape(int n, int k, const OperandType& type) {
  if (n < 8 || n > 256 || n % 8 != 0 || k * type.bytes != kOperandBytes) return false;
  return type.name != "s8" || n <= 24 || n % 16 == 0;
}

// Items with commas between, on lines of the usual width that begin with `before` and end with
// `after`.
std::string filled(const std::vector<std::string>& items, std::string_view before,
                   std::string_view after) {
  std::string text, line;
  const auto flush = [&] {
    text += fmt::format("{}{}{}\n", before, line, after);
    line.clear();
  };
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    const size_t width = before.size() + line.size() + 1 + item.size() + after.size();
    if (!line.empty() && width > static_cast<size_t>(kLineWidth)) flush();
    line += (line.empty() ? "" : " ") + item;
  }
  flush();
  return text;
}

// The text of one overload.
class WgmmaText {
 public:
  WgmmaText(const WgmmaShape& shape, bool registers)
      : shape_(shape), a_(*type_of(shape.a)), b_(*type_of(shape.b)), registers_(registers) {}

  std::string text() const {
    const std::string name = fmt::format("wgmma_m64n{}k{}_{}{}", shape_.n, shape_.k, shape_.a,
                                         shape_.a == shape_.b ? "" : "_" + shape_.b);
    std::string made = fmt::format(
        "template <{}>\n__device__ __forceinline__ void {}(\n    {} (&acc)[2][{}], {},\n"
        "    {} b, int accumulate) {{\n",
        template_parameters(), name, accumulator(), shape_.n / 4, operand_a(), operand(b_, "b"));
    made += fmt::format("  auto &top = acc[0], &bottom = acc[1];  // rows r and r + 8\n");
    return made + instruction() + constraints() + "}";
  }

 private:
  std::string accumulator() const { return b_.name == "s8" ? "int" : "float"; }
  bool transposable() const { return b_.bytes == 2; }
  int count() const { return shape_.n / 2; }  // registers of the sums

  std::string template_parameters() const {
    std::vector<std::string> names;
    for (const auto& [type, which] : {std::pair{&a_, "a"}, {&b_, "b"}}) {
      if (registers_ && which[0] == 'a') continue;
      if (type->element.empty()) names.push_back(fmt::format("class T{}", which));
      names.push_back(fmt::format("int s{}", which));
      if (transposable()) names.push_back(fmt::format("bool k{}", which));
    }
    std::string joined;
    for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
    return joined;
  }

  std::string operand(const OperandType& type, std::string_view which) const {
    const std::string element =
        type.element.empty() ? fmt::format("T{}", which) : std::string(type.element);
    return fmt::format("MatrixOperand<{}, s{}, {}>", element, which,
                       transposable() ? fmt::format("k{}", which) : "true");
  }

  std::string operand_a() const {
    return registers_ ? "const unsigned (&a)[4]" : operand(a_, "a") + " a";
  }

  std::string instruction() const {
    const int after_a = count() + (registers_ ? 4 : 1);  // number of operand b
    const std::string types =
        fmt::format("{}.{}.{}", accumulator() == "int" ? "s32" : "f32", shape_.a, shape_.b);
    std::string text = fmt::format(
        "  asm volatile(\n      \"{{ .reg .pred p; setp.ne.b32 p, %{}, 0;\\n\"\n"
        "      \"wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{\"\n",
        after_a + 1, shape_.n, shape_.k, types);
    std::vector<std::string> sums;
    for (int i = 0; i < count(); ++i) sums.push_back(fmt::format("%{}", i));
    text += filled(sums, "      \"", "\"");
    std::string rest = "}, ";
    if (registers_)
      rest += fmt::format("{{%{}, %{}, %{}, %{}}}", count(), count() + 1, count() + 2, count() + 3);
    else
      rest += fmt::format("%{}", count());
    rest += fmt::format(", %{}, p", after_a);
    if (accumulator() == "float") rest += ", 1, 1";  // signs
    int next = after_a + 2;
    if (transposable() && !registers_) rest += fmt::format(", %{}", next++);
    if (transposable()) rest += fmt::format(", %{}", next);
    return text + fmt::format("      \"{}; }}\"\n", rest);
  }

  std::string constraints() const {
    const std::string kind = accumulator() == "int" ? "+r" : "+f";
    std::vector<std::string> sums;
    for (int i = 0; i < count(); ++i)
      sums.push_back(fmt::format("\"{}\"({}[{}])", kind, i / 2 % 2 == 0 ? "top" : "bottom",
                                 i / 4 * 2 + i % 2));
    std::string text = filled(sums, "        ", "");
    text.replace(6, 2, ": ");
    text += registers_ ? "      : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]),\n        "
                       : "      : \"l\"(a.descriptor), ";
    text += "\"l\"(b.descriptor), \"r\"(accumulate)";
    if (transposable()) text += registers_ ? ", \"n\"(!kb)" : ", \"n\"(!ka), \"n\"(!kb)";
    return text + ");\n";
  }

  const WgmmaShape& shape_;
  const OperandType &a_, &b_;
  bool registers_;
};

}  // namespace

std::optional<WgmmaShape> parse_wgmma(std::string_view name) {
  WgmmaShape shape;
  if (!take(name, "wgmma_m64n")) return std::nullopt;
  shape.n = take_number(name);
  if (!take(name, "k")) return std::nullopt;
  shape.k = take_number(name);
  if (!take(name, "_")) return std::nullopt;
  const size_t between = name.find('_');
  shape.a = name.substr(0, between);
  shape.b = between == name.npos ? shape.a : name.substr(between + 1);
  const OperandType *a = type_of(shape.a), *b = type_of(shape.b);
  if (a == nullptr || b == nullptr || !has_shape(shape.n, shape.k, *a)) return std::nullopt;
  if (between != name.npos && (shape.a == shape.b || !is_fp8(*a) || !is_fp8(*b)))
    return std::nullopt;
  return shape;
}

std::vector<Helper> wgmma_helpers(std::string_view name) {
  const std::optional<WgmmaShape> shape = parse_wgmma(name);
  if (!shape) return {};
  std::vector<Helper> made;
  for (const bool registers : {false, true}) {
    Helper helper{
        .name = std::string(name),
        .doc =
            "acc = a b, plus acc when `accumulate` is not 0: 64 rows by the four warps of a "
            "warpgroup, in flight until wgmma_wait",
        .text = WgmmaText(*shape, registers).text(),
        .needs = {"MatrixOperand"},
        .min_sm = 90,
        .max_sm = 90,
        .specific = true,
        .overload = registers ? "registers" : "shared"};
    for (const std::string_view half : {"f16", "bf16"})
      if (shape->b == half) helper.needs.push_back(half);
    made.push_back(std::move(helper));
  }
  return made;
}

}  // namespace tilewright::codegen
