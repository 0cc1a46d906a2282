// Sums, maxima and minima over any subset of dimensions, and argmax. A reduction is brought to the form
// acc[j] = op over l of x[j * kept_stride + l * reduced_stride]: a tile, one innermost kept and one innermost reduced
// dimension, with loops over the others around it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/reduce.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "hwy/highway.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Everything is accumulated in double: at memory speed the conversion is free, and the mean of 10^7 floats is right
// to the last bit of a float.
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

HWY_INLINE V load(const double* p) { return hn::LoadU(D(), p); }
HWY_INLINE V load(const float* p) { return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), p)); }

struct Sum {
  static double start() { return 0; }
  static HWY_INLINE V join(V a, V x) { return hn::Add(a, x); }
  static HWY_INLINE double join(double a, double x) { return a + x; }
};
// A NaN wins: it is taken where it appears, and nothing compares greater than it afterwards.
struct Max {
  static double start() { return -std::numeric_limits<double>::infinity(); }
  static HWY_INLINE V join(V a, V x) { return hn::IfThenElse(hn::Or(hn::Gt(x, a), hn::IsNaN(x)), x, a); }
  static HWY_INLINE double join(double a, double x) { return x > a || x != x ? x : a; }
};
struct Min {
  static double start() { return std::numeric_limits<double>::infinity(); }
  static HWY_INLINE V join(V a, V x) { return hn::IfThenElse(hn::Or(hn::Lt(x, a), hn::IsNaN(x)), x, a); }
  static HWY_INLINE double join(double a, double x) { return x < a || x != x ? x : a; }
};

template <class Op, class T>
HWY_INLINE double row(const T* x, std::int64_t n, double acc) {
  const D d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  if (n >= 4 * lanes) {
    V s0 = hn::Set(d, Op::start()), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      s0 = Op::join(s0, load(x + i));
      s1 = Op::join(s1, load(x + i + lanes));
      s2 = Op::join(s2, load(x + i + 2 * lanes));
      s3 = Op::join(s3, load(x + i + 3 * lanes));
    }
    HWY_ALIGN double each[hn::MaxLanes(d)];
    hn::Store(Op::join(Op::join(s0, s1), Op::join(s2, s3)), d, each);
    for (std::int64_t l = 0; l < lanes; ++l) acc = Op::join(acc, each[l]);
  }
  for (; i < n; ++i) acc = Op::join(acc, static_cast<double>(x[i]));
  return acc;
}

// Four rows at a time, so that acc is read and written once for four. The order of the additions into one column is
// that of the rows, whichever loop the column falls in.
template <class Op, class T>
HWY_INLINE void columns(const T* x, std::int64_t cols, std::int64_t rows, std::int64_t stride, double* acc) {
  const D d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *x0 = x + r * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    std::int64_t j = 0;
    for (; j + lanes <= cols; j += lanes) {
      const V a = Op::join(Op::join(hn::LoadU(d, acc + j), load(x0 + j)), load(x1 + j));
      hn::StoreU(Op::join(Op::join(a, load(x2 + j)), load(x3 + j)), d, acc + j);
    }
    for (; j < cols; ++j) {
      const double a = Op::join(Op::join(acc[j], static_cast<double>(x0[j])), static_cast<double>(x1[j]));
      acc[j] = Op::join(Op::join(a, static_cast<double>(x2[j])), static_cast<double>(x3[j]));
    }
  }
  for (; r < rows; ++r)
    for (std::int64_t j = 0; j < cols; ++j) acc[j] = Op::join(acc[j], static_cast<double>(x[r * stride + j]));
}

// [rows, cols] without gaps and with few columns is read as [rows / k, k cols], which fills the registers; the k groups
// of columns are folded at the end.
template <class Op, class T>
void narrow_columns(const T* x, std::int64_t cols, std::int64_t rows, double* acc) {
  constexpr std::int64_t kWide = 128;
  const std::int64_t k = kWide / cols, wide = k * cols, wide_rows = rows / k;
  double sums[kWide];
  for (std::int64_t j = 0; j < wide; ++j) sums[j] = Op::start();
  columns<Op>(x, wide, wide_rows, wide, sums);
  for (std::int64_t j = 0; j < wide; ++j) acc[j % cols] = Op::join(acc[j % cols], sums[j]);
  columns<Op>(x + wide_rows * wide, cols, rows - wide_rows * k, cols, acc);
}

template <class Op, class T>
void tile(const T* x, std::int64_t kept, std::int64_t kept_stride, std::int64_t reduced, std::int64_t reduced_stride,
          double* acc) {
  if (reduced_stride == 1) {
    for (std::int64_t j = 0; j < kept; ++j) acc[j] = row<Op>(x + j * kept_stride, reduced, acc[j]);
  } else if (kept_stride == 1 && kept < 64 && reduced_stride == kept) {
    narrow_columns<Op>(x, kept, reduced, acc);
  } else if (kept_stride == 1) {
    columns<Op>(x, kept, reduced, reduced_stride, acc);
  } else {
    for (std::int64_t l = 0; l < reduced; ++l)
      for (std::int64_t j = 0; j < kept; ++j)
        acc[j] = Op::join(acc[j], static_cast<double>(x[j * kept_stride + l * reduced_stride]));
  }
}

template <class T>
void tile_of(ReduceOp op, const T* x, std::int64_t kept, std::int64_t kept_stride, std::int64_t reduced,
             std::int64_t reduced_stride, double* acc) {
  if (op == ReduceOp::sum) return tile<Sum>(x, kept, kept_stride, reduced, reduced_stride, acc);
  if (op == ReduceOp::max) return tile<Max>(x, kept, kept_stride, reduced, reduced_stride, acc);
  return tile<Min>(x, kept, kept_stride, reduced, reduced_stride, acc);
}
void tile_f32(ReduceOp op, const float* x, std::int64_t kept, std::int64_t kept_stride, std::int64_t reduced,
              std::int64_t reduced_stride, double* acc) {
  tile_of(op, x, kept, kept_stride, reduced, reduced_stride, acc);
}
void tile_f64(ReduceOp op, const double* x, std::int64_t kept, std::int64_t kept_stride, std::int64_t reduced,
              std::int64_t reduced_stride, double* acc) {
  tile_of(op, x, kept, kept_stride, reduced, reduced_stride, acc);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(tile_f32);
HWY_EXPORT(tile_f64);

constexpr std::int64_t kTile = 1 << 16;     // elements of a tile: enough work for a task, a fraction of L2
constexpr std::int64_t kMaxKept = 512;      // columns of a tile: 4 KB of accumulators on the stack
constexpr std::int64_t kEnoughTasks = 16;   // below it, the reduced dimensions are shared out too
constexpr std::int64_t kPartials = 32;      // partial results of one output when they are

template <class T, class Acc>
using Tile = void (*)(ReduceOp, const T* x, std::int64_t kept, std::int64_t kept_stride, std::int64_t reduced,
                      std::int64_t reduced_stride, Acc* acc);

template <class T>
void tile_integer(ReduceOp op, const T* x, std::int64_t kept, std::int64_t kept_stride, std::int64_t reduced,
                  std::int64_t reduced_stride, std::int64_t* acc) {
  for (std::int64_t j = 0; j < kept; ++j) {
    // Unsigned, because a sum that overflows wraps.
    std::uint64_t sum = static_cast<std::uint64_t>(acc[j]);
    std::int64_t best = acc[j];
    for (std::int64_t l = 0; l < reduced; ++l) {
      const std::int64_t value = static_cast<std::int64_t>(x[j * kept_stride + l * reduced_stride]);
      sum += static_cast<std::uint64_t>(value);
      best = op == ReduceOp::max ? std::max(best, value) : std::min(best, value);
    }
    acc[j] = op == ReduceOp::sum ? static_cast<std::int64_t>(sum) : best;
  }
}

template <class Acc>
Acc start_of(ReduceOp op) {
  using Limits = std::numeric_limits<Acc>;
  if (op == ReduceOp::sum) return 0;
  if constexpr (Limits::has_infinity) return op == ReduceOp::max ? -Limits::infinity() : Limits::infinity();
  return op == ReduceOp::max ? Limits::lowest() : Limits::max();
}

struct Dim {
  std::int64_t size, x, out;  // strides in x and in out
};

// Dimensions of one kind (kept or reduced), outermost first, neighbours merged where memory allows. Never empty.
struct Dims {
  Dim all[kMaxRank] = {{1, 0, 0}};
  int count = 0;

  // Kept widest stride first, so that a transposed view is read in the order of memory; 0 repeats, so it goes outermost.
  void insert(const Dim& dim) {
    const auto width = [](const Dim& d) {
      return d.x == 0 ? std::numeric_limits<std::int64_t>::max() : d.x < 0 ? -d.x : d.x;
    };
    int at = count++;
    for (; at > 0 && width(all[at - 1]) < width(dim); --at) all[at] = all[at - 1];
    all[at] = dim;
  }
  void merge() {
    int last = 0;
    for (int i = 1; i < count; ++i) {
      const Dim &outer = all[last], &d = all[i];
      if (outer.x == d.x * d.size && outer.out == d.out * d.size)
        all[last] = {outer.size * d.size, d.x, d.out};
      else
        all[++last] = d;
    }
    count = last + 1;
  }
  const Dim& inner() const { return all[count - 1]; }
  std::int64_t outer_count() const {
    std::int64_t n = 1;
    for (int i = 0; i + 1 < count; ++i) n *= all[i].size;
    return n;
  }
  // Where the outer dimensions' index `i` lies in x and in out.
  void offset(std::int64_t i, std::int64_t* x, std::int64_t* out) const {
    for (int d = count - 2; d >= 0; --d) {
      *x += i % all[d].size * all[d].x;
      *out += i % all[d].size * all[d].out;
      i /= all[d].size;
    }
  }
};

// The cut of a reduction into tasks (of outputs) and units (of what is summed into one task's outputs).
struct Cut {
  Dims kept, reduced;
  std::int64_t kept_step, kept_chunks, tasks;
  std::int64_t reduced_step, reduced_chunks, units;
};

Cut cut_of(const View& x, const View& out) {
  Cut c;
  for (int d = 0; d < x.shape.rank(); ++d) {
    if (x.shape[d] == 1) continue;
    if (out.shape[d] == 1)
      c.reduced.insert({x.shape[d], x.strides[d], 0});
    else
      c.kept.insert({x.shape[d], x.strides[d], out.strides[d]});
  }
  c.kept.merge();
  c.reduced.merge();
  const std::int64_t kept = c.kept.inner().size, reduced = c.reduced.inner().size;
  const bool by_rows = c.reduced.inner().x == 1;
  const std::int64_t wanted = by_rows ? kTile / std::max<std::int64_t>(1, reduced) : kMaxKept;
  c.kept_step = std::min(kept, std::clamp<std::int64_t>(wanted, 1, kMaxKept));
  c.kept_chunks = (kept + c.kept_step - 1) / c.kept_step;
  c.tasks = c.kept.outer_count() * c.kept_chunks;
  c.reduced_step = std::max<std::int64_t>(64, kTile / c.kept_step);
  c.reduced_chunks = (reduced + c.reduced_step - 1) / c.reduced_step;
  c.units = c.reduced.outer_count() * c.reduced_chunks;
  return c;
}

template <class T, class Acc, class Out>
class Reduction {
 public:
  Reduction(ReduceOp op, Tile<T, Acc> tile, const View& x, const View& out)
      : op_(op), tile_(tile), cut_(cut_of(x, out)), x_(x.as<T>()), out_(out.as<Out>()) {}

  void run() const {
    const std::int64_t unit_work = cut_.kept_step * std::min(cut_.reduced.inner().size, cut_.reduced_step);
    if (cut_.units <= 1 || cut_.tasks >= kEnoughTasks || unit_work * cut_.units * cut_.tasks < kTile)
      run_tasks(std::max<std::int64_t>(1, unit_work * cut_.units));
    else
      run_partials();
  }

 private:
  std::int64_t kept_count(std::int64_t task) const {
    const std::int64_t begin = task % cut_.kept_chunks * cut_.kept_step;
    return std::min(cut_.kept_step, cut_.kept.inner().size - begin);
  }

  // Adds units begin..end of `task` to acc.
  void accumulate(std::int64_t task, std::int64_t begin, std::int64_t end, Acc* acc) const {
    const Dim &kept = cut_.kept.inner(), &reduced = cut_.reduced.inner();
    std::int64_t at = task % cut_.kept_chunks * cut_.kept_step * kept.x, unused = 0;
    cut_.kept.offset(task / cut_.kept_chunks, &at, &unused);
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t first = u % cut_.reduced_chunks * cut_.reduced_step;
      std::int64_t here = at + first * reduced.x;
      cut_.reduced.offset(u / cut_.reduced_chunks, &here, &unused);
      tile_(op_, x_ + here, kept_count(task), kept.x, std::min(cut_.reduced_step, reduced.size - first), reduced.x,
            acc);
    }
  }

  void store(std::int64_t task, const Acc* acc) const {
    const std::int64_t stride = cut_.kept.inner().out, n = kept_count(task);
    std::int64_t at = task % cut_.kept_chunks * cut_.kept_step * stride, unused = 0;
    cut_.kept.offset(task / cut_.kept_chunks, &unused, &at);
    for (std::int64_t j = 0; j < n; ++j) out_[at + j * stride] = static_cast<Out>(acc[j]);
  }

  void run_tasks(std::int64_t task_work) const {
    parallel_for(cut_.tasks, std::max<std::int64_t>(1, kTile / 2 / task_work), [&](std::int64_t b, std::int64_t e) {
      Acc acc[kMaxKept];
      for (std::int64_t task = b; task < e; ++task) {
        std::fill_n(acc, cut_.kept_step, start_of<Acc>(op_));
        accumulate(task, 0, cut_.units, acc);
        store(task, acc);
      }
    });
  }

  // Few outputs, much to sum: the units are dealt out in runs, and the runs' results joined in order.
  void run_partials() const {
    const std::int64_t run = (cut_.units + kPartials - 1) / kPartials, runs = (cut_.units + run - 1) / run;
    std::vector<Acc> partials(static_cast<std::size_t>(cut_.tasks * runs * cut_.kept_step), start_of<Acc>(op_));
    const auto partial = [&](std::int64_t i) { return partials.data() + i * cut_.kept_step; };
    parallel_for(cut_.tasks * runs, 1, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) {
        const std::int64_t first = i % runs * run;
        accumulate(i / runs, first, std::min(cut_.units, first + run), partial(i));
      }
    });
    for (std::int64_t task = 0; task < cut_.tasks; ++task) {
      Acc acc[kMaxKept];
      std::fill_n(acc, cut_.kept_step, start_of<Acc>(op_));
      // The partial results are `runs` rows of kept_step columns.
      join(partial(task * runs), runs, acc);
      store(task, acc);
    }
  }

  void join(const double* rows, std::int64_t n, double* acc) const {
    HWY_DYNAMIC_DISPATCH(tile_f64)(op_, rows, cut_.kept_step, 1, n, cut_.kept_step, acc);
  }
  void join(const std::int64_t* rows, std::int64_t n, std::int64_t* acc) const {
    tile_integer(op_, rows, cut_.kept_step, 1, n, cut_.kept_step, acc);
  }

  ReduceOp op_;
  Tile<T, Acc> tile_;
  Cut cut_;
  const T* x_;
  Out* out_;
};

template <class T, class Acc, class Out>
void run(ReduceOp op, Tile<T, Acc> tile, const View& x, const View& out) {
  Reduction<T, Acc, Out>(op, tile, x, out).run();
}

[[noreturn]] void refuse(const char* what, DType from, DType to) {
  throw DeviceError(str("the cpu cannot ", what, " ", from, " into ", to), "it has no kernel for these dtypes",
                    "convert the tensor to f32 first");
}

// The first index of the largest of n elements; a NaN counts as the largest.
template <class T>
std::int64_t argmax_of(const T* x, std::int64_t n, std::int64_t stride) {
  std::int64_t best = 0;
  T largest = x[0];
  for (std::int64_t i = 1; i < n && largest == largest; ++i) {
    const T value = x[i * stride];
    if (value > largest || value != value) {
      largest = value;
      best = i;
    }
  }
  return best;
}

template <class T>
void run_argmax(const View& x, int dim, const View& out) {
  const std::int64_t n = x.shape[dim], stride = x.strides[dim], total = numel(out.shape);
  parallel_for(total, std::max<std::int64_t>(1, kTile / 4 / n), [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i) {
      std::int64_t rest = i, from = 0, to = 0;
      for (int d = out.shape.rank() - 1; d >= 0; --d) {
        from += rest % out.shape[d] * x.strides[d];
        to += rest % out.shape[d] * out.strides[d];
        rest /= out.shape[d];
      }
      out.as<std::int64_t>()[to] = argmax_of(x.as<const T>() + from, n, stride);
    }
  });
}

}  // namespace

void reduce(ReduceOp op, const View& x, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  const DType from = x.dtype, to = out.dtype;
  if (from == DType::f32 && to == DType::f32)
    return run<float, double, float>(op, HWY_DYNAMIC_DISPATCH(tile_f32), x, out);
  if (from == DType::f64 && to == DType::f64)
    return run<double, double, double>(op, HWY_DYNAMIC_DISPATCH(tile_f64), x, out);
  if (from == DType::i64 && to == DType::i64)
    return run<std::int64_t, std::int64_t, std::int64_t>(op, tile_integer<std::int64_t>, x, out);
  if ((from == DType::u8 || from == DType::boolean) && to == DType::i64)
    return run<std::uint8_t, std::int64_t, std::int64_t>(op, tile_integer<std::uint8_t>, x, out);
  if ((from == DType::u8 || from == DType::boolean) && to == from && op != ReduceOp::sum)
    return run<std::uint8_t, std::int64_t, std::uint8_t>(op, tile_integer<std::uint8_t>, x, out);
  refuse("reduce", from, to);
}

void argmax(const View& x, int dim, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  if (x.dtype == DType::f32) return run_argmax<float>(x, dim, out);
  if (x.dtype == DType::f64) return run_argmax<double>(x, dim, out);
  if (x.dtype == DType::i64) return run_argmax<std::int64_t>(x, dim, out);
  refuse("find the argmax of", x.dtype, out.dtype);
}

}  // namespace veldt::cpu
#endif
