#include "veldt/cuda/cublas_lt.h"

#include "veldt/core/error.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

cublasLtHandle_t cublas_lt_handle(const CublasLt& lt) {
  static const cublasLtHandle_t handle = [&lt] {
    cublasLtHandle_t made = nullptr;
    check(lt, lt.create(&made), "start cublasLt on the GPU");
    return made;
  }();
  return handle;
}

void check(const CublasLt& lt, cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) check(cudaErrorMemoryAllocation, doing);
  check(cudaGetLastError(),
        doing);  // a lost device, say, of which the library knows no more than that it failed
  throw DeviceError(str("cannot ", doing), str("cublasLt says ", lt.status_name(status)),
                    "start again, or use --device cpu; nvidia-smi tells whether the GPU still answers");
}

std::string matrix_library() {
  const CublasLt* const lt = find_cublas_lt();
  if (lt == nullptr) return "Veldt's own kernels, for there is no libcublasLt";
  const std::size_t version = lt->version();  // 10000 major + 100 minor + patch
  return str("cublasLt ", version / 10000, '.', version / 100 % 100, '.', version % 100);
}

}  // namespace veldt::cuda
