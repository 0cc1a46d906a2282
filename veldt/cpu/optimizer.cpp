// Optimizer steps over slabs of parameters, one pass through memory each, and the product that norms and
// line searches need. The formulas are in kernels/optimizer-inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/optimizer.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/kernels/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::HWY_NAMESPACE {
namespace {

// Applies the rule to elements begin .. end of the arrays, a register at a time. The tail goes through a
// buffer, so that an element's bits do not depend on its position.
template <class Rule, class T>
void run(const Rule rule, T* const* arrays, std::int64_t begin, std::int64_t end) {
  constexpr int kArrays = Rule::kWritten + Rule::kRead;
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Lanes<T> zero(0.0);
  Lanes<T> a[6] = {zero, zero, zero, zero, zero, zero};
  static_assert(kArrays <= 6);
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    for (int k = 0; k < kArrays; ++k) a[k] = hn::LoadU(d, arrays[k] + i);
    rule(a);
    for (int k = 0; k < Rule::kWritten; ++k) hn::StoreU(a[k].v, d, arrays[k] + i);
  }
  if (i == end) return;
  const std::size_t rest = static_cast<std::size_t>(end - i);
  for (int k = 0; k < kArrays; ++k) a[k] = Lanes<T>::load_part(arrays[k] + i, rest);
  rule(a);
  for (int k = 0; k < Rule::kWritten; ++k) a[k].store_part(arrays[k] + i, rest);
}

// The same, but leaves elements whose gradient is 0 unchanged. The gradient is read first, a cache line at a
// time, and for a line of zeros the other arrays are not accessed, which skips most of a table.
template <class Rule, class T>
void run_lazily(const Rule rule, T* const* arrays, std::int64_t begin, std::int64_t end) {
  constexpr int kWritten = Rule::kWritten;
  static_assert(Rule::kRead == 1 && kWritten == 3);
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t line = std::max<std::int64_t>(lanes, 64 / sizeof(T));
  const Lanes<T> zero = hn::Zero(d);
  std::int64_t i = begin;
  for (; i + line <= end; i += line) {
    auto any = zero.v;
    for (std::int64_t j = i; j < i + line; j += lanes) any = hn::Or(any, hn::LoadU(d, arrays[kWritten] + j));
    if (hn::AllTrue(d, hn::Eq(any, zero.v))) continue;
    for (std::int64_t j = i; j < i + line; j += lanes) {
      Lanes<T> a[] = {zero, zero, zero, zero}, before[] = {zero, zero, zero, zero};
      for (int k = 0; k <= kWritten; ++k) a[k] = before[k] = hn::LoadU(d, arrays[k] + j);
      rule(a);
      const auto stays = hn::Eq(before[kWritten].v, zero.v);
      for (int k = 0; k < kWritten; ++k)
        hn::StoreU(hn::IfThenElse(stays, before[k].v, a[k].v), d, arrays[k] + j);
    }
  }
  for (; i < end; ++i) {
    if (arrays[kWritten][i] == 0) continue;
    T* at[kWritten + 1];
    for (int k = 0; k <= kWritten; ++k) at[k] = arrays[k] + i;
    run(rule, at, 0, 1);
  }
}

template <class T> void adam(const AdamStep& s, T* const* arrays, std::int64_t begin, std::int64_t end) {
  const AdamRule<Lanes<T>> rule(s);
  if (s.lazy) return run_lazily(rule, arrays, begin, end);
  run(rule, arrays, begin, end);
}

template <class T> void sgd(const SgdStep& s, T* const* arrays, std::int64_t begin, std::int64_t end) {
  if (s.momentum == 0) return run(DescentRule<Lanes<T>>(s), arrays, begin, end);
  run(MomentumRule<Lanes<T>>(s), arrays, begin, end);
}

template <class T>
void rmsprop(const RmspropStep& s, T* const* arrays, std::int64_t begin, std::int64_t end) {
  using F = Lanes<T>;
  if (s.momentum == 0 && !s.centered) return run(RmspropRule<F, false, false>(s), arrays, begin, end);
  if (s.momentum == 0) return run(RmspropRule<F, false, true>(s), arrays, begin, end);
  if (!s.centered) return run(RmspropRule<F, true, false>(s), arrays, begin, end);
  run(RmspropRule<F, true, true>(s), arrays, begin, end);
}

template <class T> void step(const OptimizerStep& s, T* const* arrays, std::int64_t begin, std::int64_t end) {
  using F = Lanes<T>;
  if (auto* moments = std::get_if<AdamStep>(&s.rule)) return adam(*moments, arrays, begin, end);
  if (auto* radam = std::get_if<RadamStep>(&s.rule)) return run(RadamRule<F>(*radam), arrays, begin, end);
  if (auto* descent = std::get_if<SgdStep>(&s.rule)) return sgd(*descent, arrays, begin, end);
  if (auto* prop = std::get_if<RmspropStep>(&s.rule)) return rmsprop(*prop, arrays, begin, end);
  if (auto* grad = std::get_if<AdagradStep>(&s.rule)) return run(AdagradRule<F>(*grad), arrays, begin, end);
  if (auto* lion = std::get_if<LionStep>(&s.rule)) return run(LionRule<F>(*lion), arrays, begin, end);
  if (auto* adan = std::get_if<AdanStep>(&s.rule)) return run(AdanRule<F>(*adan), arrays, begin, end);
  if (auto* clip = std::get_if<ClipStep>(&s.rule)) return run(ClipRule<F>(*clip), arrays, begin, end);
  run(LerpRule<F>(*std::get_if<LerpStep>(&s.rule)), arrays, begin, end);
}

void step_f32(const OptimizerStep& s, float* const* arrays, std::int64_t begin, std::int64_t end) {
  step(s, arrays, begin, end);
}
void step_f64(const OptimizerStep& s, double* const* arrays, std::int64_t begin, std::int64_t end) {
  step(s, arrays, begin, end);
}

// Summed in double: the squares of all f32 numbers are within its range.
template <class T> double product(const T* a, const T* b, std::int64_t n) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<T, decltype(wide)> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  const auto load = [&](const T* from) HWY_ATTR {
    if constexpr (sizeof(T) == 8)
      return hn::LoadU(d, from);
    else
      return hn::PromoteTo(wide, hn::LoadU(d, from));
  };
  auto even = hn::Zero(wide), odd = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::MulAdd(load(a + i), load(b + i), even);
    odd = hn::MulAdd(load(a + i + lanes), load(b + i + lanes), odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd)));
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double product_f32(const float* a, const float* b, std::int64_t n) { return product(a, b, n); }
double product_f64(const double* a, const double* b, std::int64_t n) { return product(a, b, n); }

}  // namespace
}  // namespace veldt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(step_f32);
VELDT_EXPORT(step_f64);
VELDT_EXPORT(product_f32);
VELDT_EXPORT(product_f64);
}  // namespace

namespace cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements a task: some 10 us at memory speed
constexpr int kMaxArrays = 6;

template <class T, class Kernel>
void run(Kernel kernel, const OptimizerStep& step, const View* arrays, int count) {
  T* at[kMaxArrays] = {};
  for (int k = 0; k < count; ++k) at[k] = arrays[k].as<T>();
  const auto piece = [&](std::int64_t begin, std::int64_t end) { kernel(step, at, begin, end); };
  parallel_for(numel(arrays[0].shape), kGrain, piece);
}

// A fixed number of partial sums, added in order, so that the result does not depend on the threads.
template <class T, class Kernel> double sum_of_products(Kernel kernel, const View& a, const View& b) {
  constexpr std::int64_t kParts = 64;
  const std::int64_t n = numel(a.shape), grain = std::max(kGrain, (n + kParts - 1) / kParts);
  std::array<double, kParts> parts{};
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / grain)] =
        kernel(a.as<T>() + begin, b.as<T>() + begin, end - begin);
  };
  parallel_for(n, grain, piece);
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace

void optimize(const OptimizerStep& step, const View* arrays, int count) {
  const DType t = arrays[0].dtype;
  if (t == DType::f32) return run<float>(VELDT_DISPATCH(step_f32), step, arrays, count);
  run<double>(VELDT_DISPATCH(step_f64), step, arrays, count);
}

double dot(const View& a, const View& b) {
  if (a.dtype == DType::f32) return sum_of_products<float>(VELDT_DISPATCH(product_f32), a, b);
  return sum_of_products<double>(VELDT_DISPATCH(product_f64), a, b);
}

}  // namespace cpu
}  // namespace veldt
#endif
