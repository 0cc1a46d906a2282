// Activations as modules, for use in a Sequential. Their formulas are in ops/unary.h.
#pragma once

#include "veldt/core/error.h"
#include "veldt/nn/module.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {

class Tanh : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return tanh(x); }
};

class Relu : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return relu(x); }
};

class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return sigmoid(x); }
};

class Softplus : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return softplus(x); }
};

// sin(omega x): SIREN, Sitzmann et al. 2020.
class Sine : public Module {
 public:
  explicit Sine(double omega = 30) : omega_(omega) {}
  Tensor forward(const Tensor& x) const override { return sine(x, omega_); }
  std::string title() const override { return str("Sine(", omega_, ")"); }

 private:
  double omega_;
};

// exp(-(scale x)^2): Ramasinghe & Lucey 2022.
class Gauss : public Module {
 public:
  explicit Gauss(double scale = 30) : scale_(scale) {}
  Tensor forward(const Tensor& x) const override { return gauss(x, scale_); }
  std::string title() const override { return str("Gauss(", scale_, ")"); }

 private:
  double scale_;
};

// sin(omega (|x| + 1) x): FINER, Liu et al. 2024.
class Finer : public Module {
 public:
  explicit Finer(double omega = 30) : omega_(omega) {}
  Tensor forward(const Tensor& x) const override { return finer(x, omega_); }
  std::string title() const override { return str("Finer(", omega_, ")"); }

 private:
  double omega_;
};

}  // namespace veldt::nn
