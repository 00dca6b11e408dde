// The compiler's pipeline: which passes run, in which order.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>

#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/codegen/fill.h"
#include "tilewright/codegen/grids.h"
#include "tilewright/codegen/header.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/mask_edges.h"
#include "tilewright/codegen/orient_dots.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/pipeline.h"
#include "tilewright/codegen/place.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/plan_shared.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_kernel_ir.h"
#include "tilewright/codegen/repitch.h"
#include "tilewright/codegen/roll_rows.h"
#include "tilewright/codegen/schedule.h"
#include "tilewright/codegen/sink_loads.h"
#include "tilewright/codegen/specialize.h"
#include "tilewright/codegen/synchronize.h"
#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/cse.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/hash.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/simplify.h"
#include "tilewright/ir/verify.h"

namespace tilewright::codegen {
namespace {

bool dumping() { return std::getenv("TILEWRIGHT_DUMP") != nullptr; }

/// Prints a function after a pass that changed it, when TILEWRIGHT_DUMP asks: "all" or the names of
/// passes, separated by commas.
void dump(const std::string& pass, const std::string& before, const std::string& after) {
  const char* wanted = std::getenv("TILEWRIGHT_DUMP");
  if (wanted == nullptr || before == after) return;
  const std::string list = fmt::format(",{},", wanted);
  if (list == ",all," || list.find("," + pass + ",") != std::string::npos)
    fmt::print(stderr, "// after {}\n{}\n", pass, after);
}

ir::Function run_tile_passes(const ir::Function& traced, const Config& config, const Target& target,
                             const std::vector<bool>& written) {
  ir::verify(traced, "trace");
  ir::Function fn = ir::Rewriter::run(traced, [](ir::Rewriter&, const ir::Op&) { return false; });
  std::string text = ir::print(fn);
  dump("trace", "", text);
  for (const TilePass& pass : tile_passes(config, target, written)) {
    fn = pass.run(fn);
    ir::verify(fn, pass.name);
    const std::string after = ir::print(fn);
    dump(pass.name, text, after);
    text = after;
  }
  return fn;
}

/// Names the kernel after its user's name and everything its code depends on.
std::string symbol_of(const ir::Function& traced, const Config& config, const Target& target,
                      const LowerOptions& options) {
  std::string key = fmt::format("{:x} {} {}", ir::hash(traced), to_json(config), target.name());
  for (const auto& group : options.alias_groups)
    for (int member : group) key += fmt::format(" {}", member);
  return fmt::format("{}_{}", Names().unique(traced.name), ir::hex8(ir::hash_text(key)));
}

std::vector<Buffer> buffers_of(const ir::Function& fn, const Kernel& kernel) {
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < fn.params.size(); ++i)
    if (fn.params[i].is_tensor())
      buffers.push_back({fn.is_workspace(i) ? Buffer::Role::workspace : Buffer::Role::parameter,
                         kernel.names[i],
                         integer(fn.params[i].spec.span() * size_of(fn.params[i].spec.dtype))});
  return buffers;
}

/// Maps are of tensors of `fn`, whose index `source` still is.
void check_tensor_maps(const ir::Function& fn, const Kernel& kernel) {
  for (const KernelParam& param : kernel.params) {
    if (!param.map) continue;
    const auto source = static_cast<size_t>(param.source);
    const bool of_param = source < fn.params.size();
    check_tensor_map(*param.map, of_param ? fn.params[source].name : param.name,
                     of_param ? fn.params[source].spec.alignment : kMapAlignment);
  }
}

/// Memory for the arrivals of a kernel's blocks at barriers of its grid: zero when it starts.
void add_arrivals(Plan& plan) {
  Step zero;
  zero.kind = Step::Kind::memset;
  zero.memset.buffer = static_cast<int>(plan.buffers.size());
  plan.buffers.push_back({Buffer::Role::workspace, "arrivals", integer(size_of(DType::i32))});
  plan.steps.push_back(std::move(zero));
}

/// Adds a lowered function's kernel to a plan. `sources` tells what each parameter of the function
/// is: a parameter of the plan's function, or past those a workspace buffer. The kernel's own
/// workspace comes behind what the plan has.
void add_kernel(Plan& plan, const ir::Function& fn, const Lowered& lowered,
                const std::vector<int>& sources) {
  const Kernel& kernel = lowered.kernel;
  check_tensor_maps(fn, kernel);
  Step step;
  step.kernel.symbol = kernel.name;
  step.kernel.source = print_cuda(kernel, plan.target);
  step.kernel.params = kernel.params;
  step.kernel.ptx = kernel.ptx;
  if (kernel.cooperative) add_arrivals(plan);
  const int launch = static_cast<int>(fn.launch_params());
  const auto taken = std::ranges::count(plan.buffers, Buffer::Role::workspace, &Buffer::role);
  for (KernelParam& param : step.kernel.params) {
    const auto source = static_cast<size_t>(param.source);
    // Of what the kernel itself asks for there is the counter of arrivals only, made just now.
    param.source = source < sources.size() ? sources[source] : launch + static_cast<int>(taken) - 1;
    if (param.map && param.map->dynamic >= 0)
      param.map->size_source = sources.at(static_cast<size_t>(param.map->size_source));
  }
  step.kernel.cooperative = kernel.cooperative;
  step.kernel.grid = kernel.grid;
  step.kernel.threads = kernel.threads;
  step.kernel.cluster = kernel.cluster;
  step.kernel.shared_bytes = kernel.shared_bytes;
  step.kernel.accesses = lowered.accesses;
  plan.steps.push_back(std::move(step));
  plan.tile_ir += ir::print(lowered.laid_out.fn);
  plan.kernel_ir += print_kernel_ir(kernel);
}

/// Adds the steps that give allocated tensors their first values.
void add_fills(Plan& plan, const ir::Function& fn) {
  for (const TensorFill& fill : fills_of(fn)) {
    if (!fill.byte) {
      add_kernel(plan, fill.kernel, lower_to_kernel_ir(fill.kernel, fill.config, plan.target),
                 {fill.param});
      continue;
    }
    Step step;
    step.kind = Step::Kind::memset;
    step.memset.value = *fill.byte;
    step.memset.buffer =
        static_cast<int>(std::count_if(fn.params.begin(), fn.params.begin() + fill.param,
                                       [](const ir::Param& param) { return param.is_tensor(); }));
    plan.steps.push_back(std::move(step));
  }
}

/// Adds the kernels that make padded copies, and their memory; `sources` learns of the copies.
void add_copies(Plan& plan, const Repitched& repitched, std::vector<int>& sources) {
  const int params = static_cast<int>(sources.size());
  for (size_t i = 0; i < repitched.copies.size(); ++i) {
    const PaddingCopy& copy = repitched.copies[i];
    const int workspace = params + static_cast<int>(i);
    const Lowered lowered = lower_to_kernel_ir(copy.fn, copy.config, plan.target);
    add_kernel(plan, copy.fn, lowered, {copy.param, workspace});
    plan.buffers.push_back({Buffer::Role::workspace, copy.fn.params[1].name, integer(copy.bytes)});
    sources[static_cast<size_t>(copy.param)] = workspace;
  }
}

}  // namespace

std::vector<bool> written_params(const ir::Function& fn, const LowerOptions& options) {
  std::vector<bool> written(fn.params.size(), false);
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (ir::writes_tensor(op.kind))
      written.at(fn.param_of(op.operand(0)) - fn.params.data()) = true;
  });
  for (const auto& group : options.alias_groups)
    if (std::any_of(group.begin(), group.end(), [&](int i) { return written.at(i); }))
      for (int i : group) written.at(i) = true;
  return written;
}

std::vector<TilePass> tile_passes(const Config& config, const Target& target,
                                  const std::vector<bool>& written) {
  return {
      {"roll_rows", [&](const ir::Function& fn) { return roll_rows(fn, config, written); }},
      {"specialize", [&](const ir::Function& fn) { return specialize(fn, config); }},
      {"mask_edges", mask_edges},
      {"simplify", ir::simplify},
      {"cse", ir::eliminate_common_subexpressions},
      {"schedule", [&](const ir::Function& fn) { return schedule(fn, config); }},
      {"orient_dots",
       [&config, target](const ir::Function& fn) { return orient_dots(fn, config, target); }},
      {"place", [&config, target](const ir::Function& fn) { return place(fn, config, target); }},
      {"dce", ir::eliminate_dead_code},
      {"sink_loads", [&](const ir::Function& fn) { return sink_loads(fn, config, written); }},
      {"pipeline", [&](const ir::Function& fn) { return pipeline(fn, config, written); }},
      // Afterwards: assign_layouts, lower_to_kernel, plan_shared, synchronize, print_cuda.
  };
}

int64_t Plan::workspace_bytes(const std::function<int64_t(const std::string&)>& scalar) const {
  int64_t total = 0;
  for (const Buffer& buffer : buffers)
    if (buffer.role == Buffer::Role::workspace)
      total += workspace_span(evaluate(*buffer.bytes, scalar));
  return total;
}

namespace {

/// Who holds what, one tile a line, in program order; for dumps.
std::string layout_listing(const LaidOut& laid_out) {
  std::string text = ir::print(laid_out.fn);
  ir::for_each_op(laid_out.fn.body(), [&](const ir::Op& op) {
    for (const ir::Value* result : op.results)
      if (auto found = laid_out.layouts.find(result); found != laid_out.layouts.end())
        text += fmt::format("// {} {}: {}\n",
                            result->name.empty() ? ir::info(op.kind).name : result->name,
                            ir::to_string(result->type), to_string(found->second));
  });
  return text;
}

}  // namespace

namespace {

bool mentions(const ExprRef& expr, const std::string& name) {
  if (!expr) return false;
  if ((expr->kind == Expr::Kind::global || expr->kind == Expr::Kind::name) && expr->text == name)
    return true;
  return std::any_of(expr->args.begin(), expr->args.end(),
                     [&](const ExprRef& arg) { return mentions(arg, name); });
}

bool mentions(const std::vector<Stmt>& body, const std::string& name) {
  return std::any_of(body.begin(), body.end(), [&](const Stmt& stmt) {
    for (const ExprRef& expr : {stmt.target, stmt.value, stmt.begin, stmt.limit, stmt.step})
      if (mentions(expr, name)) return true;
    return mentions(stmt.body, name) || mentions(stmt.otherwise, name);
  });
}

/// What the kernel of one of several grids does not touch.
void drop_untouched_tensors(Kernel& kernel) {
  std::erase_if(kernel.params, [&](const KernelParam& param) {
    return param.tensor && !param.map && !mentions(kernel.body, param.name);
  });
}

/// Tensors that are accessed by tensor map alone need no pointer.
void drop_unused_pointers(Kernel& kernel) {
  std::vector<int> mapped;
  for (const KernelParam& param : kernel.params)
    if (param.map) mapped.push_back(param.source);
  std::erase_if(kernel.params, [&](const KernelParam& param) {
    return param.tensor && !param.map &&
           std::find(mapped.begin(), mapped.end(), param.source) != mapped.end() &&
           !mentions(kernel.body, param.name);
  });
}

}  // namespace

Lowered lower_to_kernel_ir(const ir::Function& traced, const Config& config, const Target& target,
                           const LowerOptions& options) {
  check_config(config, traced, target);
  const std::vector<bool> written = written_params(traced, options);
  Lowered result;
  const bool aliases = std::any_of(options.alias_groups.begin(), options.alias_groups.end(),
                                   [](const auto& group) { return group.size() > 1; });
  if (aliases) check_aliased_rows(traced, config, written);
  result.laid_out =
      assign_layouts(run_tile_passes(traced, config, target, written), config, target, aliases);
  ir::verify(result.laid_out.fn, "assign_layouts");
  if (dumping()) dump("assign_layouts", "", layout_listing(result.laid_out));

  LoweredKernel lowered = lower_to_kernel(result.laid_out, config, target, written, options);
  result.kernel = std::move(lowered.kernel);
  result.accesses = std::move(lowered.accesses);
  Kernel& kernel = result.kernel;
  kernel.name = symbol_of(traced, config, target, options);
  plan_shared(kernel, config, target);
  synchronize(kernel);
  if (dumping()) dump("synchronize", "", print_kernel_ir(kernel));
  kernel.header = header_lines(traced, result.laid_out.fn, kernel, config, target);
  drop_unused_pointers(kernel);
  return result;
}

namespace {

/// Lowers each group of a function's grids to a kernel of its own.
std::vector<Lowered> lower_parts(const ir::Function& fn, const Config& config, const Target& target,
                                 const LowerOptions& options) {
  std::vector<Lowered> lowered;
  if (count_grids(fn) < 2) {
    lowered.push_back(lower_to_kernel_ir(fn, config, target, options));
    return lowered;
  }
  for (const GridPart& part : split_grids(fn, config, target)) {
    lowered.push_back(lower_to_kernel_ir(part.fn, part.config, target, options));
    drop_untouched_tensors(lowered.back().kernel);
  }
  return lowered;
}

}  // namespace

Plan lower(const ir::Function& traced, const Config& config, const Target& target,
           const LowerOptions& options) {
  check_config(config, traced, target);
  std::optional<Repitched> repitched;
  if (config.repitch) repitched = repitch(traced, written_params(traced, options));
  const ir::Function& fn = repitched ? repitched->fn : traced;
  const std::vector<Lowered> lowered = lower_parts(fn, config, target, options);
  Plan plan;
  plan.name = traced.name;
  plan.config = config;
  plan.target = target;
  plan.buffers = buffers_of(traced, lowered.front().kernel);
  std::vector<int> sources(traced.params.size());
  std::iota(sources.begin(), sources.end(), 0);
  add_fills(plan, traced);
  if (repitched) add_copies(plan, *repitched, sources);
  for (const Lowered& kernel : lowered) add_kernel(plan, fn, kernel, sources);
  return plan;
}

}  // namespace tilewright::codegen
