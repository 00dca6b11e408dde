#include "tilewright/codegen/config_default_warpgroups.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/low_part.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/repitch.h"
#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

// The model's figures, in clocks of one multiprocessor; measured on an H200.
constexpr double kProductBytes = 4096;  // operand bytes times columns: 64 x 256 x 16 halves in 128
constexpr double kLoadBytes = 50;       // from L2, in a clock
constexpr double kMemoryBytes = 2800;   // of the whole device, in a clock
constexpr double kBegin = 1500;         // until a block's first product
constexpr double kStoreElements = 11;   // of a tile's result, in a clock
constexpr double kShare = 4000;         // adding up the parts of a cluster
constexpr double kSlack = 0.15;
constexpr int64_t kPartsBytes =
    32 * 1024;  // of a split sum, above which they take the rings' bytes
constexpr int64_t kWorthCopying = int64_t{1} << 30;  // products above which padded copies pay

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// A product as the model sees it.
struct Product {
  int m_axis = -1, n_axis = -1, k_axis = -1;
  int64_t m = 1, n = 1, k = 1, batch = 1;
  int bytes = 2;         // of an operand's element
  bool parts = false;    // whether its low part is kept beside it
  int result_bytes = 2;  // of a stored one
  bool stored_by_map = true;
};

struct Walk {
  int64_t size = 0;
  bool grid = false;
};

std::map<int64_t, Walk> walked_axes(const ir::Function& fn) {
  std::map<int64_t, Walk> walks;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::tile_loop) return;
    const ir::LoopView loop(op);
    const auto& axes = op.integers(AttrKey::axes);
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto begin = known_value(fn, loop.begins[i]), limit = known_value(fn, loop.limits[i]);
      if (begin && limit)
        walks[axes[i]] = {std::max<int64_t>(1, *limit - *begin),
                          op.integer(AttrKey::parallel) != 0};
    }
  });
  return walks;
}

/// The product that all dots of the kernel are; none when they differ or are not in a form that
/// this file chooses for.
std::optional<Product> find_product(const ir::Function& fn, const Target& target) {
  const std::map<int64_t, Walk> walks = walked_axes(fn);
  std::optional<Product> found;
  bool fits = true;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::dot || !fits) return;
    const ir::Shape &a = op.operand(0)->type.shape, &b = op.operand(1)->type.shape;
    fits = find_instruction(MatrixUnit::wgmma, op, target) != nullptr && a[0].is_block() &&
           a[1].is_block() && b[1].is_block();
    if (!fits) return;
    Product product;
    product.m_axis = a[0].axis;
    product.n_axis = b[1].axis;
    product.k_axis = a[1].axis;
    product.bytes = size_of(op.operand(0)->type.dtype);
    product.parts = has_parts(op);
    if (found && (found->m_axis != product.m_axis || found->n_axis != product.n_axis ||
                  found->bytes != product.bytes || found->parts != product.parts))
      fits = false;
    if (!found) found = product;
  });
  if (!fits || !found) return std::nullopt;
  for (const auto& [axis, walk] : walks) {
    if (axis == found->m_axis)
      found->m = walk.size;
    else if (axis == found->n_axis)
      found->n = walk.size;
    else if (axis == found->k_axis)
      found->k = walk.size;
    else if (walk.grid && fn.axes[axis].pinned)
      found->batch *= ceil_div(walk.size, fn.axes[axis].block);
  }
  for (size_t i = 0; i < fn.axes.size(); ++i) {
    const auto axis = static_cast<int>(i);
    const bool known = axis == found->m_axis || axis == found->n_axis || axis == found->k_axis;
    if (known == fn.axes[i].pinned || (known && !walks.contains(axis))) return std::nullopt;
  }
  const bool grid = walks.at(found->m_axis).grid && walks.at(found->n_axis).grid;
  return grid && !walks.at(found->k_axis).grid ? found : std::nullopt;
}

void note_stores(const ir::Function& fn, Product& product) {
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::store || !op.operand(1)->type.is_tile()) return;
    if (const ir::Param* param = fn.param_of(op.operand(0))) {
      product.result_bytes = std::max(product.result_bytes, size_of(param->spec.dtype));
      product.stored_by_map &= ir::is_plain_access(op);
      product.stored_by_map &= takes_tensor_map(param->spec) && param->spec.strides.back() == 1;
    }
  });
}

struct Choice {
  int64_t m, n, k;
  int split = 1, stages = 4;
  double clocks = 0;
};

int warps_of(const Choice& choice) { return choice.m >= 128 ? 8 : 4; }

/// Bytes of shared memory beside the rings.
int64_t result_bytes(const Product& product, const Choice& choice) {
  const int64_t parts = (choice.split - 1) * choice.m * choice.n * 4;
  const int64_t kept = parts <= kPartsBytes ? parts : 0;
  if (choice.m % 64 != 0) return kept + choice.m * choice.n * 4;  // turned through shared memory
  if (!product.stored_by_map || choice.split > 1)
    return kept + choice.m * choice.n * product.result_bytes;
  return int64_t{warps_of(choice) / 4} * 2 * 64 * 128;
}

/// Sets the number of stages that fit; false when fewer than three do.
bool choose_stages(const Product& product, const Target& target, Choice& choice) {
  const int64_t stage = (choice.m + choice.n) * choice.k * product.bytes;
  const int64_t low = product.parts ? std::max(choice.m, choice.n) * choice.k * product.bytes : 0;
  const int64_t room = target.shared_bytes - 2048 - result_bytes(product, choice) - low;
  choice.stages = static_cast<int>(std::min<int64_t>(8, room / stage));
  return choice.stages >= 3;
}

/// The share of multiprocessors that clusters of so many blocks can use: a cluster does not reach
/// across the groups in which multiprocessors come.
double reachable(int blocks) { return blocks <= 2 ? 1 : blocks == 4 ? 0.9 : 0.8; }

double clocks_of(const Product& product, const Target& target, const Choice& choice) {
  const int64_t tiles =
      product.batch * ceil_div(product.m, choice.m) * ceil_div(product.n, choice.n);
  const auto blocks = static_cast<double>(tiles * choice.split);
  const double waves = std::ceil(blocks / (target.multiprocessors * reachable(choice.split)));
  const double steps = static_cast<double>(ceil_div(ceil_div(product.k, choice.k), choice.split));
  // Few rows are computed transposed: 64 columns are the instruction's rows then.
  const int64_t area =
      choice.m % 64 == 0 ? choice.m * choice.n : std::max<int64_t>(choice.m, 8) * choice.n;
  const double multiply = (product.parts ? 3 : 1) * static_cast<double>(area * choice.k) *
                          product.bytes / kProductBytes;
  const double load =
      static_cast<double>((choice.m + choice.n) * choice.k * product.bytes) / kLoadBytes;
  const double end = static_cast<double>(choice.m * choice.n) / kStoreElements / choice.split;
  double clocks = waves * (steps * std::max(multiply, load) + end) + kBegin;
  if (choice.split > 1) clocks += waves * kShare;
  const double memory = static_cast<double>(
      product.batch * (product.m * product.k + product.k * product.n) * product.bytes +
      product.batch * product.m * product.n * product.result_bytes);
  // Of choices that memory bounds alike, those that leave the multiprocessors more time are better.
  return std::max(clocks, memory / kMemoryBytes) + kSlack * clocks;
}

std::vector<Choice> candidates(const Product& product) {
  std::vector<Choice> all;
  const int64_t depth = 128 / product.bytes;
  const auto add = [&](int64_t m, int64_t n, int64_t k) {
    for (int split : {1, 2, 4, 8}) all.push_back({m, n, k, split});
  };
  if (product.m < 64) {
    const int64_t m = product.m <= 8 ? 8 : product.m <= 16 ? 16 : 32;
    for (int64_t n : {64, 128}) add(m, n, 2 * depth);
    return all;
  }
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{128, 256},
                             {256, 128},
                             {128, 128},
                             {64, 128},
                             {128, 64},
                             {64, 64},
                             {64, 32}})
    add(m, n, depth);
  return all;
}

Config to_config(const ir::Function& fn, const Product& product, const Target& target,
                 const Choice& choice) {
  Config config;
  for (size_t i = 0; i < fn.axes.size(); ++i) {
    const auto axis = static_cast<int>(i);
    if (fn.axes[i].pinned) continue;
    config.block.push_back(axis == product.m_axis   ? choice.m
                           : axis == product.n_axis ? choice.n
                                                    : choice.k);
  }
  config.copy = CopyKind::tma;
  config.matrix = MatrixUnit::wgmma;
  config.warps = warps_of(choice);
  config.stages = choice.stages;
  config.split_k = choice.split;
  const int64_t tiles =
      product.batch * ceil_div(product.m, choice.m) * ceil_div(product.n, choice.n);
  if (product.m > choice.m && product.n > choice.n) config.group = 8;
  if (choice.split == 1 && tiles > target.multiprocessors) {
    config.persistent = true;
    // Neighbours share what they read when there are many tiles to walk.
    if (product.batch == 1 && tiles >= 4 * target.multiprocessors && product.m >= 2 * choice.m)
      config.cluster = 2;
  }
  return config;
}

/// Whether the whole compiler takes the config: what a kernel does besides its products may need
/// more shared memory than the estimates here know of.
bool passes(const Config& config, const ir::Function& fn, const Target& target) {
  try {
    lower(fn, config, target);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::optional<Config> default_warpgroup_config(const ir::Function& fn, const Target& target) {
  if (target.sm != 90 || !target.specific) return std::nullopt;
  std::optional<Product> product = find_product(fn, target);
  if (!product) return std::nullopt;
  note_stores(fn, *product);
  const bool padded = !params_to_repitch(fn, written_params(fn)).empty();
  if (padded && product->m * product->n * product->k * product->batch < kWorthCopying)
    return std::nullopt;
  std::vector<Choice> choices;
  for (Choice choice : candidates(*product)) {
    if (choice.split > 1 && ceil_div(product->k, choice.k) < 4 * choice.split) continue;
    const bool wasteful = choice.m > 64 && choice.m >= 2 * product->m;
    const int64_t tiles =
        product->batch * ceil_div(product->m, choice.m) * ceil_div(product->n, choice.n);
    if (wasteful || (choice.split > 1 && tiles >= target.multiprocessors)) continue;
    if (!choose_stages(*product, target, choice)) continue;
    choice.clocks = clocks_of(*product, target, choice);
    choices.push_back(choice);
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.clocks < b.clocks; });
  for (const Choice& choice : choices) {
    Config config = to_config(fn, *product, target, choice);
    config.repitch = padded;
    if (passes(config, fn, target)) return config;
  }
  return std::nullopt;
}

}  // namespace tilewright::codegen
