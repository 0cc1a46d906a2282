// cublasLt, the matrix library of CUDA's toolkit. It is opened when the first product wants it: it has half a
// gigabyte, and a machine may be without it.
// Tests: tests/cuda/matmul_test.cpp
#pragma once

#include <string>

#ifdef VELDT_GPU_EMULATION
#include VELDT_CUBLAS_EMULATION
#else
#include <cublasLt.h>
#endif

namespace veldt::cuda {

// Its functions. The descriptors are made by functions of the library, so that it need not be the very
// version whose header was compiled.
struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtGetStatusName) status_name;
  decltype(&cublasLtMatmulDescCreate) make_operation;
  decltype(&cublasLtMatmulDescDestroy) drop_operation;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation;
  decltype(&cublasLtMatrixLayoutCreate) make_layout;
  decltype(&cublasLtMatrixLayoutDestroy) drop_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) drop_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose;
  decltype(&cublasLtMatmul) multiply;
};

// Null where there is none, or one that lacks a function; `why` gets what the loader says.
const CublasLt* find_cublas_lt(std::string* why = nullptr);
// What the library wants to be handed first. Throws OutOfMemory, or DeviceError if it does not start on the
// opened device. In one's turn (runtime.h).
cublasLtHandle_t cublas_lt_handle(const CublasLt& lt);
// Throws OutOfMemory or DeviceError that says what was being done, such as "multiply matrices", and what the
// library said.
void check(const CublasLt& lt, cublasStatus_t status, const char* doing);

// Of DevicePlugin.
std::string matrix_library();

}  // namespace veldt::cuda
