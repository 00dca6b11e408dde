// Functions in text form that several tests of the IR use.
#pragma once

#include <string_view>

namespace tilewright::testing {

/// A product of two matrices, tiled in three dimensions, exactly as the printer writes it.
inline constexpr std::string_view kProduct =
    R"(func @product(%a: f32[1000,999], %b: f32[999,1001], %c: f32[1000,1001] allocated) -> (%c) {
  axis B0 "rows"
  axis B1 "cols" = 64
  axis B2 "ks" = 8 pinned
  %0 = constant 0 : i64
  %m = dim %a {axis=0} : i64
  %n = dim %b {axis=1} : i64
  %k = dim %a {axis=1} : i64
  tile_loop (%0, %0) (%m, %n) () {axes=[0,1], parallel=1} (%rows: slice<B0>, %cols: slice<B1>) {
    %1 = constant 0.0 : f32
    %acc = broadcast %1 {shape=[B0,B1], dims=[]} : f32[B0,B1]
    %acc.1 = tile_loop (%0) (%k) (%acc) {axes=[2], parallel=0} : f32[B0,B1] (%ks: slice<B2>, %acc.2: f32[B0,B1]) {
      %2 = load %a, %rows, %ks : f32[B0,B2]
      %3 = load %b, %ks, %cols {guard=[0]} : f32[B2,B1]
      %acc.3 = dot %2, %3, %acc.2 : f32[B0,B1]
      yield %acc.3
    }
    store %c, %acc.1, %rows, %cols {guard=[]}
  }
}
)";

/// The same with its operands going through rings of shared memory, filled two iterations ahead.
inline constexpr std::string_view kPipelined =
    R"(func @pipelined(%a: bf16[1024,1024], %b: bf16[1024,1024], %c: f32[1024,1024]) {
  axis B0 = 64
  axis B1 = 64
  axis B2 = 32
  %0 = constant 0 : i64
  %1 = constant 1024 : i64
  tile_loop (%0, %0) (%1, %1) () {axes=[0,1], parallel=1, group=8} (%2: slice<B0>, %3: slice<B1>) {
    %4 = ring {shape=[B0,B2], stages=3} : ring<bf16[B0,B2],3>
    %5 = ring {shape=[B2,B1], stages=3} : ring<bf16[B2,B1],3>
    %6 = constant 0.0 : f32
    %7 = broadcast %6 {shape=[B0,B1], dims=[]} : f32[B0,B1]
    %8 = tile_loop (%0) (%1) (%7) {axes=[2], parallel=0, ahead=2} : f32[B0,B1] (%9: slice<B2>, %10: f32[B0,B1]) {
      ring_wait %4, %5 {pending=1}
      %11 = ring_read %4 : shared<bf16[B0,B2]>
      %12 = ring_read %5 : shared<bf16[B2,B1]>
      %13 = dot %11, %12, %10 {guard=[]} : f32[B0,B1]
      ring_release %4, %5
      yield %13
    } (%14: slice<B2>) {
      %15 = ring_acquire %4 : shared<bf16[B0,B2]>
      copy %15, %a, %2, %14 {guard=[]}
      %16 = ring_acquire %5 : shared<bf16[B2,B1]>
      copy %16, %b, %14, %3 {guard=[]}
      ring_commit %4, %5
    }
    store %c, %8, %2, %3 {guard=[]}
  }
}
)";

/// Every other operation, in one program that makes little sense.
inline constexpr std::string_view kMixed =
    R"(func @"odd name"(%x: f16[8,4]:[1,8]@2, %y: i32[8], %out: f32[], %scale: f32, %flag: bool) -> (%out, %y) {
  axis B0 "i" = 1 pinned
  %0 = constant 0 : i64
  %n = constant 8 : i64
  %four = constant 4 : i64
  tile_loop (%0) (%n) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %1 = slice %0, %four {dim=[4]} : slice<4>
    %2 = slice_begin %i : i64
    %3 = slice_end %i : i64
    %4 = slice_id %i : i64
    %5 = slice_index %1 : i64[4]
    %6 = iota {shape=[4]} : i64[4]
    %7 = compare lt %5, %6 : bool[4]
    %8 = select %7, %5, %6 : i64[4]
    %9 = load %x, %2, %1 : f16[4]
    %10 = cast %9 : f32[4]
    %11 = unary exp %10 : f32[4]
    %12 = broadcast %scale {shape=[4], dims=[]} : f32[4]
    %13 = fma %11, %12, %10 : f32[4]
    %14 = reshape %13 {shape=[2,2]} : f32[2,2]
    %15 = permute %14 {dims=[1,0]} : f32[2,2]
    %16 = convert %15 : f32[2,2]
    %17 = reduce max %16 {axes=[0,1], guard=[0]} : f32
    %18 = binary add %3, %4 : i64
    %19 = cast %18 : f32
    %20, %21 = if_else %flag : f32, i64 {
      yield %17, %18
    } {
      %22 = constant -inf : f32
      yield %22, %0
    }
    %23 = binary add %20, %19 : f32
    store %out, %23
    role {role="producer \"a\""} {
      %24 = constant nan : f64
      yield
    }
  }
}
)";

/// Loops that go on while a condition holds, several grids, workspace and tunables.
inline constexpr std::string_view kGrids =
    R"(func @grids(%x: f32[8], %y: f32[8] allocated, %t: f32[8] allocated) -> (%y) {
  axis B0 "i" = 4
  axis B1 "j"
  tunable "split \"k\"" = -2 of [1,-2,8]
  %0 = constant 0 : i64
  %n = constant 8 : i64
  tile_loop (%0) (%n) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %1 = load %x, %i : f32[B0]
    %2 = slice_begin %i : i64
    %3 = compare lt %2, %n : bool
    %acc, %at = while_loop %3, %1, %2 : f32[B0], i64 (%acc.1: f32[B0], %at.1: i64) {
      %4 = binary add %acc.1, %1 : f32[B0]
      %5 = binary add %at.1, %n : i64
      %6 = compare lt %5, %n : bool
      yield %6, %4, %5
    }
    store %t, %acc, %i
    while_loop %3 {
      %7 = constant 0 : bool
      yield %7
    }
    yield
  }
  grid_barrier
  tile_loop (%0) (%n) () {axes=[1], parallel=1} (%j: slice<B1>) {
    %8 = load %t, %j : f32[B1]
    store %y, %8, %j
    yield
  }
}
)";

}  // namespace tilewright::testing
