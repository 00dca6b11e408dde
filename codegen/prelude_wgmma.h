// Device helpers for the products of a warpgroup (PTX: wgmma.mma_async), made on request: there
// are some hundreds of shapes and types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

/// What the helper "wgmma_m64n<n>k<k>_<a>[_<b>]" multiplies: acc (64 x n) += a (64 x k) b (k x n).
struct WgmmaShape {
  int n = 0, k = 0;
  std::string a, b;  ///< PTX types: bf16, f16, tf32, e4m3, e5m2, s8
};

/// The shape that a helper's plain name speaks of; none for other names and for shapes the
/// instruction does not have.
std::optional<WgmmaShape> parse_wgmma(std::string_view name);

/// The overloads of that helper: "shared", with a in shared memory, then "registers". Empty for
/// names that parse_wgmma does not take.
std::vector<Helper> wgmma_helpers(std::string_view name);

}  // namespace tilewright::codegen
