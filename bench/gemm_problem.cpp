#include "bench/gemm_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tilewright::bench {
namespace {

struct Shape {
  int64_t m, n, k;
};

constexpr Shape kAligned[] = {
    {512, 512, 512},     {1024, 1024, 1024}, {2048, 2048, 2048},
    {4096, 4096, 4096},  {8192, 8192, 8192}, {16384, 4096, 4096},
    {4096, 14336, 4096}, {8192, 8192, 1024}, {8192, 1024, 8192},
};
constexpr Shape kFloat[] = {
    {1000, 1000, 1000}, {1024, 1024, 1024}, {2048, 2048, 2048},
    {4095, 4095, 4095}, {4096, 4096, 4096}, {8192, 8192, 8192},
};
constexpr Shape kSkinny[] = {{0, 4096, 4096}, {0, 14336, 4096}, {0, 8192, 8192}};

/// Collects the rows.
class Table {
 public:
  Table() {
    aligned();
    skinny();
    deep_and_unaligned();
    narrow();
    tf32();
    fused();
    weights();
    many();
    for (const Shape& shape : kFloat) add("f32", "f32", shape, DType::f32, 0);
  }
  std::vector<Problem> rows;

 private:
  Problem& add(std::string group, const std::string& what, const Shape& shape, DType dtype,
               double least) {
    Problem& row = rows.emplace_back();
    row.group = std::move(group);
    row.name = fmt::format("{} {}x{}x{}", what, shape.m, shape.n, shape.k);
    row.input = row.output = dtype;
    row.m = shape.m;
    row.n = shape.n;
    row.k = shape.k;
    row.least = least;
    return row;
  }

  void aligned() {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const std::string type(to_string(dtype));
      for (const Shape& shape : kAligned) add(type, type + " nn", shape, dtype, 0.95);
      for (const char* layout : {"nt", "tn", "tt"}) {
        Problem& row =
            add(type + " transposed", type + " " + layout, {4096, 4096, 4096}, dtype, 0.98);
        row.a_transposed = layout[0] == 't';
        row.b_transposed = layout[1] == 't';
      }
    }
    add("mma", "bf16 mma", {4096, 4096, 4096}, DType::bf16, 0.60);
  }

  void skinny() {
    for (const Shape& shape : kSkinny)
      for (const int64_t m : {1, 16, 64, 128}) {
        Problem& row = add("skinny", "bf16 skinny", {m, shape.n, shape.k}, DType::bf16, 0.97);
        row.bandwidth = true;
        row.rotating_bytes = 400 << 20;
      }
  }

  void deep_and_unaligned() {
    add("deep", "bf16 deep", {512, 512, 16384}, DType::bf16, 1.0);
    add("deep", "bf16 deep", {256, 256, 65536}, DType::bf16, 1.0);
    add("unaligned", "bf16 unaligned", {1001, 1001, 1001}, DType::bf16, 1.0);
    add("unaligned", "bf16 unaligned", {4095, 4095, 4095}, DType::bf16, 3.5);
    add("unaligned", "bf16 unaligned", {4097, 4095, 4093}, DType::bf16, 3.5);
    add("1000", "bf16 nn", {1000, 1000, 1000}, DType::bf16, 1.0);
  }

  // Operands of one byte; B is stored N by K.
  Problem& narrow_row(const char* group, const std::string& what, const Shape& shape, DType dtype,
                      DType output, double least) {
    Problem& row = add(group, what, shape, dtype, least);
    row.output = output;
    row.b_transposed = true;
    return row;
  }

  void narrow() {
    constexpr DType f8 = DType::f8e4m3;
    constexpr Shape shapes[] = {{4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 7168, 16384}};
    for (const Shape& shape : shapes)
      narrow_row("f8", "f8e4m3 fast", shape, f8, DType::bf16, 1.0).rival_fast = true;
    for (const Shape& shape : shapes)
      narrow_row("f8 two-level", "f8e4m3 two-level", shape, f8, DType::bf16, 1.0).precision =
          DotPrecision::two_level;
    Problem& row =
        narrow_row("f8 levels", "f8e4m3 two-level to fast", shapes[2], f8, DType::bf16, 0.9);
    row.precision = DotPrecision::two_level;
    row.rival = "f8e4m3 fast 4096x7168x16384";
    for (const int64_t n : {4096, 8192})
      narrow_row("i8", "i8", {n, n, n}, DType::i8, DType::i32, 1.35);
  }

  void tf32() {
    for (const bool stored_by_k : {true, false})
      for (const int64_t n : {4096, 8192}) {
        Problem& row = add("tf32", stored_by_k ? "tf32 nt" : "tf32 nn", {n, n, n}, DType::f32,
                           stored_by_k ? 0.98 : 0.90);
        row.b_transposed = stored_by_k;
        row.precision = DotPrecision::tf32;
      }
    Problem& row = add("tf32x3", "tf32x3", {4096, 4096, 4096}, DType::f32, 2.0);
    row.precision = DotPrecision::tf32x3;
    row.rival = "f32 4096x4096x4096";
  }

  void fused() {
    for (const Shape& shape : {Shape{8192, 8192, 8192}, Shape{4096, 14336, 4096}}) {
      Problem& row = add("fused", "bf16 bias+gelu", shape, DType::bf16, 1 / 1.02);
      row.form = Form::gelu;
      row.rival = fmt::format("bf16 nn {}x{}x{}", row.m, row.n, row.k);
    }
  }

  void weights() {
    for (const bool wide : {true, false}) {
      Problem& row = add("weights", wide ? "bf16 x i8 weights" : "bf16 x i4 weights",
                         {16, 8192, 8192}, DType::bf16, 0.7);
      row.form = wide ? Form::int8_weights : Form::int4_weights;
      row.rival = kCopyRival;
      row.bandwidth = true;
      row.rotating_bytes = 400 << 20;
    }
  }

  void many() {
    Problem& batched = add("batched", "bf16 batched 64 x", {1024, 1024, 1024}, DType::bf16, 1.0);
    batched.form = Form::batched;
    batched.batch = 64;
    Problem& grouped = add("grouped", "bf16 grouped", {0, 4096, 4096}, DType::bf16, 1.0);
    grouped.form = Form::grouped;
    grouped.group_rows = {17, 100, 256, 511, 1024, 1500, 2048, 4000};
    grouped.m = std::accumulate(grouped.group_rows.begin(), grouped.group_rows.end(), int64_t{0});
    grouped.name = "bf16 grouped 17..4000 x 4096x4096";
  }
};

int64_t product(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Matrices of a problem, with a dimension in front when there are several.
std::vector<int64_t> sizes_of(int64_t count, int64_t rows, int64_t columns, bool transposed) {
  if (transposed) std::swap(rows, columns);
  return count > 1 ? std::vector{count, rows, columns} : std::vector{rows, columns};
}

}  // namespace

DType Problem::b_dtype() const {
  if (form == Form::int8_weights) return DType::i8;
  return form == Form::int4_weights ? DType::u8 : input;
}

int64_t Problem::bytes() const {
  return product(a_sizes(*this)) * size_of(input) + product(b_sizes(*this)) * size_of(b_dtype()) +
         product(c_sizes(*this)) * size_of(output);
}

std::string Problem::unit() const {
  if (input == DType::f32) return precision == DotPrecision::ieee ? "f32" : "tf32";
  return size_of(input) == 1 ? (is_integer(input) ? "i8" : "f8") : std::string(to_string(input));
}

std::vector<Part> parts_of(const Problem& p) {
  std::vector<Part> parts;
  if (p.form == Form::grouped) {
    int64_t row = 0;
    for (const int64_t rows : p.group_rows) {
      const auto index = static_cast<int64_t>(parts.size());
      parts.push_back({rows, row * p.k, index * p.k * p.n, row * p.n});
      row += rows;
    }
    return parts;
  }
  for (int64_t i = 0; i < p.batch; ++i)
    parts.push_back({p.m, i * p.m * p.k, i * p.k * p.n, i * p.m * p.n});
  return parts;
}

std::vector<int64_t> a_sizes(const Problem& p) {
  return sizes_of(p.batch, p.m, p.k, p.a_transposed);
}
std::vector<int64_t> b_sizes(const Problem& p) {
  if (p.form == Form::int4_weights) return {p.k / 2, p.n};
  const int64_t count =
      p.form == Form::grouped ? static_cast<int64_t>(p.group_rows.size()) : p.batch;
  return sizes_of(count, p.k, p.n, p.b_transposed);
}
std::vector<int64_t> c_sizes(const Problem& p) { return sizes_of(p.batch, p.m, p.n, false); }

const std::vector<ProblemGroup>& gemm_groups() {
  static const std::vector<ProblemGroup> groups = {
      {"bf16", 1.01},
      {"f16", 1.01},
      {"bf16 transposed"},
      {"f16 transposed"},
      {"mma"},
      {"skinny", 1.02},
      {"deep"},
      {"unaligned"},
      {"1000"},
      {"f8"},
      {"f8 two-level"},
      {"f8 levels"},
      {"i8"},
      {"tf32"},
      {"tf32x3"},
      {"fused"},
      {"weights"},
      {"batched"},
      {"grouped"},
      {"f32"},
  };
  return groups;
}

const std::vector<Problem>& gemm_problems() {
  static const std::vector<Problem> rows = Table().rows;
  return rows;
}

const Problem& gemm_problem(std::string_view name) {
  const auto found = std::ranges::find(gemm_problems(), name, &Problem::name);
  if (found == gemm_problems().end())
    throw std::runtime_error(fmt::format("there is no product '{}'", name));
  return *found;
}

Tolerance tolerance_of(const Problem& p) {
  if (is_integer(p.output)) return {};
  const double root = std::sqrt(static_cast<double>(p.k));
  Tolerance allowed{std::ldexp(1.0, 1 - float_digits(p.output)), 4 * root * 0x1p-24};
  // Products of f8 are added up 32 at a time with 13 bits behind the point of the largest. Each of
  // the k / 32 steps drops less than the last of them, of sums that are 1 / sqrt(k) of the
  // magnitude.
  if (p.unit() == "f8")
    allowed.of_magnitude = p.precision == DotPrecision::two_level ? 0x1p-12 : root * 0x1p-16;
  // Both operands lose up to 2^-10 when low bits are dropped: of the value in the same direction,
  // else at random.
  if (p.precision == DotPrecision::tf32) {
    allowed.of_value += 0x1p-9;
    allowed.of_magnitude += 0x1p-7 / root;
  }
  if (p.precision == DotPrecision::tf32x3) allowed.of_magnitude *= 4;
  return allowed;
}

}  // namespace tilewright::bench
