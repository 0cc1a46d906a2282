#include "veldt/optim/optimizer.h"

#include <cmath>
#include <limits>
#include <map>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::optim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T> Tensor scalar(T value) { return Tensor::from<T>({}, std::span<const T>(&value, 1)); }

bool all_finite(const Tensor& t) {
  // A NaN or an infinity makes the sum one too. Large finite numbers may as well: then look at each.
  if (std::isfinite(sum(t).item())) return true;
  for (const double v : to(t, DType::f64).values<double>())
    if (!std::isfinite(v)) return false;
  return true;
}

}  // namespace

NamedTensors numbered(const std::vector<Tensor>& parameters) {
  NamedTensors out;
  for (const Tensor& p : parameters) out.emplace_back(std::to_string(out.size()), p);
  return out;
}

void check_option(const char* name, double value, double low, double high) {
  if (value >= low && value < high) return;  // false for a NaN
  throw ConfigError(str("the optimizer's ", name, " cannot be ", value),
                    high == kInfinity ? str("it must be a finite number of ", low, " or more")
                                      : str("it must be at least ", low, " and below ", high),
                    str("choose ", name, " within that range"));
}

Optimizer::Optimizer(const NamedTensors& parameters, double lr, const std::vector<std::string>& kinds)
    : slab_(parameters) {
  set_lr(lr);
  for (const std::string& kind : kinds) states_.emplace_back(kind, slab_.make_state());
}

void Optimizer::set_lr(double lr) {
  check_option("lr", lr, 0, kInfinity);
  lr_ = lr;
}

void Optimizer::step() {
  const std::vector<Slab::Range> ranges = slab_.collect();
  host_work("optimizer step", {slab_.values().view(), slab_.gradients().view()}, [this, ranges](auto) {
    ++steps_;
    for (const Slab::Range range : ranges) update(range);
  });
  slab_.mark_changed();
}

void Optimizer::zero_grad() {
  for (Tensor p : slab_.parameters()) p.zero_grad();
}

double Optimizer::gradient_norm() {
  slab_.collect();
  NoGrad off;
  const double norm = std::sqrt(sum(square(slab_.gradients())).item());
  if (std::isfinite(norm)) return norm;
  return std::sqrt(sum(square(to(slab_.gradients(), DType::f64))).item());  // squares beyond f32's range
}

double Optimizer::clip_gradients(double max_norm) {
  if (!(max_norm > 0))
    throw ConfigError(str("gradients cannot be clipped to a norm of ", max_norm), "it must be above 0",
                      "give a positive norm, or do not clip");
  const double norm = gradient_norm();
  if (!std::isfinite(norm))
    throw DivergedError(
        str("the gradient of ", first_bad_gradient().value_or("the parameters"), " is not finite"),
        str("after ", steps_, " steps the gradient norm is ", norm), "lower the learning rate");
  if (norm <= max_norm) return norm;
  NoGrad off;
  Tensor gradients = slab_.gradients();
  gradients.assign(gradients * (max_norm / norm));
  return norm;
}

std::optional<std::string> Optimizer::first_bad(const Tensor& slab) const {
  NoGrad off;
  if (all_finite(slab)) return std::nullopt;
  for (std::size_t i = 0; i < names().size(); ++i)
    if (!all_finite(slab_.part(slab, i))) return names()[i];
  return std::nullopt;
}

std::optional<std::string> Optimizer::first_bad_gradient() {
  slab_.collect();
  return first_bad(slab_.gradients());
}

std::optional<std::string> Optimizer::first_bad_parameter() const { return first_bad(slab_.values()); }

NamedTensors Optimizer::state() const {
  NamedTensors out{{"step", scalar(steps_)}, {"lr", scalar(lr_)}};
  for (const auto& [kind, slab] : states_)
    for (std::size_t i = 0; i < names().size(); ++i)
      out.push_back({str(kind, ".", names()[i]), slab_.part(slab, i)});
  return out;
}

void Optimizer::load_state(const NamedTensors& state) {
  NamedTensors own = this->state();
  std::map<std::string, Tensor> given, known;
  for (const auto& [name, tensor] : state) given.emplace(name, tensor);
  for (const auto& [name, tensor] : own) known.emplace(name, tensor);
  std::string why;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end())
      why += str(why.empty() ? "" : "; ", name, " is missing");
    else if (found->second.shape() != tensor.shape())
      why += str(why.empty() ? "" : "; ", name, " is ", found->second.shape(), ", not ", tensor.shape());
  }
  for (const auto& [name, tensor] : given)
    if (!known.contains(name)) why += str(why.empty() ? "" : "; ", name, " is unexpected");
  if (!why.empty())
    throw Error("the state does not fit the optimizer", why,
                "use the optimizer and the model that it was saved from");
  const Tensor& step = given.at("step");
  if (step.dtype() != DType::i64 || step.item() < 0)
    throw Error("the state does not fit the optimizer", str("its step is ", step.dtype(), ' ', step.item()),
                "use the optimizer and the model that it was saved from");
  set_lr(given.at("lr").item());
  steps_ = step.values<std::int64_t>()[0];
  for (auto& [name, tensor] : own)
    if (name != "step" && name != "lr") tensor.assign(given.at(name));
}

}  // namespace veldt::optim
