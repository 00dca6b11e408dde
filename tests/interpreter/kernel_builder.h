// What tests of the interpreter are written with: kernels made by hand, and tensors of any layout.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/ir/builder.h"
#include "tilewright/runtime/interpreter.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::testing {

/// A function under construction.
class TestKernel {
 public:
  TestKernel() { fn.name = "test"; }

  ir::Function fn;
  ir::Builder b{fn};

  const ir::Value* tensor(std::string name, DType dtype, int rank) {
    return param(std::move(name), ir::Type::tensor(dtype, rank));
  }

  const ir::Value* scalar(std::string name, DType dtype) {
    return param(std::move(name), ir::Type::scalar(dtype));
  }

  /// A new axis; block 0: chosen by the interpreter's options.
  int axis(int64_t block = 0, bool pinned = false) {
    fn.axes.push_back({.name = "", .block = block, .pinned = pinned, .loc = {}});
    return static_cast<int>(fn.axes.size()) - 1;
  }

  const ir::Value* zeros(DType dtype, ir::Shape shape) {
    return b.fill(b.constant(dtype, int64_t{0}), std::move(shape));
  }

  /// A loop from 0 whose body is made by body(view); body makes the yield itself.
  template <class Body>
  ir::Op* loop(std::vector<int64_t> axes, bool parallel, std::vector<const ir::Value*> limits,
               std::vector<const ir::Value*> inits, const Body& body) {
    const std::vector<const ir::Value*> begins(axes.size(), b.index(0));
    ir::Op* op = b.tile_loop(std::move(axes), parallel, begins, std::move(limits), inits);
    const ir::Builder::Scope scope(b, ir::Builder::region_of(op, 0));
    body(ir::LoopView(*op));
    return op;
  }

  template <class Body>
  ir::Op* grid(std::vector<int64_t> axes, std::vector<const ir::Value*> limits, const Body& body) {
    return loop(std::move(axes), true, std::move(limits), {}, [&](const ir::LoopView& view) {
      body(view);
      b.yield({});
    });
  }

 private:
  const ir::Value* param(std::string name, ir::Type type) {
    ir::Value* value = fn.new_value(std::move(type));
    value->name = name;
    value->index = static_cast<int>(fn.params.size());
    fn.params.push_back({.value = value, .name = std::move(name), .spec = {}, .allocated = false});
    return value;
  }
};

/// A tensor in host memory with guard elements around it that nobody may write.
class TestTensor {
 public:
  explicit TestTensor(TensorSpec spec)
      : spec_(std::move(spec)), bytes_((spec_.span() + 2 * kMargin) * size_of(spec_.dtype)) {
    std::memset(bytes_.data(), 0x5a, bytes_.size());
  }
  TestTensor(DType dtype, std::vector<int64_t> sizes)
      : TestTensor(contiguous_spec(dtype, std::move(sizes))) {}
  TestTensor(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides)
      : TestTensor(TensorSpec{dtype, std::move(sizes), std::move(strides)}) {}

  HostTensor host() { return {address(0), spec_}; }
  const TensorSpec& spec() const { return spec_; }

  double get(const std::vector<int64_t>& at) const {
    return std::visit([](auto x) { return static_cast<double>(x); }, element(at));
  }

  numeric::Element element(const std::vector<int64_t>& at) const {
    int64_t bits = 0;
    const auto load = numeric::load_kernel(spec_.dtype);
    load(bytes_.data() + byte_of(offset(at)), 1, &bits, 1);
    switch (numeric::storage_of(spec_.dtype)) {
      case numeric::Storage::f32: {
        float x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
      }
      case numeric::Storage::f64: {
        double x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
      }
      case numeric::Storage::i64:
        return bits;
    }
    return bits;
  }

  void set(const std::vector<int64_t>& at, double x) {
    const numeric::Element value = numeric::from_double(spec_.dtype, x);
    const auto store = numeric::store_kernel(spec_.dtype);
    std::visit([&](auto v) { store(&v, address(offset(at)), 1, 1); }, value);
  }

  /// Calls visit(position) for every position.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::vector<int64_t> at(spec_.sizes.size());
    for (int64_t n = spec_.elements(); n > 0; --n) {
      visit(at);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < spec_.sizes[d]) break;
        at[d] = 0;
      }
    }
  }

  TestTensor& fill(double x) {
    for_each([&](const auto& at) { set(at, x); });
    return *this;
  }

  /// Values in [-1, 1), or whole numbers in [-8, 8) for integers.
  TestTensor& randomize(unsigned seed) {
    std::mt19937 random(seed);
    for_each([&](const auto& at) {
      const double x = random() / 0x1p31 - 1;
      set(at, is_float(spec_.dtype) ? x : std::floor(8 * x));
    });
    return *this;
  }

  /// Whether the bytes around the elements and between them are as they were made.
  bool margins_intact() const {
    std::vector<bool> used(spec_.span() + 2 * kMargin);
    for_each([&](const auto& at) { used[offset(at) + kMargin] = true; });
    const int size = size_of(spec_.dtype);
    for (size_t i = 0; i < bytes_.size(); ++i)
      if (!used[i / size] && bytes_[i] != std::byte{0x5a}) return false;
    return true;
  }

  bool same_bits(const TestTensor& other) const { return bytes_ == other.bytes_; }

 private:
  static constexpr int64_t kMargin = 64;

  int64_t offset(const std::vector<int64_t>& at) const {
    int64_t result = 0;
    for (size_t d = 0; d < at.size(); ++d) result += at[d] * spec_.strides[d];
    return result;
  }
  int64_t byte_of(int64_t offset) const { return (offset + kMargin) * size_of(spec_.dtype); }
  void* address(int64_t offset) { return bytes_.data() + byte_of(offset); }

  TensorSpec spec_;
  std::vector<std::byte> bytes_;
};

}  // namespace tilewright::testing
