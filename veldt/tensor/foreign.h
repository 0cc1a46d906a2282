// Memory that somebody else owns, as a tensor and without a copy: plain pointers, and DLPack, by which NumPy,
// PyTorch and others exchange tensors within a process. On the CPU alone.
// Tests: tests/tensor/foreign_test.cpp
#pragma once

#include <functional>

#include "veldt/tensor/tensor.h"

struct DLManagedTensor;  // of <dlpack/dlpack.h>

namespace veldt {

// A tensor whose first element is at `data`. Strides are in elements, row-major if none are given. All that
// is written into one is in the other. `release(data)` is called once, when the last tensor that uses the
// memory is gone, by the thread that lets go of it; it must not throw. Without one, the memory must outlive
// these tensors. Booleans are bytes of 0 or 1. Throws ShapeError for strides of another rank or below 0, a
// null pointer or one that is not aligned to an element; memory is then not released.
Tensor from_blob(void* data, const Shape& shape, DType dtype = DType::f32,
                 std::function<void(void*)> release = {});
Tensor from_blob(void* data, const Shape& shape, const Strides& strides, DType dtype = DType::f32,
                 std::function<void(void*)> release = {});

// x's memory for another library, of any dtype and strides. It lives until the other side calls the
// `deleter`, and so does a view of it. Throws Error for a tensor that requires a gradient, which the other
// side would not see, and DeviceError for one that is not on the CPU.
DLManagedTensor* to_dlpack(const Tensor& x);
// The memory of another library as a tensor, which calls `deleter` when it is done. Throws ShapeError or
// DeviceError for what Veldt has not: dtypes, ranks above 8, other devices, strides below 0. `managed` then
// still is the caller's.
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace veldt
