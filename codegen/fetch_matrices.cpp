#include "tilewright/codegen/fetch_matrices.h"

#include <fmt/format.h>

#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/stage_layouts.h"

namespace tilewright::codegen {
namespace {

constexpr int kK = 0, kRow = 1;  // axes
constexpr int kRowBytes = 16;    // of a matrix
constexpr int kMost = 4;         // matrices of one instruction

/// The digits of one holder that move along an axis.
std::vector<Digit> digits_of(const Layout& layout, Holder holder, int axis) {
  std::vector<Digit> digits;
  for (const Digit& digit : layout.digits)
    if (digit.holder == holder && digit.axis == axis && digit.radix > 1) digits.push_back(digit);
  return digits;
}

/// Whether each thread holds pairs of rows, its lanes as ldmatrix hands out what it transposes:
/// four along k, then eight along the rows.
bool deals_pairs(const Layout& layout) {
  std::vector<Digit> lanes;
  for (const Digit& digit : layout.digits)
    if (digit.holder == Holder::lane && digit.radix > 1) lanes.push_back(digit);
  return layout.registers(kRow) == 2 && layout.vector(kRow) == 2 && lanes.size() == 2 &&
         lanes[0].radix == 4 && lanes[0].axis == kK && lanes[1] == Digit{Holder::lane, 8, kRow, 2};
}

/// Whether 16 bytes from a multiple of 16 on are neighbours.
bool keeps_runs(const SharedLayout& shared) {
  return shared.order == std::vector<int>{kK, kRow} && shared.extents[kRow] % kRowBytes == 0 &&
         shared.padding % kRowBytes == 0 && shared.panel % kRowBytes == 0 &&
         shared.swizzle_unit % kRowBytes == 0;
}

}  // namespace

std::optional<MatrixFetch> matrix_fetch(const Layout& layout, const std::vector<int64_t>& extents,
                                        const SharedLayout& shared) {
  if (layout.rank != 2 || layout.overhangs(extents) || !deals_pairs(layout) || !keeps_runs(shared))
    return std::nullopt;
  std::vector<Digit> steps = digits_of(layout, Holder::reg, kK);
  if (steps.empty() || steps[0].stride != 1 || steps[0].radix % 2 != 0) return std::nullopt;
  steps[0] = {Holder::reg, steps[0].radix / 2, kK, 2};  // of pairs
  MatrixFetch fetch{.together = 1, .addresses = {2, {}}};
  std::vector<Digit>& digits = fetch.addresses.digits;
  digits.push_back({Holder::reg, kRowBytes, kRow, 1});
  digits.push_back({Holder::lane, 2, kK, 1});
  digits.push_back({Holder::lane, 4, kK, digits_of(layout, Holder::lane, kK)[0].stride});
  std::vector<Digit> later;
  for (const Digit& step : steps) {
    const int taken = later.empty() ? std::min(step.radix, kMost / fetch.together) : 1;
    if (step.radix % taken != 0) return std::nullopt;
    fetch.together *= taken;
    if (taken > 1) digits.push_back({Holder::lane, taken, kK, step.stride});
    if (step.radix > taken)
      later.push_back({Holder::reg, step.radix / taken, kK, step.stride * taken});
  }
  if (fetch.together != 2 && fetch.together != kMost) return std::nullopt;
  if (fetch.together < kMost)
    digits.push_back({Holder::lane, kMost / fetch.together, -1, 0});  // not looked at
  digits.insert(digits.end(), later.begin(), later.end());
  for (const Digit& digit : layout.digits)
    if (digit.holder == Holder::warp) {
      if (digit.axis == kRow && digit.stride % kRowBytes != 0) return std::nullopt;
      digits.push_back(digit);
    }
  return fetch;
}

bool fetch_matrices(Lowering& lowering, const ir::Op& op) {
  const ir::Value* tile = op.result();
  const ir::Value* ring = view_of(op.operand(0)).ring;
  const SharedLayout& shared = lowering.in.shared.at(ring);
  const Layout& layout = lowering.layout(tile);
  if (size_of(tile->type.dtype) != 1) return false;
  const auto fetch = matrix_fetch(layout, lowering.extents(tile), shared);
  if (!fetch) return false;
  const std::string array = declare_tile(lowering, tile);
  const RingBuffer& buffer = lowering.rings.at(ring);
  const int instructions = layout.registers(kK) / 2 / fetch->together;
  for_axis(lowering, kK, instructions, 1, [&](const ExprRef& i) {
    std::vector<ExprRef> at(2);
    for (const int axis : {kK, kRow})
      at[axis] = thread_coordinate(lowering, fetch->addresses, axis,
                                   dimension_name(lowering, tile->type.shape, axis));
    at[kK] = at[kK] + register_coordinate(fetch->addresses, kK, i, 1);
    const ExprRef from = shared_element(buffer.name, shared, buffer.read_stage, at, kRowBytes);
    const ExprRef to =
        register_element(array, layout, {i * integer(2 * fetch->together), integer(0)});
    lowering.emit(call_stmt(call(fmt::format("tw::matrix_load_transposed<{}>", fetch->together),
                                 {address(to), address(from)})));
  });
  return true;
}

}  // namespace tilewright::codegen
