#include <cuda.h>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/driver_calls.h"
#include "tilewright/runtime/driver_functions.def"
#include "tilewright/runtime/graph.h"

namespace tilewright::runtime {
namespace {

const DriverFunctions& graph_calls() {
  const DriverFunctions& call = driver_calls();
  const bool all = call.cuStreamBeginCapture != nullptr && call.cuStreamEndCapture != nullptr &&
                   call.cuGraphInstantiateWithFlags != nullptr && call.cuGraphLaunch != nullptr &&
                   call.cuGraphDestroy != nullptr && call.cuGraphExecDestroy != nullptr;
  if (!all) raise(ErrorId::missing_driver, {}, "it has no graphs; install a newer NVIDIA driver");
  return call;
}

}  // namespace

Graph::Graph(const Stream& stream, const std::function<void()>& enqueue) {
  const DriverFunctions& call = graph_calls();
  // Relaxed: other libraries may allocate while they are captured.
  check_driver(call.cuStreamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
               "beginning to capture a graph");
  CUgraph graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (call.cuStreamEndCapture(stream.handle(), &graph) == CUDA_SUCCESS && graph != nullptr)
      call.cuGraphDestroy(graph);
    throw;
  }
  check_driver(call.cuStreamEndCapture(stream.handle(), &graph), "capturing a graph");
  const CUresult code = call.cuGraphInstantiateWithFlags(&handle_, graph, 0);
  call.cuGraphDestroy(graph);
  check_driver(code, "making a graph");
}

Graph::~Graph() {
  if (handle_ != nullptr) graph_calls().cuGraphExecDestroy(handle_);
}

void Graph::launch(const Stream& stream) const {
  check_driver(graph_calls().cuGraphLaunch(handle_, stream.handle()), "launching a graph");
}

}  // namespace tilewright::runtime
