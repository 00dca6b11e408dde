// `tilewright show`: what a kernel is compiled to.
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/bind.h"
#include "cli/commands.h"
#include "cli/disassembler.h"
#include "cli/options.h"
#include "tilewright/autotune/registry.h"

namespace tilewright::cli {
namespace {

// One text for each kernel of the plan.
template <class TextOf>
std::string each_step(const CompiledKernel& compiled, const TextOf& text_of) {
  std::string text;
  for (int step = 0; step < compiled.kernels(); ++step) text += text_of(step);
  return text;
}

std::string cuda(const CompiledKernel& compiled) {
  return each_step(compiled, [&](int step) { return compiled.cuda(step); });
}

std::string ptx(const CompiledKernel& compiled) {
  return each_step(compiled, [&](int step) { return compiled.ptx(step); });
}

std::string sass(const CompiledKernel& compiled) {
  return each_step(compiled, [&](int step) { return disassemble(compiled.cubin(step)); });
}

std::string kernel_resources(const CompiledKernel& compiled, int step,
                             const codegen::KernelStep& kernel) {
  const runtime::Resources& used = compiled.resources(step);
  std::string text = fmt::format(
      "{}\n"
      "  threads a block   {}\n"
      "  registers         {} a thread\n"
      "  spilled           {} bytes a thread\n"
      "  local memory      {} bytes a thread\n"
      "  shared memory     {} bytes a block\n",
      kernel.symbol, kernel.threads, used.registers, used.spill_bytes, used.local_bytes,
      kernel.shared_bytes + used.shared_bytes);
  if (kernel.cluster > 1) text += fmt::format("  cluster           {} blocks\n", kernel.cluster);
  text += "  accesses\n";
  for (const codegen::OperandAccess& access : kernel.accesses)
    text += fmt::format("    {:<12} {:<14} {:>2} bytes{}\n", access.tensor, access.kind,
                        access.bytes, access.staged ? ", through shared memory" : "");
  for (const std::string& note : compiled.notes(step)) text += fmt::format("  note: {}\n", note);
  return text;
}

std::string fill_resources(const codegen::Plan& plan, const codegen::MemsetStep& step) {
  const codegen::Buffer& buffer = plan.buffers.at(static_cast<size_t>(step.buffer));
  return fmt::format("fill of {} with bytes of {}\n", buffer.name, step.value);
}

std::string resources(const CompiledKernel& compiled) {
  std::string text = fmt::format(
      "{} for {}, config {}\n"
      "  launches          {}\n"
      "  workspace         {} bytes\n",
      compiled.name(), compiled.target().name(), to_json(compiled.config()), compiled.launches(),
      compiled.workspace_bytes());
  int kernels = 0;
  for (const codegen::Step& step : compiled.plan().steps)
    text += step.kind == codegen::Step::Kind::kernel
                ? kernel_resources(compiled, kernels++, step.kernel)
                : fill_resources(compiled.plan(), step.memset);
  return text;
}

struct Emitter {
  const char* name;
  std::string (*emit)(const CompiledKernel&);
};

constexpr Emitter kEmitters[] = {
    {"cuda", cuda},
    {"tile-ir", [](const CompiledKernel& compiled) { return compiled.tile_ir(); }},
    {"kernel-ir", [](const CompiledKernel& compiled) { return compiled.kernel_ir(); }},
    {"ptx", ptx},
    {"sass", sass},
    {"resources", resources}};

std::vector<std::string> emitter_names() {
  std::vector<std::string> names;
  for (const Emitter& emitter : kEmitters) names.emplace_back(emitter.name);
  return names;
}

struct ShowOptions {
  KernelOptions kernel;
  std::string arch;
  std::string emit = "cuda";
};

void show(const ShowOptions& options) {
  const KernelHandle kernel = options.kernel.find_kernel();
  CompileOptions compile;
  compile.config = options.kernel.parsed_config();
  if (!options.arch.empty()) compile.target = parse_target(options.arch);
  const std::vector<CompileArg> arguments =
      compile_arguments(kernel, options.kernel.parsed_arguments(), DynamicSizes::allowed);
  check_one_definition(kernel.name(), arguments);
  const CompiledKernel compiled = kernel.compile(arguments, compile);
  for (const Emitter& emitter : kEmitters)
    if (options.emit == emitter.name) fmt::print("{}", emitter.emit(compiled));
}

}  // namespace

void add_show(CLI::App& app) {
  CLI::App* command = app.add_subcommand("show", "What a kernel is compiled to");
  const auto options = std::make_shared<ShowOptions>();
  options->kernel.add_to(*command);
  command->add_option("--arch", options->arch,
                      "Architecture such as sm_80; else the GPU's, sm_80 without one");
  command->add_option("--emit", options->emit, "What to print")
      ->check(CLI::IsMember(emitter_names()))
      ->capture_default_str();
  command->callback([options] { show(*options); });
}

}  // namespace tilewright::cli
