#include "bench/example_samples.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tilewright::bench {
namespace {

Array on_cpu(const TensorView& view) { return Array::copy_of(view, Device::cpu()); }

Array whole_numbers(const std::vector<int64_t>& values) {
  return Array::from_host(values, {static_cast<int64_t>(values.size())}, Device::cpu());
}

// A result against what it should be, within `allowed`.
void judge(double ours, double expected, double allowed, Verdict& verdict) {
  const double over = std::abs(ours - expected) / allowed;
  verdict.wrong += !(over <= 1);
  verdict.worst = std::max(verdict.worst, over);
}

}  // namespace

Array ascending(int64_t count, int64_t limit) {
  std::mt19937_64 generator(std::random_device{}());
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& value : values) value = static_cast<int64_t>(generator() >> 1) % limit;
  std::ranges::sort(values);
  return whole_numbers(values);
}

Array offsets_of(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return whole_numbers(offsets);
}

Array random_offsets(int64_t sequences, int64_t total) {
  const Array inner = ascending(sequences - 1, total);
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 0; i < sequences - 1; ++i)
    offsets.push_back(static_cast<int64_t>(inner.value(i)));
  offsets.push_back(total);
  return whole_numbers(offsets);
}

Array falling(int64_t rows, int64_t length) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(rows * length));
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum -= 0.01f * static_cast<float>((r * 7 + i * 13) % 11);
      values.push_back(sum);
    }
  }
  return Array::from_host(values, {rows * length}, Device::cpu());
}

std::vector<RowSample> no_samples(const RowMemory&) { return {}; }

std::vector<RowSample> beginning_of_quarters(const RowMemory& memory) {
  constexpr int64_t kCount = 1024;
  const TensorView &x = memory.tensors[0], &y = memory.results[0];
  const auto quarters = [](const TensorView& view) {
    const int64_t n = view.size(0);
    return TensorView(view.data(), view.dtype(), {4, kCount}, {n / 4, 1}, view.device());
  };
  const Array rows = on_cpu(quarters(x));
  std::vector<RowSample> all(1);
  all[0].tensors.push_back(
      Array::from_bytes(rows.data(), 4 * kCount, {4 * kCount}, x.dtype(), Device::cpu()));
  all[0].results.push_back(quarters(y));
  return all;
}

std::vector<RowSample> tokens_of_embedding(const RowMemory& memory) {
  const Array ids = on_cpu(memory.tensors[0]);
  std::vector<RowSample> all;
  for (const int64_t token : {int64_t{0}, ids.elements() / 2, ids.elements() - 1}) {
    const auto row = static_cast<int64_t>(ids.value(token));
    RowSample& sample = all.emplace_back();
    sample.tensors.push_back(whole_numbers({0}));
    sample.tensors.push_back(on_cpu(memory.tensors[1].slice(0, row, row + 1)));
    sample.results.push_back(memory.results[0].slice(0, token, token + 1));
  }
  return all;
}

std::vector<RowSample> first_segments(const RowMemory& memory) {
  constexpr int64_t kSegments = 8;
  const Array segments = on_cpu(memory.tensors[1]);
  int64_t rows = 0;
  std::vector<int64_t> numbers;
  for (; rows < segments.elements() && segments.value(rows) < kSegments; ++rows)
    numbers.push_back(static_cast<int64_t>(segments.value(rows)));
  std::vector<RowSample> all(1);
  all[0].tensors.push_back(on_cpu(memory.tensors[0].slice(0, 0, rows)));
  all[0].tensors.push_back(whole_numbers(numbers));
  all[0].results.push_back(memory.results[0].slice(0, 0, kSegments));
  all[0].number = CallArg::known(kSegments);
  return all;
}

std::vector<RowSample> rows_of_groups(const RowMemory& memory, int matrices, int offsets,
                                      int bias) {
  const Array bounds = on_cpu(memory.tensors.at(static_cast<size_t>(offsets)));
  const int64_t groups = bounds.elements() - 1;
  // Softmaxes need a group's rows all; of products some will do.
  const int64_t most = matrices < 0 ? int64_t{1} << 40 : 2;
  std::vector<RowSample> all;
  for (const int64_t group : {int64_t{0}, groups / 2, groups - 1}) {
    const auto begin = static_cast<int64_t>(bounds.value(group)),
               end = std::min(static_cast<int64_t>(bounds.value(group + 1)), begin + most);
    if (begin == end) continue;
    RowSample& sample = all.emplace_back();
    for (int i = 0; i < static_cast<int>(memory.tensors.size()); ++i) {
      const TensorView& tensor = memory.tensors[static_cast<size_t>(i)];
      if (i == offsets)
        sample.tensors.push_back(whole_numbers({0, end - begin}));
      else if (i == matrices || i == bias)
        sample.tensors.push_back(on_cpu(tensor.slice(0, group, group + 1)));
      else
        sample.tensors.push_back(on_cpu(tensor.slice(0, begin, end)));
    }
    sample.results.push_back(memory.results[0].slice(0, begin, end));
  }
  return all;
}

std::vector<RowSample> one_token(const RowMemory& memory) {
  const Array tokens = on_cpu(memory.tensors[2]), weights = on_cpu(memory.tensors[3]),
              offsets = on_cpu(memory.tensors[4]);
  const double token = tokens.value(0);
  std::vector<int64_t> chosen, bounds = {0};
  std::vector<float> shares;
  for (int64_t e = 0; e + 1 < offsets.elements(); ++e) {
    for (auto i = static_cast<int64_t>(offsets.value(e));
         i < static_cast<int64_t>(offsets.value(e + 1)); ++i) {
      if (tokens.value(i) != token) continue;
      chosen.push_back(0);
      shares.push_back(static_cast<float>(weights.value(i)));
    }
    bounds.push_back(static_cast<int64_t>(chosen.size()));
  }
  const auto at = static_cast<int64_t>(token);
  std::vector<RowSample> all(1);
  RowSample& sample = all[0];
  sample.tensors.push_back(on_cpu(memory.tensors[0].slice(0, at, at + 1)));
  sample.tensors.push_back(on_cpu(memory.tensors[1]));
  sample.tensors.push_back(whole_numbers(chosen));
  sample.tensors.push_back(
      Array::from_host(shares, {static_cast<int64_t>(shares.size())}, Device::cpu()));
  sample.tensors.push_back(whole_numbers(bounds));
  sample.results.push_back(memory.results[0].slice(0, at, at + 1));
  return all;
}

Verdict total_is_right(const RowMemory& memory, const DeviceKernels& kernels) {
  const TensorView& x = memory.tensors[0];
  const auto [sum, sizes] = kernels.add_up(x.data(), x.dtype(), x.elements());
  Verdict verdict;
  judge(on_cpu(memory.results[0]).value(0), sum, 1e-6 * sizes, verdict);
  return verdict;
}

Verdict column_sums_are_right(const RowMemory& memory, bool layer, const DeviceKernels& kernels) {
  const TensorView &dy = memory.tensors[0], &x = memory.tensors[1];
  const int64_t m = x.size(0), n = x.size(1);
  const std::vector<int64_t> columns = {0, 1, n / 2, n - 1};
  const std::vector<double> grads = kernels.gather(dy.data(), dy.dtype(), columns, m, n),
                            values = kernels.gather(x.data(), x.dtype(), columns, m, n);
  const Array mean = layer ? on_cpu(memory.tensors[3]) : Array(),
              rstd = on_cpu(memory.tensors[layer ? 4 : 3]);
  const Array dweight = on_cpu(memory.results[1]),
              dbias = layer ? on_cpu(memory.results[2]) : Array();
  Verdict verdict;
  for (size_t c = 0; c < columns.size(); ++c) {
    double weight = 0, bias = 0, weight_size = 0, bias_size = 0;
    for (int64_t i = 0; i < m; ++i) {
      const size_t at = c * static_cast<size_t>(m) + static_cast<size_t>(i);
      const double hat = (values[at] - (layer ? mean.value(i) : 0)) * rstd.value(i);
      weight += grads[at] * hat;
      weight_size += std::abs(grads[at] * hat);
      bias += grads[at];
      bias_size += std::abs(grads[at]);
    }
    judge(dweight.value(columns[c]), weight, 1e-5 * weight_size, verdict);
    if (layer) judge(dbias.value(columns[c]), bias, 1e-5 * bias_size, verdict);
  }
  return verdict;
}

}  // namespace tilewright::bench
