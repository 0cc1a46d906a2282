// Fused stacks of layers in bf16.
#include "veldt/cuda/mlp_precision-inl.h"

namespace veldt::cuda {

const MlpKernels& mlp_kernels_bf16() { return kMlpKernels<Precision::bf16>; }

}  // namespace veldt::cuda
