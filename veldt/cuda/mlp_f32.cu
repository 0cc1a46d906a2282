// Fused stacks of layers in f32.
#include "veldt/cuda/mlp_precision-inl.h"

namespace veldt::cuda {

const MlpKernels& mlp_kernels_f32() { return kMlpKernels<Precision::f32>; }

}  // namespace veldt::cuda
