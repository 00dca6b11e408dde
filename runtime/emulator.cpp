#include "tilewright/runtime/emulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <optional>
#include <thread>

#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/host_function.h"
#include "tilewright/runtime/emulator_cluster.h"
#include "tilewright/runtime/emulator_prelude.h"
#include "tilewright/runtime/executable.h"
#include "tilewright/runtime/interpreter.h"

namespace tilewright::runtime {
namespace {

// The sizes of a plan for some scalar arguments.
class PlanSizes {
 public:
  PlanSizes(const codegen::Plan& plan, std::span<const EmulatorArgument> arguments)
      : plan_(plan), arguments_(arguments) {}

  int64_t evaluate(const codegen::ExprRef& expression) const {
    if (expression == nullptr) return 0;
    return codegen::evaluate(*expression, [&](const std::string& name) {
      const EmulatorArgument& scalar = arguments_[static_cast<size_t>(source_of(name))];
      return scalar_integer(scalar.bits, scalar.dtype);
    });
  }

  std::vector<int64_t> workspace() const {
    std::vector<int64_t> bytes;
    for (const codegen::Buffer& buffer : plan_.buffers)
      if (buffer.role == codegen::Buffer::Role::workspace) bytes.push_back(evaluate(buffer.bytes));
    return bytes;
  }

  // The argument, or arguments + number of the workspace, that a buffer of the plan is.
  int source_of_buffer(int buffer) const {
    const codegen::Buffer& wanted = plan_.buffers.at(static_cast<size_t>(buffer));
    if (wanted.role == codegen::Buffer::Role::parameter) return source_of(wanted.name);
    int number = static_cast<int>(arguments_.size());
    for (int i = 0; i < buffer; ++i)
      number +=
          plan_.buffers[static_cast<size_t>(i)].role == codegen::Buffer::Role::workspace ? 1 : 0;
    return number;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found(arguments_.size(), "?");
    for (const codegen::Step& step : plan_.steps)
      for (const codegen::KernelParam& param : step.kernel.params)
        if (param.source >= 0 && static_cast<size_t>(param.source) < found.size())
          found[static_cast<size_t>(param.source)] = param.name;
    return found;
  }

 private:
  int source_of(const std::string& name) const {
    for (const codegen::Step& step : plan_.steps)
      for (const codegen::KernelParam& param : step.kernel.params)
        if (param.name == name) return param.source;
    throw InternalError("plan " + plan_.name + " has no parameter '" + name + "'");
  }

  const codegen::Plan& plan_;
  std::span<const EmulatorArgument> arguments_;
};

int64_t shared_bytes_of(const codegen::Plan& plan) {
  int64_t most = 0;
  for (const codegen::Step& step : plan.steps) most = std::max(most, step.kernel.shared_bytes);
  return most;
}

int workers_of(const EmulateOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 16);
}

// Adds what the code's places cost to the lines they are of.
void add_statements(const AccessCounts& counts, const EmulatorModule& module,
                    std::vector<StatementCounts>& statements) {
  std::vector<uint32_t> offsets;
  for (const auto& [code, sum] : counts.by_code()) offsets.push_back(code);
  const std::vector<int> lines = module.lines_of(offsets);
  size_t next = 0;
  for (const auto& [code, sum] : counts.by_code()) {
    const int line = lines[next++];
    const std::string text = module.text_of(line);
    auto at = std::ranges::find_if(
        statements, [&](const StatementCounts& s) { return s.line == line && s.text == text; });
    if (at == statements.end()) at = statements.insert(at, {.line = line, .text = text});
    at->shared_requests += sum.shared_requests;
    at->bank_conflicts += sum.bank_conflicts;
    at->global_requests += sum.global_requests;
    at->global_bytes += sum.global_bytes;
    at->global_sectors += sum.global_sectors;
  }
  std::ranges::sort(statements, {}, &StatementCounts::line);
}

// The second of the kernel's __launch_bounds__, 1 where it has none.
int blocks_per_sm(const std::string& source) {
  const std::string bounds = "__launch_bounds__(";
  const size_t begin = source.find(bounds);
  const size_t end = source.find(')', begin), comma = source.find(',', begin);
  if (begin == std::string::npos || comma > end) return 1;
  return std::max(1, std::atoi(source.c_str() + comma + 1));
}

// Whether the kernel prints: its blocks run one after the other then, in the order of the grid.
bool prints(const codegen::KernelStep& step) {
  return kernel_body(step.source).find("printf(") != std::string_view::npos;
}

// Blocks that run at the same time in a cooperative launch.
int64_t resident_blocks(const codegen::KernelStep& step, const EmulateOptions& options) {
  return int64_t{std::max(1, options.multiprocessors)} * blocks_per_sm(step.source);
}

// How many memories of blocks a plan needs at one time.
int shared_memories_of(const codegen::Plan& plan, const EmulateOptions& options) {
  int most = 1;
  for (const codegen::Step& step : plan.steps) {
    most = std::max(most, workers_of(options) * step.kernel.cluster);
    if (step.kernel.cooperative)
      most = std::max(most, static_cast<int>(resident_blocks(step.kernel, options)));
  }
  return most;
}

// Runs blocks on several threads; the first exception of one is thrown again.
AccessCounts run_grid(EmulatorRun& run, int workers) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failures(static_cast<size_t>(workers));
  std::vector<AccessCounts> counts(static_cast<size_t>(workers));
  const auto work = [&](int slot) {
    try {
      EmulatedCluster cluster(run, slot);
      cluster.run_clusters();
      counts[static_cast<size_t>(slot)] = cluster.counts();
    } catch (...) {
      failures[static_cast<size_t>(slot)] = std::current_exception();
    }
  };
  for (int slot = 1; slot < workers; ++slot) threads.emplace_back(work, slot);
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (int slot = 1; slot < workers; ++slot) counts[0].merge(counts[static_cast<size_t>(slot)]);
  return counts[0];
}

class PlanRun {
 public:
  PlanRun(const codegen::Plan& plan, std::span<const EmulatorArgument> arguments,
          const EmulateOptions& options)
      : plan_(plan),
        arguments_(arguments),
        options_(options),
        sizes_(plan, arguments),
        names_(sizes_.names()),
        workspace_(sizes_.workspace()),
        memory_(arguments, names_, workspace_, shared_bytes_of(plan),
                shared_memories_of(plan, options)) {}

  Emulation run() {
    for (const codegen::Step& step : plan_.steps) {
      if (step.kind == codegen::Step::Kind::memset)
        fill(step.memset);
      else if (!launch(step.kernel))
        break;
    }
    memory_.copy_back();
    return std::move(result_);
  }

 private:
  void fill(const codegen::MemsetStep& step) {
    const int64_t bytes = sizes_.evaluate(plan_.buffers.at(static_cast<size_t>(step.buffer)).bytes);
    void* at = memory_.pointer(sizes_.source_of_buffer(step.buffer));
    if (bytes == 0 || at == nullptr) return;
    std::memset(at, step.value, static_cast<size_t>(bytes));
    MemoryRegion& region = *memory_.region_at(reinterpret_cast<uintptr_t>(at));
    region.dirty = true;
    for (int64_t i = 0; region.written != nullptr && i < region.bytes / region.element; ++i)
      region.written[static_cast<size_t>(i)] = true;
  }

  // The memory of an argument. A tensor map is our own description of the tensor.
  EmulatedTensorMap value_of(const codegen::KernelParam& param) {
    EmulatedTensorMap value;
    void* data = param.tensor ? memory_.pointer(param.source) : nullptr;
    if (param.map) {
      value.spec = &*param.map;
      if (param.map->dynamic >= 0) {
        const auto size = arguments_[static_cast<size_t>(param.map->size_source)].bits;
        value.spec =
            &maps_.emplace_back(codegen::map_of_size(*param.map, static_cast<int64_t>(size)));
      }
      value.base = static_cast<std::byte*>(data);
    } else {
      value.mark = param.tensor ? reinterpret_cast<uintptr_t>(data)
                                : arguments_[static_cast<size_t>(param.source)].bits;
    }
    return value;
  }

  // Writes are not seen where accesses are not checked: all that may be written is.
  void expect_writes(const codegen::KernelStep& step) {
    for (const codegen::KernelParam& param : step.params) {
      void* data = param.tensor && param.written ? memory_.pointer(param.source) : nullptr;
      if (data != nullptr) memory_.region_at(reinterpret_cast<uintptr_t>(data))->dirty = true;
    }
  }

  // False when a mistake stopped the kernel.
  bool launch(const codegen::KernelStep& step) {
    int64_t grid = sizes_.evaluate(step.grid);
    if (step.cooperative) grid = std::min(grid, resident_blocks(step, options_));
    if (grid == 0) return true;
    if (grid > std::numeric_limits<int32_t>::max())
      raise(ErrorId::grid_too_large, {}, plan_.name, grid);
    internal_check(grid % step.cluster == 0, "a grid is no multiple of its clusters");
    for (const codegen::PtxFunction& function : step.ptx)
      if (ir::find_host_function(function.twin) == nullptr)
        raise(ErrorId::ptx_without_twin, function.loc, function.ptx, "the emulator");
    const auto module = EmulatorModule::get(step, options_.flags);
    std::vector<EmulatedTensorMap> values;  // a map, or what fits in its first word
    for (const codegen::KernelParam& param : step.params) values.push_back(value_of(param));
    std::vector<void*> params;
    for (EmulatedTensorMap& value : values) params.push_back(&value);
    memory_.begin_kernel();
    if (!module->checked()) expect_writes(step);
    Findings findings;
    EmulatorRun run{*module, memory_, findings, params.data()};
    run.threads = step.threads;
    run.cluster = step.cooperative ? static_cast<int>(grid) : step.cluster;
    run.max_steps = max_loop_steps();
    run.blocks_per_sm = blocks_per_sm(step.source);
    run.checked = module->checked();
    run.shared_bytes = step.shared_bytes;
    run.grid = grid;
    run.counts = options_.counts;
    const int workers =
        static_cast<int>(std::min<int64_t>(workers_of(options_), grid / run.cluster));
    const AccessCounts counts = run_grid(run, prints(step) ? 1 : workers);
    if (run.assertion) raise(ErrorId::assertion_failed, run.assertion->loc, run.assertion->message);
    std::vector<Finding> found = findings.resolve(*module);
    std::ranges::move(found, std::back_inserter(result_.findings));
    if (options_.counts) add_statements(counts, *module, result_.statements);
    result_.barriers += run.barriers;
    return !run.stopped;
  }

  const codegen::Plan& plan_;
  std::span<const EmulatorArgument> arguments_;
  const EmulateOptions& options_;
  PlanSizes sizes_;
  std::vector<std::string> names_;
  std::vector<int64_t> workspace_;
  EmulatorMemory memory_;
  std::deque<codegen::TensorMapSpec> maps_;  // of dynamic sizes
  Emulation result_;
};

}  // namespace

std::string_view to_string(FindingKind kind) {
  constexpr std::string_view names[] = {"race on shared memory",
                                        "race on a tensor",
                                        "barrier reached by part of a block",
                                        "deadlock",
                                        "access out of bounds",
                                        "misaligned access",
                                        "shared memory read before anything was written",
                                        "result read before anything was written",
                                        "asynchronous copy in flight",
                                        "asynchronous copy pending at the end",
                                        "operand of an asynchronous operation overwritten",
                                        "sums of a product in flight",
                                        "fence missing",
                                        "warp not together",
                                        "wrong use of a barrier",
                                        "wrong number of bytes at a barrier",
                                        "operand that the hardware does not take",
                                        "wrong number of registers",
                                        "block of the cluster has ended",
                                        "loop that does not end"};
  return names[static_cast<size_t>(kind)];
}

bool Emulation::has(FindingKind kind) const {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.kind == kind; });
}

std::string Emulation::report() const {
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.text;
    if (finding.count > 1) text += fmt::format("  seen {} times\n", finding.count);
  }
  return text;
}

bool emulator_available() { return fibers_available(); }

Emulation emulate(const codegen::Plan& plan, std::span<const EmulatorArgument> arguments,
                  const EmulateOptions& options) {
  if (!fibers_available()) raise(ErrorId::emulator_missing, {});
  return PlanRun(plan, arguments, options).run();
}

}  // namespace tilewright::runtime
