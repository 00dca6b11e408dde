#include "tilewright/codegen/prelude_atomics.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/ir/functions.h"

namespace tilewright::codegen {
namespace {

/// How an element is held and named in assembly.
struct ElementType {
  DType dtype;
  std::string_view bits;      // the PTX type of its bits
  std::string_view sum;       // of a sum; empty: there is none before sm_90
  std::string_view extremum;  // of a minimum; empty: there is none
  char constraint;
  std::string_view word;  // the C++ type of its bits
};

constexpr ElementType kTypes[] = {
    {DType::i32, "b32", "u32", "s32", 'r', "int"},
    {DType::i64, "b64", "u64", "s64", 'l', "long long"},
    {DType::f32, "b32", "f32", "", 'r', "unsigned"},
    {DType::f64, "b64", "f64", "", 'l', "unsigned long long"},
    {DType::f16, "b16", "noftz.f16", "", 'h', "unsigned short"},
    {DType::bf16, "b16", "noftz.bf16", "", 'h', "unsigned short"},
};

const ElementType* type_of(DType dtype) {
  const auto found = std::ranges::find(kTypes, dtype, &ElementType::dtype);
  return found == std::end(kTypes) ? nullptr : &*found;
}

bool is_16_bits(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// The part of `text` before `mark`, which is removed from it with the mark.
std::string_view take_word(std::string_view& text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

class AtomicText {
 public:
  AtomicText(std::string_view name, const AtomicForm& form)
      : name_(name), form_(form), type_(*type_of(form.dtype)), element_(cuda_type(form.dtype)) {}

  std::string text() const {
    if (form_.count > 1) return vector();
    if (form_.name == "cas") return compare_and_swap();
    if (has_instruction()) return instruction();
    return loop();
  }

  std::string loop() const {
    return head(fmt::format("{}* at, {} value", element_, element_)) + read() +
           "  do {\n    seen = old;\n" + next() +
           fmt::format(
               "    asm volatile(\"atom.{}.gpu.global.cas.{} %0, [%1], %2, %3;\"\n"
               "                 : \"={}\"(old) : \"l\"(at), \"{}\"(seen), \"{}\"(next) : "
               "\"memory\");\n",
               form_.order, type_.bits, type_.constraint, type_.constraint, type_.constraint) +
           "  } while (old != seen);\n" + give("old") + "}";
  }

 private:
  bool has_instruction() const {
    if (form_.name == "add") return true;
    if (form_.name == "exchange") return !is_16_bits(form_.dtype);
    return (form_.name == "min" || form_.name == "max") ? !type_.extremum.empty() : true;
  }

  std::string head(const std::string& parameters) const {
    return fmt::format("__device__ __forceinline__ {} {}({}) {{\n", form_.gives ? element_ : "void",
                       name_, parameters);
  }

  /// The value of the word `word` as an element.
  std::string element_of(const std::string& word) const {
    switch (form_.dtype) {
      case DType::f32:
        return fmt::format("__uint_as_float({})", word);
      case DType::f64:
        return fmt::format("__longlong_as_double((long long){})", word);
      case DType::f16:
      case DType::bf16:
        return fmt::format("{}{{{}}}", element_, word);
      default:
        return word;
    }
  }

  std::string word_of(const std::string& element) const {
    switch (form_.dtype) {
      case DType::f32:
        return fmt::format("__float_as_uint({})", element);
      case DType::f64:
        return fmt::format("(unsigned long long)__double_as_longlong({})", element);
      case DType::f16:
      case DType::bf16:
        return fmt::format("{}.bits", element);
      default:
        return element;
    }
  }

  std::string give(const std::string& word) const {
    return form_.gives ? fmt::format("  return {};\n", element_of(word)) : "";
  }

  std::string operation() const {
    if (form_.name == "add") return fmt::format("add.{}", type_.sum);
    if (form_.name == "min" || form_.name == "max")
      return fmt::format("{}.{}", form_.name, type_.extremum);
    return fmt::format("{}.{}", form_.name == "exchange" ? "exch" : form_.name, type_.bits);
  }

  /// The operand in assembly: sums of floats take floats, everything else words.
  std::pair<char, std::string> operand() const {
    if (form_.name == "add" && form_.dtype == DType::f32) return {'f', "value"};
    if (form_.name == "add" && form_.dtype == DType::f64) return {'d', "value"};
    return {type_.constraint, word_of("value")};
  }

  std::string instruction() const {
    const auto [constraint, value] = operand();
    const std::string parameters = fmt::format("{}* at, {} value", element_, element_);
    if (!form_.gives)
      return head(parameters) + fmt::format(
                                    "  asm volatile(\"red.{}.gpu.global.{} [%0], %1;\"\n"
                                    "               :: \"l\"(at), \"{}\"({}) : \"memory\");\n}}",
                                    form_.order, operation(), constraint, value);
    const bool real = constraint == 'f' || constraint == 'd';
    return head(parameters) + fmt::format("  {} old;\n", real ? element_ : type_.word) +
           fmt::format(
               "  asm volatile(\"atom.{}.gpu.global.{} %0, [%1], %2;\"\n"
               "               : \"={}\"(old) : \"l\"(at), \"{}\"({}) : \"memory\");\n",
               form_.order, operation(), constraint, constraint, value) +
           (real ? "  return old;\n" : give("old")) + "}";
  }

  std::string compare_and_swap() const {
    return head(fmt::format("{}* at, {} expected, {} value", element_, element_, element_)) +
           fmt::format("  {} old;\n", type_.word) +
           fmt::format(
               "  asm volatile(\"atom.{}.gpu.global.cas.{} %0, [%1], %2, %3;\"\n"
               "               : \"={}\"(old) : \"l\"(at), \"{}\"({}), \"{}\"({}) : "
               "\"memory\");\n",
               form_.order, type_.bits, type_.constraint, type_.constraint, word_of("expected"),
               type_.constraint, word_of("value")) +
           give("old") + "}";
  }

  std::string read() const {
    return fmt::format("  {} old, seen;\n", type_.word) +
           fmt::format(
               "  asm volatile(\"ld.relaxed.gpu.global.{} %0, [%1];\" : \"={}\"(old) : "
               "\"l\"(at) : \"memory\");\n",
               type_.bits, type_.constraint);
  }

  std::string next() const {
    std::string value = "value";
    const std::string now = element_of("seen");
    if (form_.name == "add" && is_16_bits(form_.dtype))
      value = fmt::format("to_{}(to_float({}) + to_float(value))", to_string(form_.dtype), now);
    if (form_.name == "min" || form_.name == "max") {
      if (form_.dtype == DType::f32) value = fmt::format("{}({}, value)", form_.name, now);
      if (form_.dtype == DType::f64) value = fmt::format("{}_double({}, value)", form_.name, now);
      if (is_16_bits(form_.dtype))
        value = fmt::format("to_{}({}(to_float({}), to_float(value)))", to_string(form_.dtype),
                            form_.name, now);
    }
    return fmt::format("    const {} next = {};\n", type_.word, word_of(value));
  }

  std::string vector() const {
    const bool half = is_16_bits(form_.dtype);
    const int words = half ? form_.count / 2 : form_.count;
    std::string text = head(fmt::format("{}* at, const {}* values", element_, element_));
    std::string names, registers;
    for (int i = 0; i < words; ++i) {
      names += fmt::format("{}%{}", i > 0 ? ", " : "", i + 1);
      registers +=
          half ? fmt::format(", \"r\"(words[{}])", i) : fmt::format(", \"f\"(values[{}])", i);
    }
    if (half)
      text += fmt::format("  unsigned words[{}];\n  memcpy(words, values, sizeof words);\n", words);
    const std::string of =
        half ? fmt::format("noftz{}.{}x2", words > 1 ? fmt::format(".v{}", words) : "",
                           to_string(form_.dtype))
             : fmt::format("v{}.f32", words);
    return text + fmt::format(
                      "  asm volatile(\"red.{}.gpu.global.add.{} [%0], {};\"\n"
                      "               :: \"l\"(at){} : \"memory\");\n}}",
                      form_.order, of, words > 1 ? "{" + names + "}" : names, registers);
  }

  std::string name_;
  const AtomicForm& form_;
  const ElementType& type_;
  std::string element_;
};

std::vector<std::string_view> needs_of(const AtomicForm& form) {
  std::vector<std::string_view> needs;
  const bool half = is_16_bits(form.dtype);
  if (half) needs.push_back(form.dtype == DType::f16 ? "f16" : "bf16");
  const bool extremum = is_float(form.dtype) && (form.name == "min" || form.name == "max");
  if (half && form.count == 1 && (extremum || form.name == "add"))
    needs.insert(needs.end(), {"to_float", form.dtype == DType::f16 ? "to_f16" : "to_bf16"});
  if (extremum && form.dtype == DType::f64)
    needs.push_back(form.name == "min" ? "min_double" : "max_double");
  else if (extremum)
    needs.push_back(form.name == "min" ? "min" : "max");
  return needs;
}

/// The first architecture that has the instruction of a form.
int first_sm(const AtomicForm& form) {
  if (form.count > (form.dtype == DType::f16 ? 2 : 1)) return 90;
  return form.dtype == DType::bf16 && form.name == "add" ? 90 : 75;
}

bool is_reducing(const AtomicForm& form) {
  if (form.name == "min" || form.name == "max") return !is_float(form.dtype);
  return form.name != "exchange" && form.name != "cas";
}

bool exists(const AtomicForm& form) {
  constexpr std::string_view any[] = {"add", "min", "max", "exchange", "cas"};
  constexpr std::string_view bits[] = {"and", "or", "xor"};
  const bool integer = form.dtype == DType::i32 || form.dtype == DType::i64;
  if (std::ranges::find(any, form.name) == std::end(any) &&
      (!integer || std::ranges::find(bits, form.name) == std::end(bits)))
    return false;
  if (!form.gives && !is_reducing(form)) return false;
  if (form.count == 1) return true;
  const int most = is_16_bits(form.dtype) ? 8 : form.dtype == DType::f32 ? 4 : 1;
  return !form.gives && form.name == "add" && form.count <= most &&
         (form.count & (form.count - 1)) == 0;
}

}  // namespace

std::optional<AtomicForm> parse_atomic(std::string_view name) {
  AtomicForm form;
  const std::string_view kind = take_word(name, '_');
  if (kind != "atomic" && kind != "red") return std::nullopt;
  form.gives = kind == "atomic";
  form.name = take_word(name, '_');
  std::string_view type = take_word(name, '_');
  form.order = name.empty() ? "relaxed" : name;
  constexpr std::string_view orders[] = {"relaxed", "acquire", "release", "acq_rel"};
  if (std::ranges::find(orders, form.order) == std::end(orders)) return std::nullopt;
  const std::string_view dtype = take_word(type, 'x');
  const auto of = std::ranges::find_if(
      kTypes, [&](const ElementType& entry) { return to_string(entry.dtype) == dtype; });
  if (of == std::end(kTypes)) return std::nullopt;
  form.dtype = of->dtype;
  if (!type.empty()) {
    if (type.size() != 1 || type[0] < '2' || type[0] > '8') return std::nullopt;
    form.count = type[0] - '0';
  }
  return exists(form) ? std::optional(form) : std::nullopt;
}

std::vector<Helper> atomic_helpers(std::string_view name) {
  const std::optional<AtomicForm> form = parse_atomic(name);
  if (!form) return {};
  const AtomicText text(name, *form);
  Helper helper{.name = std::string(name),
                .doc = form->gives ? "changes an element in one step, and gives what it was"
                                   : "changes elements, each in one step",
                .text = text.text(),
                .needs = needs_of(*form),
                .pointers = {{0, Access::atomic}},
                .min_sm = first_sm(*form)};
  if (form->count > 1) helper.pointers.push_back({1, Access::read});
  // Sums of bf16 go through a loop where there is no instruction.
  if (helper.min_sm > 75 && form->count == 1) helper.older_text = text.loop();
  return {std::move(helper)};
}

}  // namespace tilewright::codegen
