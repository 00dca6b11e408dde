// `tilewright doctor`: what this machine has, what is missing and how to get it.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/commands.h"
#include "cli/disassembler.h"
#include "tilewright/autotune/worker_evaluator.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/cubin_cache.h"
#include "tilewright/runtime/device.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

void line(std::string_view what, const std::string& finding) {
  fmt::print("{:<14} {}\n", what, finding);
}

void missing(std::string_view what, const std::string& problem, std::string_view remedy) {
  line(what, "MISSING: " + problem);
  line("", fmt::format("to get it: {}", remedy));
}

// Text that fails is the result: a report goes on whatever is broken.
template <class Ask>
std::string or_problem(const Ask& ask) {
  try {
    return ask();
  } catch (const Error& error) {
    return fmt::format("PROBLEM: {}", error.what());
  }
}

void report_driver() {
  const runtime::DriverStatus& status = runtime::driver_status();
  if (status.loaded)
    line("driver",
         fmt::format("{}, CUDA {}", status.library, runtime::version_text(status.version)));
  if (!status.usable()) line("driver", "MISSING: " + status.problem);
  if (status.devices == 0) line("GPU", "none: kernels run on the CPU, by the interpreter");
  for (int device = 0; device < status.devices; ++device)
    line(fmt::format("GPU cuda:{}", device), or_problem([&] {
           const runtime::DeviceInfo& info = runtime::device_info(device);
           return fmt::format("{}, {}, {} multiprocessors, {:.1f} GiB", info.name,
                              runtime::device_target(device).name(), info.multiprocessors,
                              static_cast<double>(info.memory_bytes) / (1 << 30));
         }));
}

// Compiling something is the only way to see that NVRTC finds its other half.
std::string try_compiler() {
  runtime::compile_cuda("extern \"C\" __global__ void doctor() {}\n", "doctor",
                        parse_target("sm_80"));
  return "compiles";
}

void report_nvrtc() {
  const runtime::NvrtcStatus& status = runtime::nvrtc_status();
  if (status.version == 0)
    return missing("NVRTC", status.problem,
                   "install the CUDA toolkit or 'pip install nvidia-cuda-nvrtc', and set "
                   "TILEWRIGHT_NVRTC_PATH to its libnvrtc.so");
  line("NVRTC", fmt::format("{} ({}): {}", runtime::version_text(status.version), status.path,
                            or_problem(try_compiler)));
}

void report_cache() {
  const std::string folder = runtime::cache_folder();
  if (folder.empty())
    return missing("cache", "no home folder", "set TILEWRIGHT_CACHE_DIR to a writable folder");
  std::error_code error;
  int64_t files = 0, bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error))
    if (entry.is_regular_file()) {
      ++files;
      bytes += static_cast<int64_t>(entry.file_size());
    }
  line("cache", fmt::format("{} ({} files, {:.1f} MiB)", folder, files,
                            static_cast<double>(bytes) / (1 << 20)));
}

void report_disassembler() {
  if (const auto command = find_disassembler())
    line("disassembler", *command);
  else
    missing("disassembler", "needed for --emit sass only", kDisassemblerHint);
}

// What runs the tuner's candidates.
void report_worker() { line("worker", or_problem(tune::worker_program)); }

void doctor() {
  line("tilewright", TILEWRIGHT_VERSION);
  report_driver();
  report_nvrtc();
  report_cache();
  report_disassembler();
  report_worker();
  line("kernels run on", or_problem([] { return to_string(default_device()); }));
}

}  // namespace

void add_doctor(CLI::App& app) {
  app.add_subcommand("doctor",
                     "What this machine has for Tilewright, and how to get what is missing")
      ->callback(doctor);
}

}  // namespace tilewright::cli
