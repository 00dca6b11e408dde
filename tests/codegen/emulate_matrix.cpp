#include "tests/codegen/emulate_matrix.h"

#include <bit>
#include <cmath>

namespace tilewright::testing {
namespace {

using Values = std::vector<CValue>;

constexpr int kLanes = 32;
constexpr int kRowBytes = 16;

/// n matrices of 8 rows; lane 8 i + r points to row r of matrix i.
void matrix_load(int n, bool transposed, const WarpArguments& warp) {
  std::vector<Values> rows;
  for (int lane = 0; lane < 8 * n; ++lane) rows.push_back(warp.read(1, lane, kRowBytes));
  const size_t word = rows[0].size() / 4;  // elements
  for (int lane = 0; lane < kLanes; ++lane) {
    Values values;
    for (int i = 0; i < n; ++i)
      for (size_t e = 0; e < word; ++e)
        values.push_back(transposed ? rows[8 * i + 2 * (lane % 4) + e].at(lane / 4)
                                    : rows[8 * i + lane / 4].at(lane % 4 * word + e));
    warp.write(0, lane, values);
  }
}

CValue of_tf32(CValue x) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(x.f)) & 0xffffe000;
  x.f = std::bit_cast<float>(bits);
  return x;
}

CValue multiply_add(const CValue& x, const CValue& y, const CValue& acc) {
  CValue result = acc;
  result.undefined |= x.undefined || y.undefined;
  if (is_floating(x.type))
    result.f =
        std::fmaf(static_cast<float>(x.f), static_cast<float>(y.f), static_cast<float>(acc.f));
  else
    result.i = static_cast<int32_t>(static_cast<uint32_t>(acc.i + x.i * y.i));
  return result;
}

/// The operands as matrices: row or column `outer`, depth k. Lane 4 r + t holds of row r (and r + 8
/// of a) the words t and t + 4, as the fragment's tables have it.
CValue element_of(const std::vector<Values>& fragments, bool left, int outer, int k) {
  const int count = static_cast<int>(fragments[0].size());
  const int word = count / (left ? 4 : 2);
  const int lane = outer % 8 * 4 + k / word % 4;
  const int half = k / (4 * word);
  const int at = left ? 2 * half + outer / 8 : half;
  return fragments[lane].at(at * word + k % word);
}

void multiply(bool tf32, const WarpArguments& warp) {
  std::vector<Values> a, b;
  for (int lane = 0; lane < kLanes; ++lane) {
    a.push_back(warp.read(2, lane, 16));
    b.push_back(warp.read(3, lane, 8));
  }
  const int depth = static_cast<int>(a[0].size()) * 2;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int h = 0; h < 2; ++h) {
      Values acc = warp.read(h, lane, 8);
      for (int p = 0; p < 2; ++p)
        for (int k = 0; k < depth; ++k) {
          CValue x = element_of(a, true, lane / 4 + 8 * h, k);
          CValue y = element_of(b, false, 2 * (lane % 4) + p, k);
          if (tf32) x = of_tf32(x), y = of_tf32(y);
          acc[p] = multiply_add(x, y, acc[p]);
        }
      warp.write(h, lane, acc);
    }
}

}  // namespace

bool is_matrix_helper(const std::string& helper) {
  return helper.starts_with("tw::matrix_load") || helper.starts_with("tw::mma_");
}

void run_matrix_helper(const std::string& helper, const WarpArguments& warp) {
  if (helper.starts_with("tw::mma_")) return multiply(helper.ends_with("_tf32"), warp);
  const int n = std::stoi(helper.substr(helper.find('<') + 1));
  matrix_load(n, helper.starts_with("tw::matrix_load_transposed"), warp);
}

}  // namespace tilewright::testing
