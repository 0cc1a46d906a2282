// Activations that need more than their formula.
#include "veldt/ops/activation.h"

#include "veldt/core/error.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary.h"

namespace veldt {

Tensor celu(const Tensor& x, double alpha) {
  if (alpha == 0)
    throw ConfigError("celu cannot have an alpha of 0", "celu divides by alpha",
                      "use relu, which is its limit");
  return unary<"celu">(x, alpha);
}

Tensor hardtanh(const Tensor& x, double low, double high) { return clamp(as_float(x), low, high); }
Tensor relu6(const Tensor& x) { return clamp(x, 0, 6); }

}  // namespace veldt
