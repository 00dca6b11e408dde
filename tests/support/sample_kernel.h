// A product of two matrices written by hand in kernel IR, with most kinds of statement.
#pragma once

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::testing {

/// c[1000,1008] = a[1000,992] b[992,1008] in f32 on 64x64x16 tiles, cp.async in two stages.
inline codegen::Kernel sample_kernel() {
  using namespace codegen;
  const auto n = [](const char* text) { return name(text); };
  const ExprRef thread = n("threadIdx.x");
  const auto at = [&](const char* tensor, ExprRef row, ExprRef col, int64_t pitch) {
    return address(global(tensor, row * integer(pitch) + col));
  };

  const std::vector<Stmt> copy_a = {
      declare("int", "row", thread / integer(4) + n("i") * integer(32)),
      declare("int", "kk", thread % integer(4) * integer(4)),
      call_stmt(call("tw::copy_async<4>",
                     {address(shared("a_ring", {n("stage"), n("row"), n("kk")})),
                      at("a", n("rows") + n("row"), n("ks") + n("kk"), 992),
                      conditional(n("rows") + n("row") < integer(1000), integer(4), integer(0))}))};
  const std::vector<Stmt> load_step = {declare("int", "ks", n("step") * integer(16)),
                                       declare("int", "stage", n("step") % integer(2)),
                                       loop("i", integer(0), integer(2), integer(1), true, copy_a),
                                       call_stmt(call("tw::copy_async_commit", {}))};

  const ExprRef acc = element("acc", {n("i"), n("j")});
  const Stmt product = loop(
      "i", integer(0), integer(8), integer(1), true,
      {loop("j", integer(0), integer(4), integer(1), true,
            {assign(acc, call("fmaf",
                              {element("a_frag", {n("i")}), element("b_frag", {n("j")}), acc}))})});
  const Stmt fragment = loop(
      "i", integer(0), integer(8), integer(1), true,
      {assign(element("a_frag", {n("i")}),
              shared("a_ring", {n("stage"), n("thread_row") + n("i") * integer(8), n("kk")}))});
  const Stmt inner =
      loop("kk", integer(0), integer(16), integer(1), true,
           {array("float", "a_frag", {8}), array("float", "b_frag", {4}),
            call_stmt(call("tw::load<4>",
                           {address(element("b_frag", {integer(0)})),
                            address(shared("b_ring", {n("stage"), n("kk"), n("thread_col")}))})),
            fragment, product});
  const std::vector<Stmt> step = {
      call_stmt(call("tw::copy_async_wait<0>", {})),
      barrier("this step's tiles are there, and nobody still reads the stage refilled next"),
      branch(n("step") + integer(1) < integer(62),
             {call_stmt(call("load_step", {n("step") + integer(1)}))}),
      declare("int", "stage", n("step") % integer(2)), inner};

  Kernel kernel;
  kernel.name = "product_3f2a91c0";
  kernel.header = {"product_3f2a91c0   c[1000,1008] = a[1000,992] b[992,1008]   f32, row-major",
                   "config   {\"block\":[64,64,16],\"warps\":4,\"stages\":2}",
                   "shared   18,432 B: a_ring 2x[64][20] f32 (16 of 20 used, so rows start in "
                   "different banks), b_ring 2x[16][64] f32"};
  kernel.params = {{"a", DType::f32}, {"b", DType::f32}, {"c", DType::f32, true, true}};
  kernel.buffers = {{"a_ring", DType::f32, {2, 64, 20}, 16, "[stage][row][k]", 0},
                    {"b_ring", DType::f32, {2, 16, 64}, 16, "[stage][k][col]", 10240}};
  kernel.shared_bytes = 18432;
  kernel.threads = 128;
  kernel.grid = integer(256);

  Stmt accumulators = array("float", "acc", {8, 4}, true);
  accumulators.comment = "rows thread_row + 8 i, columns thread_col + j";
  kernel.body = {
      declare("tw::TileId", "tile",
              call("tw::grouped_tile", {n("blockIdx.x"), integer(16), integer(16), integer(8)})),
      declare("int", "rows", member(n("tile"), "row") * integer(64)),
      declare("int", "cols", member(n("tile"), "col") * integer(64)),
      declare("int", "thread_row", thread / integer(16)),
      declare("int", "thread_col", thread % integer(16) * integer(4)),
      accumulators,
      lambda("load_step", {"int step"}, load_step),
      call_stmt(call("load_step", {integer(0)})),
      loop("step", integer(0), integer(62), integer(1), false, step),
      loop("i", integer(0), integer(8), integer(1), true,
           {declare("int", "row", n("rows") + n("thread_row") + n("i") * integer(8)),
            declare("int", "col", n("cols") + n("thread_col")),
            branch(n("row") < integer(1000) && n("col") < integer(1008),
                   {call_stmt(
                       call("tw::store<4>", {at("c", n("row"), n("col"), 1008),
                                             address(element("acc", {n("i"), integer(0)}))}))})})};
  return kernel;
}

}  // namespace tilewright::testing
