// Formulas of one number: forward, and slope = d forward / dx given x and y = forward(x). A formula with
// constants keeps them as doubles, in the order of core/backend.h's Scalars. To add one: write it here, add
// it to UnaryOps, and give it its public function in ops/unary.cpp.
#if defined(VELDT_KERNELS_UNARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_UNARY_INL
#undef VELDT_KERNELS_UNARY_INL
#else
#define VELDT_KERNELS_UNARY_INL
#endif

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

// a x + b
struct Affine {
  static constexpr const char* name = "affine";
  double scale, shift;
  template <class F> VELDT_FN F forward(F x) const { return F(scale) * x + F(shift); }
  template <class F> VELDT_FN F slope(F, F) const { return F(scale); }
};

struct Abs {
  static constexpr const char* name = "abs";
  template <class F> VELDT_FN F forward(F x) const { return abs(x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(x, F(0), F(1), select_gt(F(0), x, F(-1), F(0)));
  }
};

struct Sign {
  static constexpr const char* name = "sign";
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(x, F(0), F(1), select_gt(F(0), x, F(-1), select_nan(x, x, F(0))));
  }
  template <class F> VELDT_FN F slope(F, F) const { return F(0); }
};

struct Exp {
  static constexpr const char* name = "exp";
  template <class F> VELDT_FN F forward(F x) const { return exp(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return y; }
};

struct Log {
  static constexpr const char* name = "log";
  template <class F> VELDT_FN F forward(F x) const { return log(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / x; }
};

struct Sqrt {
  static constexpr const char* name = "sqrt";
  template <class F> VELDT_FN F forward(F x) const { return sqrt(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(0.5) / y; }
};

struct Square {
  static constexpr const char* name = "square";
  template <class F> VELDT_FN F forward(F x) const { return x * x; }
  template <class F> VELDT_FN F slope(F x, F) const { return F(2) * x; }
};

// x^p with a constant p
struct PowScalar {
  static constexpr const char* name = "pow";
  double p;
  template <class F> VELDT_FN F forward(F x) const { return pow(x, F(p)); }
  template <class F> VELDT_FN F slope(F x, F) const { return p == 0 ? F(0) : F(p) * pow(x, F(p - 1)); }
};

struct Clamp {
  static constexpr const char* name = "clamp";
  double low, high;
  // Written so that a NaN stays one.
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(F(low), x, F(low), select_gt(x, F(high), F(high), x));
  }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(F(low), x, F(0), select_gt(x, F(high), F(0), F(1)));
  }
};

struct Sin {
  static constexpr const char* name = "sin";
  template <class F> VELDT_FN F forward(F x) const { return sin(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return cos(x); }
};

struct Cos {
  static constexpr const char* name = "cos";
  template <class F> VELDT_FN F forward(F x) const { return cos(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return -sin(x); }
};

struct Tanh {
  static constexpr const char* name = "tanh";
  template <class F> VELDT_FN F forward(F x) const { return tanh(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(1) - y * y; }
};

struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  template <class F> VELDT_FN F forward(F x) const { return logistic(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return y * (F(1) - y); }
};

// log(1 + e^x), written so that neither side overflows
struct Softplus {
  static constexpr const char* name = "softplus";
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(x, F(0), x, select_nan(x, x, F(0))) + log1p(exp(-abs(x)));
  }
  template <class F> VELDT_FN F slope(F x, F) const { return logistic(x); }
};

struct Relu {
  static constexpr const char* name = "relu";
  template <class F> VELDT_FN F forward(F x) const { return select_gt(F(0), x, F(0), x); }
  template <class F> VELDT_FN F slope(F x, F) const { return select_gt(x, F(0), F(1), F(0)); }
};

// sin(omega x): SIREN (Sitzmann et al. 2020, arXiv:2006.09661)
struct Sine {
  static constexpr const char* name = "sine";
  double omega;
  template <class F> VELDT_FN F forward(F x) const { return sin(F(omega) * x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(omega) * cos(F(omega) * x); }
};

// exp(-(scale x)^2): Gaussian activation (Ramasinghe & Lucey 2022, arXiv:2111.15135)
struct Gauss {
  static constexpr const char* name = "gauss";
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
  double omega;
  template <class F> VELDT_FN F forward(F x) const { return sin(F(omega) * (abs(x) + F(1)) * x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    const F a = abs(x);
    return F(omega) * (a + a + F(1)) * cos(F(omega) * (a + F(1)) * x);
  }
};

using UnaryOps = TypeList<Affine, Abs, Sign, Exp, Log, Sqrt, Square, PowScalar, Clamp, Sin, Cos, Tanh,
                          Sigmoid, Softplus, Relu, Sine, Gauss, Finer>;

#include "veldt/kernels/close-inl.h"
#endif
