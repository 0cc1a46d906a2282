// Adam, AdamW and SGD over a slab of parameters: one pass through memory a step, with torch.optim's formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/optimizer.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls each(arrays) for a register's worth of elements at a time; the last array, the gradient, is only
// read. The tail goes through a buffer, so that an element gets the same bits wherever it stands.
template <class T, int kArrays, class Each>
HWY_INLINE void for_each_register(T* const (&arrays)[kArrays], std::int64_t n, const Each& each) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  T* at[kArrays];
  for (; i + lanes <= n; i += lanes) {
    for (int k = 0; k < kArrays; ++k) at[k] = arrays[k] + i;
    each(at);
  }
  if (i == n) return;
  HWY_ALIGN T tail[kArrays][hn::MaxLanes(d)] = {};
  for (int k = 0; k < kArrays; ++k) {
    std::copy(arrays[k] + i, arrays[k] + n, tail[k]);
    at[k] = tail[k];
  }
  each(at);
  for (int k = 0; k + 1 < kArrays; ++k) std::copy(tail[k], tail[k] + (n - i), arrays[k] + i);
}

// Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019.
//   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
//   p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
template <class T> HWY_INLINE void adam_of(const AdamStep& s, T* p, const T* g, T* m, T* v, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const double t = static_cast<double>(s.step);
  const auto set = [&](double x) HWY_ATTR { return hn::Set(d, static_cast<T>(x)); };
  const auto keep1 = set(s.beta1), take1 = set(1 - s.beta1), keep2 = set(s.beta2), take2 = set(1 - s.beta2);
  const auto rate = set(-s.lr / (1 - std::pow(s.beta1, t)));
  const auto scale = set(std::sqrt(1 - std::pow(s.beta2, t))), eps = set(s.eps);
  const auto shrink = set(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
  const auto decay = set(s.decoupled ? 0 : s.weight_decay);
  const bool has_decay = !s.decoupled && s.weight_decay != 0;  // 0 times an infinite parameter is not 0
  T* const arrays[] = {p, m, v, const_cast<T*>(g)};
  for_each_register(arrays, n, [&](T* const* at) HWY_ATTR {
    auto x = hn::Mul(hn::LoadU(d, at[0]), shrink);
    auto grad = hn::LoadU(d, at[3]);
    if (has_decay) grad = hn::MulAdd(decay, x, grad);
    const auto m1 = hn::MulAdd(hn::LoadU(d, at[1]), keep1, hn::Mul(grad, take1));
    const auto v1 = hn::MulAdd(hn::LoadU(d, at[2]), keep2, hn::Mul(hn::Mul(grad, grad), take2));
    const auto denominator = hn::Add(hn::Div(hn::Sqrt(v1), scale), eps);
    x = hn::MulAdd(rate, hn::Div(m1, denominator), x);
    hn::StoreU(x, d, at[0]);
    hn::StoreU(m1, d, at[1]);
    hn::StoreU(v1, d, at[2]);
  });
}

// `v` is null without momentum.
template <class T> HWY_INLINE void sgd_of(const SgdStep& s, T* p, const T* g, T* v, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto set = [&](double x) HWY_ATTR { return hn::Set(d, static_cast<T>(x)); };
  const auto rate = set(-s.lr), momentum = set(s.momentum), decay = set(s.weight_decay);
  const bool has_decay = s.weight_decay != 0, first = s.first, nesterov = s.nesterov;
  T* const gradient = const_cast<T*>(g);
  if (v == nullptr) {
    T* const arrays[] = {p, gradient};
    for_each_register(arrays, n, [&](T* const* at) HWY_ATTR {
      const auto x = hn::LoadU(d, at[0]);
      auto grad = hn::LoadU(d, at[1]);
      if (has_decay) grad = hn::MulAdd(decay, x, grad);
      hn::StoreU(hn::MulAdd(rate, grad, x), d, at[0]);
    });
    return;
  }
  T* const arrays[] = {p, v, gradient};
  for_each_register(arrays, n, [&](T* const* at) HWY_ATTR {
    const auto x = hn::LoadU(d, at[0]);
    auto grad = hn::LoadU(d, at[2]);
    if (has_decay) grad = hn::MulAdd(decay, x, grad);
    const auto v1 = first ? grad : hn::MulAdd(momentum, hn::LoadU(d, at[1]), grad);
    hn::StoreU(v1, d, at[1]);
    hn::StoreU(hn::MulAdd(rate, nesterov ? hn::MulAdd(momentum, v1, grad) : v1, x), d, at[0]);
  });
}

void adam_f32(const AdamStep& s, float* p, const float* g, float* m, float* v, std::int64_t n) {
  adam_of(s, p, g, m, v, n);
}
void adam_f64(const AdamStep& s, double* p, const double* g, double* m, double* v, std::int64_t n) {
  adam_of(s, p, g, m, v, n);
}
void sgd_f32(const SgdStep& s, float* p, const float* g, float* v, std::int64_t n) { sgd_of(s, p, g, v, n); }
void sgd_f64(const SgdStep& s, double* p, const double* g, double* v, std::int64_t n) {
  sgd_of(s, p, g, v, n);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(adam_f32);
HWY_EXPORT(adam_f64);
HWY_EXPORT(sgd_f32);
HWY_EXPORT(sgd_f64);

constexpr std::int64_t kGrain = 1 << 14;  // elements a task: some 10 us at memory speed

template <class T, class Kernel>
void run_adam(Kernel kernel, const AdamStep& s, const View& p, const View& g, const View& m, const View& v) {
  parallel_for(numel(p.shape), kGrain, [&](std::int64_t b, std::int64_t e) {
    kernel(s, p.as<T>() + b, g.as<T>() + b, m.as<T>() + b, v.as<T>() + b, e - b);
  });
}

template <class T, class Kernel>
void run_sgd(Kernel kernel, const SgdStep& s, const View& p, const View& g, const View* v) {
  const bool moving = v != nullptr && s.momentum != 0;
  parallel_for(numel(p.shape), kGrain, [&](std::int64_t b, std::int64_t e) {
    kernel(s, p.as<T>() + b, g.as<T>() + b, moving ? v->as<T>() + b : nullptr, e - b);
  });
}

[[noreturn]] void refuse(const char* what, DType dtype) {
  throw DeviceError(str("the cpu cannot take an ", what, " step on ", dtype),
                    "it has this kernel for f32 and f64", "keep the parameters in f32");
}

}  // namespace

void adam(const AdamStep& s, const View& p, const View& g, const View& m, const View& v, Stream) {
  if (p.dtype == DType::f32) return run_adam<float>(HWY_DYNAMIC_DISPATCH(adam_f32), s, p, g, m, v);
  if (p.dtype == DType::f64) return run_adam<double>(HWY_DYNAMIC_DISPATCH(adam_f64), s, p, g, m, v);
  refuse("Adam", p.dtype);
}

void sgd(const SgdStep& s, const View& p, const View& g, const View* v, Stream) {
  if (p.dtype == DType::f32) return run_sgd<float>(HWY_DYNAMIC_DISPATCH(sgd_f32), s, p, g, v);
  if (p.dtype == DType::f64) return run_sgd<double>(HWY_DYNAMIC_DISPATCH(sgd_f64), s, p, g, v);
  refuse("SGD", p.dtype);
}

}  // namespace veldt::cpu
#endif
