// The only way to make operations: constructors that infer the result's type and check it, and the
// rewriter that passes are made of.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "tilewright/ir/node.h"
#include "tilewright/ir/precision.h"

namespace tilewright::ir {

/// What an access may have besides tensor, value and indices; empty text is the default.
struct AccessOptions {
  const Value* mask = nullptr;  ///< bool, of the access's shape
  std::string evict = {};       ///< loads and stores: "first" or "last"
  std::string order = {};       ///< atomics: "acquire", "release" or "acq_rel"
};

/// Appends operations to a region of a function. Wrong operands throw InternalError: a caller that
/// handles a user's input (dsl, parser) checks first and raises an Error.
class Builder {
 public:
  explicit Builder(Function& fn) : fn_(fn), region_(fn.mutable_body()) {}

  Function& function() { return fn_; }
  Region* region() const { return region_; }
  Loc loc;  ///< given to every operation made

  /// Appends operations to `region` until the returned guard dies.
  class Scope {
   public:
    Scope(Builder& builder, Region* region) : builder_(builder), saved_(builder.region_) {
      builder.region_ = region;
    }
    ~Scope() { builder_.region_ = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    Region* saved_;
  };

  const Value* constant(DType dtype, int64_t value);
  const Value* constant(DType dtype, double value);
  const Value* index(int64_t value) { return constant(DType::i64, value); }
  const Value* dim(const Value* tensor, int axis);
  const Value* slice(const Value* begin, const Value* limit, Dim dim);
  const Value* slice_begin(const Value* slice);
  const Value* slice_end(const Value* slice);
  const Value* slice_id(const Value* slice);
  const Value* slice_index(const Value* slice);
  const Value* iota(Dim dim);
  const Value* load(const Value* tensor, std::vector<const Value*> indices,
                    const AccessOptions& options = {});
  const Op* store(const Value* tensor, const Value* value, std::vector<const Value*> indices,
                  const AccessOptions& options = {});
  /// `fn`: add, min, max, bit_and, bit_or or bit_xor; gives what was there before.
  const Value* atomic(Fn fn, const Value* tensor, const Value* value,
                      std::vector<const Value*> indices, const AccessOptions& options = {});
  const Value* atomic_exchange(const Value* tensor, const Value* value,
                               std::vector<const Value*> indices,
                               const AccessOptions& options = {});
  const Value* atomic_cas(const Value* tensor, const Value* value, const Value* expected,
                          std::vector<const Value*> indices, const AccessOptions& options = {});
  const Value* unary(Fn fn, const Value* x);
  const Value* binary(Fn fn, const Value* x, const Value* y);
  const Value* compare(Fn fn, const Value* x, const Value* y);
  const Value* fma(const Value* x, const Value* y, const Value* z);
  const Value* select(const Value* condition, const Value* x, const Value* y);
  const Value* cast(const Value* x, DType dtype);  ///< x itself when it has the dtype
  const Value* broadcast(const Value* x, Shape shape, std::vector<int64_t> dims);
  /// A scalar spread over `shape`; x itself when the shape is empty.
  const Value* fill(const Value* scalar, Shape shape) { return broadcast(scalar, shape, {}); }
  const Value* permute(const Value* x, std::vector<int64_t> dims);
  const Value* reshape(const Value* x, Shape shape);
  const Value* join(const std::vector<const Value*>& x, int64_t axis);
  const Value* pick(const Value* x, int64_t axis, int64_t position);
  const Value* convert(const Value* x);
  const Value* reduce(Fn fn, const Value* x, std::vector<int64_t> axes);
  const Value* dot(const Value* a, const Value* b, const Value* acc,
                   DotPrecision precision = DotPrecision::ieee);

  /// A loop over `axes` with its body region opened with one slice argument per axis and one
  /// argument per init. Fill the body (through region 0) and close it with yield().
  Op* tile_loop(std::vector<int64_t> axes, bool parallel, std::vector<const Value*> begins,
                std::vector<const Value*> limits, std::vector<const Value*> inits);
  /// An if with results of the given types and two empty regions.
  Op* if_else(const Value* condition, std::vector<Type> results);
  /// A loop that runs its body as long as a condition holds: the operand before the first
  /// iteration, then what the body yields first. The body takes one argument per init.
  Op* while_loop(const Value* condition, std::vector<const Value*> inits);
  const Op* grid_barrier() { return create(OpKind::grid_barrier, {}); }
  const Op* yield(std::vector<const Value*> values);

  /// Any operation; `type` is the result's type for those that cannot infer it (constant, cast),
  /// and is checked against the inferred one otherwise. Regions start empty.
  Op* create(OpKind kind, std::vector<const Value*> operands,
             std::vector<std::pair<AttrKey, Attr>> attributes = {}, const Type* type = nullptr);
  /// Region `i` of an operation being built, to be filled through a Scope.
  static Region* region_of(const Op* op, int i) { return const_cast<Region*>(op->regions.at(i)); }
  /// A new argument of `region`.
  const Value* add_argument(Region* region, Type type, std::string name = {});

 private:
  Function& fn_;
  Region* region_;
};

/// The type of the one result of an operation, none for those with no result; regions' results
/// (tile_loop, if_else) are the caller's. Throws InternalError on operands that do not fit.
std::optional<Type> infer_type(const Op& op);

/// The loop-carried part of a tile_loop's operands, and the parts before it.
struct LoopView {
  explicit LoopView(const Op& loop);
  std::vector<const Value*> begins, limits, inits;
  std::vector<const Value*> slices;   ///< body arguments
  std::vector<const Value*> carried;  ///< body arguments
  const Region* body;
  const Region* fill;
};

/// The parts of a while_loop.
struct WhileView {
  explicit WhileView(const Op& loop);
  const Value* condition;  ///< of the first iteration
  const Value* again;      ///< of the next one: what the body yields first
  std::vector<const Value*> inits, carried, next;
  const Region* body;
};

/// The operands of a load, store, atomic or copy.
struct AccessView {
  explicit AccessView(const Op& access);
  const Value* tensor;
  const Value* value = nullptr;     ///< stored value, or the slot of a copy
  const Value* expected = nullptr;  ///< of atomic_cas
  const Value* mask = nullptr;
  std::vector<const Value*> indices;

  /// Whether some index is a tile.
  bool gathers() const;
  /// Dimensions of the accessed tile that belong to index `i`: one for a slice, none for a scalar,
  /// for a tile those of all index tiles.
  std::vector<int> axes_of(size_t i) const;
};

/// The shape of what these indices access.
Shape access_shape(const std::vector<const Value*>& indices);
/// AccessView::axes_of for indices of an access yet to be made.
std::vector<int> axes_of_index(const std::vector<const Value*>& indices, size_t i);

/// Whether an access has slices and scalars as indices and no mask: what copies can do.
bool is_plain_access(const Op& access);
/// Whether an operation writes (reads) elements of a tensor: its AccessView tells which.
bool writes_tensor(OpKind kind);
bool reads_tensor(OpKind kind);
bool is_atomic(OpKind kind);

/// Copies a function operation by operation; a rule may replace some on the way.
class Rewriter {
 public:
  /// Returns true when it has dealt with the operation (mapped its results with replace()).
  using Rule = std::function<bool(Rewriter&, const Op&)>;

  using Map = std::unordered_map<const Value*, const Value*>;

  /// Applies `rule` to every operation of `source`, outer before inner, copying those it declines.
  /// `finish`, if given, sees at the end what stands for each value of the source.
  static Function run(const Function& source, const Rule& rule,
                      const std::function<void(const Map&)>& finish = {});

  const Function& source() const { return source_; }
  Function& target() { return target_; }
  Builder& builder() { return builder_; }

  /// What stands for a value of the source in the target.
  const Value* operator()(const Value* value) const;
  std::vector<const Value*> operator()(const std::vector<const Value*>& values) const;
  /// Makes `with` stand for `value`, and gives it the user's name if it has none.
  void replace(const Value* value, const Value* with);

  /// Copies one operation with its regions (applying the rule inside) at the insertion point.
  Op* clone(const Op& op);
  /// Copies the operations of `from` to the insertion point, applying the rule.
  void clone_ops(const Region& from);
  /// Copies arguments and operations of `from` into the empty region `to`.
  void clone_region(const Region& from, Region* to);

 private:
  Rewriter(const Function& source, const Rule& rule);

  const Function& source_;
  const Rule& rule_;
  Function target_;
  Builder builder_;
  Map map_;
};

/// How often each value is used as an operand, in all regions.
std::unordered_map<const Value*, int> count_uses(const Function& fn);

}  // namespace tilewright::ir
