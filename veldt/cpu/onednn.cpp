// Calls oneDNN's matrix products, whose primitives are created once per shape and kept.
#include "veldt/cpu/onednn.h"

// Not on ARM, for which oneDNN has no product of its own: without Arm's Compute Library, and Debian's is, it
// adds up all of k in one chain. With a k of 2048 that errs by four times as much as Veldt's gemm, which adds
// the sums of blocks.
#if VELDT_HAVE_ONEDNN && !defined(__aarch64__)
#include <atomic>
#include <unordered_map>

#include "veldt/core/threads.h"
#include "veldt/cpu/onednn_call.h"

namespace veldt::cpu {
namespace {

using Dims = dnnl::memory::dims;

// A matrix for BLAS: dense rows `step` apart, or the same for its transpose. step is 0 if neither applies.
struct Blas {
  char transposed = 'N';
  std::int64_t step = 0;
};

template <class T> Blas blas_of(const Matrix<T>& x, std::int64_t rows, std::int64_t cols) {
  if (x.col == 1 || cols == 1) {
    const std::int64_t step = rows == 1 ? cols : x.row;
    if (step >= cols) return {'N', step};
  }
  if (x.row == 1 || rows == 1) {
    const std::int64_t step = cols == 1 ? rows : x.col;
    if (step >= rows) return {'T', step};
  }
  return {};
}

bool done(dnnl_status_t status, std::int64_t m, std::int64_t n, std::int64_t k) {
  return onednn::done(status,
                      [&] { return str("oneDNN cannot multiply [", m, ", ", k, "] by [", k, ", ", n, "]"); });
}

// dnnl_sgemm needs no set-up, and is at least as fast as the matmul primitive where there is no bias.
bool by_sgemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Blas blas_a,
              Matrix<const float> b, Blas blas_b, Matrix<float> c, std::int64_t c_step, bool add) {
  return done(dnnl_sgemm(blas_a.transposed, blas_b.transposed, m, n, k, 1.0f, a.data, blas_a.step, b.data,
                         blas_b.step, add ? 1.0f : 0.0f, c.data, c_step),
              m, n, k);
}

struct Key {
  std::int64_t m, n, k, a_step, b_step, c_step;
  bool a_transposed, b_transposed;
  friend bool operator==(const Key&, const Key&) = default;
};

dnnl::memory::desc layout(std::int64_t rows, std::int64_t cols, std::int64_t step, bool transposed) {
  return {{rows, cols}, dnnl::memory::data_type::f32, transposed ? Dims{1, step} : Dims{step, 1}};
}

// A product with a fused bias, built for one shape and kept.
class BiasProduct {
 public:
  explicit BiasProduct(const Key& key) : key_(key) {
    const dnnl::memory::desc a = layout(key.m, key.k, key.a_step, key.a_transposed);
    const dnnl::memory::desc b = layout(key.k, key.n, key.b_step, key.b_transposed);
    const dnnl::memory::desc bias = layout(1, key.n, key.n, false),
                             c = layout(key.m, key.n, key.c_step, false);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto plan = onednn::plan_of<dnnl::matmul>(attributes, std::tuple(a, b, bias, c));
    primitive_ = dnnl::matmul(plan);
    scratch_bytes_ = plan.scratchpad_desc().get_size();
    for (const auto& [argument, desc] :
         {std::pair{DNNL_ARG_SRC, a}, std::pair{DNNL_ARG_WEIGHTS, b}, std::pair{DNNL_ARG_BIAS, bias},
          std::pair{DNNL_ARG_DST, c}, std::pair{DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}})
      arguments_.emplace(argument, dnnl::memory(desc, onednn::engine(), nullptr));
  }

  const Key& key() const { return key_; }

  void run(const float* a, const float* b, const float* bias, float* c) {
    dnnl::stream& stream = onednn::stream();
    const auto point = [&](int argument, const void* p) {
      onednn::point(arguments_.at(argument), const_cast<void*>(p));
    };
    point(DNNL_ARG_SRC, a);
    point(DNNL_ARG_WEIGHTS, b);
    point(DNNL_ARG_BIAS, bias);
    point(DNNL_ARG_DST, c);
    point(DNNL_ARG_SCRATCHPAD, onednn::scratch(scratch_bytes_));
    primitive_.execute(stream, arguments_);
    stream.wait();
  }

 private:
  Key key_;
  dnnl::matmul primitive_;
  std::size_t scratch_bytes_ = 0;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// One thread's part of a product.
bool multiply(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Blas blas_a,
              Matrix<const float> b, Blas blas_b, const float* row_bias, Matrix<float> c, std::int64_t c_step,
              bool add) {
  const onednn::OneThread alone;
  if (row_bias == nullptr) return by_sgemm(m, n, k, a, blas_a, b, blas_b, c, c_step, add);
  try {
    const Key key = {
        m, n, k, blas_a.step, blas_b.step, c_step, blas_a.transposed == 'T', blas_b.transposed == 'T'};
    onednn::primitive_for<BiasProduct>(key).run(a.data, b.data, row_bias, c.data);
    return true;
  } catch (const dnnl::error& error) {
    return done(error.status, m, n, k);
  }
}

constexpr double kSmall = 1 << 18;      // multiplications that take about as long as waking a thread
constexpr std::int64_t kLeast = 16;     // rows of c, or columns, that are worth a call each
constexpr std::int64_t kRegisters = 8;  // of them, a multiple of what a kernel has in its registers

// Rows of c, or columns, for a thread at a time.
std::int64_t share_of(std::int64_t size, double work) {
  if (work < kSmall || size < kLeast) return size;
  return even_grain(size, size, size < 16 * kRegisters ? 1 : kRegisters);
}

}  // namespace

// Split along the longer side of c: each thread packs the other operand itself.
bool onednn_matmul(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a,
                   Matrix<const float> b, const float* row_bias, Matrix<float> c, bool add) {
  const Blas blas_a = blas_of(a, m, k), blas_b = blas_of(b, k, n), blas_c = blas_of(c, m, n);
  if (blas_a.step == 0 || blas_b.step == 0 || blas_c.step == 0) return false;
  if (blas_c.transposed == 'T')  // c^T = b^T a^T; the bias would run down its columns
    return row_bias == nullptr &&
           onednn_matmul(n, m, k, b.transposed(), a.transposed(), nullptr, c.transposed(), add);
  const bool by_rows = m >= n;
  const std::int64_t size = by_rows ? m : n;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  std::atomic<bool> served = true;
  parallel_for(size, share_of(size, work), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t i = by_rows ? begin : 0, j = by_rows ? 0 : begin, count = end - begin;
    if (!multiply(by_rows ? count : m, by_rows ? n : count, k, from(a, i, 0), blas_a, from(b, 0, j), blas_b,
                  row_bias ? row_bias + j : nullptr, from(c, i, j), blas_c.step, add))
      served = false;
  });
  return served;
}

}  // namespace veldt::cpu

#else

namespace veldt::cpu {
bool onednn_matmul(std::int64_t, std::int64_t, std::int64_t, Matrix<const float>, Matrix<const float>,
                   const float*, Matrix<float>, bool) {
  return false;
}
}  // namespace veldt::cpu

#endif
