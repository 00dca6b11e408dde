#include "bench/gemm_check.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace tilewright::bench {
namespace {

constexpr int64_t kSamples = 4096;

struct Strides {
  int64_t row, column;
};
Strides a_strides(const Problem& p) { return p.a_transposed ? Strides{1, p.m} : Strides{p.k, 1}; }
Strides b_strides(const Problem& p) { return p.b_transposed ? Strides{1, p.k} : Strides{p.n, 1}; }

const void* at(const Array& array, int64_t offset) {
  return static_cast<const std::byte*>(array.data()) + offset * size_of(array.dtype());
}

// `count` positions of 0 .. limit - 1: the first, the last two, and any.
std::vector<int64_t> pick(int64_t count, int64_t limit, std::mt19937_64& engine) {
  std::vector<int64_t> picked{0, limit - 1, std::max<int64_t>(limit - 2, 0)};
  while (static_cast<int64_t>(picked.size()) < count)
    picked.push_back(static_cast<int64_t>(engine() % static_cast<uint64_t>(limit)));
  picked.resize(static_cast<size_t>(count));
  return picked;
}

std::vector<int64_t> scaled(std::vector<int64_t> positions, int64_t stride) {
  for (int64_t& position : positions) position *= stride;
  return positions;
}

// What b holds, where it is packed.
Array unpacked(const Problem& p, const Operands& operands, const DeviceKernels& kernels) {
  if (p.form != Form::int4_weights) return {};
  Array b(Device::cuda(0), {p.k, p.n}, DType::i8);
  kernels.unpack(b, operands.b);
  return b;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

}  // namespace

Reference::Reference(const Problem& problem, const Operands& operands, const DeviceKernels& kernels)
    : problem_(problem),
      kernels_(kernels),
      tolerance_(tolerance_of(problem)),
      value_(Device::cuda(0), c_sizes(problem), DType::f64),
      magnitude_(Device::cuda(0), c_sizes(problem), DType::f64) {
  const std::vector<Part> parts = parts_of(problem);
  const bool bias = problem.form == Form::gelu;
  const Array plain = unpacked(problem, operands, kernels);
  const Array& b = plain.elements() > 0 ? plain : operands.b;
  for (const Part& part : parts)
    kernels.multiply({.value = static_cast<double*>(value_.data()) + part.c,
                      .magnitude = static_cast<double*>(magnitude_.data()) + part.c,
                      .a = at(operands.a, part.a),
                      .b = at(b, part.b),
                      .bias = bias ? operands.bias.data() : nullptr,
                      .a_dtype = problem.input,
                      .b_dtype = b.dtype(),
                      .m = part.m,
                      .n = problem.n,
                      .k = problem.k,
                      .a_row = a_strides(problem).row,
                      .a_column = a_strides(problem).column,
                      .b_row = b_strides(problem).row,
                      .b_column = b_strides(problem).column,
                      .of_magnitude = tolerance_.of_magnitude});
  if (parts.size() == 1) {
    sample(parts.front(), kSamples, operands, b);
  } else {
    sample(parts.front(), kSamples / 2, operands, b);
    sample(parts.back(), kSamples / 2, operands, b);
  }
}

// Some rows by some columns.
void Reference::sample(const Part& part, int64_t count, const Operands& operands,
                       const Array& weights) {
  const Problem& p = problem_;
  std::mt19937_64 engine(std::random_device{}());
  const std::vector<int64_t> rows = pick(std::min<int64_t>(part.m, 64), part.m, engine);
  const auto row_count = static_cast<int64_t>(rows.size());
  const std::vector<int64_t> columns = pick(std::min(p.n, count / row_count), p.n, engine);
  const std::vector<double> a = kernels_.gather(
      at(operands.a, part.a), p.input, scaled(rows, a_strides(p).row), p.k, a_strides(p).column);
  const std::vector<double> b =
      kernels_.gather(at(weights, part.b), weights.dtype(), scaled(columns, b_strides(p).column),
                      p.k, b_strides(p).row);
  std::vector<double> bias(columns.size());
  if (p.form == Form::gelu) bias = kernels_.gather(operands.bias.data(), p.input, columns, 1, 1);
  const auto terms = static_cast<size_t>(p.k);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < columns.size(); ++j) {
      const double *x = &a[i * terms], *y = &b[j * terms];
      double sum = 0, magnitude = 0;
      for (size_t l = 0; l < terms; ++l) {
        sum += x[l] * y[l];
        magnitude += std::abs(x[l] * y[l]);
      }
      double allowed = tolerance_.of_magnitude * magnitude;
      if (p.form == Form::gelu) {
        const double v = sum + bias[j];
        allowed =
            1.13 * (allowed + tolerance_.of_magnitude * std::abs(bias[j])) + 0x1p-22 * std::abs(v);
        sum = gelu(v);
      }
      samples_.at.push_back(part.c + rows[i] * p.n + columns[j]);
      samples_.value.push_back(sum);
      samples_.allowed.push_back(allowed + tolerance_.of_value * std::abs(sum));
    }
}

Verdict Reference::check(const Array& c) const {
  Verdict verdict =
      kernels_.check_product(c, value_, magnitude_, tolerance_.of_value, tolerance_.of_magnitude);
  const std::vector<double> values = kernels_.gather(c.data(), c.dtype(), samples_.at, 1, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - samples_.value[i]), allowed = samples_.allowed[i];
    verdict.wrong += !(error <= allowed);
    if (error <= 1e300 && allowed > 0) verdict.worst = std::max(verdict.worst, error / allowed);
  }
  return verdict;
}

}  // namespace tilewright::bench
