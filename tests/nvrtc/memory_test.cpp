// Atomics and hints for caches become the instructions they promise on every target, and kernels
// that gather, scatter, mask, use views and atomics compile with their default configs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/codegen/kernels_memory.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/prelude_atomics.h"
#include "tilewright/runtime/hash.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::testing {
namespace {

constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"};

/// The names of all helpers for atomics that a target can have.
std::vector<std::string> atomics_of(const Target& target) {
  std::vector<std::string> names;
  for (const char* kind : {"atomic", "red"})
    for (const char* fn : {"add", "min", "max", "and", "or", "xor", "exchange", "cas"})
      for (const DType dtype : {i32, i64, f16, bf16, f32, f64})
        for (const char* count : {"", "x2", "x4", "x8"})
          for (const char* order : {"", "_acquire", "_release", "_acq_rel"}) {
            const std::string name =
                fmt::format("{}_{}_{}{}{}", kind, fn, to_string(dtype), count, order);
            const auto form = codegen::parse_atomic(name);
            if (!form || (!form->gives && form->order.starts_with("acq"))) continue;
            if (codegen::has_helper(target, *codegen::find_helper(name))) names.push_back(name);
          }
  return names;
}

/// A kernel that calls each of them once.
std::string source_of(const std::vector<std::string>& names, const Target& target) {
  std::string body;
  for (const std::string& name : names) {
    const codegen::AtomicForm form = *codegen::parse_atomic(name);
    const std::string type = codegen::cuda_type(form.dtype);
    const std::string at = fmt::format("({}*)memory", type);
    const std::string value = fmt::format("values_{}[1]", to_string(form.dtype));
    const std::string args = form.count > 1       ? fmt::format("values_{}", to_string(form.dtype))
                             : form.name == "cas" ? value + ", " + value
                                                  : value;
    body += form.gives ? fmt::format("  {} = tw::{}({}, {});\n", value, name, at, args)
                       : fmt::format("  tw::{}({}, {});\n", name, at, args);
  }
  std::string parameters = "void* memory";
  for (const DType dtype : {i32, i64, f16, bf16, f32, f64})
    parameters += fmt::format(", {}* values_{}", codegen::cuda_type(dtype), to_string(dtype));
  std::set<std::string> used = codegen::helpers_used(body);
  used.insert({"f16", "bf16"});
  return codegen::prelude_text(used, target) +
         fmt::format("extern \"C\" __global__ void kernel({}) {{\n{}}}\n", parameters, body);
}

class EveryMemoryTarget : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Memory, EveryMemoryTarget, ::testing::ValuesIn(kTargets),
                         [](const auto& info) { return info.param; });

TEST_P(EveryMemoryTarget, HasItsAtomics) {
  const Target target = parse_target(GetParam());
  const std::vector<std::string> names = atomics_of(target);
  EXPECT_EQ(names.size(), target.sm >= 90 ? 192u : 178u);
  const runtime::CompiledCuda compiled =
      runtime::compile_cuda(source_of(names, target), "kernel", target);
  const auto has = [&](const char* instruction) {
    return compiled.ptx.find(instruction) != std::string::npos;
  };
  for (const char* instruction :
       {"atom.relaxed.gpu.global.add.u32", "atom.acquire.gpu.global.min.s64",
        "red.release.gpu.global.add.f64", "red.relaxed.gpu.global.add.noftz.f16 ",
        "red.relaxed.gpu.global.add.noftz.f16x2", "atom.acq_rel.gpu.global.cas.b16",
        "atom.relaxed.gpu.global.exch.b64", "red.relaxed.gpu.global.xor.b32"})
    EXPECT_TRUE(has(instruction)) << instruction;
  for (const char* instruction :
       {"red.relaxed.gpu.global.add.v4.f32", "red.relaxed.gpu.global.add.noftz.v4.bf16x2",
        "atom.relaxed.gpu.global.add.noftz.bf16"})
    EXPECT_EQ(has(instruction), target.sm >= 90) << instruction;
}

// Each kernel for one target, all of them with TILEWRIGHT_ALL_CASES=1.
TEST_P(EveryMemoryTarget, CompilesKernelsWithTheirDefaultConfigs) {
  const Target target = parse_target(GetParam());
  std::vector<KernelCase> kernels = memory_kernels();
  for (KernelCase& kernel : atomic_kernels()) kernels.push_back(std::move(kernel));
  kernels.push_back(gather_rows(bf16, 4096, 4096, 1000));
  kernels.push_back(gathered_product(bf16, 1024, 1024, 1024));
  kernels.push_back(product_of_views(bf16, 1024, 1024, 1024));
  for (const KernelCase& kernel : kernels) {
    const codegen::Plan plan = codegen::lower(kernel.fn, default_config(kernel.fn, target), target);
    for (const codegen::Step& step : plan.steps) {
      if (step.kind != codegen::Step::Kind::kernel) continue;
      const bool chosen = runtime::hash_bytes(step.kernel.symbol).low % std::size(kTargets) == 0;
      if (!chosen && std::getenv("TILEWRIGHT_ALL_CASES") == nullptr) continue;
      try {
        const runtime::CompiledCuda made =
            runtime::compile_cuda(step.kernel.source, step.kernel.symbol, target);
        EXPECT_EQ(made.resources.spill_bytes, 0) << kernel.name;
      } catch (const std::exception& error) {
        ADD_FAILURE() << kernel.name << ": " << error.what() << "\n" << step.kernel.source;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
