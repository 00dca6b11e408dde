#include "tilewright/ir/size_program.h"

#include <fmt/format.h>

#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

struct OperatorOf {
  Fn fn;
  const char* text;
  int strength;  // of how it binds
};

constexpr OperatorOf kOperators[] = {{Fn::mul, "*", 4}, {Fn::div, "/", 4}, {Fn::rem, "%", 4},
                                     {Fn::add, "+", 3}, {Fn::sub, "-", 3}, {Fn::lt, "<", 2},
                                     {Fn::le, "<=", 2}, {Fn::gt, ">", 2},  {Fn::ge, ">=", 2},
                                     {Fn::eq, "==", 1}, {Fn::ne, "!=", 1}};

const OperatorOf& operator_of(Fn fn) {
  for (const OperatorOf& known : kOperators)
    if (known.fn == fn) return known;
  throw InternalError("sizes have no such function");
}

int64_t wrapped(Fn fn, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  const uint64_t result = fn == Fn::add ? a + b : fn == Fn::sub ? a - b : a * b;
  return static_cast<int64_t>(result);
}

int64_t apply(Fn fn, int64_t x, int64_t y, Loc loc) {
  switch (fn) {
    case Fn::div:
    case Fn::rem:
      if (y == 0) raise(ErrorId::size_division, loc);
      if (y == -1) return fn == Fn::div ? wrapped(Fn::sub, 0, x) : 0;
      return fn == Fn::div ? x / y : x % y;
    case Fn::eq:
      return x == y;
    case Fn::ne:
      return x != y;
    case Fn::lt:
      return x < y;
    case Fn::le:
      return x <= y;
    case Fn::gt:
      return x > y;
    case Fn::ge:
      return x >= y;
    default:
      return wrapped(fn, x, y);
  }
}

}  // namespace

int64_t evaluate(const SizeProgram& program, const std::function<int64_t(int)>& size, Loc loc) {
  std::vector<int64_t> stack;
  for (const SizeStep& step : program) {
    if (step.kind == SizeStep::Kind::apply) {
      const int64_t y = stack.back();
      stack.pop_back();
      stack.back() = apply(step.fn, stack.back(), y, loc);
    } else {
      stack.push_back(step.kind == SizeStep::Kind::size ? size(static_cast<int>(step.value))
                                                        : step.value);
    }
  }
  return stack.back();
}

std::string to_string(const SizeProgram& program, const std::function<std::string(int)>& name) {
  struct Part {
    std::string text;
    int strength;
  };
  constexpr int kAtom = 5;
  std::vector<Part> stack;
  for (const SizeStep& step : program) {
    if (step.kind == SizeStep::Kind::apply) {
      const OperatorOf& known = operator_of(step.fn);
      const auto closed = [](const Part& part, bool enough) {
        return enough ? part.text : "(" + part.text + ")";
      };
      const Part y = std::move(stack.back());
      stack.pop_back();
      Part& x = stack.back();
      x.text = fmt::format("{} {} {}", closed(x, x.strength >= known.strength), known.text,
                           closed(y, y.strength > known.strength));
      x.strength = known.strength;
    } else if (step.kind == SizeStep::Kind::size) {
      stack.push_back({name(static_cast<int>(step.value)), kAtom});
    } else {
      stack.push_back({fmt::format("{}", step.value), kAtom});
    }
  }
  return stack.back().text;
}

}  // namespace tilewright::ir
