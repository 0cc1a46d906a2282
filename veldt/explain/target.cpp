// Chooses the outputs that are explained, and keeps gradients away from all but the input.
#include "veldt/explain/target.h"

#include "veldt/core/error.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {
namespace {

// As [n, outputs].
Tensor as_rows(const Tensor& outputs) {
  if (outputs.rank() == 1) return unsqueeze(outputs, 1);
  if (outputs.rank() != 2)
    throw ShapeError(str("cannot explain an output of ", outputs.shape()),
                     "one number of each example is explained, of outputs [n, outputs]",
                     "wrap the network in one that picks or averages such numbers");
  return outputs;
}

}  // namespace

Targets largest_outputs(const nn::Module& model, const Tensor& x) {
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  return to(argmax(as_rows(model(x)), 1), Device{}).values<std::int64_t>();
}

Tensor scores_of(const Tensor& outputs, const Targets& targets) {
  const Tensor rows = as_rows(outputs);
  const std::int64_t n = rows.size(0), count = rows.size(1);
  Targets each = targets;
  if (targets.empty()) each = to(argmax(rows.detach(), 1), Device{}).values<std::int64_t>();
  if (each.size() == 1) each.resize(static_cast<std::size_t>(n), each[0]);
  if (std::ssize(each) != n)
    throw ConfigError(str("there are ", each.size(), " targets"), str("there are ", n, " examples"),
                      "give one target for all, or one for each");
  for (const std::int64_t target : each)
    if (target < 0 || target >= count)
      throw ConfigError(str("the target cannot be ", target), str("the network has ", count, " outputs"),
                        str("give one of 0 .. ", count - 1));
  const Tensor index = to(Tensor::from<std::int64_t>({n, 1}, each), rows.device());
  return reshape(gather(rows, 1, index), {n});
}

OnlyInputs::OnlyInputs(const nn::Module& model) : evaluating_(model) {
  try {
    for (Tensor& parameter : model.parameters())
      if (parameter.requires_grad()) trained_.push_back(parameter.set_requires_grad(false));
  } catch (...) {  // no destructor runs, and those before it were switched
    for (Tensor& parameter : trained_) parameter.set_requires_grad(true);
    throw;
  }
}

OnlyInputs::~OnlyInputs() {
  for (Tensor& parameter : trained_) parameter.set_requires_grad(true);
}

Tensor explained_input(const Tensor& x) {
  if (!is_float(x.dtype()) || x.rank() < 1)
    throw ShapeError(str("cannot explain by an input of ", x.dtype(), ' ', x.shape()),
                     "its gradient is looked at, and only floats [n, ..] have one",
                     "for token numbers explain from the embedding on: explain::FromLayer");
  Tensor leaf = contiguous(x.detach()).detach();
  leaf.set_requires_grad();
  return leaf;
}

std::pair<Tensor, Tensor> score_and_gradient(const nn::Module& model, const Tensor& x,
                                             const Targets& targets) {
  const OnlyInputs only(model);
  const Tensor leaf = explained_input(x);
  const Tensor scores = scores_of(model(leaf), targets);
  return {scores.detach(), grad(sum(scores), {leaf})[0]};
}

}  // namespace veldt::explain
