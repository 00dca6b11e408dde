// A small NVRTC for tests: compiles CUDA text to PTX and cubin with no GPU present.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright::testing {

/// What NVRTC made of a source. `ok` tells whether it compiled; the log explains when it did not.
struct NvrtcResult {
  bool ok = false;
  std::string log, ptx, cubin;
};

/// NVRTC, loaded at first use from the library path or the default toolkit folder.
class Nvrtc {
 public:
  static const Nvrtc& instance() {
    static const Nvrtc nvrtc;
    return nvrtc;
  }

  /// Compiles `source` for a real architecture ("sm_90a") with the options kernels are built with.
  NvrtcResult compile(const std::string& source, const std::string& architecture,
                      const std::vector<std::string>& more_options = {}) const {
    std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++17",
                                        "--fmad=false"};
    options.insert(options.end(), more_options.begin(), more_options.end());
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());

    void* program = nullptr;
    check(create_(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr));
    NvrtcResult result;
    result.ok = compile_(program, static_cast<int>(pointers.size()), pointers.data()) == 0;
    result.log = read(program, log_size_, log_);
    if (result.ok) {
      result.ptx = read(program, ptx_size_, ptx_);
      result.cubin = read(program, cubin_size_, cubin_);
    }
    destroy_(&program);
    return result;
  }

 private:
  using Size = int (*)(void*, size_t*);
  using Read = int (*)(void*, char*);

  Nvrtc() {
    for (const char* path : {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13",
                             "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
      if (!library_) library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw std::runtime_error("libnvrtc was not found");
    load(create_, "nvrtcCreateProgram");
    load(compile_, "nvrtcCompileProgram");
    load(destroy_, "nvrtcDestroyProgram");
    load(log_size_, "nvrtcGetProgramLogSize");
    load(log_, "nvrtcGetProgramLog");
    load(ptx_size_, "nvrtcGetPTXSize");
    load(ptx_, "nvrtcGetPTX");
    load(cubin_size_, "nvrtcGetCUBINSize");
    load(cubin_, "nvrtcGetCUBIN");
  }

  template <class F>
  void load(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    if (!function) throw std::runtime_error(std::string("libnvrtc lacks ") + name);
  }

  static void check(int status) {
    if (status != 0) throw std::runtime_error("NVRTC error " + std::to_string(status));
  }

  static std::string read(void* program, Size size_of, Read read_into) {
    size_t size = 0;
    check(size_of(program, &size));
    std::string text(size, '\0');
    if (size > 0) check(read_into(program, text.data()));
    return text;
  }

  void* library_ = nullptr;
  int (*create_)(void**, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*destroy_)(void**) = nullptr;
  Size log_size_ = nullptr, ptx_size_ = nullptr, cubin_size_ = nullptr;
  Read log_ = nullptr, ptx_ = nullptr, cubin_ = nullptr;
};

}  // namespace tilewright::testing
