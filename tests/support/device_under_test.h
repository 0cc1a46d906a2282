// On which device tests of CUDA run: the emulated one (gpu_emulation.h) or, with VELDT_TEST_GPU=1 in the
// environment, a real one through libveldt_cuda.so. Where that finds no GPU, every test is skipped and says
// why.
#pragma once

#include <cstddef>

#include "veldt/tensor/tensor.h"

namespace veldt::test {

bool on_real_gpu();

// Makes the library of that device the CUDA backend of this process. Again and again does no harm.
void use_device_under_test();

// A function of a library with kernels of tests, which is there where CUDA is built; null if it is not.
void* symbol_on_gpu(const char* library, const char* name);

// Numbers that the device computed, for tools/gpu_run, which compares those of the emulated device with a
// GPU's. They are added to the file that VELDT_TEST_RESULTS names: a line "test dtype bytes", then the bytes.
// `precision`: what they may be off by for their size, if that is not a matter of the dtype's last digits.
void note_result(DType dtype, const void* data, std::size_t bytes, double precision = 0);
void note_result(const Tensor& on_cpu, double precision = 0);

}  // namespace veldt::test
