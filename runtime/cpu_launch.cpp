#include "tilewright/runtime/cpu_launch.h"

#include <bit>
#include <cstddef>
#include <vector>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/emulator.h"
#include "tilewright/runtime/emulator_module.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"
#include "tilewright/runtime/interpreter.h"

namespace tilewright::runtime {
namespace {

// A scalar's memory as the interpreter takes it.
HostArgument scalar_argument(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::boolean:
      return int64_t{(bits & 0xff) != 0};
    case DType::i8:
      return int64_t{static_cast<int8_t>(bits)};
    case DType::u8:
      return int64_t{static_cast<uint8_t>(bits)};
    case DType::i16:
      return int64_t{static_cast<int16_t>(bits)};
    case DType::i32:
      return int64_t{static_cast<int32_t>(bits)};
    case DType::i64:
      return static_cast<int64_t>(bits);
    case DType::f8e4m3:
      return double{f8e4m3_to_float(static_cast<uint8_t>(bits))};
    case DType::f8e5m2:
      return double{f8e5m2_to_float(static_cast<uint8_t>(bits))};
    case DType::f16:
      return double{f16_to_float(static_cast<uint16_t>(bits))};
    case DType::bf16:
      return double{bf16_to_float(static_cast<uint16_t>(bits))};
    case DType::f32:
      return double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
    case DType::f64:
      return std::bit_cast<double>(bits);
  }
  throw InternalError("a scalar of no known dtype");
}

}  // namespace

void launch_on_cpu(const ir::Function& fn, std::span<const Argument> args,
                   std::span<const int64_t> block) {
  InterpreterArgs values;
  for (const Argument& arg : args) {
    if (arg.view != nullptr)
      values.push_back(HostTensor{arg.view->data(), arg.view->spec()});
    else
      values.push_back(scalar_argument(arg.dtype, arg.bits));
  }
  std::vector<std::vector<std::byte>> workspaces;
  for (size_t i = args.size(); i < fn.params.size(); ++i) {
    const TensorSpec& spec = fn.params[i].spec;
    // NaN in every float: what is read before it is written shows.
    workspaces.emplace_back(static_cast<size_t>(spec.span() * size_of(spec.dtype)),
                            std::byte{0xff});
    values.push_back(HostTensor{workspaces.back().data(), spec});
  }
  InterpreterOptions options;
  options.block.assign(block.begin(), block.end());
  interpret(fn, values, options);
}

void launch_emulated(const ir::Function& fn, const codegen::Plan& plan,
                     std::span<const Argument> args, Device device) {
  std::vector<EmulatorArgument> values;
  for (size_t i = 0; i < args.size(); ++i) {
    EmulatorArgument& value = values.emplace_back();
    if (args[i].view != nullptr) {
      const TensorSpec spec = args[i].view->spec();
      value = {args[i].view->data(), spec.span(), spec.dtype, true, !fn.params.at(i).allocated};
    } else {
      value.tensor = false;
      value.dtype = args[i].dtype;
      value.bits = args[i].bits;
    }
  }
  EmulateOptions options;
  options.flags = emulator_flags();
  const Emulation emulation = emulate(plan, values, options);
  if (!emulation.findings.empty())
    throw_error(ErrorId::emulator_report, fn.loc,
                fmt::format(fmt::runtime(message_of(ErrorId::emulator_report)), fn.name,
                            to_string(device), emulation.findings.size()),
                emulation.report());
}

}  // namespace tilewright::runtime
