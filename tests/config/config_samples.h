// Kernels in text form for which configs are checked and made.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tilewright::testing {

/// c[m,n] = a[m,k] x b[k,n], tiled in all three dimensions; `pinned` fixes the inner block.
inline std::string product_text(int m, int n, int k, std::string_view dtype = "f32",
                                std::string_view pinned = "") {
  const std::string_view acc = dtype == "f64" ? "f64" : "f32";
  return fmt::format(R"(func @product(%a: {3}[{0},{2}], %b: {3}[{2},{1}], %c: {4}[{0},{1}]) {{
  axis B0 "rows"
  axis B1 "cols"
  axis B2 "ks"{5}
  %0 = constant 0 : i64
  %m = constant {0} : i64
  %n = constant {1} : i64
  %k = dim %a {{axis=1}} : i64
  tile_loop (%0, %0) (%m, %n) () {{axes=[0,1], parallel=1}} (%rows: slice<B0>, %cols: slice<B1>) {{
    %1 = constant 0.0 : {4}
    %2 = broadcast %1 {{shape=[B0,B1], dims=[]}} : {4}[B0,B1]
    %3 = tile_loop (%0) (%k) (%2) {{axes=[2], parallel=0}} : {4}[B0,B1] (%ks: slice<B2>, %4: {4}[B0,B1]) {{
      %5 = load %a, %rows, %ks : {3}[B0,B2]
      %6 = load %b, %ks, %cols : {3}[B2,B1]
      %7 = dot %5, %6, %4 : {4}[B0,B1]
      yield %7
    }}
    store %c, %3, %rows, %cols
  }}
}}
)",
                     m, n, k, dtype, acc, pinned);
}

/// z = x + y over n elements.
inline std::string sum_text(int64_t n, std::string_view dtype = "f32") {
  return fmt::format(R"(func @sum(%x: {1}[{0}], %y: {1}[{0}], %z: {1}[{0}]) {{
  axis B0 "i"
  %0 = constant 0 : i64
  %n = constant {0} : i64
  tile_loop (%0) (%n) () {{axes=[0], parallel=1}} (%i: slice<B0>) {{
    %1 = load %x, %i : {1}[B0]
    %2 = load %y, %i : {1}[B0]
    %3 = binary add %1, %2 : {1}[B0]
    store %z, %3, %i
  }}
}}
)",
                     n, dtype);
}

/// y[j,i] = x[i,j].
inline std::string transposition_text(int m, int n) {
  return fmt::format(R"(func @transposition(%x: f32[{0},{1}], %y: f32[{1},{0}]) {{
  axis B0 "i"
  axis B1 "j"
  %0 = constant 0 : i64
  %m = constant {0} : i64
  %n = constant {1} : i64
  tile_loop (%0, %0) (%m, %n) () {{axes=[0,1], parallel=1}} (%i: slice<B0>, %j: slice<B1>) {{
    %1 = load %x, %i, %j : f32[B0,B1]
    %2 = permute %1 {{dims=[1,0]}} : f32[B1,B0]
    store %y, %2, %j, %i
  }}
}}
)",
                     m, n);
}

/// y[i] = sum of x[i, all].
inline std::string whole_rows_text(int m, int n, std::string_view dtype = "f32") {
  return fmt::format(R"(func @rows(%x: {2}[{0},{1}], %y: {2}[{0},{1}]) {{
  axis B0 "i"
  %0 = constant 0 : i64
  %m = constant {0} : i64
  %n = constant {1} : i64
  tile_loop (%0) (%m) () {{axes=[0], parallel=1}} (%i: slice<B0>) {{
    %all = slice %0, %n {{dim=[{1}]}} : slice<{1}>
    %1 = load %x, %i, %all : {2}[B0,{1}]
    %2 = reduce max %1 {{axes=[1]}} : {2}[B0]
    %3 = broadcast %2 {{shape=[B0,{1}], dims=[0]}} : {2}[B0,{1}]
    %4 = binary sub %1, %3 : {2}[B0,{1}]
    store %y, %4, %i, %all
  }}
}}
)",
                     m, n, dtype);
}

/// y[i] = sum over j of x[i,j] (`axis` 1), or y[j] = sum over i of x[i,j] (`axis` 0), in a loop.
inline std::string looped_sum_text(int m, int n, int axis) {
  const int kept = 1 - axis;
  return fmt::format(R"(func @looped(%x: f32[{0},{1}], %y: f32[{2}]) {{
  axis B0 "kept"
  axis B1 "summed"
  %0 = constant 0 : i64
  %k = constant {2} : i64
  %s = constant {3} : i64
  tile_loop (%0) (%k) () {{axes=[0], parallel=1}} (%kept: slice<B0>) {{
    %1 = constant 0.0 : f32
    %2 = broadcast %1 {{shape=[B0], dims=[]}} : f32[B0]
    %3 = tile_loop (%0) (%s) (%2) {{axes=[1], parallel=0}} : f32[B0] (%summed: slice<B1>, %4: f32[B0]) {{
      %5 = load %x, {4} : f32[{5}]
      %6 = reduce add %5 {{axes=[{6}]}} : f32[B0]
      %7 = binary add %4, %6 : f32[B0]
      yield %7
    }}
    store %y, %3, %kept
  }}
}}
)",
                     m, n, kept == 0 ? m : n, kept == 0 ? n : m,
                     kept == 0 ? "%kept, %summed" : "%summed, %kept", kept == 0 ? "B0,B1" : "B1,B0",
                     axis);
}

/// Two dots in a loop: the columns of the first are the inner axis of the second, and its limit
/// depends on the tile of the grid.
inline std::string two_dots_text(int rows, int width) {
  return fmt::format(
      R"(func @two_dots(%q: f32[{0},{1}], %k: f32[{1},{0}], %v: f32[{0},{1}], %o: f32[{0},{1}]) {{
  axis B0 "batch" = 1 pinned
  axis B1 "rows"
  axis B2 "cols"
  %0 = constant 0 : i64
  %b = constant 12 : i64
  %m = constant {0} : i64
  %w = constant {1} : i64
  tile_loop (%0, %0) (%b, %m) () {{axes=[0,1], parallel=1}} (%batch: slice<B0>, %rows: slice<B1>) {{
    %all = slice %0, %w {{dim=[{1}]}} : slice<{1}>
    %1 = load %q, %rows, %all : f32[B1,{1}]
    %2 = constant 0.0 : f32
    %3 = broadcast %2 {{shape=[B1,{1}], dims=[]}} : f32[B1,{1}]
    %end = slice_end %rows : i64
    %4 = tile_loop (%0) (%end) (%3) {{axes=[2], parallel=0}} : f32[B1,{1}] (%cols: slice<B2>, %5: f32[B1,{1}]) {{
      %6 = load %k, %all, %cols : f32[{1},B2]
      %7 = broadcast %2 {{shape=[B1,B2], dims=[]}} : f32[B1,B2]
      %8 = dot %1, %6, %7 : f32[B1,B2]
      %9 = unary exp %8 : f32[B1,B2]
      %10 = load %v, %cols, %all : f32[B2,{1}]
      %11 = dot %9, %10, %5 : f32[B1,{1}]
      yield %11
    }}
    store %o, %4, %rows, %all
  }}
}}
)",
      rows, width);
}

}  // namespace tilewright::testing
