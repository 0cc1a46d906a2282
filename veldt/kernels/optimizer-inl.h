// The formulas of optimizer steps, one element at a time. A rule is built once per step from the constants
// and then called with an element of each array: the first kWritten are changed, the others are only read.
// Tests: tests/cpu/optimizer_test.cpp, tests/cuda/optimizer_test.cpp
#if defined(VELDT_KERNELS_OPTIMIZER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_OPTIMIZER_INL
#undef VELDT_KERNELS_OPTIMIZER_INL
#else
#define VELDT_KERNELS_OPTIMIZER_INL
#endif

#include <cmath>
#include <limits>

#include "veldt/core/optimizer_step.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

// a b + c, rounded once where the target can.
template <class F> VELDT_FN F mul_add(F a, F b, F c) { return a * b + c; }
#if defined(HWY_TARGET) && !defined(__CUDACC__)
template <class T> HWY_INLINE Lanes<T> mul_add(Lanes<T> a, Lanes<T> b, Lanes<T> c) {
  return hn::MulAdd(a.v, b.v, c.v);
}
#endif

// The smallest normal number.
template <class F> VELDT_FN double smallest_normal(F) {
  return static_cast<double>(std::numeric_limits<F>::min());
}
#if defined(HWY_TARGET) && !defined(__CUDACC__)
template <class T> HWY_INLINE double smallest_normal(Lanes<T>) {
  return static_cast<double>(std::numeric_limits<T>::min());
}
#endif

// 0 for denormals. The moments of a zero gradient eventually become denormal and stay so (9/10 of the
// smallest number is rounded back to it), and processors compute such numbers many times slower. Only with an
// eps that makes their roots negligible.
template <class F> struct Faded {
  F least;
  explicit Faded(double eps) : least(F(eps > 1e-11 ? smallest_normal(F(0)) : 0)) {}
  VELDT_FN F operator()(F x) const { return select_gt(least, abs(x), F(0), x); }  // a NaN stays
};

// g + decay p. Without a decay g itself: 0 times an infinite parameter is not 0.
template <class F> struct Decay {
  F rate;
  bool on;
  explicit Decay(double weight_decay) : rate(F(weight_decay)), on(weight_decay != 0) {}
  VELDT_FN F operator()(F g, F p) const { return on ? mul_add(rate, p, g) : g; }
};

// Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019.
//   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
//   p -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
template <class F> struct AdamRule {
  static constexpr int kWritten = 3, kRead = 1;
  F keep1, take1, keep2, take2, rate, scale, eps, shrink;
  Decay<F> decay;
  Faded<F> faded;
  explicit AdamRule(const AdamStep& s)
      : keep1(F(s.beta1)),
        take1(F(1 - s.beta1)),
        keep2(F(s.beta2)),
        take2(F(1 - s.beta2)),
        rate(F(-s.lr / (1 - std::pow(s.beta1, static_cast<double>(s.step))))),
        scale(F(std::sqrt(1 - std::pow(s.beta2, static_cast<double>(s.step))))),
        eps(F(s.eps)),
        shrink(F(s.decoupled ? 1 - s.lr * s.weight_decay : 1)),
        decay(s.decoupled ? 0 : s.weight_decay),
        faded(s.eps) {}
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &m = a[1], &v = a[2];
    p = p * shrink;
    const F g = decay(a[3], p);
    m = faded(mul_add(m, keep1, g * take1));
    v = faded(mul_add(v, keep2, g * g * take2));
    p = mul_add(rate, m / (sqrt(v) / scale + eps), p);
  }
};

// Liu et al. 2020, with L2 decay: Adam's step times a rectification r once the mean square is reliable (r
// depends only on the step, by the length rho of its average), and p -= lr mhat before that.
template <class F> struct RadamRule {
  static constexpr int kWritten = 3, kRead = 1;
  F keep1, take1, keep2, take2, rate, eps;
  Decay<F> decay;
  bool adaptive;
  explicit RadamRule(const RadamStep& s)
      : keep1(F(s.beta1)),
        take1(F(1 - s.beta1)),
        keep2(F(s.beta2)),
        take2(F(1 - s.beta2)),
        rate(F(0)),
        eps(F(s.eps)),
        decay(s.weight_decay),
        adaptive(false) {
    const double t = static_cast<double>(s.step), left = std::pow(s.beta2, t);
    const double most = 2 / (1 - s.beta2) - 1, rho = most - 2 * t * left / (1 - left);
    adaptive = rho > 5;
    const double rectification =
        adaptive ? std::sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho) * (1 - left)) : 1;
    rate = F(-s.lr * rectification / (1 - std::pow(s.beta1, t)));
  }
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &m = a[1], &v = a[2];
    const F g = decay(a[3], p);
    m = mul_add(m, keep1, g * take1);
    v = mul_add(v, keep2, g * g * take2);
    p = mul_add(rate, adaptive ? m / (sqrt(v) + eps) : m, p);
  }
};

// p -= lr g
template <class F> struct DescentRule {
  static constexpr int kWritten = 1, kRead = 1;
  F rate;
  Decay<F> decay;
  explicit DescentRule(const SgdStep& s) : rate(F(-s.lr)), decay(s.weight_decay) {}
  VELDT_FN void operator()(F* a) const { a[0] = mul_add(rate, decay(a[1], a[0]), a[0]); }
};

// Polyak 1964, Sutskever et al. 2013, as torch.optim.SGD without dampening:
//   v = momentum v + g,  p -= lr (nesterov ? g + momentum v : v)
template <class F> struct MomentumRule {
  static constexpr int kWritten = 2, kRead = 1;
  F rate, momentum;
  Decay<F> decay;
  bool nesterov;
  explicit MomentumRule(const SgdStep& s)
      : rate(F(-s.lr)), momentum(F(s.momentum)), decay(s.weight_decay), nesterov(s.nesterov) {}
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &v = a[1];
    const F g = decay(a[2], p);
    v = mul_add(momentum, v, g);
    p = mul_add(rate, nesterov ? mul_add(momentum, v, g) : v, p);
  }
};

// Hinton's lecture 6e (2012); centered: Graves 2013; as torch.optim.RMSprop.
//   s = alpha s + (1 - alpha) g^2,  u = g / (sqrt(s) + eps),  p -= lr u, or v = momentum v + u,  p -= lr v
// centered: sqrt(s - mean(g)^2), where rounding must not reach below 0.
template <class F, bool kMomentum, bool kCentered> struct RmspropRule {
  static constexpr int kWritten = 2 + kMomentum + kCentered, kRead = 1;
  F rate, keep, take, eps, momentum;
  Decay<F> decay;
  explicit RmspropRule(const RmspropStep& s)
      : rate(F(-s.lr)),
        keep(F(s.alpha)),
        take(F(1 - s.alpha)),
        eps(F(s.eps)),
        momentum(F(s.momentum)),
        decay(s.weight_decay) {}
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &square = a[1];
    const F g = decay(a[kWritten], p);
    square = mul_add(square, keep, g * g * take);
    F spread = square;
    if constexpr (kCentered) {
      F& mean = a[kWritten - 1];
      mean = mul_add(take, g - mean, mean);
      spread = square - mean * mean;
      spread = select_gt(F(0), spread, F(0), spread);
    }
    F update = g / (sqrt(spread) + eps);
    if constexpr (kMomentum) update = a[2] = mul_add(momentum, a[2], update);
    p = mul_add(rate, update, p);
  }
};

// Duchi, Hazan & Singer 2011:  s += g^2,  p -= lr g / (sqrt(s) + eps)
template <class F> struct AdagradRule {
  static constexpr int kWritten = 2, kRead = 1;
  F rate, eps, initial;
  Decay<F> decay;
  explicit AdagradRule(const AdagradStep& s)
      : rate(F(-s.lr)), eps(F(s.eps)), initial(F(s.initial)), decay(s.weight_decay) {}
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &squares = a[1];
    const F g = decay(a[2], p);
    squares = mul_add(g, g, squares);
    p = mul_add(rate, g / (sqrt(squares + initial) + eps), p);
  }
};

// Chen et al. 2023:  p -= lr (sign(b1 m + (1 - b1) g) + decay p),  m = b2 m + (1 - b2) g;  sign(0) = 0
template <class F> struct LionRule {
  static constexpr int kWritten = 2, kRead = 1;
  F rate, shrink, keep1, take1, keep2, take2;
  explicit LionRule(const LionStep& s)
      : rate(F(-s.lr)),
        shrink(F(1 - s.lr * s.weight_decay)),
        keep1(F(s.beta1)),
        take1(F(1 - s.beta1)),
        keep2(F(s.beta2)),
        take2(F(1 - s.beta2)) {}
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &m = a[1];
    const F g = a[2], c = mul_add(m, keep1, g * take1);
    F sign = select_gt(F(0), c, F(-1), select_gt(c, F(0), F(1), F(0)));
    sign = select_nan(c, c, sign);  // a NaN must show
    p = mul_add(rate, sign, p * shrink);
    m = mul_add(m, keep2, g * take2);
  }
};

// Xie et al. 2022, with the bias corrections and the proximal decay of the authors' program. d is the change
// of the gradient, 0 at the first step.
//   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) d,  n = b3 n + (1 - b3) (g + b2 d)^2
//   p = (p - lr (mhat + b2 vhat) / (sqrt(nhat) + eps)) / (1 + lr decay)
template <class F> struct AdanRule {
  static constexpr int kWritten = 5, kRead = 1;
  F keep1, take1, keep2, take2, keep3, take3, rate, rate_of_change, scale, eps, shrink;
  bool first;
  static double correction(double beta, const AdanStep& s) {
    return 1 - std::pow(beta, static_cast<double>(s.step));
  }
  explicit AdanRule(const AdanStep& s)
      : keep1(F(s.beta1)),
        take1(F(1 - s.beta1)),
        keep2(F(s.beta2)),
        take2(F(1 - s.beta2)),
        keep3(F(s.beta3)),
        take3(F(1 - s.beta3)),
        rate(F(-s.lr / correction(s.beta1, s))),
        rate_of_change(F(-s.lr * s.beta2 / correction(s.beta2, s))),
        scale(F(std::sqrt(correction(s.beta3, s)))),
        eps(F(s.eps)),
        shrink(F(1 + s.lr * s.weight_decay)),
        first(s.step == 1) {}
  VELDT_FN void operator()(F* a) const {
    F &p = a[0], &m = a[1], &v = a[2], &n = a[3], &before = a[4];
    const F g = a[5], change = first ? F(0) : g - before, ahead = mul_add(keep2, change, g);
    m = mul_add(m, keep1, g * take1);
    v = mul_add(v, keep2, change * take2);
    n = mul_add(n, keep3, ahead * ahead * take3);
    p = (p + mul_add(rate, m, rate_of_change * v) / (sqrt(n) / scale + eps)) / shrink;
    before = g;
  }
};

template <class F> struct ClipRule {
  static constexpr int kWritten = 1, kRead = 0;
  F scale, high, low;
  explicit ClipRule(const ClipStep& s) : scale(F(s.scale)), high(F(s.limit)), low(F(-s.limit)) {}
  VELDT_FN void operator()(F* a) const {
    const F x = a[0] * scale;  // a NaN compares with nothing and stays
    a[0] = select_gt(x, high, high, select_gt(low, x, low, x));
  }
};

template <class F> struct LerpRule {
  static constexpr int kWritten = 1, kRead = 1;
  F share;
  explicit LerpRule(const LerpStep& s) : share(F(s.share)) {}
  VELDT_FN void operator()(F* a) const { a[0] = mul_add(share, a[1] - a[0], a[0]); }
};

#include "veldt/kernels/close-inl.h"
#endif
