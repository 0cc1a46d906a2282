// Sums, maxima and minima over any subset of dimensions, and argmax. A reduction is cut into tiles of one
// kept and one reduced dimension, the innermost of each kind, with loops over the others around them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "veldt/core/coalesce.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/cpu/reduce_tile.h"
#include "veldt/kernels/convert.h"
#include "veldt/kernels/reduction.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kTile = 1 << 16;    // elements of a tile: enough work for a task, a fraction of L2
constexpr std::int64_t kMaxKept = 512;     // columns of a tile: 4 KB of accumulators on the stack
constexpr std::int64_t kEnoughTasks = 16;  // below it, the reduced dimensions are split too
constexpr std::int64_t kPartials = 32;     // partial results of one output when they are

// Dimensions of one kind (kept or reduced), of x and of the output. Never empty.
struct Dims : Coalesced<2> {
  std::int64_t size() const { return sizes[rank - 1]; }
  std::int64_t x() const { return strides[0][rank - 1]; }
  std::int64_t out() const { return strides[1][rank - 1]; }
  std::int64_t outer_count() const {
    std::int64_t n = 1;
    for (int i = 0; i + 1 < rank; ++i) n *= sizes[i];
    return n;
  }
  // The offset of the outer dimensions' index `i` in x (0) or the output (1).
  std::int64_t offset(int view, std::int64_t i) const {
    std::int64_t at = 0;
    for (int d = rank - 2; d >= 0; --d) {
      at += i % sizes[d] * strides[view][d];
      i /= sizes[d];
    }
    return at;
  }
};
Dims dims_of(const View& x, const View& out, unsigned chosen) {
  Dims dims{widest_first<2>({&x, &out}, chosen)};
  if (dims.rank == 0) dims.sizes[dims.rank++] = 1;
  return dims;
}

// The split of a reduction into tasks (of outputs) and units (of inputs that are summed into one task's
// outputs).
struct Cut {
  Dims kept, reduced;
  std::int64_t kept_step, kept_chunks, tasks;
  std::int64_t reduced_step, reduced_chunks, units;
};

Cut cut_of(const View& x, const View& out) {
  unsigned along = 0;
  for (int d = 0; d < x.shape.rank(); ++d)
    if (out.shape[d] == 1) along |= 1u << d;
  Cut c;
  c.kept = dims_of(x, out, ~along);
  c.reduced = dims_of(x, out, along);
  const std::int64_t kept = c.kept.size(), reduced = c.reduced.size();
  const bool by_rows = c.reduced.x() == 1;
  const std::int64_t wanted = by_rows ? kTile / std::max<std::int64_t>(1, reduced) : kMaxKept;
  c.kept_step = std::min(kept, std::clamp<std::int64_t>(wanted, 1, kMaxKept));
  c.kept_chunks = (kept + c.kept_step - 1) / c.kept_step;
  c.tasks = c.kept.outer_count() * c.kept_chunks;
  c.reduced_step = std::max<std::int64_t>(64, kTile / c.kept_step);
  c.reduced_chunks = (reduced + c.reduced_step - 1) / c.reduced_step;
  c.units = c.reduced.outer_count() * c.reduced_chunks;
  return c;
}

template <class T, class Acc, class Out> class Reduction {
 public:
  Reduction(ReduceOp op, const View& x, const View& out)
      : op_(op), cut_(cut_of(x, out)), x_(x.as<T>()), out_(out.as<Out>()) {
    if (op == ReduceOp::mean) divisor_ = static_cast<Acc>(numel(x.shape) / numel(out.shape));
  }

  void run() const {
    const std::int64_t unit_work = cut_.kept_step * std::min(cut_.reduced.size(), cut_.reduced_step);
    if (cut_.units <= 1 || cut_.tasks >= kEnoughTasks || unit_work * cut_.units * cut_.tasks < kTile)
      run_tasks(std::max<std::int64_t>(1, unit_work * cut_.units));
    else
      run_partials();
  }

 private:
  std::int64_t kept_count(std::int64_t task) const {
    const std::int64_t begin = task % cut_.kept_chunks * cut_.kept_step;
    return std::min(cut_.kept_step, cut_.kept.size() - begin);
  }

  // Adds units begin..end of `task` to acc.
  void accumulate(std::int64_t task, std::int64_t begin, std::int64_t end, Acc* acc) const {
    const Dims &kept = cut_.kept, &reduced = cut_.reduced;
    const std::int64_t at =
        task % cut_.kept_chunks * cut_.kept_step * kept.x() + kept.offset(0, task / cut_.kept_chunks);
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t first = u % cut_.reduced_chunks * cut_.reduced_step;
      const std::int64_t here = at + first * reduced.x() + reduced.offset(0, u / cut_.reduced_chunks);
      const std::int64_t count = std::min(cut_.reduced_step, reduced.size() - first);
      reduce_tile(op_, x_ + here, ReduceTile{kept_count(task), kept.x(), count, reduced.x()}, acc);
    }
  }

  void store(std::int64_t task, const Acc* acc) const {
    const std::int64_t stride = cut_.kept.out(), n = kept_count(task);
    const std::int64_t at =
        task % cut_.kept_chunks * cut_.kept_step * stride + cut_.kept.offset(1, task / cut_.kept_chunks);
    if (op_ == ReduceOp::mean)
      for (std::int64_t j = 0; j < n; ++j) out_[at + j * stride] = static_cast<Out>(acc[j] / divisor_);
    else if (op_ == ReduceOp::norm)
      for (std::int64_t j = 0; j < n; ++j)
        out_[at + j * stride] = static_cast<Out>(std::sqrt(static_cast<double>(acc[j])));
    else
      for (std::int64_t j = 0; j < n; ++j) out_[at + j * stride] = static_cast<Out>(acc[j]);
  }

  void run_tasks(std::int64_t task_work) const {
    parallel_for(cut_.tasks, std::max<std::int64_t>(1, kTile / 2 / task_work),
                 [&](std::int64_t b, std::int64_t e) {
                   Acc acc[kMaxKept];
                   for (std::int64_t task = b; task < e; ++task) {
                     std::fill_n(acc, cut_.kept_step, scalar::reduction_start<Acc>(op_));
                     accumulate(task, 0, cut_.units, acc);
                     store(task, acc);
                   }
                 });
  }

  // Few outputs, many inputs: the units are distributed in runs, and the runs' results are joined in order.
  void run_partials() const {
    const std::int64_t run = (cut_.units + kPartials - 1) / kPartials, runs = (cut_.units + run - 1) / run;
    std::vector<Acc> partials(static_cast<std::size_t>(cut_.tasks * runs * cut_.kept_step),
                              scalar::reduction_start<Acc>(op_));
    const auto partial = [&](std::int64_t i) { return partials.data() + i * cut_.kept_step; };
    parallel_for(cut_.tasks * runs, 1, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) {
        const std::int64_t first = i % runs * run;
        accumulate(i / runs, first, std::min(cut_.units, first + run), partial(i));
      }
    });
    for (std::int64_t task = 0; task < cut_.tasks; ++task) {
      Acc acc[kMaxKept];
      std::fill_n(acc, cut_.kept_step, scalar::reduction_start<Acc>(op_));
      // The partial results are `runs` rows of kept_step columns; those of a norm are sums.
      reduce_tile(op_ == ReduceOp::norm ? ReduceOp::sum : op_, partial(task * runs),
                  ReduceTile{cut_.kept_step, 1, runs, cut_.kept_step}, acc);
      store(task, acc);
    }
  }

  ReduceOp op_;
  Cut cut_;
  const T* x_;
  Out* out_;
  Acc divisor_ = 1;  // of a mean
};

constexpr std::int64_t kTiny = 256;  // elements: fewer than a good split is worth

// x as [outer, reduced, inner] with one stride each, if its reduced dimensions are neighbours and it is
// dense.
bool is_tiny(const View& x, const View& out, std::int64_t* sizes) {
  if (numel(x.shape) > kTiny || !is_contiguous(x.shape, x.strides) || !is_contiguous(out.shape, out.strides))
    return false;
  int part = 0;  // 0: before the reduced dimensions, 1: in them, 2: after
  sizes[0] = sizes[1] = sizes[2] = 1;
  for (int d = 0; d < x.shape.rank(); ++d) {
    if (x.shape[d] == 1) continue;
    const bool reduced = out.shape[d] == 1;
    if (reduced && part == 2) return false;
    part = reduced ? 1 : part == 1 ? 2 : part;
    sizes[part] *= x.shape[d];
  }
  return true;
}

template <class T> void sum_tiny(const T* x, const std::int64_t* sizes, T* out) {
  const std::int64_t inner = sizes[2];
  for (std::int64_t o = 0; o < sizes[0]; ++o, x += sizes[1] * inner)
    for (std::int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (std::int64_t r = 0; r < sizes[1]; ++r) sum += static_cast<double>(x[r * inner + i]);
      *out++ = static_cast<T>(sum);
    }
}

struct Greater {
  template <class T> static bool holds(T a, T b) { return a > b; }
};
struct Smaller {
  template <class T> static bool holds(T a, T b) { return a < b; }
};

// The first index of the best of n elements; a NaN is better than all others.
template <class Better, class T> std::int64_t arg_best(const T* x, std::int64_t n, std::int64_t stride) {
  std::int64_t best = 0;
  auto found = scalar::load(x[0]);
  for (std::int64_t i = 1; i < n && found == found; ++i) {
    const auto value = scalar::load(x[i * stride]);
    if (Better::holds(value, found) || value != value) {
      found = value;
      best = i;
    }
  }
  return best;
}

// The same for `lines` lines that are neighbours in memory.
template <class Better, class T>
void arg_best_of_columns(const T* x, std::int64_t n, std::int64_t stride, std::int64_t lines,
                         std::int64_t* best) {
  decltype(scalar::load(*x)) found[kMostLines];
  for (std::int64_t l = 0; l < lines; ++l) found[l] = scalar::load(x[l]), best[l] = 0;
  for (std::int64_t i = 1; i < n; ++i)
    for (std::int64_t l = 0; l < lines; ++l) {
      const auto value = scalar::load(x[i * stride + l]);
      if (!Better::holds(value, found[l]) && (value == value || found[l] != found[l])) continue;
      found[l] = value;
      best[l] = i;
    }
}

template <class Better, class T> void run_arg_reduce(const View& x, int dim, const View& out) {
  const std::int64_t n = x.shape[dim], stride = x.strides[dim];
  for_each_bundle<2>({&x, &out}, dim, [&](const Bundle<2>& lines) {
    const T* from = x.as<const T>() + lines.at[0];
    std::int64_t* to = out.as<std::int64_t>() + lines.at[1];
    if (lines.dense) return arg_best_of_columns<Better>(from, n, stride, lines.count, to);
    for (std::int64_t l = 0; l < lines.count; ++l)
      to[l * lines.apart[1]] = arg_best<Better>(from + l * lines.apart[0], n, stride);
  });
}

}  // namespace

void reduce(ReduceOp op, const View& x, const View& out) {
  if (numel(out.shape) == 0) return;
  const DType from = x.dtype, to = out.dtype;
  if (std::int64_t sizes[3]; op == ReduceOp::sum && from == to && is_tiny(x, out, sizes)) {
    if (from == DType::f32) return sum_tiny(x.as<const float>(), sizes, out.as<float>());
    if (from == DType::f64) return sum_tiny(x.as<const double>(), sizes, out.as<double>());
  }
  if (from == DType::f32 && to == DType::f32) return Reduction<float, double, float>(op, x, out).run();
  if (from == DType::f64 && to == DType::f64) return Reduction<double, double, double>(op, x, out).run();
  if (from == DType::bf16 && to == DType::f32)
    return Reduction<scalar::BFloat16, double, float>(op, x, out).run();
  if (from == DType::f16 && to == DType::f32)
    return Reduction<scalar::Float16, double, float>(op, x, out).run();
  if (from == DType::bf16 && to == DType::f64)
    return Reduction<scalar::BFloat16, double, double>(op, x, out).run();
  if (from == DType::f16 && to == DType::f64)
    return Reduction<scalar::Float16, double, double>(op, x, out).run();
  if (op == ReduceOp::norm) refuse_dtype(kName, "norm", from, kFloats);
  if (from == DType::i64 && to == DType::i64)
    return Reduction<std::int64_t, std::int64_t, std::int64_t>(op, x, out).run();
  if (from == DType::i32 && to == DType::i64)
    return Reduction<std::int32_t, std::int64_t, std::int64_t>(op, x, out).run();
  if (from == DType::i32 && to == DType::i32)
    return Reduction<std::int32_t, std::int64_t, std::int32_t>(op, x, out).run();
  if ((from == DType::u8 || from == DType::boolean) && to == DType::i64)
    return Reduction<std::uint8_t, std::int64_t, std::int64_t>(op, x, out).run();
  if ((from == DType::u8 || from == DType::boolean) && to == from && op == ReduceOp::prod)
    return Reduction<std::uint8_t, std::int64_t, std::uint8_t>(op, x, out).run();
  if ((from == DType::u8 || from == DType::boolean) && to == from && op != ReduceOp::sum)
    return Reduction<std::uint8_t, std::uint8_t, std::uint8_t>(op, x, out).run();
  if (from == DType::i8 && to == DType::i64)
    return Reduction<std::int8_t, std::int64_t, std::int64_t>(op, x, out).run();
  if (from == DType::i8 && to == from && op == ReduceOp::prod)
    return Reduction<std::int8_t, std::int64_t, std::int8_t>(op, x, out).run();
  if (from == DType::i8 && to == from && op != ReduceOp::sum)
    return Reduction<std::int8_t, std::int8_t, std::int8_t>(op, x, out).run();
  refuse_dtypes(kName, "reduce", from, to);
}

void arg_reduce(ReduceOp op, const View& x, int dim, const View& out) {
  if (numel(out.shape) == 0) return;
  scalar::with_type(x.dtype, [&](auto type) {
    using T = std::conditional_t<std::is_same_v<decltype(type), bool>, std::uint8_t, decltype(type)>;
    op == ReduceOp::max ? run_arg_reduce<Greater, T>(x, dim, out) : run_arg_reduce<Smaller, T>(x, dim, out);
  });
}

}  // namespace veldt::cpu
