// Random numbers, printing, assertions, PTX and numbers of 4 bits: their IR and their errors.
#include "tests/dsl/trace_kernel.h"

#include "tilewright/ir/parse.h"

namespace tilewright::testing {
namespace {

std::string text_of(const ir::Function& fn, ir::AttrKey key) {
  return std::get<std::string>(*only(fn, ir::OpKind::print).find(key));
}

TEST(Debug, PrintsAreKept) {
  const ir::Function fn = trace(
      [](Tensor x, Scalar<int> n) {
        for (auto [rows, cols] : tile({x.size(0), x.size(1)})) {
          print("{} \"{{}}\"", n);
          x[rows, cols] = 1.0;
        }
      },
      {tensor(f32, {64, 32}), KernelArg::scalar(i32)});
  EXPECT_EQ(text_of(fn, ir::AttrKey::format), "{} \"{{}}\" (program ({}, {}))");
  // The text form has all of it.
  const ir::Function again = ir::parse(ir::print(fn));
  EXPECT_EQ(ir::print(again), ir::print(fn));
}

TEST(Debug, ElementsAreNamedByTheirPositions) {
  const ir::Function fn = trace(
      [](Tensor x) {
        for (auto rows : tile(x.size(0))) {
          device_assert(x[rows, all] > 0.5, "small");
          x[rows, all] = 1.0;
        }
      },
      {tensor(f32, {64, 32})});
  EXPECT_EQ(text_of(fn, ir::AttrKey::format), "small (program ({}), element [{}, {}])");
  EXPECT_EQ(text_of(fn, ir::AttrKey::fatal), "small");
}

TEST(Debug, WrongTextsAreErrors) {
  int line = 0;
  expect_trace_error(ErrorId::print_format, line, "2 places for values, and 1 values",
                     [&](Tensor x, Tensor) {
                       for (auto rows : tile(x.size(0))) {
                         line = __LINE__ + 1;
                         print("{} {}", x[rows, all]);
                       }
                     });
  expect_trace_error(ErrorId::print_format, line, "'{' at position 2 stands alone",
                     [&](Tensor x, Tensor) {
                       for (auto rows : tile(x.size(0))) {
                         line = __LINE__ + 1;
                         print("x {:g}", rows.begin());
                       }
                     });
  expect_trace_error(ErrorId::outside_loop, line, "tw::print", [&](Tensor, Tensor) {
    line = __LINE__ + 1;
    print("no loop");
  });
  expect_trace_error(ErrorId::function_dtype, line, "tw::device_assert", [&](Tensor x, Tensor) {
    for (auto rows : tile(x.size(0))) {
      line = __LINE__ + 1;
      device_assert(x[rows, all], "a number");
    }
  });
}

TEST(Random, CountsInKnownSizesOnly) {
  int line = 0;
  expect_trace_error(ErrorId::random_sizes, line, "rand", [&](Tensor x, Tensor y) {
    for (auto rows : tile(x.size(0)))
      for (auto cols : tile(rows.begin(), rows.end())) {
        line = __LINE__ + 1;
        y[rows, cols] = rand({rows, cols}, 1);
      }
  });
  expect_trace_error(ErrorId::random_range, line, "from 4 to 4", [&](Tensor x, Tensor) {
    for (auto rows : tile(x.size(0))) {
      line = __LINE__ + 1;
      randint({rows}, 4, 4, 1);
    }
  });
  expect_trace_error(ErrorId::not_a_scalar, line, "the seed", [&](Tensor x, Tensor) {
    for (auto rows : tile(x.size(0))) {
      line = __LINE__ + 1;
      rand({rows}, rows.index());
    }
  });
  expect_trace_error(ErrorId::sizes_rank, line, "1 sizes are asked", [&](Tensor x, Tensor) {
    for (auto [rows, cols] : tile({x.size(0), x.size(1)})) {
      line = __LINE__ + 1;
      rand({rows, cols}, 1, {x.size(0)});
    }
  });
  expect_trace_error(ErrorId::function_dtype, line, "integer", [&](Tensor x, Tensor) {
    for (auto rows : tile(x.size(0))) {
      line = __LINE__ + 1;
      rand(x[rows, all], 1);
    }
  });
}

TEST(InlinePtx, OperandsMustFit) {
  int line = 0;
  const auto fails = [&](std::string_view text, const auto& make) {
    expect_trace_error(ErrorId::ptx_operands, line, text, [&](Tensor x, Tensor) {
      for (auto rows : tile(x.size(0))) {
        line = __LINE__ + 1;
        make(x[rows, all], Loc::current());
      }
    });
  };
  fails("%0, the result, to %1; found %2",
        [](const Tile& x, Loc loc) { inline_ptx("add.f32 %0, %1, %2;", f32, {x}, loc); });
  fails("found none", [](const Tile& x, Loc loc) { inline_ptx("ret;", f32, {x}, loc); });
  fails("it has no operand", [](const Tile&, Loc loc) { inline_ptx("mov %0, 1;", f32, {}, loc); });
  fails("operand %2 is a C++ number", [](const Tile& x, Loc loc) {
    inline_ptx("add.f32 %0, %1, %2;", f32, {x, 1.0}, loc);
  });
  fails("bool has no register",
        [](const Tile& x, Loc loc) { inline_ptx("mov %0, %1;", boolean, {x}, loc); });
  fails("takes 2 arguments, and there are 1 operands", [](const Tile& x, Loc loc) {
    inline_ptx(
        "neg.f32 %0, %1;", f32, {x}, [](float a, float b) { return a + b; }, loc);
  });
  fails("%1 is f32, so the host function must have f32 there, not f64", [](const Tile& x, Loc loc) {
    inline_ptx(
        "neg.f32 %0, %1;", f32, {x}, [](double a) { return static_cast<float>(a); }, loc);
  });
}

TEST(InlinePtx, NamesItsHostFunction) {
  const auto kernel = [](Tensor x) {
    for (auto rows : tile(x.size(0)))
      x[rows, all] = inline_ptx("neg.f32 %0, %1;", f32, {x[rows, all]}, [](float a) { return -a; });
  };
  const ir::Function fn = trace(kernel, {tensor(f32, {64, 32})});
  const ir::Op& op = only(fn, ir::OpKind::inline_ptx);
  const auto& twin = std::get<std::string>(*op.find(ir::AttrKey::twin));
  const ir::HostFunction host = ir::find_host_function(twin);
  ASSERT_NE(host, nullptr);
  const float x = 2;
  const void* arguments[] = {&x};
  float result = 0;
  host(arguments, &result);
  EXPECT_EQ(result, -2);
  EXPECT_EQ(ir::find_host_function("no such function"), nullptr);
  // Another function of the same identity has another name, the same one keeps it.
  EXPECT_EQ(ir::register_host_function("identity", host),
            ir::register_host_function("identity", host));
  EXPECT_NE(ir::register_host_function("identity", [](const void* const*, void*) {}),
            ir::register_host_function("identity", host));
}

TEST(Unpack, TakesBytes) {
  int line = 0;
  expect_trace_error(ErrorId::unpack_dtype, line, "tw::unpack_int4 takes a tile of u8",
                     [&](Tensor x, Tensor) {
                       for (auto rows : tile(x.size(0))) {
                         line = __LINE__ + 1;
                         unpack_int4(x[rows, all], f16);
                       }
                     });
  expect_trace_error(ErrorId::unpack_dtype, line, "gives floats; found u8 and i32",
                     [&](Tensor x, Tensor) {
                       for (auto rows : tile(x.size(0))) {
                         line = __LINE__ + 1;
                         unpack_fp4(cast(x[rows, all], u8), i32);
                       }
                     });
}

}  // namespace
}  // namespace tilewright::testing
