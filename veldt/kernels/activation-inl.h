// Formulas of activations, in the form that unary-inl.h explains.
// Tests: tests/kernels/formulas_test.cpp, tests/ops/formula_test.cpp, tests/nn/linear_test.cpp
#if defined(VELDT_KERNELS_ACTIVATION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_ACTIVATION_INL
#undef VELDT_KERNELS_ACTIVATION_INL
#else
#define VELDT_KERNELS_ACTIVATION_INL
#endif

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/power-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr bool slope_of_result = true;
  template <class F> VELDT_FN F forward(F x) const { return logistic(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return y * (F(1) - y); }
};

// log(1 + e^x) without overflow on either side
struct Softplus {
  static constexpr const char* name = "softplus";
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(x, F(0), x, select_nan(x, x, F(0))) + log1p(exp(-abs(x)));
  }
  template <class F> VELDT_FN F slope(F x, F) const { return logistic(x); }
};

struct Relu {
  static constexpr const char* name = "relu";
  static constexpr bool slope_of_result = true;
  template <class F> VELDT_FN F forward(F x) const { return select_gt(F(0), x, F(0), x); }
  template <class F> VELDT_FN F slope(F x, F) const { return select_gt(x, F(0), F(1), F(0)); }
};

// sin(omega x): SIREN (Sitzmann et al. 2020, arXiv:2006.09661)
struct Sine {
  static constexpr const char* name = "sine";
  static constexpr bool wide = true;
  double omega;
  template <class F> VELDT_FN F forward(F x) const { return sin(F(omega) * x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(omega) * cos(F(omega) * x); }
};

// exp(-(scale x)^2): Gaussian activation (Ramasinghe & Lucey 2022, arXiv:2111.15135)
struct Gauss {
  static constexpr const char* name = "gauss";
  static constexpr bool wide = true;
  double scale;
  template <class F> VELDT_FN F forward(F x) const {
    const F z = F(scale) * x;
    return exp(-(z * z));
  }
  template <class F> VELDT_FN F slope(F x, F y) const { return F(-2 * scale * scale) * x * y; }
};

// sin(omega (|x| + 1) x): FINER (Liu et al. 2024, arXiv:2312.02434), here with its whole derivative
struct Finer {
  static constexpr const char* name = "finer";
  static constexpr bool wide = true;
  double omega;
  template <class F> VELDT_FN F forward(F x) const { return sin(F(omega) * (abs(x) + F(1)) * x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    const F a = abs(x);
    return F(omega) * (a + a + F(1)) * cos(F(omega) * (a + F(1)) * x);
  }
};

// cos(omega x) exp(-(scale x)^2): a Gabor wavelet, the real WIRE (Saragadam et al. 2023, arXiv:2301.05187).
struct Wire {
  static constexpr const char* name = "wire";
  static constexpr bool wide = true;
  double omega, scale;
  template <class F> VELDT_FN F window(F x) const {
    const F z = F(scale) * x;
    return exp(-(z * z));
  }
  template <class F> VELDT_FN F forward(F x) const {
    const F e = window(x);
    return select_gt(e, F(0), cos(F(omega) * x) * e, e);
  }
  template <class F> VELDT_FN F slope(F x, F y) const {
    const F e = window(x), bend = F(omega) * sin(F(omega) * x) * e + F(2 * scale * scale) * x * y;
    return select_gt(e, F(0), -bend, e);  // the sine of infinity is NaN; e is 0 there, or NaN
  }
};

// max(x, 0) + negative_slope min(x, 0): Maas et al. 2013
struct LeakyRelu {
  static constexpr const char* name = "leaky_relu";
  double negative_slope;
  template <class F> VELDT_FN F forward(F x) const { return select_gt(x, F(0), x, F(negative_slope) * x); }
  template <class F> VELDT_FN F slope(F x, F) const { return select_gt(x, F(0), F(1), F(negative_slope)); }
};

// x, below 0 alpha (e^x - 1): Clevert et al. 2015, arXiv:1511.07289
struct Elu {
  static constexpr const char* name = "elu";
  double alpha;
  template <class F> VELDT_FN F forward(F x) const { return select_gt(x, F(0), x, F(alpha) * expm1(x)); }
  template <class F> VELDT_FN F slope(F x, F y) const { return select_gt(x, F(0), F(1), y + F(alpha)); }
};

// scale elu(x) with the constants of Klambauer et al. 2017, arXiv:1706.02515, which keep mean 0 and variance
// 1
struct Selu {
  static constexpr const char* name = "selu";
  static constexpr double scale = 1.0507009873554804934193349852946,
                          alpha = 1.6732632423543772848170429916717;
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(x, F(0), F(scale) * x, F(scale * alpha) * expm1(x));
  }
  template <class F> VELDT_FN F slope(F x, F y) const {
    return select_gt(x, F(0), F(scale), y + F(scale * alpha));
  }
};

// x, below 0 alpha (e^(x / alpha) - 1): Barron 2017, arXiv:1704.07483
struct Celu {
  static constexpr const char* name = "celu";
  double alpha;
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(x, F(0), x, F(alpha) * expm1(x / F(alpha)));
  }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(x, F(0), F(1), exp(between(-INFINITY, x, 0) / F(alpha)));
  }
};

// x P(x), P the normal distribution's: Hendrycks & Gimpel 2016, arXiv:1606.08415
struct Gelu {
  static constexpr const char* name = "gelu";
  static constexpr bool wide = kRoundsTwice;
  template <class F> VELDT_FN F forward(F x) const { return times_normal_share(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return times_normal_share_slope(x); }
};

// x (1 + tanh(u)) / 2 = x s(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3): Hendrycks & Gimpel 2016,
// arXiv:1606.08415
struct GeluTanh {
  static constexpr const char* name = "gelu_tanh";
  static constexpr bool wide = true;
  static constexpr double rate = 1.5957691216057307117597842397375;  // 2 sqrt(2 / pi)
  template <class F> VELDT_FN F forward(F x) const { return x * logistic(twice_u(x)); }
  template <class F> VELDT_FN F slope(F x, F) const {
    const F c = between(-100, x, 100);  // beyond s is 0 or 1, and x^2 may be infinite
    const F s = logistic(twice_u(c));
    const F bend = F(rate) * c * (F(1) + F(3 * 0.044715) * c * c) * (F(1) - s);
    return s + s * bend;
  }
  template <class F> VELDT_FN static F twice_u(F x) { return F(rate) * x * (F(1) + F(0.044715) * x * x); }
};

// x s(x): Elfwing et al. 2017, arXiv:1702.03118
struct Silu {
  static constexpr const char* name = "silu";
  template <class F> VELDT_FN F forward(F x) const {
    const F a = -abs(x);
    return select_gt(F(0), x, exp_times(a, x), x) / (F(1) + exp(a));
  }
  template <class F> VELDT_FN F slope(F x, F y) const {
    const F s = logistic(x);
    return s + y * (F(1) - s);
  }
};

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2): Misra 2019, arXiv:1908.08681. Beyond 20 the
// quotient is 1 to the last bit of a double.
struct Mish {
  static constexpr const char* name = "mish";
  static constexpr bool wide = true;
  template <class F> VELDT_FN F forward(F x) const {
    const F e = exp(between(-INFINITY, x, 20)), n = e * (e + F(2));
    return x * (n / (n + F(2)));
  }
  template <class F> VELDT_FN F slope(F x, F) const {
    const F c = between(-1e4, x, 20), e = exp(c), n = e * (e + F(2));
    const F inner = F(4) * c * e / (n + F(2)) * ((e + F(1)) / (n + F(2)));
    return n / (n + F(2)) + select_gt(x, F(20), F(0), inner);
  }
};

// x / (1 + |x|)
struct Softsign {
  static constexpr const char* name = "softsign";
  template <class F> VELDT_FN F forward(F x) const { return x / (F(1) + abs(x)); }
  template <class F> VELDT_FN F slope(F x, F) const { return power(F(1) + abs(x), -2); }
};

// min(max(x + 3, 0), 6) / 6, a NaN stays NaN: Courbariaux et al. 2015, as in Howard et al. 2019,
// arXiv:1905.02244
struct Hardsigmoid {
  static constexpr const char* name = "hardsigmoid";
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(F(-3), x, F(0), select_gt(x, F(3), F(1), (x + F(3)) / F(6)));
  }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(x, F(-3), select_gt(F(3), x, F(1.0 / 6), F(0)), F(0));
  }
};

// x hardsigmoid(x)
struct Hardswish {
  static constexpr const char* name = "hardswish";
  template <class F> VELDT_FN F forward(F x) const { return x * Hardsigmoid().forward(x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(x, F(-3), select_gt(F(3), x, x / F(3) + F(0.5), F(1)), F(0));
  }
};

// log(s(x)) = min(x, 0) - log(1 + e^-|x|)
struct LogSigmoid {
  static constexpr const char* name = "logsigmoid";
  template <class F> VELDT_FN F forward(F x) const {
    return -(log1p(exp(-abs(x))) - select_gt(F(0), x, x, select_nan(x, x, F(0))));
  }
  template <class F> VELDT_FN F slope(F x, F) const { return logistic(-x); }
};

// x beyond a threshold on either side, else 0
struct Hardshrink {
  static constexpr const char* name = "hardshrink";
  double threshold;
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(abs(x), F(threshold), x, select_nan(x, x, F(0)));
  }
  template <class F> VELDT_FN F slope(F x, F) const { return select_gt(abs(x), F(threshold), F(1), F(0)); }
};

using ActivationOps =
    TypeList<Hardshrink, Sigmoid, Softplus, Relu, Sine, Gauss, Finer, Wire, LeakyRelu, Elu, Selu, Celu, Gelu,
             GeluTanh, Silu, Mish, Softsign, Hardsigmoid, Hardswish, LogSigmoid>;

#include "veldt/kernels/close-inl.h"
#endif
