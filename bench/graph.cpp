#include "bench/graph.h"

#include <cuda.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "tilewright/runtime/shared_library.h"

namespace tilewright::bench {
namespace {

// The symbols are those of CUDA 12, which cuda.h may map to newer ones.
struct Calls {
  runtime::SharedLibrary library;
  CUresult (*begin_capture)(CUstream, CUstreamCaptureMode) = nullptr;
  CUresult (*end_capture)(CUstream, CUgraph*) = nullptr;
  CUresult (*instantiate)(CUgraphExec*, CUgraph, unsigned long long) = nullptr;
  CUresult (*graph_launch)(CUgraphExec, CUstream) = nullptr;
  CUresult (*graph_destroy)(CUgraph) = nullptr;
  CUresult (*exec_destroy)(CUgraphExec) = nullptr;
  CUresult (*attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;

  template <class Function>
  void find(const char* symbol, Function*& function) {
    if (!library.find(symbol, function))
      throw std::runtime_error(fmt::format("the driver has no {}", symbol));
  }
};

Calls open_calls() {
  Calls calls;
  std::string problem;
  calls.library = runtime::SharedLibrary::open(runtime::driver_status().library, problem);
  if (!calls.library) throw std::runtime_error(problem);
  calls.find("cuStreamBeginCapture_v2", calls.begin_capture);
  calls.find("cuStreamEndCapture", calls.end_capture);
  calls.find("cuGraphInstantiateWithFlags", calls.instantiate);
  calls.find("cuGraphLaunch", calls.graph_launch);
  calls.find("cuGraphDestroy", calls.graph_destroy);
  calls.find("cuGraphExecDestroy", calls.exec_destroy);
  calls.find("cuDeviceGetAttribute", calls.attribute);
  return calls;
}

Calls& calls() {
  static Calls all = open_calls();
  return all;
}

void check(CUresult code, const char* call) {
  if (code != CUDA_SUCCESS)
    throw std::runtime_error(fmt::format("{} failed with {}", call, static_cast<int>(code)));
}

}  // namespace

Graph::Graph(const Stream& stream, const std::function<void()>& enqueue) {
  // Relaxed: a peer may allocate while it is captured.
  check(calls().begin_capture(stream.handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (calls().end_capture(stream.handle(), &graph) == CUDA_SUCCESS && graph != nullptr)
      calls().graph_destroy(graph);
    throw;
  }
  check(calls().end_capture(stream.handle(), &graph), "cuStreamEndCapture");
  const CUresult code = calls().instantiate(&handle_, graph, 0);
  calls().graph_destroy(graph);
  check(code, "cuGraphInstantiateWithFlags");
}

Graph::~Graph() {
  if (handle_ != nullptr) calls().exec_destroy(handle_);
}

void Graph::launch(const Stream& stream) const {
  check(calls().graph_launch(handle_, stream.handle()), "cuGraphLaunch");
}

BareLaunch::BareLaunch() { calls().find("cuLaunchKernel", launch_); }

int64_t l2_bytes(int device) {
  int bytes = 0;
  check(calls().attribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device),
        "cuDeviceGetAttribute");
  return bytes;
}

}  // namespace tilewright::bench
