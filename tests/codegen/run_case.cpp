#include "tests/codegen/run_case.h"

#include "tilewright/ir/combine.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

namespace tilewright::testing {

CaseMemory::CaseMemory(const KernelCase& kernel, bool whole) : kernel_(kernel) {
  unsigned seed = 1;
  for (const ir::Param& param : kernel.fn.params) {
    tensors_.push_back(param.is_tensor() ? std::make_unique<TestTensor>(param.spec) : nullptr);
    if (!param.is_tensor() || param.allocated) continue;
    TestTensor& tensor = *tensors_.back();
    std::mt19937 random(seed++);
    if (whole)
      tensor.for_each([&](const auto& at) { tensor.set(at, static_cast<int>(random() % 7) - 3); });
    else
      tensor.randomize(seed);
  }
}

InterpreterArgs CaseMemory::args() {
  InterpreterArgs result;
  size_t next_scalar = 0;
  for (const auto& tensor : tensors_) {
    if (tensor != nullptr)
      result.emplace_back(tensor->host());
    else
      result.push_back(kernel_.scalars.at(next_scalar++));
  }
  return result;
}

std::string CaseMemory::difference(const CaseMemory& other, double tolerance) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i] == nullptr || tensors_[i]->same_bits(*other.tensors_[i])) continue;
    const std::string& name = kernel_.fn.params[i].name;
    if (!tensors_[i]->margins_intact()) return name + ": written outside of its elements";
    std::string found;
    tensors_[i]->for_each([&](const std::vector<int64_t>& at) {
      const double x = tensors_[i]->get(at), y = other.tensors_[i]->get(at);
      const bool close = std::abs(x - y) <= tolerance * std::abs(y);
      const bool same = x == y && std::signbit(x) == std::signbit(y);
      if (!found.empty() || same || close || (std::isnan(x) && std::isnan(y))) return;
      found = fmt::format("{}[{}] is {}, expected {}", name, fmt::join(at, ","), x, y);
    });
    if (!found.empty()) return found;
    if (tolerance == 0 && !tensors_[i]->margins_intact()) return name + ": other bits";
  }
  return {};
}

Config config_for(const KernelCase& kernel, const std::vector<int64_t>& blocks, Config rest) {
  rest.block.clear();
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) rest.block.push_back(blocks[rest.block.size() % blocks.size()]);
  return rest;
}

bool reduces(const KernelCase& kernel) {
  bool found = false;
  ir::for_each_op(kernel.fn.body(), [&](const ir::Op& op) {
    found |= op.kind == ir::OpKind::reduce || ir::combines(op.kind);
  });
  return found;
}

double tolerance_of(const KernelCase& kernel) {
  if (kernel.name == "welford") return 1e-5;
  if (kernel.name != "softmax" && kernel.name != "online_softmax") return 0;
  return is_half(kernel.fn.params[0].spec.dtype) ? 0x1p-7 : 1e-6;
}

}  // namespace tilewright::testing
