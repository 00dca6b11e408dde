// The matrix products that device_bench measures: shapes, layouts, dtypes, and what each is
// compared with. Needs no GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/precision.h"
#include "tilewright/ir/type.h"

namespace tilewright::bench {

/// What is computed.
enum class Form {
  product,       ///< c = a . b
  gelu,          ///< c = gelu(a . b + bias)
  batched,       ///< c[i] = a[i] . b[i]
  grouped,       ///< rows of a in groups of unequal size, each with a b of its own
  int8_weights,  ///< b holds i8, converted to a's dtype on the way
  int4_weights,  ///< the same with 4 bits: byte [l, j] holds b[l, j] + 8, and b[l + k/2, j] + 8
                 ///< above
};

/// The rival that copies as many bytes as b has, reads and writes together.
inline constexpr std::string_view kCopyRival = "copy";

/// One row of the table. Matrices are row-major unless transposed.
struct Problem {
  std::string group;  ///< of rows whose geometric mean is given
  std::string name;   ///< "bf16 nn 4096x4096x4096": unique
  DType input = DType::bf16, output = DType::bf16;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  std::vector<int64_t> group_rows = {};  ///< grouped: the rows of each; m is their sum
  bool a_transposed = false;             ///< stored K by M
  bool b_transposed = false;             ///< stored N by K
  Form form = Form::product;
  DotPrecision precision = DotPrecision::ieee;
  std::string rival = {};   ///< the row of ours it is compared with; or kCopyRival; empty: cuBLASLt
  bool rival_fast = false;  ///< f8: cuBLASLt with fast accumulation
  bool bandwidth = false;   ///< its time is that of reading b: its rate is one of bytes
  int64_t rotating_bytes = 0;  ///< least size of all sets of operands together
  double least = 0;            ///< wanted: the rival's time over ours

  /// Multiplications and additions of one call.
  double operations() const { return 2.0 * static_cast<double>(m) * n * k * batch; }
  /// The dtype b is stored in.
  DType b_dtype() const;
  /// Bytes of the operands and the result of one call.
  int64_t bytes() const;
  /// "bf16", "f16", "f8", "i8", "tf32" or "f32": what its rate is a share of.
  std::string unit() const;
};

/// One plain product of a problem; offsets count elements of the arrays.
struct Part {
  int64_t m = 0;
  int64_t a = 0, b = 0, c = 0;
};

/// The plain products a problem consists of: one, unless it is batched or grouped.
std::vector<Part> parts_of(const Problem& problem);

/// Sizes of the arrays as stored.
std::vector<int64_t> a_sizes(const Problem& problem);
std::vector<int64_t> b_sizes(const Problem& problem);
std::vector<int64_t> c_sizes(const Problem& problem);

/// A group of rows, and what their geometric mean should reach (0: nothing).
struct ProblemGroup {
  std::string name;
  double mean = 0;
};
const std::vector<ProblemGroup>& gemm_groups();

/// The whole table, in the order in which it is printed.
const std::vector<Problem>& gemm_problems();
/// The problem of that name; throws std::runtime_error when there is none.
const Problem& gemm_problem(std::string_view name);

/// What an error of one result may be, relative to its value and to the sum of the absolute
/// products behind it.
struct Tolerance {
  double of_value = 0, of_magnitude = 0;
};
/// One unit in the last place of the output and 4 sqrt(k) of the accumulator's; exact for integers.
Tolerance tolerance_of(const Problem& problem);

}  // namespace tilewright::bench
