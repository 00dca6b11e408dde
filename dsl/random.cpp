#include "tilewright/dsl/random.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;
using Words = std::array<const Value*, 4>;
using Sizes = std::optional<std::vector<Size>>;

/// The end of the loop that a tile's positions belong to, where it is known when tracing.
std::optional<int64_t> known_end(const Value* slice) {
  if (slice->owner == nullptr || slice->owner->parent == nullptr) return std::nullopt;
  const Value* limit = ir::LoopView(*slice->owner->parent).limits.at(slice->index);
  if (limit->def == nullptr || limit->def->kind != OpKind::constant) return std::nullopt;
  return limit->def->integer(AttrKey::value);
}

int64_t size_of_dim(const char* what, const dsl::TileDim& dim, Loc loc) {
  if (dim.slice() == nullptr) return dsl::known_size(dim.size(), "a dimension of a tile", loc);
  const std::optional<int64_t> end = known_end(dim.slice());
  if (!end) raise(ErrorId::random_sizes, loc, what, dsl::describe(dim.slice()->type.shape));
  return *end;
}

/// The number of each element of a tile, counted row-major through all positions, i64.
const Value* numbers_of(const char* what, const std::vector<dsl::TileDim>& dims, const Sizes& sizes,
                        Loc loc) {
  ir::Builder& builder = dsl::Trace::current(what, loc).in_loop(what, loc);
  if (sizes && sizes->size() != dims.size())
    raise(ErrorId::sizes_rank, loc, sizes->size(), "the positions of a tile", dims.size());
  ir::Shape shape;
  std::vector<const Value*> positions;
  for (const dsl::TileDim& dim : dims) {
    const int64_t size = dim.slice() != nullptr ? 0 : size_of_dim(what, dim, loc);
    if (size < 0) raise(ErrorId::bad_size, loc, size);
    positions.push_back(dim.slice() != nullptr ? builder.slice_index(dim.slice())
                                               : builder.iota(ir::Dim::constant(size)));
    shape.push_back(positions.back()->type.shape[0]);
  }
  const Value* sum = nullptr;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const Value* part = builder.broadcast(positions[i], shape, {static_cast<int64_t>(i)});
    if (stride != 1)
      part = builder.binary(ir::Fn::mul, part, builder.fill(builder.index(stride), shape));
    sum = sum == nullptr ? part : builder.binary(ir::Fn::add, sum, part);
    if (i > 0)
      stride *= sizes ? dsl::known_size((*sizes)[i], what, loc) : size_of_dim(what, dims[i], loc);
  }
  return sum;
}

const Value* as_integer(const char* what, const Operand& x, Loc loc) {
  if (x.value() == nullptr) return dsl::constant_of(x.literal(), DType::i64, loc);
  if (!is_integer(x.value()->type.dtype))
    raise(ErrorId::function_dtype, loc, what, "integer", to_string(x.value()->type.dtype));
  return dsl::builder_at(what, loc).cast(x.value(), DType::i64);
}

const Value* seed_of(const char* what, const Operand& seed, Loc loc) {
  if (seed.value() == nullptr) return dsl::constant_of(seed.literal(), DType::i64, loc);
  return dsl::integer_scalar(seed, what, loc);
}

Words words_of(const Value* counter, const Value* stream, const Value* seed, Loc loc) {
  ir::Builder& builder = dsl::builder_at("random numbers", loc);
  const ir::Shape shape = dsl::common_shape("random numbers", {counter, stream, seed}, loc);
  std::vector<const Value*> operands;
  for (const Value* x : {counter, stream, seed}) operands.push_back(dsl::broadcast(x, shape));
  Words words{};
  for (int64_t i = 0; i < 4; ++i)
    words[i] = builder.create(OpKind::random, operands, {{AttrKey::word, i}})->result();
  return words;
}

Words draw(const char* what, const dsl::RandomAt& at, const Operand& seed, const Sizes& sizes,
           Loc loc) {
  dsl::Trace::current(what, loc).in_loop(what, loc);
  const Value* counter = at.positions() ? as_integer(what, *at.positions(), loc)
                                        : numbers_of(what, at.dims(), sizes, loc);
  const Value* key = seed_of("the seed of random numbers", seed, loc);
  return words_of(counter, dsl::builder_at(what, loc).index(0), key, loc);
}

/// A word as f32 in [0, 1): its upper half mirrored onto the lower one, divided by 2^31 or, so that
/// 1 is not reached, by slightly more.
Tile uniform(const Value* word, Loc loc) {
  ir::Builder& builder = dsl::builder_at("tw::rand", loc);
  const ir::Shape& shape = word->type.shape;
  const Value* zero = builder.fill(builder.constant(DType::i32, int64_t{0}), shape);
  const Value* negative = builder.compare(ir::Fn::lt, word, zero);
  const Value* low = builder.select(negative, builder.unary(ir::Fn::bit_not, word), word);
  const Value* scale = builder.fill(builder.constant(DType::f32, double{4.6566127342e-10f}), shape);
  return dsl::tile_of(builder.binary(ir::Fn::mul, builder.cast(low, DType::f32), scale), loc);
}

Tile rand_of(const dsl::RandomAt& at, const Operand& seed, const Sizes& sizes, Loc loc) {
  return uniform(draw("rand", at, seed, sizes, loc)[0], loc);
}

std::array<Tile, 4> rand4x_of(const dsl::RandomAt& at, const Operand& seed, const Sizes& sizes,
                              Loc loc) {
  const Words words = draw("rand4x", at, seed, sizes, loc);
  return {uniform(words[0], loc), uniform(words[1], loc), uniform(words[2], loc),
          uniform(words[3], loc)};
}

Tile randn_of(const dsl::RandomAt& at, const Operand& seed, const Sizes& sizes, Loc loc) {
  const Words words = draw("randn", at, seed, sizes, loc);
  const Tile first = max({uniform(words[0], loc), loc}, {1e-7, loc}, loc);
  const Tile angle = Operand(uniform(words[1], loc), loc) * Operand(6.283185307179586, loc);
  const Tile squared = Operand(log({first, loc}, loc), loc) * Operand(-2.0, loc);
  return Operand(sqrt({squared, loc}, loc), loc) * Operand(cos({angle, loc}, loc), loc);
}

/// The bits as a whole number below 2^32, times the count, without the lower 32 bits.
Tile randint_of(const dsl::RandomAt& at, int64_t low, int64_t high, const Operand& seed,
                const Sizes& sizes, Loc loc) {
  constexpr int64_t most = int64_t{1} << 31;
  if (low < -most || high > most || low >= high || high - low > most)
    raise(ErrorId::random_range, loc, low, high);
  const Tile word = dsl::tile_of(draw("randint", at, seed, sizes, loc)[0], loc);
  const Operand bits(cast({word, loc}, i64, loc) & Operand(int64_t{0xffffffff}, loc), loc);
  const Operand scaled(bits * Operand(high - low, loc), loc);
  return cast({Operand(scaled >> Operand(32, loc), loc) + Operand(low, loc), loc}, i32, loc);
}

}  // namespace

Tile rand(const dsl::RandomAt& at, const Operand& seed, Loc loc) {
  return rand_of(at, seed, std::nullopt, loc);
}
Tile rand(const dsl::RandomAt& at, const Operand& seed, std::initializer_list<Size> sizes,
          Loc loc) {
  return rand_of(at, seed, std::vector<Size>(sizes), loc);
}

std::array<Tile, 4> rand4x(const dsl::RandomAt& at, const Operand& seed, Loc loc) {
  return rand4x_of(at, seed, std::nullopt, loc);
}
std::array<Tile, 4> rand4x(const dsl::RandomAt& at, const Operand& seed,
                           std::initializer_list<Size> sizes, Loc loc) {
  return rand4x_of(at, seed, std::vector<Size>(sizes), loc);
}

Tile randn(const dsl::RandomAt& at, const Operand& seed, Loc loc) {
  return randn_of(at, seed, std::nullopt, loc);
}
Tile randn(const dsl::RandomAt& at, const Operand& seed, std::initializer_list<Size> sizes,
           Loc loc) {
  return randn_of(at, seed, std::vector<Size>(sizes), loc);
}

Tile randint(const dsl::RandomAt& at, int64_t low, int64_t high, const Operand& seed, Loc loc) {
  return randint_of(at, low, high, seed, std::nullopt, loc);
}
Tile randint(const dsl::RandomAt& at, int64_t low, int64_t high, const Operand& seed,
             std::initializer_list<Size> sizes, Loc loc) {
  return randint_of(at, low, high, seed, std::vector<Size>(sizes), loc);
}

std::array<Tile, 4> philox(const Operand& counter, const Operand& stream, const Operand& seed,
                           Loc loc) {
  dsl::Trace::current("tw::philox", loc).in_loop("tw::philox", loc);
  const Words words =
      words_of(as_integer("philox", counter, loc), as_integer("philox", stream, loc),
               as_integer("philox", seed, loc), loc);
  return {dsl::tile_of(words[0], loc), dsl::tile_of(words[1], loc), dsl::tile_of(words[2], loc),
          dsl::tile_of(words[3], loc)};
}

}  // namespace tilewright
