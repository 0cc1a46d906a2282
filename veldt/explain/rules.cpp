// Guided backpropagation and LRP: each recorded op is given the backward function of the method's rule.
#include "veldt/explain/rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::explain {
namespace {

class GuidedRule : public RecordListener {
 public:
  BackwardFn on_record(const char* name, const Tensor&, const TensorList&, BackwardFn backward) override {
    const std::string_view op = name;
    // What is run again on the way back, or is several ops in one, may have a relu that is not seen here.
    if (op == "checkpoint" || op == "mlp" || op == "recurrence")
      throw ConfigError(str("guided backpropagation cannot look into ", op),
                        "it is one op, whose inner relus cannot be guided",
                        "explain this network by integrated gradients, or by occlusion");
    if (op != "relu") return backward;
    ++found_;
    return [backward](const Tensor& g) -> Grads { return {relu(backward(g)[0])}; };
  }
  int found() const { return found_; }

 private:
  int found_ = 0;
};

// Functions of one number after the other: the relevance of the result is that of what went in.
const std::set<std::string_view>& activations() {
  static const std::set<std::string_view> names{
      "relu",      "leaky_relu", "elu",         "celu",       "selu",    "gelu",
      "gelu_tanh", "silu",       "mish",        "tanh",       "sigmoid", "softplus",
      "softsign",  "hardswish",  "hardsigmoid", "logsigmoid", "clamp",   "sine"};
  return names;
}

// What only moves numbers to other places, views aside; a pool's largest too.
const std::set<std::string_view>& moves() {
  static const std::set<std::string_view> names{"cat",
                                                "slice",
                                                "contiguous",
                                                "clone",
                                                "to",
                                                "flip",
                                                "roll",
                                                "pad",
                                                "gather",
                                                "max_pool1d",
                                                "max_pool2d",
                                                "max_pool3d",
                                                "adaptive_max_pool1d",
                                                "adaptive_max_pool2d",
                                                "adaptive_max_pool3d",
                                                "max",
                                                "output",
                                                "index_select"};
  return names;
}

// Sums of multiples of what leads to the input.
const std::set<std::string_view>& sums() {
  static const std::set<std::string_view> names{"conv1d",
                                                "conv2d",
                                                "conv3d",
                                                "conv_transpose1d",
                                                "conv_transpose2d",
                                                "conv_transpose3d",
                                                "linear",
                                                "matmul",
                                                "add",
                                                "sub",
                                                "mul",
                                                "div",
                                                "sum",
                                                "mean",
                                                "affine",
                                                "standardise_by",
                                                "multiply_add",
                                                "avg_pool",
                                                "neg"};
  return names;
}

class RelevanceRule : public RecordListener {
 public:
  explicit RelevanceRule(double epsilon) : epsilon_(epsilon) {}

  BackwardFn on_record(const char* name, const Tensor& out, const TensorList& inputs,
                       BackwardFn backward) override {
    if (activations().contains(name)) return [](const Tensor& relevance) -> Grads { return {relevance}; };
    if (moves().contains(name) || is_view(out, inputs)) return backward;
    TensorList values(inputs.size());
    int leading = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined() && inputs[i].requires_grad()) values[i] = inputs[i].detach(), ++leading;
    const std::string_view op = name;
    const bool is_product = op == "mul" || op == "div" || op == "matmul" || op == "multiply_add";
    const bool divides_by_it = op == "div" && inputs.size() == 2 && values[1].defined();
    if (!sums().contains(op) || (is_product && leading > 1) || divides_by_it)
      throw ConfigError(str("LRP cannot go back through ", op),
                        is_product && leading > 1
                            ? "it multiplies two activations, and neither is a weight of the other"
                            : "it has no rule for that op",
                        "explain this network by integrated gradients, or by occlusion");
    return [backward, values, out = out.detach(), epsilon = epsilon_](const Tensor& relevance) -> Grads {
      const Tensor away = where(less(out, 0), out - epsilon, out + epsilon);
      Grads shares = backward(relevance / where(equal(away, 0), ones_for(away), away));
      for (std::size_t i = 0; i < shares.size(); ++i)
        if (values[i].defined() && shares[i].defined()) shares[i] = shares[i] * values[i];
      return shares;
    };
  }

 private:
  // epsilon may be lost beside larger numbers, but not at 0; with an epsilon of 0 nothing is divided by 0.
  static Tensor ones_for(const Tensor& t) { return t * 0.0 + 1.0; }
  static bool is_view(const Tensor& out, const TensorList& inputs) {
    return inputs.size() == 1 && extent_of(out.view()).overlaps(extent_of(inputs[0].view()));
  }

  double epsilon_;
};

}  // namespace

Tensor guided_backprop(const nn::Module& model, const Tensor& x, const Targets& targets) {
  GuidedRule rule;
  const Tensor gradient = score_and_gradient(model, x, targets).second;
  if (rule.found() == 0)
    throw ConfigError("guided backpropagation has nothing to guide",
                      "the network has no relu, which is where it differs from the gradient",
                      "explain this network by its gradient, or by integrated gradients");
  return gradient;
}

Tensor lrp(const nn::Module& model, const Tensor& x, const Targets& targets, const LrpOptions& options) {
  if (!(options.epsilon >= 0))
    throw ConfigError(str("the epsilon of LRP cannot be ", options.epsilon), "it is added to a divisor",
                      "give 0 or more");
  const OnlyInputs only(model);
  const Tensor leaf = explained_input(x);
  Tensor scores;
  {
    RelevanceRule rule(options.epsilon);
    scores = model(leaf);
  }
  // The output itself is what is shared out.
  const Tensor chosen = scores_of(scores, targets);
  return grad(chosen, {leaf}, false, chosen.detach())[0];
}

}  // namespace veldt::explain
