#include "tilewright/ir/parse.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/opspec.h"
#include "tilewright/ir/parse_tokens.h"
#include "tilewright/ir/verify.h"
#include "tilewright/ir/verify_op.h"

namespace tilewright::ir {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
// Deep enough for any kernel, shallow enough for the recursion below.
constexpr int kMaxDepth = 200;

/// The user's part of a printed name: "acc" of "acc.1", nothing of "12".
std::string user_name(const std::string& printed) {
  if (printed[0] >= '0' && printed[0] <= '9') return "";
  const size_t dot = printed.rfind('.');
  if (dot == std::string::npos || dot + 1 == printed.size() ||
      printed.find_first_not_of("0123456789", dot + 1) != std::string::npos)
    return printed;
  return printed.substr(0, dot);
}

/// What the text of one operation says before its regions.
struct OpText {
  int line = 0;
  std::vector<Token> results;
  OpKind kind = OpKind::yield;
  std::vector<const Value*> operands;
  std::vector<size_t> groups;  ///< sizes of parenthesized groups of operands
  std::vector<std::pair<AttrKey, Attr>> attributes;
  std::optional<std::vector<Type>> types;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokenize(text)) {}

  Function run() {
    expect_word("func");
    fn_.loc = {};
    if (accept("@")) fn_.name = name();
    params();
    if (accept("->")) results();
    fn_.loc = location();
    expect("{");
    while (peek().is(Token::Kind::word, "axis")) axis();
    while (peek().is(Token::Kind::word, "tunable")) tunable();
    region(fn_.mutable_body());
    if (peek().kind != Token::Kind::end)
      fail_parse(peek().line, "unexpected {} after the function", peek().described());
    if (const auto fault = find_fault(fn_)) {
      const int line = fault->op == nullptr ? 1 : lines_.at(fault->op);
      fail_parse(line, "{}{}{}", fault->op ? info(fault->op->kind).name : "function", ": ",
                 fault->message);
    }
    return std::move(fn_);
  }

 private:
  // Tokens.
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() {
    Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept(std::string_view mark) {
    if (!peek().is(Token::Kind::mark, mark)) return false;
    next();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!peek().is(Token::Kind::word, word)) return false;
    next();
    return true;
  }
  void expect(std::string_view mark) {
    if (!accept(mark)) fail_parse(peek().line, "expected '{}', found {}", mark, peek().described());
  }
  void expect_word(std::string_view word) {
    if (!accept_word(word))
      fail_parse(peek().line, "expected '{}', found {}", word, peek().described());
  }
  Token expect(Token::Kind kind, std::string_view what) {
    if (peek().kind != kind)
      fail_parse(peek().line, "expected {}, found {}", what, peek().described());
    return next();
  }
  int64_t integer(int64_t min = 0, int64_t max = kMaxInt64) { return integer_of(next(), min, max); }

  /// "a, b, c" up to and with the mark `close`; nothing is fine too.
  template <class Item>
  void list(std::string_view close, const Item& item) {
    if (accept(close)) return;
    do item();
    while (accept(","));
    expect(close);
  }

  // Header.
  std::string name() {
    if (peek().kind == Token::Kind::string) return next().text;
    return expect(Token::Kind::word, "a name").text;
  }

  void params() {
    expect("(");
    list(")", [&] { param(); });
  }

  void param() {
    const Token token = expect(Token::Kind::value, "a parameter");
    expect(":");
    Param param;
    param.name = user_name(token.text);
    const DType dtype = this->dtype();
    if (peek().is(Token::Kind::mark, "[")) {
      param.spec = spec(dtype);
      param.value = make(Type::tensor(dtype, param.spec.rank()), token);
      if (param.spec.dynamic) param.size_param = size_param(token.line);
      param.allocated = accept_word("allocated");
      if (param.allocated && accept("=")) param.fill = fill_of(dtype);
    } else {
      param.value = make(Type::scalar(dtype), token);
    }
    const_cast<Value*>(param.value)->index = static_cast<int>(fn_.params.size());
    show(token.text);
    fn_.params.push_back(std::move(param));
  }

  int size_param(int line) {
    expect_word("sized");
    const Param* scalar = fn_.param_of(use());
    if (scalar == nullptr || scalar->value->type != Type::scalar(DType::i64))
      fail_parse(line, "the size of a tensor must be an i64 parameter before it");
    return static_cast<int>(scalar - fn_.params.data());
  }

  Attr fill_of(DType dtype) {
    Attr value = attribute(AttrType::number);
    const int64_t* integer = std::get_if<int64_t>(&value);
    if (integer != nullptr && is_float(dtype)) value = static_cast<double>(*integer);
    return value;
  }

  TensorSpec spec(DType dtype) {
    const int line = peek().line;
    expect("[");
    std::vector<int64_t> sizes, strides;
    const bool dynamic = accept("?");
    if (dynamic && peek().kind != Token::Kind::number) {
      sizes.push_back(kMostDynamic);
      if (!peek().is(Token::Kind::mark, "]")) expect(",");
    }
    list("]", [&] { sizes.push_back(integer()); });
    int64_t elements = 1;
    for (int64_t size : sizes)
      if (__builtin_mul_overflow(elements, std::max<int64_t>(size, 1), &elements))
        fail_parse(line, "a tensor has too many elements");
    TensorSpec spec = contiguous_spec(dtype, sizes);
    spec.dynamic = dynamic;
    if (accept(":")) {
      expect("[");
      list("]", [&] { strides.push_back(integer()); });
      if (strides.size() != sizes.size()) fail_parse(line, "a tensor needs one stride per size");
      check_span(line, sizes, strides);
      spec.strides = strides;
    }
    if (accept("@")) spec.alignment = static_cast<int>(integer(1, 1 << 20));
    if ((spec.alignment & (spec.alignment - 1)) != 0)
      fail_parse(line, "an alignment must be a power of two");
    return spec;
  }

  static void check_span(int line, const std::vector<int64_t>& sizes,
                         const std::vector<int64_t>& strides) {
    int64_t last = 0, step = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (__builtin_mul_overflow(std::max<int64_t>(sizes[i], 1), strides[i], &step) ||
          __builtin_add_overflow(last, step, &last))
        fail_parse(line, "the strides of a tensor are too large");
  }

  void results() {
    expect("(");
    list(")", [&] {
      const int line = peek().line;
      const Param* param = fn_.param_of(use());
      if (param == nullptr) fail_parse(line, "a result of the function must be a parameter");
      fn_.results.push_back(static_cast<int>(param - fn_.params.data()));
    });
  }

  void axis() {
    next();
    Axis axis;
    const Token label = expect(Token::Kind::word, "an axis");
    if (label.text != fmt::format("B{}", fn_.axes.size()))
      fail_parse(label.line, "expected axis B{}, found {}", fn_.axes.size(), label.described());
    if (peek().kind == Token::Kind::string) axis.name = next().text;
    if (accept("=")) axis.block = integer(1, kMaxInt);
    axis.pinned = accept_word("pinned");
    axis.loc = location();
    fn_.axes.push_back(std::move(axis));
  }

  void tunable() {
    constexpr int64_t least = std::numeric_limits<int64_t>::min();
    next();
    Tunable tunable;
    tunable.name = expect(Token::Kind::string, "a tunable's name").text;
    expect("=");
    tunable.value = integer(least);
    expect_word("of");
    expect("[");
    list("]", [&] { tunable.values.push_back(integer(least)); });
    fn_.tunables.push_back(std::move(tunable));
  }

  Loc location() {
    if (!accept_word("loc")) return {};
    expect("(");
    const std::string file = expect(Token::Kind::string, "a file name").text;
    expect(":");
    const int line = static_cast<int>(integer(1, kMaxInt));
    expect(")");
    return {intern(file), line};
  }

  // Types and attributes.
  DType dtype() {
    const Token token = expect(Token::Kind::word, "a type");
    DType dtype;
    if (!parse_dtype(token.text, dtype)) fail_parse(token.line, "unknown type '{}'", token.text);
    return dtype;
  }

  Dim dim() {
    if (peek().kind != Token::Kind::word) return Dim::constant(integer());
    const Token token = next();
    const std::string digits = token.text.substr(1);
    if (token.text[0] != 'B' || digits.empty() || digits.size() > 6 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      fail_parse(token.line, "expected a dimension, found {}", token.described());
    return Dim::block(std::stoi(digits));
  }

  Shape shape() {
    Shape result;
    expect("[");
    list("]", [&] { result.push_back(dim()); });
    return result;
  }

  Type tile() {
    Type type = Type::scalar(dtype());
    if (peek().is(Token::Kind::mark, "[")) type.shape = shape();
    return type;
  }

  Type type() {
    if (!peek(1).is(Token::Kind::mark, "<")) return tile();
    const Token token = expect(Token::Kind::word, "a type");
    expect("<");
    Type result;
    if (token.text == "slice") {
      result = Type::slice(dim());
    } else if (token.text == "shared") {
      const Type inner = tile();
      result = Type::shared(inner.dtype, inner.shape);
    } else if (token.text == "ring") {
      const Type inner = tile();
      expect(",");
      result = Type::ring(inner.dtype, inner.shape, static_cast<int>(integer(1, kMaxInt)));
    } else if (token.text == "tensor") {
      const DType inner = dtype();
      expect(",");
      result = Type::tensor(inner, static_cast<int>(integer(0, kMaxInt)));
    } else {
      fail_parse(token.line, "unknown type '{}'", token.text);
    }
    expect(">");
    return result;
  }

  Attr attribute(AttrType type) {
    switch (type) {
      case AttrType::number:
        if (is_integer_text(peek())) return integer(std::numeric_limits<int64_t>::min());
        return real_of(next());
      case AttrType::integer:
        return integer(std::numeric_limits<int64_t>::min());
      case AttrType::shape:
        return shape();
      case AttrType::fn: {
        const Token token = expect(Token::Kind::word, "a function");
        const auto fn = find_fn(token.text);
        if (!fn) fail_parse(token.line, "unknown function '{}'", token.text);
        return *fn;
      }
      case AttrType::integers: {
        std::vector<int64_t> values;
        expect("[");
        list("]", [&] { values.push_back(integer(std::numeric_limits<int64_t>::min())); });
        return values;
      }
      case AttrType::text:
        return expect(Token::Kind::string, "a string").text;
    }
    fail_parse(peek().line, "an attribute of no known type");
  }

  // Values.
  Value* make(Type type, const Token& token) {
    Value* value = fn_.new_value(std::move(type));
    value->name = user_name(token.text);
    if (!values_.emplace(token.text, Named{value, false}).second)
      fail_parse(token.line, "%{} is defined twice", token.text);
    return value;
  }

  void show(const std::string& name) { values_.at(name).visible = true; }

  const Value* use() {
    const Token token = expect(Token::Kind::value, "a value");
    const auto found = values_.find(token.text);
    if (found == values_.end()) fail_parse(token.line, "%{} is not defined", token.text);
    if (!found->second.visible) fail_parse(token.line, "%{} is not visible here", token.text);
    return found->second.value;
  }

  // Regions and operations.
  /// Reads operations up to and with the closing brace.
  void region(Region* region) {
    if (++depth_ > kMaxDepth) fail_parse(peek().line, "regions are nested too deeply");
    std::vector<std::string> made;
    for (const Value* arg : region->args) made.push_back(arg_names_.at(arg));
    while (!accept("}")) operation(region, made);
    for (const std::string& name : made) values_.at(name).visible = false;
    --depth_;
  }

  void operation(Region* parent, std::vector<std::string>& made) {
    const OpText text = op_text();
    Op* op = fn_.new_op(text.kind, {});
    op->parent = parent;
    op->operands = text.operands;
    op->attributes = text.attributes;
    lines_[op] = text.line;
    const auto name = info(text.kind).name;
    check_groups(text, *op);
    if (std::string fault = form_fault(fn_, *op); !fault.empty())
      fail_parse(text.line, "{}: {}", name, fault);
    const std::vector<Type> types = result_types(text, *op);
    if (types.size() != text.results.size())
      fail_parse(text.line, "{}: has {} results, the text names {}", name, types.size(),
                 text.results.size());
    for (size_t i = 0; i < types.size(); ++i) {
      Value* value = make(types[i], text.results[i]);
      value->def = op;
      value->index = static_cast<int>(i);
      op->results.push_back(value);
    }
    if (std::string fault = result_fault(fn_, *op); !fault.empty())
      fail_parse(text.line, "{}: {}", name, fault);
    op->loc = location();
    for (int i = 0; i < info(op->kind).regions; ++i) op->regions.push_back(inner_region(op));
    for (const Token& result : text.results) {
      show(result.text);
      made.push_back(result.text);
    }
    parent->ops.push_back(op);
  }

  OpText op_text() {
    OpText text;
    text.line = peek().line;
    if (peek().kind == Token::Kind::value) {
      do text.results.push_back(expect(Token::Kind::value, "a value"));
      while (accept(","));
      expect("=");
    }
    const Token token = expect(Token::Kind::word, "an operation");
    const auto kind = find_op(token.text);
    if (!kind) fail_parse(token.line, "unknown operation '{}'", token.text);
    text.kind = *kind;
    attributes_after_name(text);
    operands(text);
    attributes_in_braces(text);
    if (accept(":")) {
      text.types.emplace();
      do text.types->push_back(type());
      while (accept(","));
    }
    finish_attributes(text);
    return text;
  }

  void attributes_after_name(OpText& text) {
    for (const AttributeSpec& spec : spec_of(text.kind).attributes)
      if (stands_after_name(spec.key))
        text.attributes.emplace_back(spec.key, attribute(type_of(spec.key)));
  }

  void operands(OpText& text) {
    if (spec_of(text.kind).variadic_operands() >= 2) {
      for (size_t i = 0; i < spec_of(text.kind).operands.size(); ++i) {
        const size_t before = text.operands.size();
        expect("(");
        list(")", [&] { text.operands.push_back(use()); });
        text.groups.push_back(text.operands.size() - before);
      }
    } else if (peek().kind == Token::Kind::value && !peek().starts_line) {
      do text.operands.push_back(use());
      while (accept(","));
    }
  }

  void attributes_in_braces(OpText& text) {
    // A brace also opens a region; attributes are told by the "name =" after it.
    if (!peek().is(Token::Kind::mark, "{") || peek(1).kind != Token::Kind::word ||
        !peek(2).is(Token::Kind::mark, "="))
      return;
    next();
    list("}", [&] {
      const Token token = expect(Token::Kind::word, "an attribute");
      const auto key = find_attribute(token.text);
      if (!key || spec_of(text.kind).find(*key) == nullptr)
        fail_parse(token.line, "{} has no attribute '{}'", info(text.kind).name, token.text);
      for (const auto& [known, value] : text.attributes)
        if (known == *key) fail_parse(token.line, "attribute '{}' is given twice", token.text);
      expect("=");
      text.attributes.emplace_back(*key, attribute(type_of(*key)));
    });
  }

  /// Puts attributes in the order of ops.def; lets an integer stand for a float constant.
  static void finish_attributes(OpText& text) {
    std::vector<std::pair<AttrKey, Attr>> ordered;
    for (const AttributeSpec& spec : spec_of(text.kind).attributes)
      for (const auto& attribute : text.attributes)
        if (attribute.first == spec.key) ordered.push_back(attribute);
    text.attributes = std::move(ordered);
    if (text.kind != OpKind::constant || !text.types || !is_float(text.types->front().dtype))
      return;
    Attr& value = text.attributes.front().second;
    if (const int64_t* integer = std::get_if<int64_t>(&value))
      value = static_cast<double>(*integer);
  }

  /// Groups of operands are told apart by the loop's axes once built, so the text must agree.
  static void check_groups(const OpText& text, const Op& op) {
    const Attr* axes = op.find(AttrKey::axes);
    for (size_t i = 0; i + 1 < text.groups.size(); ++i)
      if (axes == nullptr || text.groups[i] != std::get<std::vector<int64_t>>(*axes).size())
        fail_parse(text.line, "{}: needs one {} per axis", info(op.kind).name,
                   spec_of(op.kind).operands[i].name);
  }

  static std::vector<Type> result_types(const OpText& text, const Op& op) {
    const auto given = text.types.value_or(std::vector<Type>());
    std::vector<Type> types;
    if (const auto several = infer_results(op)) {
      types = *several;
    } else if (const auto inferred = infer_type(op)) {
      types = {*inferred};
    } else if (op.kind == OpKind::while_loop) {
      for (size_t i = 1; i < op.operands.size(); ++i) types.push_back(op.operands[i]->type);
    } else if (op.kind == OpKind::tile_loop) {
      const size_t first = 2 * op.integers(AttrKey::axes).size();
      for (size_t i = first; i < op.operands.size(); ++i) types.push_back(op.operands[i]->type);
    } else {
      return given;
    }
    if (text.types && given != types)
      fail_parse(text.line, "{}: the results' types are not those written", info(op.kind).name);
    return types;
  }

  Region* inner_region(Op* op) {
    Region* inner = fn_.new_region();
    inner->parent = op;
    std::vector<std::string> names;
    const bool has_arguments = accept("(");
    if (has_arguments) {
      list(")", [&] {
        const Token token = expect(Token::Kind::value, "a region's argument");
        expect(":");
        Value* arg = make(type(), token);
        arg->owner = inner;
        arg->index = static_cast<int>(inner->args.size());
        inner->args.push_back(arg);
        arg_names_[arg] = token.text;
        show(token.text);
      });
      expect("{");
      region(inner);
    } else if (accept("{")) {
      region(inner);
    }
    return inner;
  }

  struct Named {
    const Value* value;
    bool visible;
  };

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  Function fn_;
  std::unordered_map<std::string, Named> values_;
  std::unordered_map<const Value*, std::string> arg_names_;
  std::unordered_map<const Op*, int> lines_;
};

}  // namespace

Function parse(std::string_view text) { return Parser(text).run(); }

}  // namespace tilewright::ir
