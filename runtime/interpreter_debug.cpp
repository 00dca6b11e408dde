// Random numbers, printing, assertions, and host functions in the place of PTX.
#include <cmath>
#include <cstdio>

#include "tilewright/ir/error.h"
#include "tilewright/ir/host_function.h"
#include "tilewright/ir/print_format.h"
#include "tilewright/runtime/host_types.h"
#include "tilewright/runtime/interpreter_frame.h"
#include "tilewright/runtime/philox.h"

namespace tilewright::interpreter {
namespace {

using ir::AttrKey;

numeric::Element element_at(const Step& step, const Frame& frame, size_t operand, int64_t i) {
  switch (numeric::storage_of(step.op->operand(operand)->type.dtype)) {
    case numeric::Storage::f32:
      return frame.operand<float>(step, operand)[i];
    case numeric::Storage::f64:
      return frame.operand<double>(step, operand)[i];
    case numeric::Storage::i64:
      break;
  }
  return frame.operand<int64_t>(step, operand)[i];
}

/// As printf shows it on a GPU: "%g", "%lld", or true and false.
struct ElementText {
  DType dtype;
  std::string operator()(int64_t value) const {
    if (dtype == DType::boolean) return value != 0 ? "true" : "false";
    return std::to_string(value);
  }
  std::string operator()(double value) const {
    if (std::isnan(value)) return "nan";
    char text[40];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }
  std::string operator()(float value) const { return (*this)(static_cast<double>(value)); }
};

std::string line_of(const Step& step, const Frame& frame, const ir::PrintFormat& format,
                    int64_t i) {
  std::string line = format.texts[0];
  for (size_t value = 0; value < format.values(); ++value) {
    const DType dtype = step.op->operand(value + 1)->type.dtype;
    line += std::visit(ElementText{dtype}, element_at(step, frame, value + 1, i));
    line += format.texts[value + 1];
  }
  return line;
}

template <class T>
void store_as(void* to, int64_t i, const numeric::Element& value) {
  static_cast<T*>(to)[i] = std::get<T>(value);
}

}  // namespace

void run_random(const Step& step, Frame& frame) {
  const int64_t* counter = frame.operand<int64_t>(step, 0);
  const int64_t* stream = frame.operand<int64_t>(step, 1);
  const int64_t* seed = frame.operand<int64_t>(step, 2);
  const int64_t word = step.op->integer(AttrKey::word);
  int64_t* to = frame.result<int64_t>(step);
  for (int64_t i = 0; i < count(step.out_extents); ++i)
    to[i] = static_cast<int32_t>(philox4x32(counter[i], stream[i], seed[i]).at(word));
}

void run_print(const Step& step, Frame& frame) {
  const int64_t* condition = frame.operand<int64_t>(step, 0);
  const ir::PrintFormat format =
      ir::parse_print_format(std::get<std::string>(*step.op->find(AttrKey::format)));
  const bool fatal = step.op->has(AttrKey::fatal);
  std::string lines;
  for (int64_t i = 0; i < count(step.in_extents); ++i) {
    if (condition[i] == 0) continue;
    const std::string line = line_of(step, frame, format, i);
    if (fatal) raise(ErrorId::assertion_failed, step.op->loc, line);
    lines += ir::print_prefix(step.op->loc) + line + "\n";
  }
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  std::fflush(stdout);
}

void run_inline_ptx(const Step& step, Frame& frame) {
  const ir::Attr* name = step.op->find(AttrKey::twin);
  const ir::HostFunction twin =
      name == nullptr ? nullptr : ir::find_host_function(std::get<std::string>(*name));
  if (twin == nullptr)
    raise(ErrorId::ptx_without_twin, step.op->loc,
          std::get<std::string>(*step.op->find(AttrKey::ptx)), "the interpreter");
  void* to = frame.result(step);
  const DType dtype = step.out_dtype();
  std::vector<numeric::HostElement> values(step.in.size());
  std::vector<const void*> arguments;
  for (const numeric::HostElement& value : values) arguments.push_back(&value);
  for (int64_t i = 0; i < count(step.out_extents); ++i) {
    for (size_t k = 0; k < values.size(); ++k)
      values[k] =
          numeric::to_host_element(step.op->operand(k)->type.dtype, element_at(step, frame, k, i));
    numeric::HostElement result{};
    twin(arguments.data(), &result);
    const numeric::Element made = numeric::from_host_element(dtype, result);
    std::visit([&](auto value) { store_as<decltype(value)>(to, i, made); }, made);
  }
}

}  // namespace tilewright::interpreter
