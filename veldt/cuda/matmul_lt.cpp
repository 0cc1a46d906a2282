// Chooses and keeps an algorithm of cublasLt for each form of product.
#include "veldt/cuda/matmul_lt.h"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>

#include "veldt/core/error.h"
#include "veldt/cuda/cublas_lt.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;

// Fewer multiplications of f32 or f64 are done by the tiles of matmul.cu, and do not open the library. An
// H100 took 29 us for 2^23 of them by those tiles.
constexpr double kWorthwhile = 1 << 22;
constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr std::size_t kMostKept = 512;                     // products that are prepared
constexpr const char* kDoing = "multiply matrices on the GPU";

// How a matrix lies in memory: `rows` of each column are neighbours, columns are `step` apart, matrices of a
// batch `batch`. The product takes its transpose if it says so.
struct Layout {
  Index rows, cols, step, batch;
  bool transposed;
  auto operator<=>(const Layout&) const = default;
};

// vector: the library adds the same numbers to each column. added: it already is in the result.
enum class Bias : std::uint8_t { none, vector, added };

// All that the library is told before it sees the numbers.
struct Form {
  DType dtype;
  Index batch;
  Layout left, right, out;
  Bias bias;
  std::array<std::uint32_t, 3> alignment;  // bytes: of left, right and out
  auto operator<=>(const Form&) const = default;
};

struct Product {
  Form form;
  const void *left, *right, *bias;
  void* out;
};

// Nothing for a view that is no matrix to the library.
std::optional<Layout> layout_of(const View& v, int row_dim, int col_dim) {
  const Index rows = v.shape[row_dim], cols = v.shape[col_dim];
  const Index down = v.strides[row_dim], across = v.strides[col_dim];
  const Index batch = v.shape[0] == 1 ? 0 : v.strides[0];
  if (batch < 0) return std::nullopt;
  if ((down == 1 || rows == 1) && (across >= rows || cols == 1))
    return Layout{rows, cols, cols == 1 ? rows : across, batch, false};
  if ((across == 1 || cols == 1) && (down >= cols || rows == 1))
    return Layout{cols, rows, rows == 1 ? cols : down, batch, true};
  return std::nullopt;
}

// More than 16 bytes serve no kernel; and to tell of more would make a recorded step, whose tensors lie
// elsewhere, a product of its own with bits of its own.
constexpr std::uint32_t kAligned = 16;

std::uint32_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & -address, kAligned));
}

// left right = out, each with rows along `row_dim` of its view.
std::optional<Product> product_of(const View& left, const View& right, const View* bias, const View& out,
                                  int row_dim) {
  const int col_dim = 3 - row_dim;
  const auto l = layout_of(left, row_dim, col_dim), r = layout_of(right, row_dim, col_dim),
             o = layout_of(out, row_dim, col_dim);
  if (!l || !r || !o || o->transposed) return std::nullopt;
  const auto repeats = [&](int dim) { return bias->strides[dim] == 0 || out.shape[dim] == 1; };
  Bias kind = Bias::none;
  if (bias != nullptr) {
    const bool list =
        (bias->strides[row_dim] == 1 || out.shape[row_dim] == 1) && alignment_of(bias->data) == kAligned;
    kind = list && repeats(0) && repeats(col_dim) ? Bias::vector : Bias::added;
  }
  return Product{{out.dtype,
                  out.shape[0],
                  *l,
                  *r,
                  *o,
                  kind,
                  {alignment_of(left.data), alignment_of(right.data), alignment_of(out.data)}},
                 left.data,
                 right.data,
                 kind == Bias::vector ? bias->data : nullptr,
                 out.data};
}

// The library counts down columns, and its result has no transpose. So rows of the result that are neighbours
// are computed as they lie, and where columns are, its transpose is: b^T a^T.
std::optional<Product> product_of(const View& a, const View& b, const View* bias, const View& out) {
  if (auto transposed = product_of(b, a, bias, out, 2)) return transposed;
  return product_of(a, b, bias, out, 1);
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    default: return CUDA_R_32F;
  }
}

// Calls into the library, which takes memory of the device by itself: where there is none, once more after
// the tensors' pool has made room.
template <class Call> cublasStatus_t with_room(Call call) {
  const cublasStatus_t status = call();
  return status == CUBLAS_STATUS_ALLOC_FAILED && make_room() ? call() : status;
}

// What the library makes, and takes back.
template <class Handle>
using Made = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

// A product that is described to the library, and how it will compute it.
class Prepared {
 public:
  // `bias`: as of the first product; of others it is no less aligned.
  Prepared(const CublasLt& lt, const Form& form, const void* bias)
      : lt_(lt),
        form_(form),
        operation_(make_operation()),
        left_(make_layout(form.left)),
        right_(make_layout(form.right)),
        out_(make_layout(form.out)) {
    choose(bias);
  }

  // Whether the library can.
  bool works() const { return works_; }

  void run(const Product& p) const {
    if (p.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const double one = 1, sum = form_.bias == Bias::added ? 1 : 0;
    const float one_f32 = 1, sum_f32 = static_cast<float>(sum);
    const bool wide = form_.dtype == DType::f64;
    const Scratch workspace(workspace_);
    check_launch();
    const cublasLtHandle_t handle = cublas_lt_handle(lt_);
    const auto multiply = [&] {
      return lt_.multiply(handle, operation_.get(), wide ? static_cast<const void*>(&one) : &one_f32, p.left,
                          left_.get(), p.right, right_.get(),
                          wide ? static_cast<const void*>(&sum) : &sum_f32, p.out, out_.get(), p.out,
                          out_.get(), &algorithm_, workspace.as<void>(), workspace_, compute_stream());
    };
    check(lt_, with_room(multiply), kDoing);
  }

 private:
  template <class T> void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    check(lt_, lt_.set_operation(operation_.get(), attribute, &value, sizeof value), kDoing);
  }

  Made<cublasLtMatmulDesc_t> make_operation() const {
    const bool wide = form_.dtype == DType::f64;
    cublasLtMatmulDesc_t made = nullptr;
    check(lt_,
          lt_.make_operation(&made, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                             wide ? CUDA_R_64F : CUDA_R_32F),
          kDoing);
    return {made, lt_.drop_operation};
  }

  Made<cublasLtMatrixLayout_t> make_layout(const Layout& l) const {
    cublasLtMatrixLayout_t made = nullptr;
    check(lt_,
          lt_.make_layout(&made, type_of(form_.dtype), static_cast<std::uint64_t>(l.rows),
                          static_cast<std::uint64_t>(l.cols), l.step),
          kDoing);
    Made<cublasLtMatrixLayout_t> layout(made, lt_.drop_layout);
    const auto count = static_cast<std::int32_t>(form_.batch);
    check(lt_, lt_.set_layout(layout.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          kDoing);
    check(lt_,
          lt_.set_layout(layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &l.batch, sizeof l.batch),
          kDoing);
    return layout;
  }

  // The library's own guess from sizes and device alone, so that bits do not depend on a measurement.
  void choose(const void* bias) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, form_.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, form_.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (form_.bias == Bias::vector) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    cublasLtMatmulPreference_t made = nullptr;
    check(lt_, lt_.make_preference(&made), kDoing);
    const Made<cublasLtMatmulPreference_t> preference(made, lt_.drop_preference);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(lt_, lt_.set_preference(preference.get(), attribute, &value, sizeof value), kDoing);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    // Parts of a sum are never rounded to halves.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, form_.alignment[0]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, form_.alignment[1]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, form_.alignment[2]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, form_.alignment[2]);
    cublasLtMatmulHeuristicResult_t chosen{};
    int count = 0;
    const cublasLtHandle_t handle = cublas_lt_handle(lt_);
    const cublasStatus_t status = with_room([&] {
      return lt_.choose(handle, operation_.get(), left_.get(), right_.get(), out_.get(), out_.get(),
                        preference.get(), 1, &chosen, &count);
    });
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(lt_, status, kDoing);
    works_ = status == CUBLAS_STATUS_SUCCESS && count == 1 && chosen.state == CUBLAS_STATUS_SUCCESS;
    algorithm_ = chosen.algo;
    workspace_ = chosen.workspaceSize;
  }

  const CublasLt& lt_;
  Form form_;
  Made<cublasLtMatmulDesc_t> operation_;
  Made<cublasLtMatrixLayout_t> left_, right_, out_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_ = 0;
  bool works_ = false;
};

// Kept until the process ends, when the library may be gone before its descriptors.
const Prepared& prepared(const CublasLt& lt, const Product& p) {
  static auto& kept = *new std::map<Form, Prepared>;
  if (kept.size() >= kMostKept && !kept.contains(p.form)) kept.clear();
  return kept.try_emplace(p.form, lt, p.form, p.bias).first->second;
}

// False, with nothing done, if the library has no kernel for it.
bool multiply(const CublasLt& lt, Product p, const View* bias, const View& out) {
  const Turn turn = take_turn();
  const Prepared* ready = &prepared(lt, p);
  if (!ready->works() && p.form.bias == Bias::vector) {
    p.form.bias = Bias::added;
    p.bias = nullptr;
    ready = &prepared(lt, p);
  }
  if (!ready->works()) return false;
  if (p.form.bias == Bias::added) copy(*bias, out);
  ready->run(p);
  return true;
}

View contiguous(const View& like, void* data) {
  return {data, like.dtype, like.shape, contiguous_strides(like.shape)};
}

std::size_t bytes_of(const View& v) {
  const std::size_t bytes = static_cast<std::size_t>(numel(v.shape)) * size_of(v.dtype);
  return (bytes + 255) / 256 * 256;
}

// Of views that the library cannot read.
bool multiply_copies(const CublasLt& lt, const View& a, const View& b, const View* bias, const View& out) {
  const Scratch memory(bytes_of(a) + bytes_of(b) + bytes_of(out));
  const View copied_a = contiguous(a, memory.as<void>()),
             copied_b = contiguous(b, memory.as<void>(bytes_of(a))),
             result = contiguous(out, memory.as<void>(bytes_of(a) + bytes_of(b)));
  copy(a, copied_a);
  copy(b, copied_b);
  if (!multiply(lt, *product_of(copied_a, copied_b, bias, result), bias, result)) return false;
  copy(result, out);
  return true;
}

// Its sizes are 64 bits wide, and only what fits into 32 is sure to be served.
bool is_served(const View& a, const View& out) {
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  return out.shape[0] <= kMost && out.shape[1] <= kMost && out.shape[2] <= kMost && a.shape[2] <= kMost;
}

}  // namespace

bool lt_multiplies(DType dtype) { return is_float(dtype) && find_cublas_lt() != nullptr; }

bool lt_matmul(const View& a, const View& b, const View* bias, const View& out) {
  const double products = static_cast<double>(numel(out.shape)) * static_cast<double>(a.shape[2]);
  const bool half = is_half(a.dtype);
  if (!is_float(a.dtype) || (!half && products < kWorthwhile)) return false;
  const CublasLt* const lt = find_cublas_lt();
  if (lt == nullptr) return false;
  if (a.shape[2] == 0) {
    bias != nullptr ? copy(*bias, out) : fill(out, 0);
    return true;
  }
  if (is_served(a, out)) {
    if (const std::optional<Product> p = product_of(a, b, bias, out)) {
      if (multiply(*lt, *p, bias, out)) return true;
    } else if (half && multiply_copies(*lt, a, b, bias, out)) {
      return true;
    }
  }
  if (!half) return false;
  throw DeviceError(str("cuda cannot multiply ", a.shape, " by ", b.shape, " of ", a.dtype),
                    "cublasLt has no kernel for it", "convert both to f32");
}

}  // namespace veldt::cuda
