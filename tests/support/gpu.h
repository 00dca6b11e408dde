// For tests that need a GPU, and memory and graphs of the CUDA runtime in them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "tilewright/runtime/driver.h"

namespace tilewright::testing {

/// Skips every test where no GPU can be used, saying why.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const runtime::DriverStatus& status = runtime::driver_status();
    if (!status.usable()) GTEST_SKIP() << "NO GPU, NOT TESTED: " << status.problem;
  }
};

/// The functions of the CUDA runtime that tests use, loaded at run time: kernels must take memory
/// and streams that Tilewright has not made. Every call throws when it fails.
class CudaRuntime {
 public:
  static const CudaRuntime& instance() {
    static const CudaRuntime runtime;
    return runtime;
  }

  void* allocate(size_t bytes) const { return get(malloc_, "cudaMalloc", bytes); }
  void* allocate_managed(size_t bytes) const {
    void* pointer = nullptr;
    check(malloc_managed_(&pointer, bytes, 1), "cudaMallocManaged");
    return pointer;
  }
  void* allocate_pinned(size_t bytes) const { return get(malloc_host_, "cudaMallocHost", bytes); }
  void release(void* pointer) const { check(free_(pointer), "cudaFree"); }
  void release_pinned(void* pointer) const { check(free_host_(pointer), "cudaFreeHost"); }
  /// Copies in whichever direction the pointers say; waits.
  void copy(void* to, const void* from, size_t bytes) const {
    constexpr int by_pointers = 4;
    check(memcpy_(to, from, bytes, by_pointers), "cudaMemcpy");
  }
  CUstream_st* create_stream() const {
    void* stream = nullptr;
    check(stream_create_(&stream), "cudaStreamCreate");
    return static_cast<CUstream_st*>(stream);
  }
  void destroy(CUstream_st* stream) const { check(stream_destroy_(stream), "cudaStreamDestroy"); }
  void synchronize() const { check(device_synchronize_(), "cudaDeviceSynchronize"); }
  /// The pending error of this thread, which it forgets; 0 for none.
  int last_error() const { return last_error_(); }

  void begin_capture(CUstream_st* stream) const {
    constexpr int global = 0;
    check(begin_capture_(stream, global), "cudaStreamBeginCapture");
  }
  /// An executable graph of what was captured.
  void* end_capture(CUstream_st* stream) const {
    void *graph = nullptr, *executable = nullptr;
    check(end_capture_(stream, &graph), "cudaStreamEndCapture");
    check(instantiate_(&executable, graph, 0), "cudaGraphInstantiate");
    check(graph_destroy_(graph), "cudaGraphDestroy");
    return executable;
  }
  void launch(void* executable, CUstream_st* stream) const {
    check(graph_launch_(executable, stream), "cudaGraphLaunch");
  }
  void destroy_graph(void* executable) const {
    check(exec_destroy_(executable), "cudaGraphExecDestroy");
  }

 private:
  CudaRuntime() {
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so",
                             "/usr/local/cuda/lib64/libcudart.so"})
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error("libcudart was not found");
    load(malloc_, "cudaMalloc");
    load(malloc_managed_, "cudaMallocManaged");
    load(malloc_host_, "cudaMallocHost");
    load(free_, "cudaFree");
    load(free_host_, "cudaFreeHost");
    load(memcpy_, "cudaMemcpy");
    load(stream_create_, "cudaStreamCreate");
    load(stream_destroy_, "cudaStreamDestroy");
    load(device_synchronize_, "cudaDeviceSynchronize");
    load(last_error_, "cudaGetLastError");
    load(begin_capture_, "cudaStreamBeginCapture");
    load(end_capture_, "cudaStreamEndCapture");
    load(instantiate_, "cudaGraphInstantiateWithFlags");
    load(graph_destroy_, "cudaGraphDestroy");
    load(graph_launch_, "cudaGraphLaunch");
    load(exec_destroy_, "cudaGraphExecDestroy");
  }

  template <class Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("libcudart lacks ") + name);
  }
  static void check(int code, const char* call) {
    if (code != 0)
      throw std::runtime_error(std::string(call) + " failed with " + std::to_string(code));
  }
  static void* get(int (*function)(void**, size_t), const char* name, size_t bytes) {
    void* pointer = nullptr;
    check(function(&pointer, bytes), name);
    return pointer;
  }

  void* library_ = nullptr;
  int (*malloc_)(void**, size_t) = nullptr;
  int (*malloc_managed_)(void**, size_t, unsigned) = nullptr;
  int (*malloc_host_)(void**, size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*free_host_)(void*) = nullptr;
  int (*memcpy_)(void*, const void*, size_t, int) = nullptr;
  int (*stream_create_)(void**) = nullptr;
  int (*stream_destroy_)(void*) = nullptr;
  int (*device_synchronize_)() = nullptr;
  int (*last_error_)() = nullptr;
  int (*begin_capture_)(void*, int) = nullptr;
  int (*end_capture_)(void*, void**) = nullptr;
  int (*instantiate_)(void**, void*, unsigned long long) = nullptr;
  int (*graph_destroy_)(void*) = nullptr;
  int (*graph_launch_)(void*, void*) = nullptr;
  int (*exec_destroy_)(void*) = nullptr;
};

/// Memory of the CUDA runtime that dies with its scope.
class RuntimeBuffer {
 public:
  explicit RuntimeBuffer(size_t bytes) : pointer_(CudaRuntime::instance().allocate(bytes)) {}
  ~RuntimeBuffer() { CudaRuntime::instance().release(pointer_); }
  RuntimeBuffer(const RuntimeBuffer&) = delete;
  RuntimeBuffer& operator=(const RuntimeBuffer&) = delete;
  void* get() const { return pointer_; }

 private:
  void* pointer_;
};

/// A stream of the CUDA runtime that dies with its scope.
class RuntimeStream {
 public:
  RuntimeStream() : stream_(CudaRuntime::instance().create_stream()) {}
  ~RuntimeStream() { CudaRuntime::instance().destroy(stream_); }
  RuntimeStream(const RuntimeStream&) = delete;
  RuntimeStream& operator=(const RuntimeStream&) = delete;
  CUstream_st* get() const { return stream_; }

 private:
  CUstream_st* stream_;
};

}  // namespace tilewright::testing
