// Looks cublasLt's functions up by name.
#include "veldt/cuda/cublas_lt.h"

#include "veldt/core/error.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

cublasLtHandle_t cublas_lt_handle(const CublasLt& lt) {
  static const cublasLtHandle_t handle = [&lt] {
    cublasLtHandle_t made = nullptr;
    cublasStatus_t status = lt.create(&made);
    if (status == CUBLAS_STATUS_ALLOC_FAILED && make_room()) status = lt.create(&made);
    check(lt, status, "start cublasLt on the GPU");
    return made;
  }();
  return handle;
}

void check(const CublasLt& lt, cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) check(cudaErrorMemoryAllocation, doing);
  // The library has a runtime of its own, but a lost device shows here too.
  if (!is_capturing()) check(cudaStreamSynchronize(compute_stream()), doing);
  throw DeviceError(str("cannot ", doing), str("cublasLt says ", lt.status_name(status)),
                    "start again; without libcublasLt on its path Veldt takes kernels of its own");
}

std::string matrix_library() {
  std::string why;
  const CublasLt* const lt = find_cublas_lt(&why);
  if (lt == nullptr) return str("Veldt's own kernels (", why, ")");
  const std::size_t version = lt->version();  // 10000 major + 100 minor + patch
  return str("cublasLt ", version / 10000, '.', version / 100 % 100, '.', version % 100);
}

}  // namespace veldt::cuda
