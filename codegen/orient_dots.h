// Pass: products that a matrix unit should compute transposed.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Rewrites c = a b + c0 as c' = b' a' + c0' where wgmma multiplies the dot, whose 64 rows the tile
/// of c does not fill but its columns do (a few rows, tokens say, by many columns), or which reads
/// a from shared memory as it is stored but not b: from registers it takes its first operand only.
/// Loop-carried accumulators stay transposed through the loop. Transpositions of loaded operands
/// cost nothing.
ir::Function orient_dots(const ir::Function& fn, const Config& config, const Target& target);

/// Whether a dot with a tile of m rows and n columns is better computed transposed by wgmma.
bool is_transposed_for_wgmma(const ir::Function& fn, const ir::Op& dot, int64_t m, int64_t n);

}  // namespace tilewright::codegen
