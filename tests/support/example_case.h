// A call of an example's kernel, with what it should give, computed in double.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tilewright/autotune/kernel_handle.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::testing {

/// A tensor's elements in double, row-major.
struct Values {
  std::vector<int64_t> sizes;
  std::vector<double> elements = {};

  explicit Values(std::vector<int64_t> of_sizes) : sizes(std::move(of_sizes)) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    elements.resize(static_cast<size_t>(count));
  }
  template <class... I>
  double& operator()(I... position) {
    return elements.at(at(position...));
  }
  template <class... I>
  double operator()(I... position) const {
    return elements.at(at(position...));
  }

 private:
  template <class... I>
  size_t at(I... position) const {
    int64_t result = 0;
    size_t dim = 0;
    ((result = result * sizes.at(dim++) + static_cast<int64_t>(position)), ...);
    return static_cast<size_t>(result);
  }
};

/// Memory on a device that holds values.
struct ExampleTensor {
  Array memory;
  TensorView view;
};

struct ExampleInput {
  DType dtype;
  Values values;
  std::vector<int64_t> strides = {};   ///< row-major when empty
  std::optional<CallArg> number = {};  ///< no tensor: this argument

  TensorSpec spec() const {
    return strides.empty() ? contiguous_spec(dtype, values.sizes)
                           : TensorSpec{dtype, values.sizes, strides};
  }

  ExampleTensor on(Device device) const {
    const TensorSpec memory = spec();
    const int size = size_of(dtype);
    std::vector<unsigned char> bytes(static_cast<size_t>(memory.span() * size), 0xff);
    for (size_t i = 0; i < values.elements.size(); ++i) {
      int64_t left = static_cast<int64_t>(i), at = 0;
      for (size_t d = values.sizes.size(); d-- > 0;) {
        at += left % values.sizes[d] * memory.strides[d];
        left /= values.sizes[d];
      }
      const numeric::Element element =
          is_float(dtype) ? numeric::from_double(dtype, values.elements[i])
                          : numeric::from_int(dtype, static_cast<int64_t>(values.elements[i]));
      std::visit(
          [&](auto x) {
            numeric::store_kernel(dtype)(&x, &bytes[static_cast<size_t>(at * size)], 1, 1);
          },
          element);
    }
    Array array = Array::from_bytes(bytes.data(), static_cast<size_t>(memory.span()),
                                    {memory.span()}, dtype, device);
    const TensorView view(array.data(), dtype, memory.sizes, memory.strides, device);
    return {std::move(array), view};
  }
};

struct ExampleCase {
  std::string name;
  const KernelHandle* kernel = nullptr;
  double tolerance = 0;  ///< of an element: times 1 + its magnitude
  std::vector<ExampleInput> inputs = {};
  std::vector<Values> expected = {};
  unsigned seed = 1;

  ExampleCase(const KernelHandle& handle, double within, std::string what)
      : name(handle.name() + " " + what), kernel(&handle), tolerance(within) {}

  /// A tensor of multiples of 1/8 from -2 to 2, which every float type but f8 holds exactly.
  Values random(std::vector<int64_t> sizes, DType dtype = f32, double least = -2, double most = 2) {
    std::mt19937 generator(seed++);
    Values values(std::move(sizes));
    for (double& x : values.elements)
      x = std::round((least + (most - least) * (generator() % 1024) / 1024.0) * 8) / 8;
    return add(std::move(values), dtype);
  }
  /// Whole numbers from 0 to `most`.
  Values numbers(std::vector<int64_t> sizes, int64_t most, DType dtype = i64) {
    std::mt19937 generator(seed++);
    Values values(std::move(sizes));
    for (double& x : values.elements)
      x = static_cast<double>(generator() % static_cast<uint64_t>(most + 1));
    return add(std::move(values), dtype);
  }
  Values add(Values values, DType dtype) {
    inputs.push_back({dtype, values});
    return values;
  }
  template <class T>
  void constant(T value) {
    inputs.push_back({f32, Values({0}), {}, CallArg::known(value)});
  }
  /// Puts the last tensor's rows further apart, and its elements unless `dense`.
  void spread(bool dense) {
    ExampleInput& input = inputs.back();
    int64_t stride = dense ? 1 : 2;
    input.strides.assign(input.values.sizes.size(), 0);
    for (size_t d = input.strides.size(); d-- > 0;) {
      input.strides[d] = stride;
      stride = (stride * input.values.sizes[d] + 3) / 1;
    }
  }
  Values& expect(std::vector<int64_t> sizes) { return expected.emplace_back(std::move(sizes)); }
};

/// Calls body(i, j) for every position.
inline void for_each(int64_t m, int64_t n, const std::function<void(int64_t, int64_t)>& body) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) body(i, j);
}

inline double sum_over(int64_t n, const std::function<double(int64_t)>& term) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += term(i);
  return sum;
}

}  // namespace tilewright::testing
