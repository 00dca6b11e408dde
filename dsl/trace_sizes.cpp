// Dynamic sizes of a trace.
#include <algorithm>

#include "tilewright/dsl/tensor.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

using ir::SizeProgram;
using ir::SizeStep;

// "a.size(0)", of the tensor whose size a scalar parameter is.
std::string name_of_size(const ir::Function& fn, int scalar) {
  for (const ir::Param& param : fn.params)
    if (param.size_param == scalar) return fmt::format("{}.size(0)", param.name);
  throw InternalError("a dynamic size is no tensor's");
}

}  // namespace

const SizeProgram& Trace::program(int number, uint32_t trace, Loc loc) const {
  if (trace != number_) raise(ErrorId::foreign_value, loc, "a dynamic size");
  return sizes_.at(static_cast<size_t>(number));
}

Size Trace::dynamic_size(const Tensor& tensor) {
  const SizeProgram program{
      {SizeStep::Kind::size, recording_.fn.params.at(tensor.param()).size_param}};
  auto known = std::find(sizes_.begin(), sizes_.end(), program);
  if (known == sizes_.end()) known = sizes_.insert(known, program);
  return Size(static_cast<int>(known - sizes_.begin()), number_);
}

int Trace::compute(ir::Fn fn, Size x, Size y) {
  SizeProgram steps;
  for (const Size size : {x, y}) {
    if (!size.dynamic()) {
      steps.push_back({SizeStep::Kind::constant, size.value()});
      continue;
    }
    const SizeProgram& own = program(size.number(), size.trace(), last_loc_);
    steps.insert(steps.end(), own.begin(), own.end());
  }
  steps.push_back({SizeStep::Kind::apply, 0, fn});
  const bool divides = fn == ir::Fn::div || fn == ir::Fn::rem;
  if (divides && !y.dynamic() && y.value() == 0) raise(ErrorId::size_division, last_loc_);
  sizes_.push_back(std::move(steps));
  return static_cast<int>(sizes_.size()) - 1;
}

std::string Trace::text_of(int number, uint32_t trace) const {
  return ir::to_string(program(number, trace, last_loc_),
                       [&](int scalar) { return name_of_size(recording_.fn, scalar); });
}

const ir::Value* Trace::value_of(Size size, Loc loc) {
  ir::Builder& builder = at(loc);
  if (!size.dynamic()) return builder.index(size.value());
  std::vector<const ir::Value*> stack;
  for (const SizeStep& step : program(size.number(), size.trace(), loc)) {
    if (step.kind == SizeStep::Kind::constant) {
      stack.push_back(builder.index(step.value));
    } else if (step.kind == SizeStep::Kind::size) {
      stack.push_back(recording_.fn.params.at(step.value).value);
    } else {
      const ir::Value* y = stack.back();
      stack.pop_back();
      stack.back() = builder.binary(step.fn, stack.back(), y);
    }
  }
  return stack.back();
}

std::pair<int, int64_t> Trace::plain_size(Size size, Loc loc) const {
  const SizeProgram& steps = program(size.number(), size.trace(), loc);
  if (steps.size() != 1)
    raise(ErrorId::dynamic_size, loc, text_of(size.number(), size.trace()),
          "the size of a result (the dynamic size of a tensor as it is will do)");
  const int param = static_cast<int>(steps[0].value);
  return {param, *recording_.fn.size_limit(param)};
}

void Trace::add_check(SizeTest condition, std::string message, Loc loc) {
  const SizeProgram& steps = program(condition.number(), condition.trace(), loc);
  recording_.fn.checks.push_back({steps, std::move(message), loc});
}

void Trace::check_workspace_sizes() const {
  const ir::Function& fn = recording_.fn;
  size_t result = 0;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    if (!fn.params[i].allocated) continue;
    if (fn.is_workspace(i) && fn.params[i].spec.dynamic)
      raise(ErrorId::dynamic_size, result_locs_[result], name_of_size(fn, fn.params[i].size_param),
            "memory that the kernel does not return");
    ++result;
  }
}

}  // namespace tilewright::dsl
