// Raises the scale of a loss while gradients stay finite, and lowers it if they do not.
#include "veldt/optim/grad_scaler.h"

#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::optim {
namespace {

constexpr double kLargestScale = 0x1p126;  // beyond, twice the scale would overflow f32

}  // namespace

GradScaler::GradScaler(GradScalerOptions o, Device device)
    : options_(o), scale_(zeros({}, DType::f32, device)) {
  check_option("init_scale", o.init_scale, std::numeric_limits<float>::min(), kLargestScale);
  check_option("growth_factor", o.growth_factor, 1, kInfinity);
  check_option("backoff_factor", o.backoff_factor, std::numeric_limits<float>::min(),
               std::nextafter(1.0, 2.0));
  check_option("growth_interval", static_cast<double>(o.growth_interval), 1, kInfinity);
  set_factor(o.init_scale);
}

double GradScaler::factor() const { return factor_; }

// A replay of a Plan reads it from here.
void GradScaler::set_factor(double factor) {
  factor_ = static_cast<double>(static_cast<float>(factor));
  kernels(scale_).fill(scale_.view(), factor_);
}

Tensor GradScaler::scale(const Tensor& loss) const {
  return (is_half(loss.dtype()) ? to(loss, DType::f32) : loss) * scale_;
}

bool GradScaler::unscale(Optimizer& optimizer) {
  const bool finite = optimizer.unscale_gradients(factor_);
  if (!finite) {
    ++skipped_;
    since_ = 0;
    // Never to 0, because it could not grow again.
    set_factor(
        std::max(factor_ * options_.backoff_factor, static_cast<double>(std::numeric_limits<float>::min())));
  } else if (++since_ >= options_.growth_interval) {
    since_ = 0;
    if (factor_ * options_.growth_factor < kLargestScale) set_factor(factor_ * options_.growth_factor);
  }
  return finite;
}

void GradScaler::step(Optimizer& optimizer) {
  optimizer.step_if([this, &optimizer] { return unscale(optimizer); });
}

NamedTensors GradScaler::state_dict() const {
  const auto factor = static_cast<float>(factor_);
  return {{"scale", Tensor::from<float>({}, std::span(&factor, 1))},
          {"growth_tracker", Tensor::from<std::int64_t>({}, std::span(&since_, 1))}};
}

void GradScaler::load_state_dict(const NamedTensors& state) {
  const std::map<std::string, Tensor> given = matched("scaler", this->state_dict(), state);
  const double factor = given.at("scale").item();
  const std::int64_t since = count_of("scaler", "growth_tracker", given.at("growth_tracker"));
  if (!(factor >= static_cast<double>(std::numeric_limits<float>::min()) && factor < kLargestScale))
    throw Error("the state does not fit the scaler", str("its scale is ", factor),
                "use one that a scaler saved");
  set_factor(factor);
  since_ = since;
}

}  // namespace veldt::optim
