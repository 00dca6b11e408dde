// Our kernels for the products of the table.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/gemm_problem.h"
#include "tilewright/codegen/config.h"
#include "tilewright/runtime/array.h"
#include "tilewright/tilewright.h"

namespace tilewright::bench {

/// The arrays of one call, with the sizes of a_sizes() and so on; `bias` has n elements of the
/// input's dtype where the problem has one.
struct Operands {
  Array a, b, bias, c;
};

/// The kernel of a problem, with one config or its default.
class OurProduct {
 public:
  OurProduct(const Problem& problem, std::optional<Config> config);

  /// Compiles all that a call needs, machine code included; no GPU is needed. Of several kernels
  /// (one for each size of group) gives the last. Raises what KernelHandle::compile raises.
  CompiledKernel compile_for(const Target& target) const;
  /// The traced kernels that a call launches, one after the other.
  std::vector<std::shared_ptr<const ir::Function>> traces() const;
  /// Compiles for device 0 and loads it there, and makes the workspace, so that calls may be
  /// captured.
  CompiledKernel load();
  /// Enqueues one call.
  void enqueue(const Operands& operands, const Stream& stream) const;

 private:
  struct Views {
    TensorView a, b, bias, c;
  };
  /// Calls visit(arguments, spec of the result) for each launch of a call.
  template <class Visit>
  void for_each_launch(const Visit& visit) const;
  CompiledKernel compile(const std::optional<Target>& target) const;
  void launch(const Views& views, const Stream& stream) const;
  bool has_bias() const { return problem_.form == Form::gelu; }

  const Problem& problem_;
  std::optional<Config> config_;
  KernelHandle kernel_;
  Array workspace_;
};

}  // namespace tilewright::bench
