// NVRTC: CUDA text to machine code, loaded at run time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/target.h"

namespace tilewright::runtime {

/// The NVRTC of this machine; for reports.
struct NvrtcStatus {
  int version = 0;      ///< 13000 for 13.0; 0 when there is none
  std::string path;     ///< the file
  std::string problem;  ///< what was tried; empty when it is loaded
};

/// Where libnvrtc is looked for, in order: only TILEWRIGHT_NVRTC_PATH (a file or folder) when that
/// is set; else the loader's path, $CUDA_PATH and $CUDA_HOME, /usr/local/cuda and the folder known
/// when Tilewright was built.
std::vector<std::string> nvrtc_candidates();

/// Loads NVRTC on the first call; never throws, never retries.
const NvrtcStatus& nvrtc_status();

/// What ptxas reports of one kernel. Bytes are per thread, except shared memory per block (the
/// static part).
struct Resources {
  int registers = 0;
  int spill_bytes = 0;  ///< stored and loaded again
  int shared_bytes = 0;
  int local_bytes = 0;  ///< stack frame
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct CompiledCuda {
  std::string cubin, ptx, log;
  Resources resources;
  int compiler = 0;  ///< NVRTC version

  /// What the compiler found worth telling about the machine code, a line each: matrix instructions
  /// that it serialized, waits it put in, register counts it ignored.
  std::vector<std::string> notes() const;
};

struct CudaOptions {
  /// Line information for profilers; the source must lie at `file`.
  bool lineinfo = false;
  std::string file = {};  ///< the name the compiler gives the source
};

/// The options a kernel is compiled with, except those that only name files.
std::vector<std::string> nvrtc_options(const Target& target, const CudaOptions& options,
                                       int version);

/// Compiles header-free CUDA text; needs no GPU. `name` is the kernel's, for messages. Raises
/// missing_nvrtc, missing_nvrtc_builtins, nvrtc_target, or nvrtc_compile with the log.
CompiledCuda compile_cuda(const std::string& source, const std::string& name, const Target& target,
                          const CudaOptions& options = {});

/// Reads the report of `ptxas -v`; several kernels add up to the largest of each figure.
Resources parse_resources(std::string_view log);

/// What failed, and how.
struct CompileFailure {
  int code = 0;      ///< nvrtcResult
  std::string text;  ///< its name
  std::string log;   ///< NVRTC's
  std::string name;  ///< the kernel's
  Target target;
  int version = 0;
  std::string path;  ///< of libnvrtc
};
/// Raises the error that explains a failed compilation.
[[noreturn]] void raise_compile_failure(const CompileFailure& failure);

}  // namespace tilewright::runtime
