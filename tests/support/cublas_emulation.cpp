// Multiplies as cublasLt would, and refuses layouts, alignments and orders of calls that it would refuse.
#include "tests/support/cublas_emulation.h"

#include <algorithm>
#include <utility>

#include "veldt/cuda/cublas_lt.h"
#include "veldt/cuda/runtime.h"
#include "veldt/kernels/convert.h"

struct cublasLtContext {};

struct EmulatedOperation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct EmulatedLayout {
  cudaDataType_t type;
  std::int64_t rows, cols, step;
  std::int32_t batch = 1;
  std::int64_t batch_step = 0;
};

struct EmulatedPreference {
  std::size_t workspace = 0;
  std::uint32_t scheme = 7;  // all
  std::uint32_t a = 256, b = 256, c = 256, d = 256;
};

namespace veldt::gpu::emulation {
namespace {

Cublas g_state = Cublas::works;
CublasCounts g_counts;
cublasLtContext g_context;

template <class T> cublasStatus_t set(T& member, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// op(A) is [m, k], op(B) [k, n], D [m, n].
struct Sizes {
  std::int64_t m, n, k;
};

bool is_matrix(const EmulatedLayout& x) {
  constexpr std::int64_t kMost = INT32_MAX;
  return x.rows > 0 && x.cols > 0 && x.rows <= kMost && x.cols <= kMost && x.step >= x.rows && x.batch > 0 &&
         x.batch_step >= 0;
}

// k is -1 if they do not fit.
Sizes sizes_of(const EmulatedOperation& op, const EmulatedLayout& a, const EmulatedLayout& b,
               const EmulatedLayout& c, const EmulatedLayout& d) {
  const bool flip_a = op.a == CUBLAS_OP_T, flip_b = op.b == CUBLAS_OP_T;
  const Sizes sizes{flip_a ? a.cols : a.rows, flip_b ? b.rows : b.cols, flip_a ? a.rows : a.cols};
  const bool wide = op.compute == CUBLAS_COMPUTE_64F;
  const bool types = a.type == b.type && a.type == d.type && c.type == d.type &&
                     (a.type == CUDA_R_64F) == wide && op.scale == (wide ? CUDA_R_64F : CUDA_R_32F);
  const bool fit = is_matrix(a) && is_matrix(b) && is_matrix(c) && is_matrix(d) && a.batch == b.batch &&
                   a.batch == d.batch && c.batch == d.batch && sizes.k == (flip_b ? b.cols : b.rows) &&
                   d.rows == sizes.m && d.cols == sizes.n && c.rows == d.rows && c.cols == d.cols;
  return types && fit ? sizes : Sizes{0, 0, -1};
}

// FNV-1a over what an algorithm is chosen for.
std::uint64_t fingerprint(const EmulatedOperation& op, const EmulatedLayout& a, const EmulatedLayout& b,
                          const EmulatedLayout& d) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211u;
  };
  for (const std::int64_t value : {static_cast<std::int64_t>(op.compute), static_cast<std::int64_t>(op.a),
                                   static_cast<std::int64_t>(op.b), static_cast<std::int64_t>(op.epilogue)})
    add(value);
  for (const EmulatedLayout* x : {&a, &b, &d})
    for (const std::int64_t value : {static_cast<std::int64_t>(x->type), x->rows, x->cols, x->step,
                                     static_cast<std::int64_t>(x->batch), x->batch_step})
      add(value);
  return hash;
}

DType dtype_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F: return DType::f64;
    case CUDA_R_16F: return DType::f16;
    case CUDA_R_16BF: return DType::bf16;
    default: return DType::f32;
  }
}

// One thread a column of D. Sum: what the library adds in.
template <class T, class Sum> struct Kernel {
  EmulatedOperation op;
  EmulatedLayout a, b, c, d;
  Sizes sizes;
  const T *from_a, *from_b, *from_c;
  T* to;
  Sum alpha, beta;
  bool rounds_parts;  // cuts sums in two, and rounds the first to T

  void operator()() const {
    const std::int64_t col = blockIdx.x, batch = blockIdx.y;
    const T* const x = from_a + batch * a.batch_step;
    const T* const y = from_b + batch * b.batch_step;
    for (std::int64_t row = 0; row < sizes.m; ++row) {
      Sum sum = 0, first = 0;
      for (std::int64_t i = 0; i < sizes.k; ++i) {
        if (rounds_parts && i == sizes.k / 2)
          first = static_cast<Sum>(scalar::load(scalar::store<T>(std::exchange(sum, Sum(0)))));
        sum += static_cast<Sum>(scalar::load(x[op.a == CUBLAS_OP_T ? i + row * a.step : row + i * a.step])) *
               static_cast<Sum>(scalar::load(y[op.b == CUBLAS_OP_T ? col + i * b.step : i + col * b.step]));
      }
      sum = (first + sum) * alpha;
      if (beta != 0)
        sum += beta * static_cast<Sum>(scalar::load(from_c[batch * c.batch_step + row + col * c.step]));
      if (op.epilogue == CUBLASLT_EPILOGUE_BIAS)
        sum += static_cast<Sum>(scalar::load(static_cast<const T*>(op.bias)[row]));
      to[batch * d.batch_step + row + col * d.step] = scalar::store<T>(sum);
    }
  }
};

bool aligned(const void* p, std::uint64_t bytes) { return reinterpret_cast<std::uintptr_t>(p) % bytes == 0; }

}  // namespace

void set_cublas(Cublas state) { g_state = state; }
CublasCounts take_cublas_counts() { return std::exchange(g_counts, {}); }

}  // namespace veldt::gpu::emulation

namespace veldt::cuda {

const CublasLt* find_cublas_lt(std::string* why) {
  static const CublasLt lt = {cublasLtCreate,
                              cublasLtGetVersion,
                              cublasLtGetStatusName,
                              cublasLtMatmulDescCreate,
                              cublasLtMatmulDescDestroy,
                              cublasLtMatmulDescSetAttribute,
                              cublasLtMatrixLayoutCreate,
                              cublasLtMatrixLayoutDestroy,
                              cublasLtMatrixLayoutSetAttribute,
                              cublasLtMatmulPreferenceCreate,
                              cublasLtMatmulPreferenceDestroy,
                              cublasLtMatmulPreferenceSetAttribute,
                              cublasLtMatmulAlgoGetHeuristic,
                              cublasLtMatmul};
  if (gpu::emulation::g_state != gpu::emulation::Cublas::missing) return &lt;
  if (why != nullptr) *why = "it was planted that there is none";
  return nullptr;
}

}  // namespace veldt::cuda

using namespace veldt::gpu::emulation;  // NOLINT: the functions below are this file's other half

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = &g_context;
  return CUBLAS_STATUS_SUCCESS;
}
std::size_t cublasLtGetVersion() { return 130203; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    default: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *made = new EmulatedOperation{.compute = compute, .scale = scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete operation;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(operation->a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(operation->b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(operation->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(operation->bias, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t step) {
  *made = new EmulatedLayout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols), step};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return set(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(layout->batch_step, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new EmulatedPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(preference->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(preference->scheme, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(preference->a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(preference->b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(preference->c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(preference->d, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

// The algorithm: what it was chosen for, and what it needs of the pointers and the workspace.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  *count = 0;
  if (handle != &g_context || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (sizes_of(*operation, *a, *b, *c, *d).k < 0) return CUBLAS_STATUS_INVALID_VALUE;
  ++g_counts.choices;
  if (veldt::cuda::is_capturing()) return CUBLAS_STATUS_INTERNAL_ERROR;  // it may load a kernel
  if (g_state == Cublas::full_once) {
    g_state = Cublas::works;
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  if (g_state == Cublas::refuses ||
      (g_state == Cublas::adds_no_bias && operation->epilogue != CUBLASLT_EPILOGUE_DEFAULT))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const std::size_t workspace = std::min<std::size_t>(preference->workspace, 4096);
  const auto bias = reinterpret_cast<std::uintptr_t>(operation->bias);
  const std::uint64_t bias_alignment = bias == 0 ? 16 : std::min<std::uint64_t>(bias & -bias, 16);
  results[0] = {{{fingerprint(*operation, *a, *b, *d), preference->a, preference->b,
                  std::max(preference->c, preference->d), workspace, bias_alignment,
                  preference->scheme & ~std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}, 0}},
                workspace,
                CUBLAS_STATUS_SUCCESS,
                1,
                {}};
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  const EmulatedOperation op = *operation;
  const Sizes sizes = sizes_of(op, *a_layout, *b_layout, *c_layout, *d_layout);
  const auto& chosen = algorithm->data;
  const bool there = owns(a) && owns(b) && owns(c) && owns(d) && (workspace_bytes == 0 || owns(workspace)) &&
                     (op.epilogue != CUBLASLT_EPILOGUE_BIAS || owns(op.bias));
  const bool fits = sizes.k >= 0 && chosen[0] == fingerprint(op, *a_layout, *b_layout, *d_layout) &&
                    aligned(a, chosen[1]) && aligned(b, chosen[2]) && aligned(c, chosen[3]) &&
                    aligned(d, chosen[3]) && workspace_bytes >= chosen[4] && aligned(workspace, 256) &&
                    aligned(op.bias, chosen[5]);
  if (handle != &g_context || !there || !fits) return CUBLAS_STATUS_INVALID_VALUE;
  if (g_state == Cublas::fails) return CUBLAS_STATUS_EXECUTION_FAILED;
  ++g_counts.products;
  int started = 0;
  veldt::scalar::with_type(dtype_of(d_layout->type), [&](auto stored) {
    using T = decltype(stored);
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Kernel<T, Sum> kernel{op,
                                *a_layout,
                                *b_layout,
                                *c_layout,
                                *d_layout,
                                sizes,
                                static_cast<const T*>(a),
                                static_cast<const T*>(b),
                                static_cast<const T*>(c),
                                static_cast<T*>(d),
                                *static_cast<const Sum*>(alpha),
                                *static_cast<const Sum*>(beta),
                                chosen[6] != 0};
    started = start(kernel, dim3(static_cast<unsigned>(sizes.n), static_cast<unsigned>(d_layout->batch)),
                    dim3(1), 0, stream);
  });
  return started == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
