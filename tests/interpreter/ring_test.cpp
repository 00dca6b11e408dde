// Rings of shared memory: a pipelined loop does what the plain one does, and the protocol is kept.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/kernel_builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using ir::AttrKey;
using ir::Dim;
using ir::OpKind;

/// What a test may break.
struct Recipe {
  int stages = 3;
  int ahead = 2;
  int64_t pending = 1;
  bool commit = true, wait = true, release = true;
};

/// c = a b as in product_test, its operands through rings filled ahead of the loop's body.
struct Pipelined : TestKernel {
  explicit Pipelined(const Recipe& recipe) {
    const auto* a = tensor("a", DType::f32, 2);
    const auto* bt = tensor("b", DType::f32, 2);
    const auto* c = tensor("c", DType::f32, 2);
    const int rows = axis(8), cols = axis(8), ks = axis(4);
    const ir::Shape a_shape{Dim::block(rows), Dim::block(ks)};
    const ir::Shape b_shape{Dim::block(ks), Dim::block(cols)};
    grid({rows, cols}, {b.dim(a, 0), b.dim(bt, 1)}, [&](const ir::LoopView& tile) {
      const auto* a_ring = ring(a_shape, recipe.stages);
      const auto* b_ring = ring(b_shape, recipe.stages);
      const auto* zero = zeros(DType::f32, {Dim::block(rows), Dim::block(cols)});
      ir::Op* inner = loop({ks}, false, {b.dim(a, 1)}, {zero}, [&](const ir::LoopView& step) {
        if (recipe.wait)
          b.create(OpKind::ring_wait, {a_ring, b_ring}, {{AttrKey::pending, recipe.pending}});
        const auto* x = b.create(OpKind::ring_read, {a_ring})->result();
        const auto* y = b.create(OpKind::ring_read, {b_ring})->result();
        const auto* sum = b.dot(x, y, step.carried[0]);
        if (recipe.release) b.create(OpKind::ring_release, {a_ring, b_ring});
        b.yield({sum});
      });
      inner->attributes.push_back({AttrKey::ahead, int64_t{recipe.ahead}});
      fill(inner, recipe, {a_ring, a, tile.slices[0]}, {b_ring, bt, tile.slices[1]});
      b.store(c, inner->results[0], tile.slices);
    });
  }

  const ir::Value* ring(const ir::Shape& shape, int stages) {
    const ir::Type type = ir::Type::ring(DType::f32, shape, stages);
    return b
        .create(OpKind::ring, {}, {{AttrKey::shape, shape}, {AttrKey::stages, int64_t{stages}}},
                &type)
        ->result();
  }

  struct Source {
    const ir::Value *ring, *tensor, *slice;
  };

  void fill(const ir::Op* loop, const Recipe& recipe, const Source& x, const Source& y) {
    ir::Region* region = ir::Builder::region_of(loop, 1);
    const auto* k = b.add_argument(region, loop->regions[0]->args[0]->type);
    const ir::Builder::Scope scope(b, region);
    const auto* a_slot = b.create(OpKind::ring_acquire, {x.ring})->result();
    b.create(OpKind::copy, {a_slot, x.tensor, x.slice, k});
    const auto* b_slot = b.create(OpKind::ring_acquire, {y.ring})->result();
    b.create(OpKind::copy, {b_slot, y.tensor, k, y.slice});
    if (recipe.commit) b.create(OpKind::ring_commit, {x.ring, y.ring});
  }
};

/// The product of random matrices by a kernel, and whether it is the right one.
bool right_product(const ir::Function& fn, int64_t m, int64_t n, int64_t k) {
  TestTensor a(DType::f32, {m, k}), b(DType::f32, {k, n}), c(DType::f32, {m, n});
  a.randomize(1), b.randomize(2), c.fill(-1);
  interpret(fn, {a.host(), b.host(), c.host()}, {.threads = 2});
  bool right = c.margins_intact();
  c.for_each([&](const auto& at) {
    float acc = 0;
    for (int64_t i = 0; i < k; ++i)
      acc = std::fma(static_cast<float>(a.get({at[0], i})), static_cast<float>(b.get({i, at[1]})),
                     acc);
    right = right && c.get(at) == acc;
  });
  return right;
}

TEST(Ring, PipelinedLoopsDoWhatPlainOnesDo) {
  for (int stages = 1; stages <= 4; ++stages) {
    const Recipe recipe{.stages = stages, .ahead = stages - 1, .pending = std::max(0, stages - 2)};
    const Pipelined kernel(recipe);
    for (int64_t k : {0, 1, 4, 5, 8, 11, 16, 50})
      EXPECT_TRUE(right_product(kernel.fn, 19, 13, k)) << stages << " stages, k " << k;
  }
}

// The group read is the oldest of the ahead + 1 committed, so ahead may stay in flight.
TEST(Ring, WaitCountsGroupsAlsoAtTheEndOfTheLoop) {
  EXPECT_TRUE(right_product(Pipelined({.stages = 3, .ahead = 2, .pending = 2}).fn, 8, 8, 40));
  EXPECT_THROW(right_product(Pipelined({.stages = 3, .ahead = 2, .pending = 3}).fn, 8, 8, 40),
               InternalError);
}

TEST(Ring, BrokenProtocolsAreCaught) {
  const Recipe broken[] = {{.stages = 2, .ahead = 2},  // one slot too few
                           {.release = false},         // slots never come back
                           {.commit = false},          // read before it is closed
                           {.wait = false}};           // read before it is visible
  for (const Recipe& recipe : broken)
    EXPECT_THROW(right_product(Pipelined(recipe).fn, 8, 8, 40), InternalError);
}

/// A program without loops: make(kernel, ring of `stages` slots of 4, the whole of x, out).
template <class Make>
void run_line(int stages, TestTensor& out, const Make& make) {
  TestKernel line;
  const auto* x = line.tensor("x", DType::f32, 1);
  const auto* y = line.tensor("y", DType::f32, 1);
  const ir::Shape shape{Dim::constant(4)};
  const auto* all = line.b.slice(line.b.index(0), line.b.index(4), Dim::constant(4));
  const ir::Type type = ir::Type::ring(DType::f32, shape, stages);
  const auto* ring =
      line.b
          .create(OpKind::ring, {}, {{AttrKey::shape, shape}, {AttrKey::stages, int64_t{stages}}},
                  &type)
          ->result();
  make(line, ring, x, y, all);
  TestTensor in(DType::f32, {4});
  interpret(line.fn, {in.fill(3).host(), out.host()});
}

TEST(Ring, StagedValuesAndOrder) {
  TestTensor out(DType::f32, {4});
  run_line(2, out, [](TestKernel& k, auto* ring, auto* x, auto* y, auto* all) {
    ir::Builder& b = k.b;
    const auto* first = b.create(OpKind::ring_acquire, {ring})->result();
    b.create(OpKind::copy, {first, x, all});
    const auto* second = b.create(OpKind::ring_acquire, {ring})->result();
    const ir::Value* five = b.fill(b.constant(DType::f32, 5.0), {Dim::constant(4)});
    b.create(OpKind::stage, {second, five});
    b.create(OpKind::ring_commit, {ring});
    b.create(OpKind::ring_wait, {ring}, {{AttrKey::pending, int64_t{0}}});
    // 3 comes out before 5, and a value made of a slot outlives its release.
    const auto* a = b.reshape(b.create(OpKind::ring_read, {ring})->result(), {Dim::constant(4)});
    b.create(OpKind::ring_release, {ring});
    const auto* c = b.reshape(b.create(OpKind::ring_read, {ring})->result(), {Dim::constant(4)});
    b.create(OpKind::ring_release, {ring});
    b.store(y, b.binary(ir::Fn::sub, a, c), {all});
  });
  out.for_each([&](const auto& at) { EXPECT_EQ(out.get(at), -2); });
}

TEST(Ring, WhatIsFetchedOutlivesTheSlot) {
  TestTensor out(DType::f32, {4});
  run_line(1, out, [](TestKernel& k, auto* ring, auto* x, auto* y, auto* all) {
    ir::Builder& b = k.b;
    const auto fill_and_fetch = [&](const ir::Value* value) {
      const auto* slot = b.create(OpKind::ring_acquire, {ring})->result();
      if (value == nullptr)
        b.create(OpKind::copy, {slot, x, all});
      else
        b.create(OpKind::stage, {slot, value});
      b.create(OpKind::ring_commit, {ring});
      b.create(OpKind::ring_wait, {ring}, {{AttrKey::pending, int64_t{0}}});
      const auto* tile = b.create(OpKind::ring_read, {ring})->result();
      const auto* fetched = b.create(OpKind::fetch, {tile})->result();
      b.create(OpKind::ring_release, {ring});
      return fetched;
    };
    const ir::Value* three = fill_and_fetch(nullptr);
    const ir::Value* five = fill_and_fetch(b.fill(b.constant(DType::f32, 5.0), {Dim::constant(4)}));
    b.store(y, b.binary(ir::Fn::sub, three, five), {all});
  });
  out.for_each([&](const auto& at) { EXPECT_EQ(out.get(at), -2); });
}

TEST(Ring, ReadingAfterTheReleaseIsCaught) {
  for (const bool permuted : {false, true}) {
    for (const bool released : {false, true}) {
      TestTensor out(DType::f32, {4});
      const auto run = [&] {
        run_line(1, out, [&](TestKernel& k, auto* ring, auto* x, auto* y, auto* all) {
          ir::Builder& b = k.b;
          const auto* slot = b.create(OpKind::ring_acquire, {ring})->result();
          b.create(OpKind::copy, {slot, x, all});
          b.create(OpKind::ring_commit, {ring});
          b.create(OpKind::ring_wait, {ring}, {{AttrKey::pending, int64_t{0}}});
          const ir::Value* tile = b.create(OpKind::ring_read, {ring})->result();
          if (permuted) tile = b.permute(tile, {0});
          if (released) b.create(OpKind::ring_release, {ring});
          b.store(y, b.reshape(tile, {Dim::constant(4)}), {all});
        });
      };
      if (released)
        EXPECT_THROW(run(), InternalError);
      else
        EXPECT_NO_THROW(run());
    }
  }
}

TEST(Ring, MisuseOfSlotsIsCaught) {
  TestTensor out(DType::f32, {4});
  EXPECT_THROW(run_line(1, out,
                        [](TestKernel& k, auto* ring, auto*, auto*, auto*) {
                          k.b.create(OpKind::ring_release, {ring});
                        }),
               InternalError);
  EXPECT_THROW(run_line(1, out,
                        [](TestKernel& k, auto* ring, auto*, auto*, auto*) {
                          k.b.create(OpKind::ring_read, {ring});
                        }),
               InternalError);
  EXPECT_THROW(run_line(1, out,
                        [](TestKernel& k, auto* ring, auto* x, auto*, auto* all) {
                          const auto* slot = k.b.create(OpKind::ring_acquire, {ring})->result();
                          k.b.create(OpKind::copy, {slot, x, all});
                          k.b.create(OpKind::ring_commit, {ring});
                          k.b.create(OpKind::copy, {slot, x, all});
                        }),
               InternalError);
}

TEST(Role, RegionsRunInOrder) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* out = kernel.tensor("out", DType::i64, 0);
  b.store(out, b.index(1), {});
  for (int64_t add : {2, 3}) {
    ir::Op* role = b.create(OpKind::role, {}, {{AttrKey::role, std::string("worker")}});
    const ir::Builder::Scope scope(b, ir::Builder::region_of(role, 0));
    const auto* times = b.binary(ir::Fn::mul, b.load(out, {}), b.index(10));
    b.store(out, b.binary(ir::Fn::add, times, b.index(add)), {});
  }
  TestTensor result(DType::i64, {});
  interpret(kernel.fn, {result.host()});
  EXPECT_EQ(result.get({}), 123);
}

}  // namespace
}  // namespace tilewright::testing
