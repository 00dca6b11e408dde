#include "bench/device_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "bench/device_kernels_source.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::bench {
namespace {

constexpr int kThreads = 256;

void launch(CUfunc_st* function, int64_t grid, const Stream& stream,
            std::span<void* const> params) {
  std::array<void*, 8> pointers{};
  std::ranges::copy(params, pointers.begin());
  runtime::launch_kernel(function, {.grid = grid, .threads = kThreads}, stream.handle(),
                         pointers.data(), "launching a kernel of the benchmarks");
}

// Launches with arguments of exactly the kernel's parameter types.
template <class... Args>
void launch_with(CUfunc_st* function, int64_t grid, const Stream& stream, Args... args) {
  const std::array<void*, sizeof...(Args)> params{static_cast<void*>(&args)...};
  launch(function, grid, stream, params);
}

uint64_t count_of(const Array& array) { return static_cast<uint64_t>(array.elements()); }

// The number of an element type in the kernels.
int type_number(DType dtype) {
  constexpr DType types[] = {DType::f32, DType::bf16, DType::f16, DType::f8e4m3,
                             DType::i8,  DType::i32,  DType::u8};
  const auto found = std::ranges::find(types, dtype);
  if (found == std::end(types))
    throw std::runtime_error(fmt::format("the benchmarks have no {}", to_string(dtype)));
  return static_cast<int>(found - std::begin(types));
}

constexpr int64_t kGrid = 4096;  // of kernels that stride over their data

runtime::Module compile_module() {
  const runtime::CompiledCuda compiled =
      runtime::compile_cuda(kDeviceKernelsSource, "bench_kernels", runtime::device_target(0));
  return {0, compiled.cubin, compiled.ptx, "bench_kernels", compiled.compiler};
}

}  // namespace

DeviceKernels::DeviceKernels()
    : module_(compile_module()),
      fill_(module_.function("fill", {})),
      gather_(module_.function("gather", {})),
      add_up_(module_.function("add_up", {})),
      unpack_(module_.function("unpack", {})),
      multiply_(module_.function("multiply", {})),
      copy_1_(module_.function("copy_1", {})),
      copy_4_(module_.function("copy_4", {})),
      compare_(module_.function("compare", {})),
      sum_(module_.function("sum", {})),
      exp_(module_.function("normalized_exp", {})) {}

void DeviceKernels::fill_normal(const Array& out, unsigned seed, const Stream& stream) const {
  launch_with(fill_, kGrid, stream, out.data(), count_of(out), seed, type_number(out.dtype()));
}

void DeviceKernels::poison(const Array& out, const Stream& stream) const {
  runtime::fill_bytes(out.data(), 0xff, out.bytes(), stream.handle());
}

std::vector<double> DeviceKernels::gather(const void* in, DType dtype,
                                          const std::vector<int64_t>& starts, int64_t each,
                                          int64_t step) const {
  struct Gather {
    void* out;
    const void* in;
    const void* starts;
    uint64_t count, each, step;
    int type;
  };
  const auto count = static_cast<int64_t>(starts.size());
  const Array positions = Array::from_host(starts, {count}, Device::cuda(0));
  const Array out(Device::cuda(0), {count, each}, DType::f64);
  launch_with(gather_, kGrid, {},
              Gather{out.data(), in, positions.data(), static_cast<uint64_t>(count),
                     static_cast<uint64_t>(each), static_cast<uint64_t>(step), type_number(dtype)});
  const Array host = out.to_host();
  const auto values = host.values<double>();
  return {values.begin(), values.end()};
}

std::pair<double, double> DeviceKernels::add_up(const void* in, DType dtype, int64_t count) const {
  const Array totals = Array::zeros(Device::cuda(0), {2}, DType::f64);
  launch_with(add_up_, kGrid, {}, in, static_cast<uint64_t>(count), type_number(dtype),
              totals.data());
  const Array host = totals.to_host();
  return {host.value(0), host.value(1)};
}

void DeviceKernels::unpack(const Array& out, const Array& in) const {
  launch_with(unpack_, kGrid, {}, out.data(), in.data(), count_of(in));
}

void DeviceKernels::multiply(const ReferenceProduct& p) const {
  struct Product {
    double *value, *magnitude;
    const void *a, *b, *bias;
    uint64_t m, n, k, a_row, a_column, b_row, b_column;
    int a_type, b_type;
    double of_magnitude;
  };
  const auto word = [](int64_t x) { return static_cast<uint64_t>(x); };
  const int64_t tiles = ((p.m + 63) / 64) * ((p.n + 63) / 64);
  launch_with(multiply_, tiles, {},
              Product{p.value, p.magnitude, p.a, p.b, p.bias, word(p.m), word(p.n), word(p.k),
                      word(p.a_row), word(p.a_column), word(p.b_row), word(p.b_column),
                      type_number(p.a_dtype), type_number(p.b_dtype), p.of_magnitude});
}

void DeviceKernels::copy(void* to, const void* from, int64_t bytes, int unroll,
                         const Stream& stream) const {
  const int64_t vectors = bytes / 16, per_block = int64_t{kThreads} * unroll;
  launch_with(unroll == 1 ? copy_1_ : copy_4_, (vectors + per_block - 1) / per_block, stream, to,
              from, static_cast<uint64_t>(vectors));
}

Verdict DeviceKernels::judge(const std::function<void(void* verdict)>& launch) const {
  const Array device = Array::zeros(Device::cuda(0), {2}, DType::i64);
  launch(device.data());
  const Array host = device.to_host();
  const auto words = host.values<int64_t>();
  Verdict verdict{words[0], 0};
  std::memcpy(&verdict.worst, &words[1], sizeof verdict.worst);
  return verdict;
}

Verdict DeviceKernels::check_product(const Array& out, const Array& value, const Array& magnitude,
                                     double of_value, double of_magnitude) const {
  return judge([&](void* verdict) {
    launch_with(compare_, kGrid, {}, out.data(), type_number(out.dtype()), value.data(),
                magnitude.data(), count_of(out), of_value, of_magnitude, verdict);
  });
}

Verdict DeviceKernels::check_sum(const Array& a, const Array& b, const Array& c) const {
  return judge([&](void* verdict) {
    launch_with(sum_, kGrid, {}, a.data(), b.data(), c.data(), count_of(c), verdict);
  });
}

Verdict DeviceKernels::check_normalized_exp(const Array& x, const Array& y) const {
  return judge([&](void* verdict) {
    launch_with(exp_, x.size(0), {}, x.data(), y.data(), static_cast<uint64_t>(x.size(1)), verdict);
  });
}

}  // namespace tilewright::bench
