// The kernels of mma_kernels.cu for the emulated device.
#include "tests/support/mma_kernels.cu"  // NOLINT
