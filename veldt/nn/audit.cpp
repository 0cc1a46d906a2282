// Walks a module after backward() and reports each parameter's missing or bad gradient, and where the graph
// was cut.
#include "veldt/nn/audit.h"

#include <cmath>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

std::optional<GradientFault> fault_of(const Tensor& gradient) {
  if (!gradient.defined()) return GradientFault::missing;
  if (gradient.numel() == 0) return std::nullopt;
  const double largest = max(abs(gradient.detach())).item();  // a NaN takes precedence
  if (!std::isfinite(largest)) return GradientFault::not_finite;
  if (largest == 0) return GradientFault::zero;
  return std::nullopt;
}

const char* text_of(GradientFault fault) {
  switch (fault) {
    case GradientFault::missing: return "no gradient: the loss does not depend on it";
    case GradientFault::zero: return "a gradient of zeros";
    case GradientFault::not_finite: return "a gradient with a NaN or an infinity";
  }
  return "";
}

}  // namespace

GradientAudit audit_gradients(const Module& module, const Tensor& loss) {
  const NoGrad off;
  GradientAudit audit;
  const NamedTensors parameters = module.named_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    if (!parameter.requires_grad()) continue;
    ++audit.parameters;
    const auto fault = fault_of(parameter.grad());
    // A new adapter's B, which follows its A, is 0, and so is A's first gradient.
    const bool new_adapter = fault == GradientFault::zero && name.ends_with("lora_A") &&
                             i + 1 < parameters.size() && parameters[i + 1].name.ends_with("lora_B") &&
                             max(abs(parameters[i + 1].tensor.detach())).item() == 0;
    if (fault && !new_adapter) audit.findings.push_back({name, parameter.shape(), *fault});
  }
  audit.cuts = cuts_of(loss);
  return audit;
}

std::string GradientAudit::text() const {
  if (healthy()) return str("all ", parameters, " parameters have gradients\n");
  std::string out;
  bool missing = false;
  for (const auto& [name, shape, fault] : findings) {
    out += str(name, ' ', shape, ": ", text_of(fault), "\n");
    missing = missing || fault == GradientFault::missing;
  }
  if (missing)
    for (const std::string& cut : cuts) out += "the graph is cut by " + cut + "\n";
  return out;
}

}  // namespace veldt::nn
