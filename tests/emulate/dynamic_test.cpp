// One compiled kernel for all values of a dynamic size, in the interpreter and the emulator.
#include <gtest/gtest.h>

#include <cstring>

#include "examples/kernels/matmul.h"
#include "tilewright/runtime/cpu_launch.h"
#include "tilewright/runtime/half.h"

namespace tilewright::testing {
namespace {

constexpr int64_t kInner = 40, kColumns = 72;
constexpr int64_t kSpare = 3;  // rows of memory past the end
constexpr uint16_t kPoison = 0x7fc1;

// bf16 memory of some rows and more behind them, which no kernel may touch.
struct Rows {
  int64_t columns;
  std::vector<uint16_t> memory;

  Rows(int64_t rows, int64_t columns)
      : columns(columns), memory(static_cast<size_t>((rows + kSpare) * columns), kPoison) {}
  TensorView view(int64_t rows) {
    return {memory.data(), DType::bf16, {rows, columns}, Device::cpu()};
  }
};

float value(int64_t row, int64_t column) {
  return static_cast<float>((row * 7 + column * 3) % 5 - 2);
}

Rows values(int64_t rows, int64_t columns) {
  Rows made(rows, columns);
  for (int64_t i = 0; i < rows * columns; ++i)
    made.memory[static_cast<size_t>(i)] = bf16_from_double(value(i / columns, i % columns));
  return made;
}

// Sums of small whole numbers: the same bits in any order.
std::vector<uint16_t> product(int64_t rows) {
  Rows c(rows, kColumns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kInner; ++k) sum += value(i, k) * value(k, j);
      c.memory[static_cast<size_t>(i * kColumns + j)] = bf16_from_double(sum);
    }
  return c.memory;
}

// Runs the function with a[rows, kInner]: the size, a, b, c.
template <class Run>
void expect_products(const Run& run, std::initializer_list<int64_t> all) {
  Rows b = values(kInner, kColumns);
  for (const int64_t rows : all) {
    Rows a = values(rows, kInner), c(rows, kColumns);
    const TensorView views[] = {a.view(rows), b.view(kInner), c.view(rows)};
    std::vector<runtime::Argument> args = {{nullptr, DType::i64, static_cast<uint64_t>(rows)}};
    for (const TensorView& view : views) args.push_back({&view});
    run(args);
    EXPECT_TRUE(c.memory == product(rows)) << rows << " rows";
  }
}

TEST(DynamicSizes, OneKernelServesAll) {
  const std::vector<CompileArg> specs = {dynamic_spec(DType::bf16, {256, kInner}),
                                         contiguous_spec(DType::bf16, {kInner, kColumns})};
  const auto fn = examples::matmul.handle().trace(specs);
  expect_products([&](const auto& args) { runtime::launch_on_cpu(*fn, args, {}); },
                  {1, 0, 7, 64, 65, 200});
  const auto emulates = [&](const char* target, const Config& config,
                            std::initializer_list<int64_t> all) {
    SCOPED_TRACE(to_json(config));
    const CompiledKernel compiled =
        examples::matmul.compile(specs, {.target = parse_target(target), .config = config});
    expect_products(
        [&](const auto& args) {
          runtime::launch_emulated(*fn, compiled.plan(), args, Device::emulate(target));
        },
        all);
    return compiled;
  };
  emulates("sm_80", {.block = {16, 32, 8}, .group = 2, .stages = 3}, {1, 0, 7, 64, 65, 200});
  emulates("sm_80", {.block = {64, 32, 16}, .stages = 2, .matrix = MatrixUnit::mma},
           {1, 0, 7, 64, 65, 200});
  Config bulk{.block = {64, 64, 32},
              .warps = 4,
              .stages = 2,
              .copy = CopyKind::tma,
              .matrix = MatrixUnit::wgmma};
  const CompiledKernel hopper = emulates("sm_90a", bulk, {1, 0, 7, 64, 65, 200});
  EXPECT_NE(hopper.cuda().find("tma_store"), std::string::npos);
  bulk.persistent = true;
  bulk.cluster = 2;
  emulates("sm_90a", bulk, {0, 65, 200});
}

}  // namespace
}  // namespace tilewright::testing
