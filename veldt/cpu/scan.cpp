// Linear recurrences along one dimension: cumulative sums, cumulative products, and the gradients of both.
// Each step depends on the one before, so several lines are walked together: neighbours in memory row by row,
// in loops over a fixed number that become SIMD, others a few at a time, halves a block at a time as floats.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/cpu/stage.h"
#include "veldt/kernels/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/scan.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"

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

// State: the type of the running value; unsigned for integers, because overflow wraps.
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

// kLines lines in place. The first element has no predecessor: an infinite factor must not be multiplied by
// that 0.
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

// If lines are a power of two apart, more of them, read and written, would not fit into the cache together.
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

// Without factors x is passed instead, and is not read twice.
template <class T, class State> void run(const ScanLines& given) {
  ScanLines s = given;
  const bool weighted = s.factor.data != nullptr;
  if (!weighted) s.factor = s.x;
  if (s.product) return walk<Multiply, T, State>(s);
  weighted ? walk<MultiplyAdd, T, State>(s) : walk<Add, T, State>(s);
}

// Halves are summed as floats and each result is rounded once. Null where there is none.
ScanRun run_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return &run<float, double>;
    case DType::f64: return &run<double, double>;
    case DType::bf16: return &run<scalar::BFloat16, float>;
    case DType::f16: return &run<scalar::Float16, float>;
    case DType::i64: return &run<std::int64_t, std::uint64_t>;
    default: return nullptr;
  }
}

ScanRun run_of_floats() { return &run<float, float>; }

}  // namespace
}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(run_of);
VELDT_EXPORT(run_of_floats);

constexpr std::int64_t kBlock = 512, kRow = kBlock + 1;  // of a line of halves, as floats

// Elements `at` .. at + n - 1 of a line of halves as floats, and back.
void widen(DType dtype, const ScanLines::Operand& from, std::int64_t at, float* to, std::int64_t n) {
  const Stage& s = stage();
  const auto* const first = static_cast<const std::uint16_t*>(from.data) + at;
  alignas(64) std::uint16_t dense[kBlock];
  if (from.step != 1) s.move[stage_index(2)](first, from.step, dense, 1, n);
  (dtype == DType::bf16 ? s.widen_bf16 : s.widen_f16)(from.step == 1 ? first : dense, to, n);
}
void narrow(DType dtype, const float* from, const ScanLines::Operand& to, std::int64_t at, std::int64_t n) {
  const Stage& s = stage();
  auto* const first = static_cast<std::uint16_t*>(to.data) + at;
  alignas(64) std::uint16_t dense[kBlock];
  (dtype == DType::bf16 ? s.narrow_bf16 : s.narrow_f16)(from, to.step == 1 ? first : dense, n);
  if (to.step != 1) s.move[stage_index(2)](dense, 1, first, to.step, n);
}

// Lines of halves that are not neighbours, block by block; the last number of one is the first of the next.
void run_as_floats(ScanRun run, DType dtype, const ScanLines& s) {
  constexpr std::int64_t kTogether = 4;
  alignas(64) float x[kTogether][kRow], factor[kTogether][kRow], out[kTogether][kRow];
  for (std::int64_t l = 0; l < s.count; l += kTogether) {
    const std::int64_t count = std::min(kTogether, s.count - l);
    for (std::int64_t k = 0; k < s.length; k += kBlock) {
      const std::int64_t n = std::min(kBlock, s.length - k), before = k > 0 ? 1 : 0;
      const auto at = [&](const ScanLines::Operand& o, std::int64_t j) {
        return (l + j) * o.apart + k * o.step;
      };
      for (std::int64_t j = 0; j < count; ++j) {
        if (before > 0) x[j][0] = out[j][kBlock];
        widen(dtype, s.x, at(s.x, j), x[j] + 1, n);
        if (s.factor.data) widen(dtype, s.factor, at(s.factor, j), factor[j] + 1, n);
      }
      const auto block = [&](float* first) { return ScanLines::Operand{first + 1 - before, kRow, 1}; };
      ScanLines floats{count, n + before, s.product, false, block(x[0]), {}, block(out[0])};
      if (s.factor.data) floats.factor = block(factor[0]);
      run(floats);
      for (std::int64_t j = 0; j < count; ++j) narrow(dtype, out[j] + 1, s.out, at(s.out, j), n);
    }
  }
}

}  // namespace

void recurrence(ReduceOp op, const View& x, const View* factor, int dim, bool reverse, const View& out) {
  if (numel(out.shape) == 0) return;
  const ScanRun run = VELDT_DISPATCH(run_of)(x.dtype);
  const ScanRun run_floats = VELDT_DISPATCH(run_of_floats)();
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
    is_half(x.dtype) && !s.dense ? run_as_floats(run_floats, x.dtype, s) : run(s);
  });
}

}  // namespace veldt::cpu
#endif
