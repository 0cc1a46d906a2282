// Capturing the compute stream. Scratch that a kernel takes and gives back meanwhile becomes part of the
// graph.
#include <utility>

#include "veldt/cuda/device.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

namespace {
Turn g_capturing;  // others wait until the capture has ended
}

void begin_graph() {
  Turn turn = take_turn();
  check(cudaStreamBeginCapture(compute_stream(), cudaStreamCaptureModeThreadLocal),
        "record a step on the GPU");
  g_capturing = std::move(turn);
}

void* end_graph() {
  const Turn turn = std::move(g_capturing);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(compute_stream(), &graph), "record a step on the GPU");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t result = cudaGraphInstantiate(&executable, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));  // the executable one is complete in itself
  check(result, "prepare a recorded step on the GPU");
  return executable;
}

void launch_graph(void* graph) {
  const Turn turn = take_turn();
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), compute_stream()),
        "run a recorded step on the GPU");
}

void destroy_graph(void* graph) {
  const Turn turn = take_turn();
  // It may still be running; also after the device was lost, where nothing is left to do about it.
  static_cast<void>(cudaStreamSynchronize(compute_stream()));
  static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
  static_cast<void>(cudaGetLastError());
}

}  // namespace veldt::cuda
