// The kernels of a fused stack of layers, of which each precision has its own.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include "veldt/cuda/mlp_layout.h"

namespace veldt::cuda {

struct MlpKernels {
  // Brings the weights of all layers into the order of fragments.
  void (*pack)(const MlpCall&);
  // The tiles of one chunk, forward, and back where gradients are wanted.
  void (*walk)(const MlpCall&, const MlpCut&);
  // Adds a chunk's gradients of weights up.
  void (*weigh)(const MlpCall&, const MlpCut&);
  // Blocks of weigh() that the device has at a time.
  int (*weigh_places)(int weight_tile);
};

const MlpKernels& mlp_kernels_f32();   // mlp_f32.cu
const MlpKernels& mlp_kernels_tf32();  // mlp_tf32.cu
const MlpKernels& mlp_kernels_bf16();  // mlp_bf16.cu

}  // namespace veldt::cuda
