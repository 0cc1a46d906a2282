// Fused stacks of layers in tf32.
#include "veldt/cuda/mlp_precision-inl.h"

namespace veldt::cuda {

const MlpKernels& mlp_kernels_tf32() { return kMlpKernels<Precision::tf32>; }

}  // namespace veldt::cuda
