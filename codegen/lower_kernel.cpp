#include <array>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/group_quotients.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/split_loop.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

using Rule = void (*)(Lowering&, const Op&);

void lower_nothing(Lowering&, const Op&) {}

void lower_slice(Lowering& lowering, const Op& op) {
  lowering.scalars[op.result()] = scalar_value(lowering, op.operand(0));
  lowering.limits[op.result()] = scalar_value(lowering, op.operand(1));
  lowering.ids[op.result()] = integer(0);
}

struct RuleEntry {
  OpKind kind;
  Rule rule;
};

/// One rule per operation. Operations that only make sense inside another's rule do nothing here.
constexpr RuleEntry kRules[] = {
    {OpKind::constant, lower_scalar},
    {OpKind::dim, lower_scalar},
    {OpKind::slice, lower_slice},
    {OpKind::slice_begin, lower_scalar},
    {OpKind::slice_end, lower_scalar},
    {OpKind::slice_id, lower_scalar},
    {OpKind::slice_index, lower_elementwise},
    {OpKind::iota, lower_elementwise},
    {OpKind::load, lower_load},
    {OpKind::store, lower_store},
    {OpKind::atomic, lower_atomic},
    {OpKind::atomic_exchange, lower_atomic},
    {OpKind::atomic_cas, lower_atomic},
    {OpKind::unary, lower_elementwise},
    {OpKind::binary, lower_elementwise},
    {OpKind::fma, lower_elementwise},
    {OpKind::compare, lower_elementwise},
    {OpKind::select, lower_elementwise},
    {OpKind::cast, lower_elementwise},
    {OpKind::random, lower_elementwise},
    {OpKind::inline_ptx, lower_elementwise},
    {OpKind::print, lower_print},
    {OpKind::broadcast, lower_elementwise},
    {OpKind::permute, lower_elementwise},
    {OpKind::convert, lower_convert},
    {OpKind::reshape, lower_reshape},
    {OpKind::join, lower_elementwise},
    {OpKind::pick, lower_elementwise},
    {OpKind::reduce, lower_reduce},
    {OpKind::combine, lower_combine},
    {OpKind::scan, lower_scan},
    {OpKind::sort, lower_sort},
    {OpKind::dot, lower_dot},
    {OpKind::tile_loop, lower_loop},
    {OpKind::while_loop, lower_while},
    {OpKind::if_else, lower_if},
    {OpKind::grid_barrier, lower_grid_barrier},
    {OpKind::yield, lower_nothing},
    {OpKind::ring, lower_ring},
    {OpKind::ring_acquire, lower_acquire},
    {OpKind::copy, lower_copy},
    {OpKind::stage, lower_stage},
    {OpKind::ring_commit, lower_commit},
    {OpKind::ring_wait, lower_wait},
    {OpKind::ring_read, lower_nothing},
    {OpKind::fetch, lower_fetch},
    {OpKind::ring_release, lower_release},
};

Rule rule_for(OpKind kind) {
  for (const RuleEntry& entry : kRules)
    if (entry.kind == kind) return entry.rule;
  throw InternalError(fmt::format("no lowering rule for operation {}", ir::info(kind).name));
}

bool aliased(const LowerOptions& options, int param) {
  for (const auto& group : options.alias_groups)
    for (int member : group)
      if (member == param && group.size() > 1) return true;
  return false;
}

void declare_params(Lowering& lowering, const std::vector<bool>& written,
                    const LowerOptions& options) {
  for (size_t i = 0; i < lowering.fn.params.size(); ++i) {
    const ir::Param& param = lowering.fn.params[i];
    KernelParam kernel_param;
    kernel_param.name =
        lowering.names.unique(param.name.empty() ? fmt::format("arg{}", i) : param.name);
    // Sizes are small: int arithmetic.
    kernel_param.dtype = lowering.fn.size_limit(i) ? DType::i32 : param.value->type.dtype;
    kernel_param.tensor = param.is_tensor();
    kernel_param.written = written.at(i);
    kernel_param.may_alias = aliased(options, static_cast<int>(i));
    kernel_param.source = static_cast<int>(i);
    if (!kernel_param.tensor) {
      lowering.scalars[param.value] = name(kernel_param.name);
      if (kernel_param.dtype == DType::i64) lowering.wide_names.insert(kernel_param.name);
    }
    const_cast<Value*>(param.value)->name = kernel_param.name;
    lowering.kernel.names.push_back(kernel_param.name);
    lowering.kernel.params.push_back(std::move(kernel_param));
  }
}

/// The rings whose slots are operands of warpgroups' products.
void note_wgmma_reads(Lowering& lowering) {
  ir::for_each_op(lowering.fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::dot ||
        unit_of(op, lowering.config, lowering.target) != MatrixUnit::wgmma)
      return;
    for (int i = 0; i < 2; ++i)
      if (is_shared(op.operand(i))) lowering.read_by_wgmma.insert(view_of(op.operand(i)).ring);
  });
}

}  // namespace

Lowering::Lowering(const LaidOut& laid_out, const Config& chosen, const Target& architecture)
    : in(laid_out), fn(laid_out.fn), config(chosen), target(architecture), facts(laid_out.fn) {
  for (const char* variable : {"i", "j", "l", "i3", "i4", "i5"})
    register_loops.push_back(names.unique(variable));
  for (const char* variable : {"p", "lanes", "warp", "kk"})
    vector_loop.push_back(names.unique(variable));
}

std::vector<Stmt> Lowering::collect(const std::function<void()>& body) {
  std::vector<Stmt> stmts;
  std::vector<Stmt>* saved = out;
  out = &stmts;
  body();
  out = saved;
  return stmts;
}

void Lowering::emit_if(const ExprRef& condition, const std::function<void()>& body) {
  if (condition)
    emit(branch(condition, collect(body)));
  else
    body();
}

void Lowering::at_source(const Op& op) {
  if (!op.loc.known() || op.loc == last_source) return;
  last_source = op.loc;
  emit(source_line(op.loc));
}

const Layout& Lowering::layout(const Value* tile) const {
  auto found = in.layouts.find(tile);
  internal_check(found != in.layouts.end(), "a tile without a layout was lowered");
  return found->second;
}

void lower_op(Lowering& lowering, const Op& op) {
  settle_before(lowering, op);
  rule_for(op.kind)(lowering, op);
}

void lower_region(Lowering& lowering, const ir::Region& region) {
  if (lowering.role == Role::producer) return lower_producer_region(lowering, region);
  for (const Op* op : region.ops) lower_op(lowering, *op);
}

LoweredKernel lower_to_kernel(const LaidOut& laid_out, const Config& config, const Target& target,
                              const std::vector<bool>& written, const LowerOptions& options) {
  Lowering lowering(laid_out, config, target);
  lowering.kernel.threads = lowering.threads();
  lowering.kernel.blocks_per_sm = config.blocks_per_sm;
  lowering.kernel.exact_blocks_per_sm = config.matrix != MatrixUnit::fma;
  lowering.kernel.grid = integer(1);
  declare_params(lowering, written, options);
  analyze_values(lowering);
  note_wgmma_reads(lowering);
  if (laid_out.bulk.empty()) {
    find_split_loop(laid_out, config);  // says why there is none
    check_turns(lowering, {});
  }
  std::vector<Stmt> body = laid_out.bulk.empty() ? lowering.collect([&] {
    lower_region(lowering, lowering.fn.body());
    finish_bulk_stores(lowering);
  })
                                                 : lower_roles(lowering);
  lowering.kernel.body = std::move(lowering.prologue);
  lowering.kernel.body.insert(lowering.kernel.body.end(), std::make_move_iterator(body.begin()),
                              std::make_move_iterator(body.end()));
  group_quotients(lowering.kernel, lowering.names);
  return {std::move(lowering.kernel), std::move(lowering.accesses)};
}

}  // namespace tilewright::codegen
