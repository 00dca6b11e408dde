// Kernels written by hand, for tests of what the emulator checks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::testing {

/// A plan of one kernel `test(params)` with this body. Parameters a, b, c, .. are tensors of f32,
/// of which those in `written` are written.
struct HandKernel {
  std::string shared = {};  ///< members of struct Shared
  int64_t shared_bytes = 0;
  std::string body;
  int tensors = 1;
  std::string written = "a";
  int threads = 32;
  int64_t grid = 1;
  int cluster = 1;
  /// Tensor maps, which are parameters behind the tensors.
  struct Map {
    std::string name;
    int tensor;
    codegen::TensorMapSpec map;
  };
  std::vector<Map> maps = {};

  codegen::Plan plan() const {
    codegen::Plan made;
    made.name = "test";
    codegen::KernelStep step;
    step.symbol = "test";
    std::string params;
    for (int i = 0; i < tensors; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      const bool write = written.find(name) != std::string::npos;
      step.params.push_back({.name = name, .written = write, .source = i});
      params += (i > 0 ? ", " : "") + std::string(write ? "" : "const ") + "float* " + name;
    }
    for (const Map& map : maps) {
      step.params.push_back({.name = map.name, .source = map.tensor, .map = map.map});
      params += ", const __grid_constant__ tw::TensorMap " + map.name;
    }
    if (shared_bytes > 0) step.source = "struct Shared {\n" + shared + "};\n\n";
    step.source += "extern \"C\" __global__ void __launch_bounds__(384)\ntest(" + params + ") {\n";
    if (shared_bytes > 0) step.source += "  Shared& shared = tw::shared_memory<Shared>();\n";
    step.source += "  const int t = threadIdx.x;\n" + body + "}\n";
    step.grid = codegen::integer(grid);
    step.threads = threads;
    step.cluster = cluster;
    step.shared_bytes = shared_bytes;
    made.steps.push_back({codegen::Step::Kind::kernel, std::move(step), {}});
    return made;
  }

  /// Runs it on tensors of `elements` floats; results count as never written. `result` gets a.
  runtime::Emulation run(int64_t elements, const runtime::EmulateOptions& options = {},
                         std::vector<float>* result = nullptr) const {
    std::vector<std::vector<float>> memory(static_cast<size_t>(tensors));
    std::vector<runtime::EmulatorArgument> args;
    for (int i = 0; i < tensors; ++i) {
      // As aligned as memory of a GPU.
      std::vector<float>& storage = memory[static_cast<size_t>(i)];
      storage.resize(static_cast<size_t>(elements) + 64);
      void* begin = storage.data();
      size_t room = storage.size() * sizeof(float);
      float* values = static_cast<float*>(
          std::align(256, static_cast<size_t>(elements) * sizeof(float), begin, room));
      for (int64_t at = 0; at < elements; ++at) values[at] = static_cast<float>(at);
      const bool write = written.find(static_cast<char>('a' + i)) != std::string::npos;
      args.push_back({values, elements, DType::f32, true, !write});
    }
    runtime::Emulation emulation = runtime::emulate(plan(), args, options);
    const float* a = static_cast<const float*>(args[0].data);
    if (result != nullptr) result->assign(a, a + elements);
    return emulation;
  }
};

}  // namespace tilewright::testing
