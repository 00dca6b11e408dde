// Tile IR: values, operations, regions and the function that owns them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tilewright/ir/functions.h"
#include "tilewright/ir/loc.h"
#include "tilewright/ir/size_program.h"
#include "tilewright/ir/type.h"

namespace tilewright::ir {

enum class OpKind : uint8_t {
#define TW_OP(name, operands, attributes, regions, effect) name,
#include "tilewright/ir/ops.def"
#undef TW_OP
};

enum class Effect : uint8_t { pure, read, write, sync, control };

/// What ops.def says of an operation.
struct OpInfo {
  std::string_view name;
  std::string_view operands;
  std::string_view attributes;
  int regions;
  Effect effect;
};

const OpInfo& info(OpKind kind);
std::optional<OpKind> find_op(std::string_view name);

enum class AttrKey : uint8_t {
#define TW_ATTR(name, type) name,
#include "tilewright/ir/attributes.def"
#undef TW_ATTR
};

std::string_view to_string(AttrKey key);
std::optional<AttrKey> find_attribute(std::string_view name);

using Attr = std::variant<int64_t, double, Fn, std::vector<int64_t>, Shape, std::string>;

struct Op;
struct Region;

/// The result of an operation, an argument of a region, or a parameter of a function.
struct Value {
  Type type;
  const Op* def = nullptr;        ///< null for region arguments and parameters
  const Region* owner = nullptr;  ///< the region whose argument it is; null otherwise
  int index = 0;                  ///< among the results or arguments
  std::string name;               ///< the user's name for it, or empty; never part of a key
};

struct Op {
  OpKind kind;
  Loc loc;
  std::vector<const Value*> operands;
  std::vector<const Value*> results;
  std::vector<std::pair<AttrKey, Attr>> attributes;  ///< in the order of ops.def
  std::vector<const Region*> regions;
  const Region* parent = nullptr;

  const Value* operand(size_t i) const { return operands.at(i); }
  const Value* result(size_t i = 0) const { return results.at(i); }
  const Attr* find(AttrKey key) const;
  bool has(AttrKey key) const { return find(key) != nullptr; }
  int64_t integer(AttrKey key) const;  ///< throws InternalError when absent, as the next ones do
  int64_t integer_or(AttrKey key, int64_t otherwise) const;
  const std::vector<int64_t>& integers(AttrKey key) const;
  const Shape& shape(AttrKey key) const;
  Fn fn() const;
  Effect effect() const { return info(kind).effect; }
  /// Sets or replaces an attribute of an operation being built.
  void set(AttrKey key, Attr value);
};

struct Region {
  std::vector<const Value*> args;
  std::vector<const Op*> ops;
  const Op* parent = nullptr;  ///< null for the function's body

  bool empty() const { return ops.empty() && args.empty(); }
  /// The operands of the closing yield; empty when there is none.
  const std::vector<const Value*>& yields() const;
};

/// One axis of a tile loop, and its block size once bound.
struct Axis {
  std::string name;     ///< the user's loop variable, or empty
  int64_t block = 0;    ///< 0: not chosen yet
  bool pinned = false;  ///< chosen by the kernel (tw::block, tw::grid), not by the config
  Loc loc;
};

/// A number that a kernel leaves to the config, known when it is traced.
struct Tunable {
  std::string name;
  std::vector<int64_t> values;  ///< that it may have, the default first
  int64_t value = 0;            ///< for which the kernel was traced
  friend bool operator==(const Tunable&, const Tunable&) = default;
};

/// A parameter: a tensor or a run-time scalar. What the kernel allocates comes last: results, then
/// tensors that it does not return, which are workspace.
struct Param {
  const Value* value = nullptr;
  std::string name;
  TensorSpec spec;                          ///< tensors only
  bool allocated = false;                   ///< made by tw::empty / tw::zeros_like, not passed in
  std::optional<Attr> fill = std::nullopt;  ///< allocated: the number every element has at first
  /// Dynamic tensors: the i64 scalar parameter that holds the first size. A launch does not pass
  /// such a scalar: it is the first size of the first tensor passed that names it.
  int size_param = -1;

  bool is_tensor() const { return value->type.kind == Type::Kind::tensor; }
};

/// A traced kernel. Owns its nodes; nodes never move and never change once built (a pass makes a
/// new function). Move-only.
class Function {
 public:
  Function();
  Function(Function&&) noexcept;
  Function& operator=(Function&&) noexcept;
  ~Function();

  std::string name;
  Loc loc;
  std::vector<Param> params;
  std::vector<Axis> axes;
  std::vector<Tunable> tunables;
  std::vector<int> results;         ///< indices of the parameters that the kernel returns, in order
  std::vector<LaunchCheck> checks;  ///< of dynamic sizes; no part of the text form

  const Region& body() const { return *body_; }
  Region* mutable_body() { return body_; }

  /// The block size of a block dimension (0 when unbound), or the constant.
  int64_t extent(const Dim& dim) const {
    return dim.is_block() ? axes.at(dim.axis).block : dim.extent;
  }
  std::vector<int64_t> extents(const Shape& shape) const;
  /// Whether a parameter is memory of the kernel's own: allocated and not a result.
  bool is_workspace(size_t param) const;
  /// How many parameters are a launch's arguments and results: all before the workspaces.
  size_t launch_params() const;
  /// The parameter that `value` is; null when it is none.
  const Param* param_of(const Value* value) const;
  /// The scalar that holds the size of a dimension of a tensor parameter; null where the spec does.
  const Value* size_value(const Param& param, int64_t dim) const {
    return dim == 0 && param.size_param >= 0 ? params.at(param.size_param).value : nullptr;
  }
  /// Of a scalar that holds sizes of tensors: the most it can be. Nothing for other parameters.
  std::optional<int64_t> size_limit(size_t param) const;

  // For builders: fresh nodes in this function's arena.
  Value* new_value(Type type);
  Op* new_op(OpKind kind, Loc loc);
  Region* new_region();

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
  Region* body_ = nullptr;
};

/// A copy of `text` that lives as long as the program: Loc::file of parsed IR, which passes copy
/// from function to function and errors carry away. Thread-safe.
std::string_view intern(std::string_view text);

/// Calls visit(op) for every operation under `region`, outer before inner.
template <class Visit>
void for_each_op(const Region& region, const Visit& visit) {
  for (const Op* op : region.ops) {
    visit(*op);
    for (const Region* inner : op->regions) for_each_op(*inner, visit);
  }
}

}  // namespace tilewright::ir
