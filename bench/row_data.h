// A row of a table on the device: its data, the kernel of ours, and what that is compared with.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/device_kernels.h"
#include "bench/gemm_protocol.h"
#include "bench/measure.h"
#include "tilewright/autotune/compiled_kernel.h"

namespace tilewright::bench {

/// A variant of ours, loaded.
struct LoadedVariant {
  Contestant contestant;
  CompiledKernel compiled;
};

class RowData {
 public:
  RowData() = default;
  RowData(const RowData&) = delete;
  virtual ~RowData() = default;

  virtual const std::string& name() const = 0;
  virtual int sets() const = 0;  ///< of operands
  /// Empty when there is none: then rival_problem() says why.
  const std::optional<Contestant>& rival() const { return rival_; }
  const std::string& rival_problem() const { return rival_problem_; }
  virtual bool rival_is_checked() const = 0;  ///< whether it is to give the same results

  /// Compiles and loads a variant.
  virtual LoadedVariant load(const Variant& variant) = 0;
  /// Runs once into poisoned results, and compares them when `compare`.
  virtual Verdict run_once(const Contestant& contestant, bool compare) = 0;
  /// Gives back what only comparing needs.
  virtual void drop_reference() = 0;

 protected:
  std::optional<Contestant> rival_;
  std::string rival_problem_;
};

/// The row a job names. Throws std::exception.
std::unique_ptr<RowData> make_row_data(const Job& job, const DeviceKernels& kernels);
/// Compiles a variant of a row; needs no GPU.
CompiledKernel compile_variant(const std::string& row, const Variant& variant,
                               const Target& target);

/// A short race, for choices.
RaceOptions short_race(const RaceOptions& options);

}  // namespace tilewright::bench
