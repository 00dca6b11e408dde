#include "tilewright/runtime/interpreter.h"

#include <cstdlib>
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

/// Gives allocated tensors their first values.
void fill_tensors(const ir::Function& fn, const InterpreterArgs& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Param& param = fn.params[i];
    if (!param.fill) continue;
    const HostTensor& tensor = std::get<HostTensor>(args[i]);
    const DType dtype = tensor.spec.dtype;
    const double* real = std::get_if<double>(&*param.fill);
    const numeric::Element value = real != nullptr
                                       ? numeric::from_double(dtype, *real)
                                       : numeric::from_int(dtype, std::get<int64_t>(*param.fill));
    const numeric::StoreKernel store = numeric::store_kernel(dtype);
    std::visit(
        [&](auto element) {
          auto* memory = static_cast<std::byte*>(tensor.data);
          for (int64_t at = 0; at < tensor.spec.span(); ++at)
            store(&element, memory + at * size_of(dtype), 1, 1);
        },
        value);
  }
}

}  // namespace

int64_t max_loop_steps() {
  constexpr int64_t otherwise = 1'000'000;
  const char* text = std::getenv("TILEWRIGHT_MAX_STEPS");
  const int64_t given = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  return given > 0 ? given : otherwise;
}

void interpret(const ir::Function& fn, const InterpreterArgs& args,
               const InterpreterOptions& options) {
  check_arguments(fn, args);
  const interpreter::Program program(fn, choose_blocks(fn, args, options));
  Frame frame(program, options);
  bind(fn, args, frame);
  fill_tensors(fn, args);
  interpreter::run_block(program.body, frame);
}

}  // namespace tilewright
