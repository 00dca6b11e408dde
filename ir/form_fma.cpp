#include "tilewright/ir/form_fma.h"

#include <unordered_map>

#include "tilewright/ir/builder.h"

namespace tilewright::ir {
namespace {

class Contractor {
 public:
  explicit Contractor(const Function& fn) {
    const auto uses = count_uses(fn);
    for_each_op(fn.body(), [&](const Op& op) {
      if (op.kind != OpKind::binary || (op.fn() != Fn::add && op.fn() != Fn::sub)) return;
      const DType dtype = op.result()->type.dtype;
      if (dtype != DType::f32 && dtype != DType::f64) return;
      for (const Value* operand : op.operands) {
        const Op* product = operand->def;
        if (product == nullptr || product->parent != op.parent) continue;
        if (product->kind != OpKind::binary || product->fn() != Fn::mul) continue;
        if (uses.at(operand) != 1) continue;
        product_of_[&op] = product;
        sum_of_[product] = &op;
        return;
      }
    });
  }

  bool operator()(Rewriter& rewriter, const Op& op) const {
    if (sum_of_.contains(&op)) return true;
    const auto found = product_of_.find(&op);
    if (found == product_of_.end()) return false;
    const Op& product = *found->second;
    const bool is_left = op.operand(0) == product.result();
    const Value* x = rewriter(product.operand(0));
    const Value* z = rewriter(op.operand(is_left ? 1 : 0));
    Builder& builder = rewriter.builder();
    // Negation is exact, so a difference is contracted as well as a sum.
    if (op.fn() == Fn::sub) (is_left ? z : x) = builder.unary(Fn::neg, is_left ? z : x);
    rewriter.replace(op.result(), builder.fma(x, rewriter(product.operand(1)), z));
    return true;
  }

 private:
  std::unordered_map<const Op*, const Op*> product_of_, sum_of_;
};

}  // namespace

Function form_fma(const Function& fn) {
  const Contractor contractor(fn);
  return Rewriter::run(fn,
                       [&](Rewriter& rewriter, const Op& op) { return contractor(rewriter, op); });
}

}  // namespace tilewright::ir
