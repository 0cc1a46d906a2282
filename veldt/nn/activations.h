// Activations as modules, for use in a Sequential. Their formulas are in ops/unary.h and ops/activation.h.
// Tests: tests/nn/linear_test.cpp, tests/nn/golden_test.cpp, tests/app/train_recipes_test.cpp
#pragma once

#include "veldt/core/error.h"
#include "veldt/nn/module.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {

// A function of one tensor as a module, titled by the type that is derived from it.
template <Tensor (*kFunction)(const Tensor&)> class Activation : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return kFunction(x); }
};

struct ReLU : Activation<relu> {};
// Bytes between layers of integers (compress/quantize.h) stay what they are: their range was seen behind it,
// so it ends at 6 at most.
struct ReLU6 : Activation<relu6> {
  Tensor forward(const Tensor& x) const override { return x.dtype() == DType::u8 ? x : relu6(x); }
};
struct SELU : Activation<selu> {};
struct GELU : Activation<gelu> {};
struct GELUTanh : Activation<gelu_tanh> {};
struct SiLU : Activation<silu> {};
struct Mish : Activation<mish> {};
struct Tanh : Activation<tanh> {};
struct Sigmoid : Activation<sigmoid> {};
struct LogSigmoid : Activation<logsigmoid> {};
struct Softplus : Activation<softplus> {};
struct Softsign : Activation<softsign> {};
struct Hardsigmoid : Activation<hardsigmoid> {};
struct Hardswish : Activation<hardswish> {};

// One with a number, which its title shows: "Sine(30)".
template <Tensor (*kFunction)(const Tensor&, double)> class ActivationWith : public Module {
 public:
  explicit ActivationWith(double number) : number_(number) {}
  Tensor forward(const Tensor& x) const override { return kFunction(x, number_); }
  std::string title() const override { return str(Module::title(), '(', number_, ')'); }

 private:
  double number_;
};

struct LeakyReLU : ActivationWith<leaky_relu> {
  explicit LeakyReLU(double negative_slope = 0.01) : ActivationWith(negative_slope) {}
};
struct ELU : ActivationWith<elu> {
  explicit ELU(double alpha = 1) : ActivationWith(alpha) {}
};
struct CELU : ActivationWith<celu> {
  explicit CELU(double alpha = 1) : ActivationWith(alpha) {}
};
// sin(omega x): SIREN, Sitzmann et al. 2020.
struct Sine : ActivationWith<sine> {
  explicit Sine(double omega = 30) : ActivationWith(omega) {}
};
// exp(-(scale x)^2): Ramasinghe & Lucey 2022.
struct Gauss : ActivationWith<gauss> {
  explicit Gauss(double scale = 30) : ActivationWith(scale) {}
};
// sin(omega (|x| + 1) x): FINER, Liu et al. 2024.
struct Finer : ActivationWith<finer> {
  explicit Finer(double omega = 30) : ActivationWith(omega) {}
};
// cos(omega x) exp(-(scale x)^2): the real wavelet of WIRE, Saragadam et al. 2023.
class Wire : public Module {
 public:
  explicit Wire(double omega = 20, double scale = 10) : omega_(omega), scale_(scale) {}
  Tensor forward(const Tensor& x) const override { return wire(x, omega_, scale_); }
  std::string title() const override { return str("Wire(", omega_, ", ", scale_, ')'); }

 private:
  double omega_, scale_;
};

// Shares, and their logarithms, along a dimension; the last one unless said.
class Softmax : public Module {
 public:
  explicit Softmax(int dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override { return softmax(x, dim_); }
  std::string title() const override { return str("Softmax(", dim_, ')'); }

 private:
  int dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override { return log_softmax(x, dim_); }
  std::string title() const override { return str("LogSoftmax(", dim_, ')'); }

 private:
  int dim_;
};

class Hardtanh : public Module {
 public:
  explicit Hardtanh(double low = -1, double high = 1) : low_(low), high_(high) {}
  Tensor forward(const Tensor& x) const override { return hardtanh(x, low_, high_); }
  std::string title() const override { return str("Hardtanh(", low_, ", ", high_, ')'); }

 private:
  double low_, high_;
};

}  // namespace veldt::nn
