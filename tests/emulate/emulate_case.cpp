#include "tests/emulate/emulate_case.h"

#include <fmt/format.h>

#include <cmath>

#include "tilewright/ir/combine.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::testing {
namespace {

constexpr unsigned char kPoison = 0x5a;

double value_at(const std::vector<unsigned char>& bytes, DType dtype, int64_t i) {
  const void* at = bytes.data() + i * size_of(dtype);
  switch (numeric::storage_of(dtype)) {
    case numeric::Storage::f32: {
      float x = 0;
      numeric::load_kernel(dtype)(at, 1, &x, 1);
      return x;
    }
    case numeric::Storage::f64: {
      double x = 0;
      numeric::load_kernel(dtype)(at, 1, &x, 1);
      return x;
    }
    case numeric::Storage::i64:
      break;
  }
  int64_t x = 0;
  numeric::load_kernel(dtype)(at, 1, &x, 1);
  return static_cast<double>(x);
}

}  // namespace

EmulateMemory::EmulateMemory(const KernelCase& kernel) : kernel_(kernel) {
  std::mt19937 random(7);
  bool whole = false;
  ir::for_each_op(kernel.fn.body(), [&](const ir::Op& op) {
    whole |= op.kind == ir::OpKind::reduce || ir::combines(op.kind);
  });
  for (const ir::Param& param : kernel.fn.params) {
    std::vector<unsigned char>& bytes = tensors_.emplace_back();
    if (!param.is_tensor()) continue;
    const DType dtype = param.spec.dtype;
    bytes.assign(static_cast<size_t>(param.spec.span() * size_of(dtype)), kPoison);
    if (param.allocated) continue;
    for (int64_t i = 0; i < param.spec.span(); ++i) {
      const numeric::Element value =
          whole || !is_float(dtype)
              ? numeric::from_int(dtype, static_cast<int64_t>(random() % 7) - 3)
              : numeric::from_double(dtype, random() / 0x1p31 - 1);
      std::visit(
          [&](auto v) {
            numeric::store_kernel(dtype)(&v, bytes.data() + i * size_of(dtype), 1, 1);
          },
          value);
    }
  }
}

void EmulateMemory::spoil_gaps() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const ir::Param& param = kernel_.fn.params[i];
    if (!param.is_tensor() || param.allocated) continue;
    std::vector<bool> used(static_cast<size_t>(param.spec.span()), false);
    const auto mark = [&](auto&& self, size_t dim, int64_t at) -> void {
      if (dim == param.spec.sizes.size()) {
        used[static_cast<size_t>(at)] = true;
        return;
      }
      for (int64_t p = 0; p < param.spec.sizes[dim]; ++p)
        self(self, dim + 1, at + p * param.spec.strides[dim]);
    };
    mark(mark, 0, 0);
    const int bytes = size_of(param.spec.dtype);
    for (size_t e = 0; e < used.size(); ++e)
      if (!used[e]) std::memset(&tensors_[i][e * static_cast<size_t>(bytes)], 0xff, bytes);
  }
}

InterpreterArgs EmulateMemory::interpreter_args() {
  InterpreterArgs args;
  size_t scalar = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const ir::Param& param = kernel_.fn.params[i];
    if (param.is_tensor())
      args.emplace_back(HostTensor{tensors_[i].data(), param.spec});
    else
      args.push_back(kernel_.scalars.at(scalar++));
  }
  return args;
}

std::vector<runtime::EmulatorArgument> EmulateMemory::emulator_args() {
  std::vector<runtime::EmulatorArgument> args;
  size_t scalar = 0;
  for (size_t i = 0; i < kernel_.fn.launch_params(); ++i) {
    const ir::Param& param = kernel_.fn.params[i];
    runtime::EmulatorArgument& arg = args.emplace_back();
    if (param.is_tensor()) {
      arg = {tensors_[i].data(), param.spec.span(), param.spec.dtype, true, !param.allocated};
      continue;
    }
    arg.tensor = false;
    arg.dtype = param.value->type.dtype;
    const HostArgument& value = kernel_.scalars.at(scalar++);
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      arg.bits = static_cast<uint64_t>(*integer);
    } else if (arg.dtype == DType::f32) {
      const float single = static_cast<float>(std::get<double>(value));
      std::memcpy(&arg.bits, &single, sizeof single);
    } else {
      std::memcpy(&arg.bits, &std::get<double>(value), sizeof(double));
    }
  }
  return args;
}

std::string EmulateMemory::difference(const EmulateMemory& other, double tolerance,
                                      double absolute) const {
  for (size_t i = 0; i < kernel_.fn.launch_params(); ++i) {
    if (tensors_[i] == other.tensors_[i]) continue;
    const ir::Param& param = kernel_.fn.params[i];
    for (int64_t at = 0; at < param.spec.span(); ++at) {
      const double x = value_at(tensors_[i], param.spec.dtype, at);
      const double y = value_at(other.tensors_[i], param.spec.dtype, at);
      const bool same = (x == y && std::signbit(x) == std::signbit(y)) ||
                        (std::isnan(x) && std::isnan(y)) ||
                        std::abs(x - y) <= tolerance * std::abs(y) + absolute;
      if (!same) return fmt::format("{}[{}] is {}, expected {}", param.name, at, x, y);
    }
  }
  return {};
}

Config emulate_config(const KernelCase& kernel, const std::vector<int64_t>& blocks, int warps,
                      int stages, CopyKind copy) {
  Config config;
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) config.block.push_back(blocks[config.block.size() % blocks.size()]);
  config.warps = warps;
  config.stages = stages;
  config.copy = copy;
  return config;
}

double emulate_tolerance(const KernelCase& kernel) {
  if (kernel.name == "welford") return 1e-5;
  if (kernel.name != "softmax" && kernel.name != "online_softmax") return 0;
  return is_half(kernel.fn.params[0].spec.dtype) ? 0x1p-7 : 1e-6;
}

EmulateResult emulate_case(const KernelCase& kernel, const codegen::Plan& plan,
                           const Config& config, std::optional<double> tolerance, double absolute) {
  EmulateMemory found(kernel), expected(kernel);
  interpret(kernel.fn, expected.interpreter_args(), {.block = config.block});
  EmulateResult result;
  result.emulation = runtime::emulate(plan, found.emulator_args());
  result.difference =
      found.difference(expected, tolerance.value_or(emulate_tolerance(kernel)), absolute);
  return result;
}

std::string describe(const KernelCase& kernel, const codegen::Plan& plan) {
  std::string text = kernel.name;
  for (const ir::Param& param : kernel.fn.params)
    if (param.is_tensor()) text += " " + to_string(param.spec);
  return text + " " + to_json(plan.config) + " " + plan.target.name();
}

}  // namespace tilewright::testing
