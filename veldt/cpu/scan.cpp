// Linear recurrences along one dimension: cumulative sums, cumulative products, and the gradients of both. A
// step waits for the one before, so several lines are walked side by side: those that are neighbours in
// memory row by row, which loops over a fixed number of them turn into SIMD, others a few at a time.
#include <cstdint>
#include <type_traits>

#include "veldt/core/error.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/kernels/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/scan.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef VELDT_CPU_SCAN_LINES
#define VELDT_CPU_SCAN_LINES
namespace veldt::cpu {
// How `count` lines are walked: from element to element by `step`, from line to line by `apart`.
struct ScanLines {
  std::int64_t count, length;
  bool product, dense;
  struct Operand {
    void* data;
    std::int64_t apart, step;
  } x, factor, out;  // factor.data may be null
};
using ScanRun = void (*)(const ScanLines&);
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace {

// State: what the running value is kept in; unsigned for whole numbers, because overflow wraps.
template <class State, class T> HWY_INLINE State state_of(T x) { return static_cast<State>(scalar::load(x)); }
template <class T, class State> HWY_INLINE T stored(State state) {
  if constexpr (std::is_integral_v<State>)
    return static_cast<T>(state);
  else
    return scalar::store<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(state));
}

struct First {
  template <class S> static HWY_INLINE S next(S, S x, S) { return x; }
};
struct Add {
  template <class S> static HWY_INLINE S next(S state, S x, S) { return state + x; }
};
struct Multiply {
  template <class S> static HWY_INLINE S next(S state, S x, S) { return state * x; }
};
struct MultiplyAdd {
  template <class S> static HWY_INLINE S next(S state, S x, S factor) { return factor * state + x; }
};

// A step of n lines that are neighbours in memory.
template <class Op, class T, class State>
HWY_INLINE void step_dense(const T* __restrict x, const T* __restrict factor, State* __restrict state,
                           T* __restrict out, std::int64_t n) {
  constexpr std::int64_t kBlock = 16;
  std::int64_t l = 0;
  for (; l + kBlock <= n; l += kBlock)
    for (std::int64_t j = l; j < l + kBlock; ++j) {
      state[j] = Op::next(state[j], state_of<State>(x[j]), state_of<State>(factor[j]));
      out[j] = stored<T>(state[j]);
    }
  for (; l < n; ++l) {
    state[l] = Op::next(state[l], state_of<State>(x[l]), state_of<State>(factor[l]));
    out[l] = stored<T>(state[l]);
  }
}

template <class Op, class T, class State>
void walk_dense(const ScanLines& s, const T* x, const T* f, T* out) {
  State state[kMostLines] = {};
  step_dense<First>(x, x, state, out, s.count);
  for (std::int64_t k = 1; k < s.length; ++k)
    step_dense<Op>(x + k * s.x.step, f + k * s.factor.step, state, out + k * s.out.step, s.count);
}

// kLines numbers, one of each line. Recursive, because g++ keeps an array in memory.
template <class State, int kLines> struct Front {
  State first;
  Front<State, kLines - 1> rest;

  template <class T> static HWY_INLINE Front load(const T* x, std::int64_t apart) {
    return {state_of<State>(*x), Front<State, kLines - 1>::load(x + apart, apart)};
  }
  template <class Op> HWY_INLINE void step(const Front& x, const Front& factor) {
    first = Op::next(first, x.first, factor.first);
    rest.template step<Op>(x.rest, factor.rest);
  }
  template <class T> HWY_INLINE void store(T* out, std::int64_t apart) const {
    *out = stored<T>(first);
    rest.store(out + apart, apart);
  }
};
template <class State> struct Front<State, 0> {
  template <class T> static HWY_INLINE Front load(const T*, std::int64_t) { return {}; }
  template <class Op> HWY_INLINE void step(const Front&, const Front&) {}
  template <class T> HWY_INLINE void store(T*, std::int64_t) const {}
};

// kLines lines, as they lie. The first element has nothing before it: an infinite factor must not meet that
// 0.
template <class Op, int kLines, class T, class State>
HWY_INLINE void walk_lines(const ScanLines& s, const T* x, const T* f, T* out) {
  using Numbers = Front<State, kLines>;
  Numbers state = Numbers::load(x, s.x.apart);
  state.store(out, s.out.apart);
  for (std::int64_t k = 1; k < s.length; ++k) {
    state.template step<Op>(Numbers::load(x + k * s.x.step, s.x.apart),
                            Numbers::load(f + k * s.factor.step, s.factor.apart));
    state.store(out + k * s.out.step, s.out.apart);
  }
}

// More lines, read and written, would not fit into the cache beside each other where they lie a power of two
// apart.
template <class Op, class T, class State> void walk(const ScanLines& s) {
  constexpr std::int64_t kTogether = 4;
  const T *x = static_cast<const T*>(s.x.data), *f = static_cast<const T*>(s.factor.data);
  T* out = static_cast<T*>(s.out.data);
  if (s.dense) return walk_dense<Op, T, State>(s, x, f, out);
  std::int64_t l = 0;
  for (; l + kTogether <= s.count; l += kTogether)
    walk_lines<Op, kTogether, T, State>(s, x + l * s.x.apart, f + l * s.factor.apart, out + l * s.out.apart);
  for (; l < s.count; ++l)
    walk_lines<Op, 1, T, State>(s, x + l * s.x.apart, f + l * s.factor.apart, out + l * s.out.apart);
}

// Without factors x stands in for them, and is not looked at twice.
template <class T, class State> void run(const ScanLines& given) {
  ScanLines s = given;
  const bool weighted = s.factor.data != nullptr;
  if (!weighted) s.factor = s.x;
  if (s.product) return walk<Multiply, T, State>(s);
  weighted ? walk<MultiplyAdd, T, State>(s) : walk<Add, T, State>(s);
}

// Null where there is none.
ScanRun run_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return &run<float, double>;
    case DType::f64: return &run<double, double>;
    case DType::bf16: return &run<scalar::BFloat16, double>;
    case DType::f16: return &run<scalar::Float16, double>;
    case DType::i64: return &run<std::int64_t, std::uint64_t>;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(run_of);
}

void recurrence(ReduceOp op, const View& x, const View* factor, int dim, bool reverse, const View& out,
                Stream) {
  if (numel(out.shape) == 0) return;
  const ScanRun run = HWY_DYNAMIC_DISPATCH(run_of)(x.dtype);
  if (!run)
    throw DeviceError(str("the cpu has no recurrence of ", x.dtype), "it has kernels for floats and i64",
                      "convert the tensor first");
  const View& f = factor ? *factor : x;
  const std::int64_t length = x.shape[dim];
  for_each_bundle<3>({&x, &f, &out}, dim, [&](const Bundle<3>& lines) {
    const auto operand = [&](const View& v, std::size_t k) {
      const std::int64_t stride = v.strides[dim], first = lines.at[k] + (reverse ? (length - 1) * stride : 0);
      void* const data = v.as<char>() + first * static_cast<std::int64_t>(size_of(v.dtype));
      return ScanLines::Operand{data, lines.apart[k], reverse ? -stride : stride};
    };
    ScanLines s{lines.count, length, op == ReduceOp::prod, lines.dense, operand(x, 0), {}, operand(out, 2)};
    if (factor) s.factor = operand(f, 1);
    run(s);
  });
}

}  // namespace veldt::cpu
#endif
