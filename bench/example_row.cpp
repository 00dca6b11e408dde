#include "bench/example_row.h"

#include <algorithm>
#include <variant>

namespace tilewright::bench {
namespace {

int64_t bytes_of(DType dtype, const std::vector<int64_t>& sizes) {
  int64_t bytes = size_of(dtype);
  for (const int64_t size : sizes) bytes *= size;
  return bytes;
}

CompileArg compile_arg(const RowInput& input) {
  if (input.number) {
    if (input.number->kind == ParamKind::scalar) return input.number->argument.dtype;
    return std::visit([](auto value) { return CompileArg(value); }, input.number->constant);
  }
  if (!input.transposed) return contiguous_spec(input.dtype, input.sizes);
  TensorSpec spec = contiguous_spec(input.dtype, input.sizes);
  const size_t rank = spec.sizes.size();
  std::swap(spec.sizes[rank - 1], spec.sizes[rank - 2]);
  std::swap(spec.strides[rank - 1], spec.strides[rank - 2]);
  return spec;
}

RowSample cut(const ExampleRow& row, const RowMemory& memory, double where) {
  RowSample sample;
  const auto part = [&](const TensorView& view, int axis) {
    if (axis < 0) return view;
    const int64_t last = view.size(axis) - row.sample;
    const auto begin = static_cast<int64_t>(where * static_cast<double>(last));
    return view.slice(axis, begin, begin + row.sample);
  };
  size_t next = 0;
  for (const RowInput& input : row.inputs)
    if (!input.number)
      sample.tensors.push_back(
          Array::copy_of(part(memory.tensors.at(next++), input.axis), Device::cpu()));
  for (size_t i = 0; i < row.outputs.size(); ++i)
    sample.results.push_back(
        row.outputs[i].axis < 0 ? TensorView() : part(memory.results.at(i), row.outputs[i].axis));
  if (row.in_place >= 0) {
    const auto at = static_cast<size_t>(row.in_place);
    sample.results.push_back(part(memory.tensors.at(at), 0));
  }
  return sample;
}

}  // namespace

int64_t ExampleRow::moved_bytes() const {
  if (bytes > 0) return bytes;
  int64_t sum = 0;
  for (const RowInput& input : inputs)
    if (!input.number) sum += bytes_of(input.dtype, input.sizes);
  for (const RowOutput& output : outputs) sum += bytes_of(output.dtype, output.sizes);
  if (in_place >= 0) sum += sum / 2;  // of two tensors alike, one is written too
  return sum;
}

std::vector<CompileArg> ExampleRow::compile_args() const {
  std::vector<CompileArg> args;
  for (const RowInput& input : inputs) args.push_back(compile_arg(input));
  return args;
}

std::vector<TensorSpec> ExampleRow::result_specs() const {
  std::vector<TensorSpec> specs;
  for (const RowOutput& output : outputs)
    specs.push_back(contiguous_spec(output.dtype, output.sizes));
  return specs;
}

const ExampleRow* find_example_row(std::string_view name) {
  const auto& rows = example_rows();
  const auto found = std::ranges::find(rows, name, &ExampleRow::name);
  return found == rows.end() ? nullptr : &*found;
}

std::vector<RowSample> samples_of(const ExampleRow& row, const RowMemory& memory) {
  if (row.samples) return row.samples(memory);
  std::vector<RowSample> all;
  for (const double where : {0.0, 0.5, 1.0}) all.push_back(cut(row, memory, where));
  return all;
}

}  // namespace tilewright::bench
