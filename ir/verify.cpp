#include "tilewright/ir/verify.h"

#include <algorithm>
#include <unordered_set>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify_op.h"

namespace tilewright::ir {
namespace {

/// Whether a tensor has a scalar for its size just when it is dynamic.
bool has_size(const Function& fn, const Param& param) {
  if (!param.spec.dynamic) return param.size_param < 0;
  return param.spec.rank() > 0 && !param.fill && param.size_param >= 0 &&
         param.size_param < static_cast<int>(fn.params.size()) &&
         fn.params[param.size_param].value->type == Type::scalar(DType::i64);
}

std::string header_fault(const Function& fn) {
  for (const Axis& axis : fn.axes)
    if (axis.block < 0) return "the block size of an axis is negative";
  for (const Param& param : fn.params) {
    if (param.value == nullptr) return "a parameter has no value";
    const Type& type = param.value->type;
    if (!param.is_tensor() && !type.is_scalar()) return "a parameter is neither tensor nor scalar";
    if (!param.is_tensor() && param.allocated) return "a scalar parameter is marked allocated";
    if (param.fill && !param.allocated) return "a tensor that is passed in is filled";
    if (param.fill && std::holds_alternative<double>(*param.fill) != is_float(param.spec.dtype))
      return "what a tensor is filled with is not of its dtype";
    if (!param.is_tensor()) continue;
    if (type.rank != param.spec.rank() || type.dtype != param.spec.dtype ||
        param.spec.strides.size() != param.spec.sizes.size())
      return "the type and the spec of a parameter differ";
    if (!has_size(fn, param)) return "the size of a dynamic tensor is no scalar parameter";
  }
  for (size_t i = fn.launch_params(); i > 0; --i)
    if (fn.is_workspace(i - 1)) return "a tensor that is no result stands before one that is";
  for (int i : fn.results)
    if (i < 0 || i >= static_cast<int>(fn.params.size()) || !fn.params[i].is_tensor())
      return "a result is not a tensor parameter";
  return "";
}

std::vector<Type> types_of(const std::vector<const Value*>& values) {
  std::vector<Type> types;
  for (const Value* value : values) types.push_back(value->type);
  return types;
}

/// What the regions of an operation must take and give, but for their contents.
std::string loop_fault(const Op& op) {
  const auto& axes = op.integers(AttrKey::axes);
  const std::vector<const Value*> inits(op.operands.begin() + 2 * axes.size(), op.operands.end());
  std::vector<Type> slices;
  for (int64_t axis : axes) slices.push_back(Type::slice(Dim::block(static_cast<int>(axis))));
  std::vector<Type> arguments = slices;
  for (const Value* init : inits) arguments.push_back(init->type);
  const Region &body = *op.regions[0], &fill = *op.regions[1];
  if (types_of(body.args) != arguments)
    return "the body's arguments are not one slice per axis and the carried values";
  if (types_of(op.results) != types_of(inits)) return "the results' types are not the inits'";
  if (types_of(body.yields()) != types_of(inits)) return "the body's yield does not fit the inits";
  if (fill.empty()) return "";
  if (types_of(fill.args) != slices) return "the fill's arguments are not one slice per axis";
  if (!fill.yields().empty()) return "the fill yields a value";
  return op.has(AttrKey::ahead) ? "" : "needs attribute ahead, having a fill";
}

std::string while_fault(const Op& op) {
  std::vector<Type> carried = types_of(op.operands);
  const Type condition = carried.front();
  carried.erase(carried.begin());
  const Region& body = *op.regions[0];
  if (types_of(body.args) != carried) return "the body's arguments are not the carried values";
  if (types_of(op.results) != carried) return "the results' types are not the inits'";
  carried.insert(carried.begin(), condition);
  if (types_of(body.yields()) != carried)
    return "the body's yield is not the next condition and the carried values";
  return "";
}

std::string regions_fault(const Op& op) {
  if (static_cast<int>(op.regions.size()) != info(op.kind).regions) return "wrong region count";
  for (const Region* region : op.regions)
    if (region == nullptr || region->parent != &op) return "a region is not linked to it";
  if (op.kind == OpKind::tile_loop) return loop_fault(op);
  if (op.kind == OpKind::while_loop) return while_fault(op);
  if (combines(op.kind)) return combine_region_fault(op);
  for (const Region* region : op.regions) {
    if (!region->args.empty()) return "its regions take no arguments";
    if (op.kind == OpKind::if_else && types_of(region->yields()) != types_of(op.results))
      return "a region's yield does not fit the results";
    if (op.kind != OpKind::if_else && !region->yields().empty()) return "its region yields a value";
  }
  return "";
}

class Verifier {
 public:
  explicit Verifier(const Function& fn) : fn_(fn) {}

  std::optional<Fault> run() {
    if (std::string fault = header_fault(fn_); !fault.empty()) return Fault{nullptr, fault};
    for (const Param& param : fn_.params) visible_.insert(param.value);
    if (!fn_.body().args.empty()) return Fault{nullptr, "the body takes arguments"};
    if (!fn_.body().yields().empty()) return Fault{nullptr, "the body yields a value"};
    region(fn_.body());
    return fault_;
  }

 private:
  void region(const Region& region) {
    std::vector<const Value*> made;
    for (size_t i = 0; i < region.args.size(); ++i) {
      const Value* arg = region.args[i];
      if (arg->owner != &region || arg->index != static_cast<int>(i) || arg->def != nullptr)
        return report(region.parent, "an argument is not linked to its region");
      value(region.parent, arg, made);
    }
    for (const Op* op : region.ops) {
      if (fault_) return;
      if (op->kind == OpKind::yield && op != region.ops.back())
        return report(op, "stands before the end of its region");
      operation(region, *op, made);
    }
    for (const Value* value : made) visible_.erase(value);
  }

  void operation(const Region& region, const Op& op, std::vector<const Value*>& made) {
    if (op.parent != &region) return report(&op, "is not linked to its region");
    for (const Value* operand : op.operands)
      if (operand != nullptr && !visible_.contains(operand))
        return report(&op, "uses a value that is not visible here");
    if (std::string fault = form_fault(fn_, op); !fault.empty()) return report(&op, fault);
    if (std::string fault = result_fault(fn_, op); !fault.empty()) return report(&op, fault);
    if (std::string fault = regions_fault(op); !fault.empty()) return report(&op, fault);
    nested(op);
    for (size_t i = 0; i < op.results.size() && !fault_; ++i) {
      const Value* result = op.results[i];
      if (result->def != &op || result->index != static_cast<int>(i) || result->owner != nullptr)
        return report(&op, "a result is not linked to it");
      value(&op, result, made);
    }
  }

  void nested(const Op& op) {
    const size_t open = open_axes_.size();
    if (op.kind == OpKind::grid_barrier && op.parent->parent != nullptr)
      return report(&op, "stands inside a loop or branch");
    if (op.kind == OpKind::tile_loop) {
      if (op.integer(AttrKey::parallel) == 1 && open > 0)
        return report(&op, "a parallel loop stands inside another loop");
      for (int64_t axis : op.integers(AttrKey::axes)) {
        if (is_open(static_cast<int>(axis))) return report(&op, "an axis is already looped over");
        open_axes_.push_back(static_cast<int>(axis));
      }
    }
    for (const Region* inner : op.regions)
      if (!fault_) region(*inner);
    open_axes_.resize(open);
  }

  /// Makes a value visible. `at` is where a fault of it is reported.
  void value(const Op* at, const Value* value, std::vector<const Value*>& made) {
    if (!visible_.insert(value).second) return report(at, "a value is made twice");
    made.push_back(value);
    // Buffers outlive the loop whose tiles they hold, so only what programs compute on is checked.
    if (value->type.kind != Type::Kind::value && value->type.kind != Type::Kind::slice) return;
    for (const Dim& dim : value->type.shape)
      if (dim.is_block() && !is_open(dim.axis))
        return report(at, fmt::format("{} is used outside the loop over it", to_string(dim)));
  }

  bool is_open(int axis) const {
    return std::find(open_axes_.begin(), open_axes_.end(), axis) != open_axes_.end();
  }

  void report(const Op* op, std::string message) {
    if (!fault_) fault_ = Fault{op, std::move(message)};
  }

  const Function& fn_;
  std::unordered_set<const Value*> visible_;
  std::vector<int> open_axes_;
  std::optional<Fault> fault_;
};

bool names_ring(const Op& op, OpKind kind, const Value* ring) {
  return op.kind == kind &&
         std::find(op.operands.begin(), op.operands.end(), ring) != op.operands.end();
}

/// Whether an operation of `kind` on `ring` stands before (after) `op`, in its region or around it.
bool stands_before(const Op& op, OpKind kind, const Value* ring) {
  for (const Op* at = &op; at != nullptr; at = at->parent->parent)
    for (const Op* other : at->parent->ops) {
      if (other == at) break;
      if (names_ring(*other, kind, ring)) return true;
    }
  return false;
}

bool stands_after(const Op& op, OpKind kind, const Value* ring) {
  for (const Op* at = &op; at != nullptr; at = at->parent->parent) {
    const auto& ops = at->parent->ops;
    for (auto other = std::find(ops.begin(), ops.end(), at); other != ops.end(); ++other)
      if (*other != at && names_ring(**other, kind, ring)) return true;
  }
  return false;
}

std::string ring_fault(const Op& op, const std::unordered_set<const Value*>& filled) {
  switch (op.kind) {
    case OpKind::copy:
    case OpKind::stage: {
      const Op* slot = op.operand(0)->def;
      if (slot == nullptr || slot->kind != OpKind::ring_acquire)
        return "fills a slot that was not acquired";
      return "";
    }
    case OpKind::ring_acquire:
      if (!filled.contains(op.result())) return "the slot is never filled";
      if (!stands_after(op, OpKind::ring_commit, op.operand(0))) return "no commit follows";
      return "";
    case OpKind::ring_read:
      if (!stands_before(op, OpKind::ring_wait, op.operand(0))) return "no wait precedes";
      if (!stands_after(op, OpKind::ring_release, op.operand(0))) return "no release follows";
      return "";
    case OpKind::ring_commit:
    case OpKind::ring_release: {
      const bool commit = op.kind == OpKind::ring_commit;
      for (const Value* ring : op.operands)
        if (!stands_before(op, commit ? OpKind::ring_acquire : OpKind::ring_read, ring))
          return commit ? "no acquire precedes" : "no read precedes";
      return "";
    }
    default:
      return "";
  }
}

/// Each slot is acquired, filled, committed; waited for, read, released.
std::optional<Fault> find_ring_fault(const Function& fn) {
  std::unordered_set<const Value*> filled;
  for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind == OpKind::copy || op.kind == OpKind::stage) filled.insert(op.operand(0));
  });
  std::optional<Fault> found;
  for_each_op(fn.body(), [&](const Op& op) {
    if (found) return;
    if (std::string fault = ring_fault(op, filled); !fault.empty()) found = Fault{&op, fault};
  });
  return found;
}

}  // namespace

std::optional<Fault> find_fault(const Function& fn) {
  if (auto fault = Verifier(fn).run()) return fault;
  return find_ring_fault(fn);
}

void verify(const Function& fn, std::string_view after_pass) {
  const auto fault = find_fault(fn);
  if (!fault) return;
  const std::string where =
      fault->op == nullptr ? "function" : fmt::format("operation {}", info(fault->op->kind).name);
  throw InternalError(
      fmt::format("after {}: {}: {}\n{}", after_pass, where, fault->message, print(fn)));
}

}  // namespace tilewright::ir
