// Where cublasLt is. Tests have a twin of it instead of this file (tests/support/cublas_emulation.h).
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "veldt/core/error.h"
#include "veldt/cuda/cublas_lt.h"

namespace veldt::cuda {
namespace {

struct Found {
  const CublasLt* lt = nullptr;
  CublasLt functions{};
  std::string why;
};

void* open_library(std::string& why) {
  // Of the toolkit that this was compiled with: another major version may number things otherwise. A
  // toolkit's folder is often not among those that the system searches.
  const std::string name = str("libcublasLt.so.", CUDART_VERSION / 1000);
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name}) {
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* const error = dlerror();
    if (why.empty()) why = error != nullptr ? error : name + " cannot be opened";
  }
  return nullptr;
}

template <class Function> bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, CublasLt& lt) {
  return find(library, "cublasLtCreate", lt.create) && find(library, "cublasLtGetVersion", lt.version) &&
         find(library, "cublasLtGetStatusName", lt.status_name) &&
         find(library, "cublasLtMatmulDescCreate", lt.make_operation) &&
         find(library, "cublasLtMatmulDescDestroy", lt.drop_operation) &&
         find(library, "cublasLtMatmulDescSetAttribute", lt.set_operation) &&
         find(library, "cublasLtMatrixLayoutCreate", lt.make_layout) &&
         find(library, "cublasLtMatrixLayoutDestroy", lt.drop_layout) &&
         find(library, "cublasLtMatrixLayoutSetAttribute", lt.set_layout) &&
         find(library, "cublasLtMatmulPreferenceCreate", lt.make_preference) &&
         find(library, "cublasLtMatmulPreferenceDestroy", lt.drop_preference) &&
         find(library, "cublasLtMatmulPreferenceSetAttribute", lt.set_preference) &&
         find(library, "cublasLtMatmulAlgoGetHeuristic", lt.choose) &&
         find(library, "cublasLtMatmul", lt.multiply);
}

}  // namespace

const CublasLt* find_cublas_lt(std::string* why) {
  static const Found& found = *[] {
    auto* const f = new Found;  // as long as the process, as the library
    if (void* const library = open_library(f->why)) {
      if (find_all(library, f->functions))
        f->lt = &f->functions;
      else
        f->why = "libcublasLt lacks a function that Veldt calls";
    }
    return f;
  }();
  if (why != nullptr) *why = found.why;
  return found.lt;
}

}  // namespace veldt::cuda
