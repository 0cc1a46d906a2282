// Checks the gradients of a module's parameters after backward(), to find out why one of them does not learn.
//   loss.backward();
//   std::puts(nn::audit_gradients(model, loss).text().c_str());
// Tests: tests/nn/audit_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::nn {

enum class GradientFault : std::uint8_t { missing, zero, not_finite };

struct GradientFinding {
  std::string name;  // of the parameter
  Shape shape;
  GradientFault fault;
};

struct GradientAudit {
  std::int64_t parameters = 0;            // how many were checked; frozen ones are not
  std::vector<GradientFinding> findings;  // in the order of named_parameters()
  // Where the loss's graph ends before it reaches a parameter: "detach, read by mul", "argmax, read by
  // gather", "NoGrad, read by add". Kept by the graph as the ops run; values read by item() or values() are
  // not tracked.
  std::vector<std::string> cuts;
  bool healthy() const { return findings.empty(); }
  // The findings, one a line, and the cuts if a gradient is missing.
  std::string text() const;
};

// Call it after backward(), before the step; or before backward(), if that fails because the loss depends on
// no parameter.
GradientAudit audit_gradients(const Module& module, const Tensor& loss);

}  // namespace veldt::nn
