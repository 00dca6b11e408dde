// A product of matrices as one would write it by hand for Hopper: a producer warp that fills a ring
// by bulk copies, half of b for both blocks of a cluster; two warpgroups that multiply; a
// persistent grid; results through matrix stores and bulk stores.
#pragma once

#include <string>

#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::testing {

/// Sizes that wrap the ring of three, leave a tail of every axis, and give clusters two tiles.
struct HopperGemm {
  static constexpr int m = 392, n = 136, k = 296;
  static constexpr int block_m = 128, block_n = 64, block_k = 64, stages = 3, cluster = 2;
  static constexpr int clusters = 2;  ///< of the grid

  /// The kernel, from `struct Shared` on.
  static std::string text();
  /// A launch of it, changed or not.
  static codegen::Plan plan(const std::string& text);
};

/// What running it showed.
struct HopperResult {
  runtime::Emulation emulation;
  std::string difference;  ///< from the right results; empty when there is none
  bool clean() const { return emulation.findings.empty() && difference.empty(); }
};

HopperResult run_hopper_gemm(const std::string& text);

/// `text` with the `which`-th (from 0) `from` in it made `to`; fails when there is none.
std::string replaced(std::string text, const std::string& from, const std::string& to,
                     int which = 0);

}  // namespace tilewright::testing
