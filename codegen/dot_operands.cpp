#include "tilewright/codegen/dot_operands.h"

#include <algorithm>

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/low_part.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/mma_fragments.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Whether a copy to shared memory can do what a load does.
bool is_copyable(const Op& op) { return op.kind == OpKind::load && ir::is_plain_access(op); }

void collect_loads(const Value* value, std::vector<const Op*>& loads) {
  const Op* op = value->def;
  if (op == nullptr || !value->type.is_tile()) return;
  if (is_copyable(*op) && std::find(loads.begin(), loads.end(), op) == loads.end())
    loads.push_back(op);
  if (ir::is_elementwise(op->kind) || op->kind == OpKind::permute)
    for (const Value* operand : op->operands) collect_loads(operand, loads);
}

}  // namespace

bool is_stored_by_k(const ir::Function& fn, const Op& dot, int operand) {
  const Value* value = dot.operand(operand);
  int k_dim = 1 - operand;
  while (value->def != nullptr && value->def->kind == OpKind::permute) {
    k_dim = static_cast<int>(value->def->integers(ir::AttrKey::dims).at(k_dim));
    value = value->def->operand(0);
  }
  if (value->def == nullptr || !is_copyable(*value->def)) return true;
  const ir::AccessView access(*value->def);
  const ir::Param* param = fn.param_of(access.tensor);
  return param == nullptr || contiguous_dimension(access, param->spec).second == k_dim;
}

bool wgmma_reads_as_stored(const ir::Function& fn, const Op& dot, int operand) {
  return size_of(dot.operand(operand)->type.dtype) == 2 || is_stored_by_k(fn, dot, operand);
}

OperandHome operand_home(const ir::Function& fn, const Op& dot, int operand, const Config& config,
                         const Target& target) {
  const MatrixUnit unit = unit_of(dot, config, target);
  const bool as_stored = unit != MatrixUnit::wgmma || operand != 0 ||
                         (wgmma_reads_as_stored(fn, dot, operand) && !has_parts(dot));
  if (as_stored && load_behind(dot.operand(operand), unit == MatrixUnit::fma) != nullptr)
    return OperandHome::copied;
  const bool takes_registers =
      unit == MatrixUnit::mma || (unit == MatrixUnit::wgmma && operand == 0);
  return takes_registers ? OperandHome::registers : OperandHome::staged;
}

const Op* load_behind(const Value* value, bool through_casts) {
  const Op* op = value->def;
  while (op != nullptr &&
         (op->kind == OpKind::permute || (through_casts && op->kind == OpKind::cast)))
    op = op->operand(0)->def;
  return op != nullptr && is_copyable(*op) ? op : nullptr;
}

std::vector<const Op*> loads_behind(const Value* operand) {
  std::vector<const Op*> loads;
  collect_loads(operand, loads);
  return loads;
}

Layout operand_layout(const ir::Function& fn, const Op& dot, int operand, const Layout& accumulator,
                      const Config& config, const Target& target) {
  const ir::Type& type = dot.operand(operand)->type;
  const auto extents = fn.extents(type.shape);
  const int bytes = size_of(type.dtype);
  if (unit_of(dot, config, target) == MatrixUnit::mma)
    return mma_register_layout(accumulator, operand == 0, bytes, extents[1 - operand]);
  internal_check(operand == 0, "wgmma takes its first operand only from registers");
  return wgmma_operand_layout(extents[0], extents[1], bytes, config.warps,
                              has_neighbouring_rows(accumulator));
}

bool is_shared(const Value* value) { return value->type.kind == ir::Type::Kind::shared; }

}  // namespace tilewright::codegen
