#include "tilewright/runtime/interpreter.h"

#include <cstring>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"
#include "tilewright/runtime/interpreter_program.h"

namespace tilewright {
namespace {

using interpreter::Cell;
using interpreter::Frame;

void check_tensor(const ir::Param& param, const HostTensor& tensor) {
  const auto expect = [&](bool ok, const char* what) {
    if (!ok) throw InternalError(fmt::format("argument '{}': {}", param.name, what));
  };
  const TensorSpec& spec = tensor.spec;
  expect(spec.dtype == param.value->type.dtype, "another dtype than the parameter's");
  expect(spec.rank() == param.value->type.rank, "another rank than the parameter's");
  expect(spec.strides.size() == spec.sizes.size(), "one stride per dimension is needed");
  for (int64_t size : spec.sizes) expect(size >= 0, "a negative size");
  for (int64_t stride : spec.strides) expect(stride >= 0, "a negative stride");
  expect(tensor.data != nullptr || spec.span() == 0, "no memory");
}

/// A scalar argument as an element of the parameter's dtype.
numeric::Element scalar_element(const ir::Param& param, const HostArgument& arg) {
  const DType dtype = param.value->type.dtype;
  if (const auto* integer = std::get_if<int64_t>(&arg)) return numeric::from_int(dtype, *integer);
  const auto* real = std::get_if<double>(&arg);
  if (real == nullptr || !is_float(dtype))
    throw InternalError(
        fmt::format("argument '{}': expected a scalar {}", param.name, to_string(dtype)));
  return numeric::from_double(dtype, *real);
}

void check_arguments(const ir::Function& fn, const InterpreterArgs& args) {
  internal_check(args.size() == fn.params.size(), "one argument per parameter is needed");
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* tensor = std::get_if<HostTensor>(&args[i]);
    if ((tensor != nullptr) != fn.params[i].is_tensor())
      throw InternalError(fmt::format("argument '{}': a tensor for a scalar or the other way round",
                                      fn.params[i].name));
    if (tensor != nullptr) check_tensor(fn.params[i], *tensor);
  }
}

void bind(const ir::Function& fn, const InterpreterArgs& args, Frame& frame) {
  for (size_t i = 0; i < args.size(); ++i) {
    Cell& cell = frame.cells[frame.program->slot(fn.params[i].value)];
    cell.tensor = std::get_if<HostTensor>(&args[i]);
    if (cell.tensor != nullptr) continue;
    void* to = Frame::fresh(cell, sizeof(int64_t));
    std::visit([to](auto x) { std::memcpy(to, &x, sizeof(x)); },
               scalar_element(fn.params[i], args[i]));
  }
}

}  // namespace

void interpret(const ir::Function& fn, const InterpreterArgs& args,
               const InterpreterOptions& options) {
  check_arguments(fn, args);
  const interpreter::Program program(fn, choose_blocks(fn, args, options));
  Frame frame(program, options);
  bind(fn, args, frame);
  interpreter::run_block(program.body, frame);
}

}  // namespace tilewright
