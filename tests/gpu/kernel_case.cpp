#include "tests/gpu/kernel_case.h"

#include <cmath>
#include <cstring>
#include <random>

#include "tilewright/runtime/half.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::testing {
namespace {

constexpr uint8_t kPoison = 0xff;  // NaN in every float type
constexpr int64_t kMargin = 64;    // bytes of poison before and after

TensorSpec spec_of(const Operand& operand) {
  TensorSpec spec = contiguous_spec(operand.dtype, operand.sizes);
  if (!operand.strides.empty()) spec.strides = operand.strides;
  return spec;
}

void store_element(uint8_t* to, DType dtype, double value) {
  const numeric::Element element = numeric::from_double(dtype, value);
  if (const auto* f = std::get_if<float>(&element))
    numeric::store_kernel(dtype)(f, to, 1, 1);
  else if (const auto* d = std::get_if<double>(&element))
    numeric::store_kernel(dtype)(d, to, 1, 1);
  else
    numeric::store_kernel(dtype)(&std::get<int64_t>(element), to, 1, 1);
}

/// Calls visit(offset) with the element offset of every element of a tensor.
void for_each_element(const TensorSpec& spec, const std::function<void(int64_t)>& visit) {
  if (spec.elements() == 0) return;
  std::vector<int64_t> at(spec.sizes.size(), 0);
  for (;;) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * spec.strides[d];
    visit(offset);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == spec.sizes[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

/// One unit in the last place of `dtype` at the magnitude of `value`.
double ulp_at(double value, DType dtype) {
  if (!is_float(dtype) || value == 0 || !std::isfinite(value)) return 0;
  return std::ldexp(1.0, std::ilogb(value) - float_digits(dtype) + 1);
}

void compare_buffers(const KernelCase& test, const Operand& operand,
                     const std::vector<uint8_t>& expected, const std::vector<uint8_t>& actual,
                     const std::string& what) {
  const TensorSpec spec = spec_of(operand);
  const int size = size_of(operand.dtype);
  std::vector<bool> inside(expected.size(), false);
  int reported = 0;
  for_each_element(spec, [&](int64_t offset) {
    const int64_t at = kMargin + (operand.offset + offset) * size;
    for (int b = 0; b < size; ++b) inside[at + b] = true;
    const double want = element_as_double(&expected[at], operand.dtype);
    const double got = element_as_double(&actual[at], operand.dtype);
    if (std::isnan(want) && std::isnan(got)) return;
    const double allowed = test.ulps * ulp_at(want, operand.dtype) + test.absolute;
    if (want == got || std::abs(want - got) <= allowed) return;
    if (reported++ < 3)
      ADD_FAILURE() << what << ": element at offset " << offset << " is " << got << ", expected "
                    << want << " (+- " << allowed << "), config " << to_json(test.config);
  });
  for (size_t b = 0; b < expected.size() && reported < 3; ++b)
    if (!inside[b] && expected[b] != actual[b]) {
      ++reported;
      ADD_FAILURE() << what << ": byte " << b << " outside the tensor was changed, config "
                    << to_json(test.config);
    }
}

}  // namespace

double element_as_double(const uint8_t* bytes, DType dtype) {
  if (dtype == DType::f64) {
    double value;
    numeric::load_kernel(dtype)(bytes, 1, &value, 1);
    return value;
  }
  if (is_float(dtype)) {
    float value;
    numeric::load_kernel(dtype)(bytes, 1, &value, 1);
    return value;
  }
  int64_t value;
  numeric::load_kernel(dtype)(bytes, 1, &value, 1);
  return static_cast<double>(value);
}

PlacedOperands::PlacedOperands(const KernelCase& test, Device device, uint32_t seed)
    : device_(device) {
  for (const Operand& operand : test.inputs) place(operand, true, seed++, inputs);
  for (const Operand& operand : test.outputs) place(operand, false, seed, outputs);
}

void PlacedOperands::place(const Operand& operand, bool fill, uint32_t seed,
                           std::vector<TensorView>& views) {
  const TensorSpec spec = spec_of(operand);
  const int size = size_of(operand.dtype);
  const int64_t total = 2 * kMargin + (operand.offset + spec.span()) * size;
  std::vector<uint8_t> bytes(static_cast<size_t>(total), kPoison);
  if (fill) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for_each_element(spec, [&](int64_t offset) {
      const double value =
          is_float(operand.dtype) ? normal(random) : std::round(8 * normal(random));
      store_element(&bytes[kMargin + (operand.offset + offset) * size], operand.dtype, value);
    });
  }
  buffers_.push_back(Array::from_bytes(bytes.data(), bytes.size(), {total}, DType::u8, device_));
  auto* base = static_cast<uint8_t*>(buffers_.back().data()) + kMargin + operand.offset * size;
  views.emplace_back(base, operand.dtype, spec.sizes, spec.strides, device_);
}

std::vector<std::vector<uint8_t>> PlacedOperands::bytes() const {
  std::vector<std::vector<uint8_t>> result;
  for (const Array& buffer : buffers_) {
    const Array host = buffer.to_host();
    const auto values = host.values<uint8_t>();
    result.emplace_back(values.begin(), values.end());
  }
  return result;
}

void launch_case(const KernelCase& test, const PlacedOperands& operands) {
  std::vector<CallArg> args;
  for (float scalar : test.leading_scalars) args.push_back(CallArg::scalar(scalar));
  for (const TensorView& view : operands.inputs) args.push_back(CallArg::tensor(view));
  LaunchOptions options;
  options.out = operands.outputs;
  if (!test.use_default_config) options.config = test.config;
  test.kernel.launch(options, args);
}

void expect_gpu_matches_interpreter(const KernelCase& test) {
  const PlacedOperands host(test, Device::cpu()), gpu(test, Device::cuda(0));
  launch_case(test, host);
  launch_case(test, gpu);
  synchronize(Device::cuda(0));
  const auto expected = host.bytes(), actual = gpu.bytes();
  std::vector<Operand> operands = test.inputs;
  operands.insert(operands.end(), test.outputs.begin(), test.outputs.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string what = test.kernel.name() +
                             (i < test.inputs.size() ? " input " : " output ") +
                             std::to_string(i < test.inputs.size() ? i : i - test.inputs.size());
    compare_buffers(test, operands[i], expected[i], actual[i], what);
  }
}

}  // namespace tilewright::testing
