// Keeps averaged parameters in a slab of their own, and swaps them in and out.
#include "veldt/optim/ema.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::optim {
namespace {

const EmaOptions& checked(const EmaOptions& options) {
  check_option("decay", options.decay, 0, 1);
  return options;
}

}  // namespace

Ema::Ema(const Optimizer& optimizer, EmaOptions options)
    : options_(checked(options)), slab_(optimizer.slab()), average_(slab_.make_state()) {
  average_.assign(slab_.values());
}

double Ema::decay() const {
  const double t = static_cast<double>(updates_);
  return options_.warm_up ? std::min(options_.decay, (1 + t) / (10 + t)) : options_.decay;
}

void Ema::need_not_swapped(const char* what) const {
  if (swapped_)
    throw Error(str("cannot ", what, " while it is swapped with the parameters"),
                "the parameters hold the average now, and the average the parameters", "swap() back first");
}

void Ema::update() {
  host_work(
      "average", {average_.view(), slab_.values().view()},
      [this](std::span<const View> arrays) {
        need_not_swapped("update the average");
        kernels(average_).optimize({LerpStep{1 - decay()}}, arrays.data(), 2);
        ++updates_;
      },
      CallKind::numbers);
  mark_changed(average_);
}

void Ema::swap() {
  const NoGrad off;
  Tensor values = slab_.values(), kept = slab_.make_state();
  kept.assign(values);
  values.assign(average_);
  average_.assign(kept);
  swapped_ = !swapped_;
}

void Ema::copy_to_parameters() {
  need_not_swapped("copy the average");
  Tensor(slab_.values()).assign(average_);
}

void Ema::restart() {
  need_not_swapped("restart the average");
  average_.assign(slab_.values());
  updates_ = 0;
}

NamedTensors Ema::state_dict() const {
  need_not_swapped("save the average");
  NamedTensors out{{"updates", Tensor::from<std::int64_t>({}, std::span(&updates_, 1))}};
  for (std::size_t i = 0; i < slab_.names().size(); ++i)
    out.push_back({"average." + slab_.names()[i], slab_.part(average_, i)});
  return out;
}

void Ema::load_state_dict(const NamedTensors& state) {
  NamedTensors own = this->state_dict();
  const std::map<std::string, Tensor> given = matched("average", own, state);
  updates_ = count_of("average", "updates", given.at("updates"));
  for (auto& [name, tensor] : own)
    if (name != "updates") tensor.assign(given.at(name));
}

}  // namespace veldt::optim
