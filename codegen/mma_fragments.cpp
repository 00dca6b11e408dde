#include "tilewright/codegen/mma_fragments.h"

namespace tilewright::codegen {
namespace {

constexpr int kRowBytes = 16;  // of one row that ldmatrix reads

void add(Layout& layout, Holder holder, int radix, int axis, int64_t stride) {
  if (radix > 1) layout.digits.push_back({holder, radix, axis, stride});
}

/// The lanes of ldmatrix: eight give the rows of one matrix of 8 by 16 bytes. The matrices go
/// along k first for b and last for a, in the order of the instruction's registers.
void add_matrix_lanes(Layout& layout, const MmaOperand& operand) {
  const bool along_k = operand.load == MmaLoad::matrices;
  const int run = kRowBytes / operand.bytes;
  const int half = operand.depth() / 2;  // of a step of k: 16 bytes
  add(layout, Holder::reg, run, along_k ? 1 : 0, 1);
  add(layout, Holder::lane, 8, along_k ? 0 : 1, 1);
  if (operand.left) {
    add(layout, Holder::lane, 2, 0, 8);
    add(layout, Holder::lane, 2, 1, half);
    return;
  }
  add(layout, Holder::lane, 2, 1, half);
  if (operand.together == 2)
    add(layout, Holder::lane, 2, 0, 8);
  else
    add(layout, Holder::lane, 2, -1, 0);  // whose addresses are not looked at
}

/// What the instruction wants each lane to hold of one piece.
void add_element_lanes(Layout& layout, const MmaOperand& operand) {
  add(layout, Holder::reg, operand.per_word(), 1, 1);
  add(layout, Holder::lane, 4, 1, operand.per_word());
  add(layout, Holder::lane, 8, 0, 1);
  if (operand.left) add(layout, Holder::reg, 2, 0, 8);
  add(layout, Holder::reg, 2, 1, operand.depth() / 2);
}

}  // namespace

MmaOperand mma_operand(const Layout& accumulator, bool left, MmaLoad load, int bytes, int64_t k) {
  MmaOperand operand{.left = left, .load = load, .bytes = bytes};
  operand.pieces = accumulator.registers(left ? 0 : 1) / 2;
  operand.together = !left && load != MmaLoad::elements && operand.pieces % 2 == 0 ? 2 : 1;
  operand.steps = (k + operand.depth() - 1) / operand.depth();
  return operand;
}

Layout mma_operand_layout(const Layout& accumulator, const MmaOperand& operand) {
  Layout layout{2, {}};
  if (operand.load == MmaLoad::elements)
    add_element_lanes(layout, operand);
  else
    add_matrix_lanes(layout, operand);
  const int piece = operand.piece() * operand.together;
  add(layout, Holder::reg, operand.pieces / operand.together, 0, piece);
  add(layout, Holder::reg, static_cast<int>(operand.steps), 1, operand.depth());
  for (Digit digit : accumulator.digits) {
    if (digit.holder != Holder::warp) continue;
    const bool outer = digit.axis == (operand.left ? 0 : 1);
    layout.digits.push_back(outer ? Digit{Holder::warp, digit.radix, 0, digit.stride}
                                  : Digit{Holder::warp, digit.radix, -1, 0});
  }
  return layout;
}

Layout mma_register_layout(const Layout& accumulator, bool left, int bytes, int64_t k) {
  const Layout layout =
      mma_operand_layout(accumulator, mma_operand(accumulator, left, MmaLoad::elements, bytes, k));
  return left ? layout : permute(layout, {1, 0});
}

}  // namespace tilewright::codegen
