// What the examples' kernels should give, on ragged, tiny, empty and strided tensors.
#pragma once

#include "examples/kernels/batched_matmul.h"
#include "examples/kernels/dropout.h"
#include "examples/kernels/embedding.h"
#include "examples/kernels/gated.h"
#include "examples/kernels/grouped_matmul.h"
#include "examples/kernels/jagged.h"
#include "examples/kernels/losses.h"
#include "examples/kernels/mamba.h"
#include "examples/kernels/norms.h"
#include "examples/kernels/quantized_matmul.h"
#include "examples/kernels/rope.h"
#include "examples/kernels/segments.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/split_k_matmul.h"
#include "examples/kernels/sums.h"
#include "examples/kernels/transpose.h"
#include "examples/kernels/vector_add.h"
#include "examples/kernels/welford.h"
#include "tests/support/example_case.h"

namespace tilewright::testing {

constexpr double kSingle = 2e-5;  // sums and functions in f32
constexpr double kHalf = 0x1p-7;  // a result of bf16

/// The sizes of a tensor of two dimensions, and how it is stored.
struct RowShape {
  int64_t m, n;
  DType dtype = f32;
  int spread = 0;  ///< 1: rows apart, 2: elements too

  std::string text() const { return fmt::format("{}x{} {}{}", m, n, to_string(dtype), spread); }
  double tolerance() const { return dtype == f32 ? kSingle : kHalf; }
};

// The first is the one that is emulated.
const RowShape kRowShapes[] = {{5, 33}, {1, 1},         {3, 64, bf16},
                               {0, 8},  {4, 7, f32, 1}, {2, 9, f32, 2}};

template <class Fill>
void add_rows(std::vector<ExampleCase>& all, const KernelHandle& kernel, const Fill& fill) {
  for (const RowShape& shape : kRowShapes) {
    ExampleCase& one = all.emplace_back(kernel, shape.tolerance(), shape.text());
    fill(one, shape);
  }
}

inline Values input(ExampleCase& one, const RowShape& shape, double least = -2, double most = 2) {
  const Values values = one.random({shape.m, shape.n}, shape.dtype, least, most);
  if (shape.spread > 0) one.spread(shape.spread == 1);
  return values;
}

inline void add_copies_and_sums(std::vector<ExampleCase>& all) {
  add_rows(all, examples::transpose, [](ExampleCase& one, const RowShape& s) {
    const Values x = input(one, s);
    Values& y = one.expect({s.n, s.m});
    for_each(s.m, s.n, [&](auto i, auto j) { y(j, i) = x(i, j); });
  });
  for (const KernelHandle* kernel : {&examples::sum_rows.handle(), &examples::long_sum.handle()})
    add_rows(all, *kernel, [](ExampleCase& one, const RowShape& s) {
      const Values x = input(one, s);
      Values& y = one.expect({s.m});
      for_each(s.m, s.n, [&](auto i, auto j) { y(i) += x(i, j); });
    });
  for (const int64_t n : {100, 1, 0}) {
    ExampleCase& one = all.emplace_back(examples::total, kSingle, fmt::format("{}", n));
    const Values x = one.random({n});
    one.expect({1})(0) = sum_over(n, [&](auto i) { return x(i); });
    ExampleCase& two = all.emplace_back(examples::vector_add, 0, fmt::format("{}", n));
    const Values a = two.random({n}), b = two.random({n});
    Values& c = two.expect({n});
    for (int64_t i = 0; i < n; ++i) c(i) = a(i) + b(i);
  }
}

inline void add_softmaxes(std::vector<ExampleCase>& all) {
  for (const KernelHandle* kernel :
       {&examples::softmax.handle(), &examples::softmax_two_pass.handle()})
    add_rows(all, *kernel, [](ExampleCase& one, const RowShape& s) {
      const Values x = input(one, s);
      Values& y = one.expect({s.m, s.n});
      for_each(s.m, s.n, [&](auto i, auto j) {
        y(i, j) = std::exp(x(i, j)) / sum_over(s.n, [&](auto l) { return std::exp(x(i, l)); });
      });
    });
}

/// Mean and 1 / deviation of a row of x; `centered`: the mean counts.
struct RowMoments {
  double mean = 0, rstd = 0;
  RowMoments(const Values& x, int64_t i, int64_t n, bool centered) {
    if (centered) mean = sum_over(n, [&](auto j) { return x(i, j); }) / static_cast<double>(n);
    rstd = 1 / std::sqrt(sum_over(n, [&](auto j) { return std::pow(x(i, j) - mean, 2); }) /
                             static_cast<double>(n) +
                         0.0625);
  }
};

inline void add_norms(std::vector<ExampleCase>& all) {
  for (const bool layer : {true, false}) {
    const KernelHandle& forward =
        layer ? examples::layer_norm.handle() : examples::rms_norm.handle();
    add_rows(all, forward, [layer](ExampleCase& one, const RowShape& s) {
      const Values x = input(one, s), w = one.random({s.n}, s.dtype);
      const Values b = layer ? one.random({s.n}, s.dtype) : Values({s.n});
      one.constant(0.0625f);
      Values y({s.m, s.n}), mean({s.m}), rstd({s.m});
      for_each(s.m, s.n, [&](auto i, auto j) {
        const RowMoments row(x, i, s.n, layer);
        mean(i) = row.mean, rstd(i) = row.rstd;
        y(i, j) = (x(i, j) - row.mean) * row.rstd * w(j) + b(j);
      });
      one.expected = layer ? std::vector{y, mean, rstd} : std::vector{y, rstd};
    });
    const KernelHandle& backward =
        layer ? examples::layer_norm_backward.handle() : examples::rms_norm_backward.handle();
    add_rows(all, backward, [layer](ExampleCase& one, const RowShape& s) {
      one.tolerance *= 4;  // sums over rows of products of three
      const Values dy = input(one, s), x = input(one, s), w = one.random({s.n}, s.dtype);
      const Values mean = layer ? one.random({s.m}) : Values({s.m});
      const Values rstd = one.random({s.m}, f32, 0.5, 1);
      Values dx({s.m, s.n}), dw({s.n}), db({s.n});
      const auto hat = [&](auto i, auto j) { return (x(i, j) - mean(i)) * rstd(i); };
      const double n = static_cast<double>(s.n);
      for_each(s.m, s.n, [&](auto i, auto j) {
        const double a = layer ? sum_over(s.n, [&](auto l) { return dy(i, l) * w(l); }) / n : 0;
        const double b = sum_over(s.n, [&](auto l) { return dy(i, l) * w(l) * hat(i, l); }) / n;
        dx(i, j) = (dy(i, j) * w(j) - a - hat(i, j) * b) * rstd(i);
        dw(j) += dy(i, j) * hat(i, j);
        db(j) += dy(i, j);
      });
      one.expected = layer ? std::vector{dx, dw, db} : std::vector{dx, dw};
    });
  }
  add_rows(all, examples::welford, [](ExampleCase& one, const RowShape& s) {
    const Values x = input(one, s);
    Values mean({s.m}), variance({s.m});
    for (int64_t i = 0; i < s.m; ++i) {
      mean(i) = sum_over(s.n, [&](auto j) { return x(i, j); }) / static_cast<double>(s.n);
      variance(i) = sum_over(s.n, [&](auto j) { return std::pow(x(i, j) - mean(i), 2); }) /
                    static_cast<double>(s.n);
    }
    one.expected = {mean, variance};
  });
}

inline void add_activations(std::vector<ExampleCase>& all) {
  for (const bool gelu : {true, false})
    add_rows(all, gelu ? examples::geglu.handle() : examples::swiglu.handle(),
             [gelu](ExampleCase& one, const RowShape& s) {
               const Values a = input(one, s), b = input(one, s);
               Values& y = one.expect({s.m, s.n});
               for_each(s.m, s.n, [&](auto i, auto j) {
                 const double x = a(i, j);
                 const double curve = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
                 y(i, j) =
                     b(i, j) * (gelu ? x / 2 * (1 + std::tanh(curve)) : x / (1 + std::exp(-x)));
               });
             });
  for (const auto& [t, h, d] :
       {std::tuple<int64_t, int64_t, int64_t>{3, 2, 10}, {1, 1, 2}, {0, 2, 4}}) {
    ExampleCase& one = all.emplace_back(examples::rope, kSingle, fmt::format("{} {} {}", t, h, d));
    const Values x = one.random({t, h, d}), cos = one.random({t, d / 2}),
                 sin = one.random({t, d / 2});
    Values& y = one.expect({t, h, d});
    for (int64_t i = 0; i < t; ++i)
      for_each(h, d / 2, [&, d = d](auto j, auto l) {
        const double a = x(i, j, l), b = x(i, j, l + d / 2);
        y(i, j, l) = a * cos(i, l) - b * sin(i, l);
        y(i, j, l + d / 2) = b * cos(i, l) + a * sin(i, l);
      });
  }
}

inline void add_losses(std::vector<ExampleCase>& all) {
  add_rows(all, examples::cross_entropy, [](ExampleCase& one, const RowShape& s) {
    const Values x = input(one, s), label = one.numbers({s.m}, s.n - 1);
    Values& y = one.expect({s.m});
    for (int64_t i = 0; i < s.m; ++i)
      y(i) = std::log(sum_over(s.n, [&](auto j) { return std::exp(x(i, j)); })) - x(i, label(i));
  });
  add_rows(all, examples::kl_div, [](ExampleCase& one, const RowShape& s) {
    const Values x = input(one, s), t = input(one, s, 0, 1);
    Values& y = one.expect({s.m});
    for_each(s.m, s.n, [&](auto i, auto j) {
      if (t(i, j) > 0) y(i) += t(i, j) * (std::log(t(i, j)) - x(i, j));
    });
  });
  add_rows(all, examples::jsd, [](ExampleCase& one, const RowShape& s) {
    const Values x = input(one, s, -3, 0), z = input(one, s, -3, 0);
    Values& y = one.expect({s.m});
    for_each(s.m, s.n, [&](auto i, auto j) {
      const double p = std::exp(x(i, j)), q = std::exp(z(i, j)), middle = std::log((p + q) / 2);
      y(i) += (p * (x(i, j) - middle) + q * (z(i, j) - middle)) / 2;
    });
  });
}

inline void add_products(std::vector<ExampleCase>& all) {
  struct Sizes {
    int64_t m, k, n;
  };
  for (const auto& [m, k, n] : {Sizes{9, 14, 11}, {1, 2, 1}, {16, 32, 16}, {5, 0, 3}}) {
    const std::string text = fmt::format("{}x{}x{}", m, k, n);
    const auto product = [k = k](const Values& a, const Values& b, auto i, auto j) {
      return sum_over(k, [&](auto l) { return a(i, l) * b(l, j); });
    };
    ExampleCase& batched = all.emplace_back(examples::batched_matmul, kSingle, text);
    const Values as = batched.random({3, m, k}), bs = batched.random({3, k, n});
    Values& cs = batched.expect({3, m, n});
    for (int64_t i = 0; i < 3; ++i)
      for_each(m, n, [&, k = k](auto r, auto c) {
        cs(i, r, c) = sum_over(k, [&](auto l) { return as(i, r, l) * bs(i, l, c); });
      });

    ExampleCase& f8 = all.emplace_back(examples::fp8_matmul, kHalf, text);
    const Values a = f8.numbers({m, k}, 6, f8e4m3), b = f8.numbers({k, n}, 6, f8e4m3);
    const Values rows = f8.random({m}), cols = f8.random({n});
    Values& c = f8.expect({m, n});
    for_each(m, n, [&](auto i, auto j) { c(i, j) = product(a, b, i, j) * rows(i) * cols(j); });

    ExampleCase& int4 = all.emplace_back(examples::int4_matmul, kHalf, text);
    const Values x = int4.random({m, k}, bf16), bytes = int4.numbers({k / 2, n}, 255, u8);
    const Values scale = int4.random({n});
    const auto weight = [&, k = k](int64_t l, int64_t j) {
      const int byte = static_cast<int>(bytes(l % (k / 2), j)),
                half = l < k / 2 ? byte & 15 : byte >> 4;
      return half < 8 ? half : half - 16;
    };
    Values& y = int4.expect({m, n});
    for_each(m, n, [&, k = k](auto i, auto j) {
      y(i, j) = sum_over(k, [&](auto l) { return x(i, l) * weight(l, j); }) * scale(j);
    });

    for (const KernelHandle* kernel :
         {&examples::split_k_matmul.handle(), &examples::split_k_matmul_ordered.handle()}) {
      ExampleCase& split = all.emplace_back(*kernel, kSingle, text);
      const Values left = split.random({m, k}), right = split.random({k, n});
      Values& sum = split.expect({m, n});
      for_each(m, n, [&](auto i, auto j) { sum(i, j) = product(left, right, i, j); });
    }
  }
}

inline void add_embedding_and_segments(std::vector<ExampleCase>& all) {
  for (const auto& [t, d] : {std::pair<int64_t, int64_t>{7, 12}, {1, 1}, {0, 4}}) {
    ExampleCase& one = all.emplace_back(examples::embedding, 0, fmt::format("{}x{}", t, d));
    const Values ids = one.numbers({t}, 5, i32), table = one.random({5, d}, bf16);
    Values& y = one.expect({t, d});
    // Row 5 is outside the table.
    for_each(t, d, [&](auto i, auto j) { y(i, j) = ids(i) < 5 ? table(ids(i), j) : 0; });

    ExampleCase& segments =
        all.emplace_back(examples::segment_sum, kSingle, fmt::format("{}x{}", t, d));
    const Values x = segments.random({t, d});
    Values numbers({t});
    for (int64_t i = 0; i < t; ++i) numbers(i) = static_cast<double>(i * 2 / 5 + i / 4);
    segments.add(numbers, i32);
    segments.constant(int64_t{6});
    Values& sums = segments.expect({6, d});
    for_each(t, d, [&](auto i, auto j) { sums(numbers(i), j) += x(i, j); });
  }
}

/// Sequences or groups of these lengths, as offsets.
inline Values offsets_of(std::vector<int64_t> lengths) {
  Values offsets({static_cast<int64_t>(lengths.size()) + 1});
  for (size_t i = 0; i < lengths.size(); ++i)
    offsets(i + 1) = offsets(i) + static_cast<double>(lengths[i]);
  return offsets;
}

inline void add_jagged(std::vector<ExampleCase>& all) {
  for (const std::vector<int64_t>& lengths :
       std::vector<std::vector<int64_t>>{{3, 0, 8, 1}, {1}, {0, 0}}) {
    const Values offsets = offsets_of(lengths);
    const int64_t count = static_cast<int64_t>(lengths.size()), k = 6, n = 9;
    const int64_t total = static_cast<int64_t>(offsets(count));
    const std::string text = fmt::format("{}", fmt::join(lengths, " "));
    const auto group = [&](int64_t row) {
      int64_t g = 0;
      while (offsets(g + 1) <= static_cast<double>(row)) ++g;
      return g;
    };

    ExampleCase& softmax = all.emplace_back(examples::jagged_softmax, kSingle, text);
    const Values x = softmax.random({total, n});
    softmax.add(offsets, i64);
    Values& y = softmax.expect({total, n});
    for_each(total, n, [&](auto i, auto j) {
      double sum = 0;
      for (auto r = static_cast<int64_t>(offsets(group(i))); r < offsets(group(i) + 1); ++r)
        sum += std::exp(x(r, j));
      y(i, j) = std::exp(x(i, j)) / sum;
    });

    for (const bool dense : {true, false}) {
      ExampleCase& one = all.emplace_back(
          dense ? examples::jagged_dense.handle() : examples::grouped_matmul.handle(), kSingle,
          text);
      const Values a = one.random({total, k});
      if (dense) one.add(offsets, i64);
      const Values b = one.random({count, k, n});
      if (!dense) one.add(offsets, i64);
      const Values bias = dense ? one.random({count, n}) : Values({count, n});
      Values& c = one.expect({total, n});
      for_each(total, n, [&](auto i, auto j) {
        const int64_t g = group(i);
        c(i, j) = bias(g, j) + sum_over(k, [&](auto l) { return a(i, l) * b(g, l, j); });
      });
    }

    ExampleCase& moe = all.emplace_back(examples::moe_matmul, kSingle, text);
    const Values tokens = moe.random({5, k}), experts = moe.random({count, k, n});
    const Values chosen = moe.numbers({total}, 4), weights = moe.random({total}, f32, 0, 1);
    moe.add(offsets, i64);
    Values& out = moe.expect({5, n});
    for_each(total, n, [&](auto i, auto j) {
      out(chosen(i), j) += weights(i) * sum_over(k, [&](auto l) {
                             return tokens(chosen(i), l) * experts(group(i), l, j);
                           });
    });
  }
}

inline void add_chunk_scan(std::vector<ExampleCase>& all) {
  for (const auto& [chunks, length, heads, p] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 11, 2, 9}, {2, 4, 1, 1}}) {
    const int64_t state = 5;
    ExampleCase& one = all.emplace_back(examples::chunk_scan, kSingle,
                                        fmt::format("{} {} {} {}", chunks, length, heads, p));
    const Values cb = one.random({chunks, length, length}),
                 x = one.random({chunks, length, heads, p});
    const Values dt = one.random({chunks, heads, length}, f32, 0, 1);
    const Values decay = one.random({chunks, heads, length}, f32, -1, 0);
    const Values c = one.random({chunks, length, state}),
                 states = one.random({chunks, heads, p, state});
    const Values d = one.random({heads});
    Values& y = one.expect({chunks, length, heads, p});
    for_each(chunks, heads, [&, length = length, p = p](auto i, auto h) {
      for_each(length, p, [&](auto t, auto j) {
        y(i, t, h, j) =
            x(i, t, h, j) * d(h) + std::exp(decay(i, h, t)) * sum_over(state, [&](auto s) {
                                     return c(i, t, s) * states(i, h, j, s);
                                   });
        for (int64_t u = 0; u <= t; ++u)
          y(i, t, h, j) +=
              cb(i, t, u) * std::exp(decay(i, h, t) - decay(i, h, u)) * dt(i, h, u) * x(i, u, h, j);
      });
    });
    one.tolerance *= 8;  // sums of products of four
  }
}

inline std::vector<ExampleCase> example_cases() {
  std::vector<ExampleCase> all;
  all.reserve(256);  // references to cases are kept while they are filled
  add_copies_and_sums(all);
  add_softmaxes(all);
  add_norms(all);
  add_activations(all);
  add_losses(all);
  add_products(all);
  add_embedding_and_segments(all);
  add_jagged(all);
  add_chunk_scan(all);
  return all;
}

/// Configs for a call, from the default one: small blocks, and none alike in blocks, warps, width
/// of accesses and whether rows are taken whole.
inline std::vector<Config> example_configs(const ExampleCase& one) {
  std::vector<CompileArg> args;
  for (const ExampleInput& input : one.inputs) {
    if (!input.number)
      args.emplace_back(input.spec());
    else
      std::visit([&](auto value) { args.emplace_back(value); }, input.number->constant);
  }
  const Config base = one.kernel->compile(args, parse_target("sm_80")).config();
  std::vector<Config> configs = {base};
  const auto add = [&](std::vector<int64_t> blocks, int warps, int vector, int loop) {
    Config config;
    for (size_t i = 0; i < base.block.size(); ++i)
      config.block.push_back(blocks[i % blocks.size()]);
    config.warps = warps;
    config.vector = vector;
    config.reduction_loop = loop;
    configs.push_back(config);
  };
  add({2, 8, 4}, 1, 8, 16);
  add({4, 3, 5}, 2, 4, 0);
  add({1, 16, 2}, 4, 16, 7);
  return configs;
}

/// Runs a case on a device and tells what differs from what is expected, or nothing.
inline std::string run_example(const ExampleCase& one, const Config& config, Device device) {
  std::vector<ExampleTensor> tensors;
  tensors.reserve(one.inputs.size());
  std::vector<CallArg> args;
  for (const ExampleInput& input : one.inputs) {
    if (input.number)
      args.push_back(*input.number);
    else
      args.push_back(CallArg::tensor(tensors.emplace_back(input.on(device)).view));
  }
  one.kernel->set_config(config);
  std::vector<Array> results = one.kernel->call(args);
  one.kernel->set_config(std::nullopt);
  if (results.size() != one.expected.size()) return "a wrong number of results";
  for (size_t r = 0; r < results.size(); ++r) {
    const Array host = results[r].to_host();
    const Values& expected = one.expected[r];
    if (host.elements() != static_cast<int64_t>(expected.elements.size())) return "a wrong size";
    for (int64_t i = 0; i < host.elements(); ++i) {
      const double y = expected.elements[static_cast<size_t>(i)], x = host.value(i);
      if (!(std::abs(x - y) <= one.tolerance * (1 + std::abs(y))))
        return fmt::format("result {} is {} at element {}, expected {}", r, x, i, y);
    }
  }
  return {};
}

}  // namespace tilewright::testing
