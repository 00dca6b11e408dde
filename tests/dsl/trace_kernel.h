// Traces a callable on tensors and scalars given by their types.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/expect_error.h"
#include "tilewright/dsl/dsl.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify.h"

namespace tilewright::testing {

inline KernelArg tensor(DType dtype, std::vector<int64_t> sizes) {
  return KernelArg::tensor(contiguous_spec(dtype, std::move(sizes)));
}

/// The verified IR of a kernel named "k".
template <class F>
ir::Function trace(F fn, const std::vector<KernelArg>& args, Loc loc = Loc::current()) {
  ir::Function traced = make_traceable("k", std::move(fn), loc).trace(args);
  ir::verify(traced, "trace");
  return traced;
}

/// The lines of its grid loop's body, values numbered, without indentation of the whole.
inline std::string body_of(const ir::Function& fn) {
  const std::string text = ir::print(fn, {.locations = false, .names = false});
  const size_t loop = text.find("tile_loop");
  const size_t begin = text.find('\n', loop) + 1;
  const size_t end = text.find("\n  }", begin);
  std::string result;
  for (size_t at = begin; at < end;) {
    const size_t line = std::min(text.find('\n', at), end);
    result += text.substr(at + 4, line - at - 4) + "\n";
    at = line + 1;
  }
  return result;
}

/// How many operations of a kind a function has.
inline int count(const ir::Function& fn, ir::OpKind kind) {
  int found = 0;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) { found += op.kind == kind; });
  return found;
}

/// The only operation of a kind.
inline const ir::Op& only(const ir::Function& fn, ir::OpKind kind) {
  const ir::Op* found = nullptr;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.kind == kind) found = &op;
  });
  EXPECT_EQ(count(fn, kind), 1);
  return *found;
}

/// The sequential loops, outer before inner.
inline std::vector<const ir::Op*> sequential_loops(const ir::Function& fn) {
  std::vector<const ir::Op*> loops;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.kind == ir::OpKind::tile_loop && op.integer(ir::AttrKey::parallel) == 0)
      loops.push_back(&op);
  });
  return loops;
}

/// Traces a kernel of two f32[64,32] tensors, which must raise `id` with `text` at `line`, a
/// variable that the kernel itself sets (0: no line is expected to be known).
template <class F>
void expect_trace_error(ErrorId id, const int& line, std::string_view text, F fn) {
  expect_error(id, 0, text, [&] {
    try {
      trace(fn, {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
    } catch (const Error& error) {
      EXPECT_EQ(error.loc().line, line) << error.what();
      throw;
    }
  });
}

}  // namespace tilewright::testing
