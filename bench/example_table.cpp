// The calls of the examples' kernels that are measured, with sizes as they occur in practice.
#include <fmt/format.h>

#include <random>

#include "bench/example_row.h"
#include "bench/example_samples.h"
#include "examples/kernels/batched_matmul.h"
#include "examples/kernels/dropout.h"
#include "examples/kernels/embedding.h"
#include "examples/kernels/gated.h"
#include "examples/kernels/grouped_matmul.h"
#include "examples/kernels/jagged.h"
#include "examples/kernels/linear.h"
#include "examples/kernels/losses.h"
#include "examples/kernels/mamba.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/norms.h"
#include "examples/kernels/quantized_matmul.h"
#include "examples/kernels/rope.h"
#include "examples/kernels/row_minmax.h"
#include "examples/kernels/row_sum.h"
#include "examples/kernels/saxpy.h"
#include "examples/kernels/segments.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/split_k_matmul.h"
#include "examples/kernels/sums.h"
#include "examples/kernels/transpose.h"
#include "examples/kernels/vector_add.h"
#include "examples/kernels/welford.h"

namespace tilewright::bench {
namespace {

using enum DType;

constexpr double kHalf = 0x1p-7;  // of a result of bf16

template <class T>
RowInput number(T value) {
  return {.number = CallArg::known(value)};
}

// Whole numbers from 0 to limit - 1.
RowInput numbers(int64_t count, int64_t limit, int axis) {
  return {.dtype = i64, .sizes = {count}, .axis = axis, .contents = [=] {
            std::mt19937 generator(std::random_device{}());
            std::vector<int64_t> values(static_cast<size_t>(count));
            for (int64_t& value : values) value = static_cast<int64_t>(generator()) % limit;
            return Array::from_host(values, {count}, Device::cpu());
          }};
}

std::string shape_text(int64_t m, int64_t n) { return fmt::format("{}x{}", m, n); }

class Table {
 public:
  std::vector<ExampleRow> rows;

  ExampleRow& add(std::string name, const KernelHandle& kernel, std::vector<RowInput> inputs,
                  std::vector<RowOutput> outputs, double want) {
    return rows.emplace_back(ExampleRow{.name = std::move(name),
                                        .kernel = &kernel,
                                        .inputs = std::move(inputs),
                                        .outputs = std::move(outputs),
                                        .want = want});
  }
};

void add_elementwise(Table& table) {
  for (const int log2 : {24, 28}) {
    const int64_t n = int64_t{1} << log2;
    ExampleRow& row =
        table.add(fmt::format("add f32 2^{}", log2), examples::vector_add,
                  {{.sizes = {n}, .axis = 0}, {.sizes = {n}, .axis = 0}}, {{f32, {n}}}, 0.96);
    row.sample = 4096;
  }
  const int64_t n = int64_t{1} << 26;
  ExampleRow& saxpy = table.add(
      "saxpy f32 2^26", examples::saxpy,
      {{.number = CallArg::scalar(1.0f)}, {.sizes = {n}, .axis = 0}, {.sizes = {n}, .axis = 0}}, {},
      0.8);
  saxpy.in_place = 1;
  saxpy.sample = 4096;
  ExampleRow& dropout = table.add(
      "dropout bf16 2^26", examples::dropout,
      {{.dtype = bf16, .sizes = {n}}, {.number = CallArg::scalar(int64_t{17})}, number(0.25f)},
      {{bf16, {n}}}, 0.8);
  dropout.samples = beginning_of_quarters;
  dropout.relative = kHalf;
  const int64_t tokens = 8192, wide = 14336;
  const RowInput half{.dtype = bf16, .sizes = {tokens, wide}, .axis = 0};
  table.add("geglu bf16 8192x14336", examples::geglu, {half, half}, {{bf16, {tokens, wide}}}, 0.8)
      .relative = kHalf;
  table.add("swiglu bf16 8192x14336", examples::swiglu, {half, half}, {{bf16, {tokens, wide}}}, 0.8)
      .relative = kHalf;
  const int64_t heads = 32, features = 128;
  const RowInput angle{.sizes = {tokens, features / 2}, .axis = 0};
  ExampleRow& rope =
      table.add("rope bf16 8192x32x128", examples::rope,
                {{.dtype = bf16, .sizes = {tokens, heads, features}, .axis = 0}, angle, angle},
                {{bf16, {tokens, heads, features}}}, 0.8);
  rope.relative = kHalf;
}

void add_copies_and_sums(Table& table) {
  struct Shape {
    DType dtype;
    int64_t m, n;
    double want;
  };
  for (const auto& [dtype, m, n, want] :
       {Shape{f32, 8192, 8192, 0.93}, {bf16, 8192, 8192, 0.90}, {f32, 8191, 4097, 0.80}}) {
    table.add(fmt::format("transpose {} {}", to_string(dtype), shape_text(m, n)),
              examples::transpose, {{.dtype = dtype, .sizes = {m, n}, .axis = 0}},
              {{dtype, {n, m}, 1}}, want);
  }
  const int64_t n = int64_t{1} << 28;
  ExampleRow& total =
      table.add("sum f32 2^28", examples::total, {{.sizes = {n}}}, {{f32, {1}, -1}}, 0.96);
  total.samples = no_samples;
  total.rest = total_is_right;
  const auto rows = [&](const KernelHandle& kernel, int64_t m, int64_t columns, int results,
                        const char* what) {
    ExampleRow& row =
        table.add(fmt::format("{} f32 {}", what, shape_text(m, columns)), kernel,
                  {{.sizes = {m, columns}, .axis = 0}},
                  std::vector<RowOutput>(static_cast<size_t>(results), {f32, {m}}), 0.8);
    row.absolute = 1e-6 * static_cast<double>(columns);
    return &row;
  };
  rows(examples::sum_rows, 8192, 8192, 1, "sum_rows");
  rows(examples::long_sum, 16, 1 << 24, 1, "long_sum");
  rows(examples::row_sum, 2048, 131072, 1, "row_sum");
  rows(examples::row_minmax, 8192, 8192, 2, "row_minmax");
  rows(examples::welford, 8192, 4096, 2, "welford");
  const int64_t tokens = 16384, words = 128256, width = 4096;
  ExampleRow& embedding =
      table.add("embedding bf16 16384 of 128256x4096", examples::embedding,
                {numbers(tokens, words, 0), {.dtype = bf16, .sizes = {words, width}}},
                {{bf16, {tokens, width}}}, 0.8);
  embedding.bytes = tokens * 8 + 2 * tokens * width * 2;
  embedding.samples = tokens_of_embedding;
  const int64_t m = 262144, columns = 128, segments = 16384;
  ExampleRow& segmented =
      table.add("segment_sum f32 262144x128", examples::segment_sum,
                {{.sizes = {m, columns}},
                 {.dtype = i64, .sizes = {m}, .contents = [=] { return ascending(m, segments); }},
                 number(segments)},
                {{f32, {segments, columns}}}, 0.8);
  segmented.samples = first_segments;
  segmented.absolute = 1e-4;
}

struct RowShape {
  int64_t m, n;
  double want;
};
constexpr RowShape kRowShapes[] = {{8192, 1000, 0.90}, {8192, 1001, 0.75},  {8192, 1024, 0.94},
                                   {8192, 4096, 0.95}, {8192, 12288, 0.95}, {8192, 16384, 0.95},
                                   {4096, 65536, 0.90}};

void add_rows(Table& table) {
  for (const RowShape& shape : kRowShapes) {
    const auto& [m, n, want] = shape;
    const RowInput x{.dtype = bf16, .sizes = {m, n}, .axis = 0};
    ExampleRow& row = table.add("softmax bf16 " + shape_text(m, n), examples::softmax, {x},
                                {{bf16, {m, n}}}, want);
    row.relative = kHalf;
    row.absolute = 1e-7;
  }
  for (const RowShape& shape : kRowShapes) {
    const auto& [m, n, want] = shape;
    const RowInput x{.dtype = bf16, .sizes = {m, n}, .axis = 0}, w{.dtype = bf16, .sizes = {n}};
    table
        .add("layer_norm bf16 " + shape_text(m, n), examples::layer_norm, {x, w, w, number(1e-5f)},
             {{bf16, {m, n}}, {f32, {m}}, {f32, {m}}}, want)
        .relative = kHalf;
  }
  for (const RowShape& shape : kRowShapes) {
    const auto& [m, n, want] = shape;
    const RowInput x{.dtype = bf16, .sizes = {m, n}, .axis = 0}, w{.dtype = bf16, .sizes = {n}};
    table
        .add("rms_norm bf16 " + shape_text(m, n), examples::rms_norm, {x, w, number(1e-5f)},
             {{bf16, {m, n}}, {f32, {m}}}, want)
        .relative = kHalf;
  }
  ExampleRow& two_pass =
      table.add("softmax_two_pass bf16 8192x4096", examples::softmax_two_pass,
                {{.dtype = bf16, .sizes = {8192, 4096}, .axis = 0}}, {{bf16, {8192, 4096}}}, 0.8);
  two_pass.relative = kHalf;
  two_pass.absolute = 1e-7;
}

void add_losses_and_gradients(Table& table) {
  const auto loss = [](ExampleRow& row, int64_t n) {
    row.relative = 1e-4;
    row.absolute = 2e-6 * static_cast<double>(n);  // of a sum of both signs
  };
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{8192, 32000}, {4096, 131072}}) {
    ExampleRow& row = table.add("cross_entropy bf16 " + shape_text(m, n), examples::cross_entropy,
                                {{.dtype = bf16, .sizes = {m, n}, .axis = 0}, numbers(m, n, 0)},
                                {{f32, {m}}}, 0.90);
    row.relative = row.absolute = 1e-4;
  }
  const int64_t m = 8192, words = 32000, n = 4096;
  const RowInput p{.dtype = bf16, .sizes = {m, words}, .axis = 0};
  loss(table.add("kl_div bf16 8192x32000", examples::kl_div, {p, p}, {{f32, {m}}}, 0.8), words);
  loss(table.add("jsd bf16 8192x32000", examples::jsd, {p, p}, {{f32, {m}}}, 0.8), words);
  const RowInput x{.dtype = bf16, .sizes = {m, n}, .axis = 0}, w{.dtype = bf16, .sizes = {n}};
  const RowInput each{.sizes = {m}, .axis = 0};
  ExampleRow& layer =
      table.add("layer_norm_backward bf16 8192x4096", examples::layer_norm_backward,
                {x, x, w, each, each}, {{bf16, {m, n}}, {f32, {n}, -1}, {f32, {n}, -1}}, 0.8);
  layer.relative = layer.absolute = kHalf;
  layer.rest = [](const RowMemory& memory, const DeviceKernels& kernels) {
    return column_sums_are_right(memory, true, kernels);
  };
  ExampleRow& rms = table.add("rms_norm_backward bf16 8192x4096", examples::rms_norm_backward,
                              {x, x, w, each}, {{bf16, {m, n}}, {f32, {n}, -1}}, 0.8);
  rms.relative = rms.absolute = kHalf;
  rms.rest = [](const RowMemory& memory, const DeviceKernels& kernels) {
    return column_sums_are_right(memory, false, kernels);
  };
}

// Results are sums of k products: what rounding them to `unit` and adding in f32 may cost.
void product(ExampleRow& row, double m, double n, double k, double unit, double scale = 1) {
  row.operations = 2 * m * n * k;
  row.relative = unit;
  row.absolute = scale * 1e-5 * k;
}

void add_products(Table& table) {
  const int64_t n = 4096;
  const RowInput a{.dtype = bf16, .sizes = {n, n}, .axis = 0}, b{.dtype = bf16, .sizes = {n, n}};
  product(table.add("matmul bf16 4096x4096x4096", examples::matmul, {a, b}, {{bf16, {n, n}}}, 0), n,
          n, n, kHalf);
  ExampleRow& gelu = table.add("linear_gelu bf16 4096x4096x4096", examples::linear_gelu,
                               {a, b, {.dtype = bf16, .sizes = {n}}}, {{bf16, {n, n}}}, 0);
  product(gelu, n, n, n, kHalf);
  const int64_t few = 512, deep = 16384;
  const RowInput left{.dtype = bf16, .sizes = {few, deep}, .axis = 0};
  const RowInput right{.dtype = bf16, .sizes = {deep, few}};
  product(table.add("split_k_matmul bf16 512x512x16384", examples::split_k_matmul, {left, right},
                    {{f32, {few, few}}}, 0),
          few, few, deep, 1e-5);
  product(table.add("split_k_matmul_ordered bf16 512x512x16384", examples::split_k_matmul_ordered,
                    {left, right}, {{bf16, {few, few}}}, 0),
          few, few, deep, kHalf);
  const int64_t count = 64, size = 1024;
  const RowInput each{.dtype = bf16, .sizes = {count, size, size}, .axis = 0};
  product(table.add("batched_matmul bf16 64x1024x1024x1024", examples::batched_matmul, {each, each},
                    {{bf16, {count, size, size}}}, 0),
          size, size, static_cast<double>(size * count), kHalf, 1.0 / static_cast<double>(count));
  ExampleRow& f8 = table.add("fp8_matmul 4096x4096x4096", examples::fp8_matmul,
                             {{.dtype = f8e4m3, .sizes = {n, n}, .axis = 0},
                              {.dtype = f8e4m3, .sizes = {n, n}, .transposed = true},
                              {.sizes = {n}, .axis = 0},
                              {.sizes = {n}}},
                             {{bf16, {n, n}}}, 0);
  product(f8, n, n, n, kHalf, 50);  // the matrix unit drops bits of f8 products
  const int64_t wide = 8192;
  ExampleRow& int4 = table.add("int4_matmul bf16 16x8192x8192", examples::int4_matmul,
                               {{.dtype = bf16, .sizes = {16, wide}, .axis = 0},
                                {.dtype = u8, .sizes = {wide / 2, wide}},
                                {.sizes = {wide}}},
                               {{bf16, {16, wide}}}, 0.7);
  product(int4, 16, wide, wide, kHalf);
}

void add_jagged(Table& table) {
  const int64_t k = 4096;
  const std::vector<int64_t> lengths = {17, 500, 1000, 2000, 3900, 64, 300, 411};
  const auto groups = static_cast<int64_t>(lengths.size());
  const int64_t tokens = 8192;
  const RowInput offsets{
      .dtype = i64, .sizes = {groups + 1}, .contents = [=] { return offsets_of(lengths); }};
  const RowInput weights{.dtype = bf16, .sizes = {groups, k, k}};
  ExampleRow& grouped = table.add(
      "grouped_matmul bf16 17..3900 x 4096x4096", examples::grouped_matmul,
      {{.dtype = bf16, .sizes = {tokens, k}}, weights, offsets}, {{bf16, {tokens, k}}}, 0);
  product(grouped, static_cast<double>(tokens), k, k, kHalf);
  grouped.samples = [](const RowMemory& memory) { return rows_of_groups(memory, 1, 2, -1); };
  ExampleRow& moe = table.add("moe_matmul bf16 2 of 8 experts 4096x4096x4096", examples::moe_matmul,
                              {{.dtype = bf16, .sizes = {tokens / 2, k}},
                               weights,
                               numbers(tokens, tokens / 2, -1),
                               {.sizes = {tokens}},
                               offsets},
                              {{f32, {tokens / 2, k}}}, 0);
  product(moe, static_cast<double>(tokens), k, k, 1e-4);
  moe.samples = one_token;
  const int64_t sequences = 512, total = 131072, features = 128;
  const RowInput bounds{.dtype = i64, .sizes = {sequences + 1}, .contents = [=] {
                          return random_offsets(sequences, total);
                        }};
  ExampleRow& softmax =
      table.add("jagged_softmax f32 512 of 131072x128", examples::jagged_softmax,
                {{.sizes = {total, features}}, bounds}, {{f32, {total, features}}}, 0.8);
  softmax.samples = [](const RowMemory& memory) { return rows_of_groups(memory, -1, 1, -1); };
  softmax.relative = 1e-4;
  const int64_t width = 256;
  ExampleRow& dense = table.add("jagged_dense bf16 512 of 131072x256x256", examples::jagged_dense,
                                {{.dtype = bf16, .sizes = {total, width}},
                                 bounds,
                                 {.dtype = bf16, .sizes = {sequences, width, width}},
                                 {.dtype = bf16, .sizes = {sequences, width}}},
                                {{bf16, {total, width}}}, 0.8);
  product(dense, static_cast<double>(total), width, width, kHalf);
  dense.samples = [](const RowMemory& memory) { return rows_of_groups(memory, 2, 1, 3); };
  const int64_t chunks = 64, length = 256, heads = 80, p = 64, state = 128;
  const RowInput step{.sizes = {chunks, heads, length}, .axis = 0, .contents = [=] {
                        return falling(chunks * heads, length);
                      }};
  const RowInput dt{.sizes = {chunks, heads, length}, .axis = 0};
  ExampleRow& scan = table.add("chunk_scan bf16 64x256x80x64", examples::chunk_scan,
                               {{.dtype = bf16, .sizes = {chunks, length, length}, .axis = 0},
                                {.dtype = bf16, .sizes = {chunks, length, heads, p}, .axis = 0},
                                dt,
                                step,
                                {.dtype = bf16, .sizes = {chunks, length, state}, .axis = 0},
                                {.dtype = bf16, .sizes = {chunks, heads, p, state}, .axis = 0},
                                {.sizes = {heads}}},
                               {{bf16, {chunks, length, heads, p}}}, 0.8);
  scan.operations = 2.0 * chunks * heads * length * p * (static_cast<double>(length) / 2 + state);
  scan.relative = kHalf;
  scan.absolute = 0.25;  // of sums of some hundred terms of which one factor is rounded to bf16
}

std::vector<ExampleRow> make_rows() {
  Table table;
  add_elementwise(table);
  add_copies_and_sums(table);
  add_rows(table);
  add_losses_and_gradients(table);
  add_products(table);
  add_jagged(table);
  return std::move(table.rows);
}

}  // namespace

const std::vector<ExampleRow>& example_rows() {
  static const std::vector<ExampleRow> rows = make_rows();
  return rows;
}

}  // namespace tilewright::bench
