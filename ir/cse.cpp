#include "tilewright/ir/cse.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/print.h"

namespace tilewright::ir {
namespace {

bool is_commutative(const Op& op) {
  if (op.kind != OpKind::binary && op.kind != OpKind::compare) return false;
  switch (op.fn()) {
    case Fn::add:
    case Fn::mul:
    case Fn::min:
    case Fn::max:
    case Fn::bit_and:
    case Fn::bit_or:
    case Fn::bit_xor:
    case Fn::eq:
    case Fn::ne:
      return true;
    default:
      return false;
  }
}

class Merger {
 public:
  bool operator()(Rewriter& rewriter, const Op& op) {
    if (op.effect() != Effect::pure || op.results.size() != 1 || !op.regions.empty()) return false;
    std::vector<const Value*>& known = known_[key(op, rewriter(op.operands))];
    for (const Value* value : known) {
      if (!is_visible(value->def->parent, rewriter.builder().region())) continue;
      rewriter.replace(op.result(), value);
      return true;
    }
    known.push_back(rewriter.clone(op)->result());
    return true;
  }

 private:
  /// Text that is equal for equal operations. Attributes go in as text since -0.0 == 0.0.
  std::string key(const Op& op, const std::vector<const Value*>& operands) {
    std::vector<int> numbers;
    for (const Value* operand : operands)
      numbers.push_back(numbers_.emplace(operand, static_cast<int>(numbers_.size())).first->second);
    if (is_commutative(op) && numbers[0] > numbers[1]) std::swap(numbers[0], numbers[1]);
    std::string text(info(op.kind).name);
    for (int number : numbers) text += " %" + std::to_string(number);
    for (const auto& [name, value] : op.attributes)
      text.append(" ").append(to_string(name)).append("=").append(to_string(value));
    return text + " : " + to_string(op.result()->type);
  }

  /// Whether what is made in `made` can be used in `use`.
  static bool is_visible(const Region* made, const Region* use) {
    while (use != made && use->parent != nullptr) use = use->parent->parent;
    return use == made;
  }

  std::unordered_map<const Value*, int> numbers_;
  std::unordered_map<std::string, std::vector<const Value*>> known_;
};

}  // namespace

Function eliminate_common_subexpressions(const Function& fn) {
  Merger merger;
  return Rewriter::run(fn, [&](Rewriter& rewriter, const Op& op) { return merger(rewriter, op); });
}

}  // namespace tilewright::ir
