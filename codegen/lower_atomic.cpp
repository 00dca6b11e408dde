#include "tilewright/codegen/atomics.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

/// What the program did before is done by all of its threads, where `order` releases; what it does
/// after is begun by none of them, where it acquires.
class Ordered {
 public:
  Ordered(Lowering& lowering, const Op& op) : lowering_(lowering) {
    const ir::Attr* order = op.find(AttrKey::order);
    const std::string text = order == nullptr ? "" : std::get<std::string>(*order);
    acquires_ = text == "acquire" || text == "acq_rel";
    if (text == "release" || text == "acq_rel")
      lowering.emit(tilewright::codegen::order("release_all", {}));
  }
  ~Ordered() {
    if (acquires_) lowering_.emit(tilewright::codegen::order("acquire_all", {}));
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;

 private:
  Lowering& lowering_;
  bool acquires_ = false;
};

/// The call for one element, or for a run of them given by a pointer.
ExprRef atomic_call(Lowering& lowering, const Op& op, const std::string& helper, const ExprRef& at,
                    const RegIndex& index, int axis, int vector) {
  const ir::AccessView access(op);
  std::vector<ExprRef> args = {address(at)};
  if (access.expected != nullptr) args.push_back(element_value(lowering, access.expected, index));
  args.push_back(vector > 1 ? run_pointer(lowering, access.value, index, axis, vector)
                            : element_value(lowering, access.value, index));
  return call(helper, std::move(args));
}

/// An atomic on one element, by the first thread.
void lower_scalar_atomic(Lowering& lowering, const Op& op, const AccessFacts& facts, bool used) {
  const Value* result = op.result();
  const std::string helper = atomic_helper(op, used, 1);
  const ExprRef update =
      atomic_call(lowering, op, helper, tensor_element(lowering, op, facts, {}), {}, -1, 1);
  const ExprRef first = binary("==", name("threadIdx.x"), integer(0));
  const ExprRef guard = first && access_guard(lowering, op, {});
  if (!used) {
    lowering.emit(branch(guard, {call_stmt(update)}));
    return;
  }
  const std::string type = cuda_type(result->type.dtype);
  const std::string variable = lowering.names.unique(name_of(result, "old"));
  lowering.emit(declare(type, variable, constant_expr(int64_t{0}, result->type.dtype), false));
  lowering.emit(branch(guard, {assign(name(variable), update)}));
  SharedBuffer buffer;
  buffer.name = lowering.names.unique(variable + "_shared");
  buffer.dtype = result->type.dtype;
  buffer.extents = {1};
  buffer.comment = "what the first thread found";
  lowering.kernel.buffers.push_back(buffer);
  const ExprRef shared_word = shared(buffer.name, {integer(0)});
  lowering.emit(branch(first, {assign(shared_word, name(variable))}));
  lowering.emit(assign(name(variable), shared_word));
  lowering.scalars[result] = name(variable);
}

void lower_tile_atomic(Lowering& lowering, const Op& op, const AccessFacts& facts, bool used) {
  const Value* value = ir::AccessView(op).value;
  const Value* result = op.result();
  const Layout& layout = lowering.layout(result);
  const int vector = used ? 1 : access_vector(facts, layout);
  const int axis = vector > 1 ? facts.contiguous_axis : -1;
  const std::string helper = atomic_helper(op, used, vector);
  const auto extents = lowering.extents(value);
  record_access(lowering, op, "atomic", vector * size_of(value->type.dtype), false);
  const std::string tile = used ? declare_tile(lowering, result, true) : "";
  lowering.emit_if(replica_guard(lowering, layout), [&] {
    for_registers(lowering, layout, axis, vector, [&](const RegIndex& index) {
      const AccessPoint point{coordinates(lowering, layout, value->type.shape, index, axis, vector),
                              index};
      const ExprRef overhang = overhang_guard(layout, extents, point.at);
      const ExprRef inside = access_guard(lowering, op, point);
      const ExprRef guard = !overhang ? inside : !inside ? overhang : overhang && inside;
      lowering.emit_if(guard, [&] {
        const ExprRef update = atomic_call(
            lowering, op, helper, tensor_element(lowering, op, facts, point), index, axis, vector);
        lowering.emit(used ? assign(register_element(tile, layout, index), update)
                           : call_stmt(update));
      });
    });
  });
  if (used && replica_guard(lowering, layout)) share_with_replicas(lowering, result);
}

}  // namespace

void lower_atomic(Lowering& lowering, const Op& op) {
  const AccessFacts facts =
      access_facts(lowering.fn, lowering.facts, op, lowering.config, lowering.target);
  const bool used = is_used(lowering.fn, op.result());
  lowering.at_source(op);
  const Ordered ordered(lowering, op);
  if (op.result()->type.is_scalar()) {
    record_access(lowering, op, "atomic", size_of(op.result()->type.dtype), false);
    lower_scalar_atomic(lowering, op, facts, used);
  } else {
    lower_tile_atomic(lowering, op, facts, used);
  }
}

}  // namespace tilewright::codegen
