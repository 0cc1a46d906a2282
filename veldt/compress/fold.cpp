// Finds batch norms behind layers, and moves their numbers.
#include "veldt/compress/fold.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "veldt/core/error.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/weight.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

// Norms whose input is what a layer has just given.
class Pairs final : public nn::CallListener {
 public:
  explicit Pairs(const nn::Module& network) {
    for (const nn::NamedModule& m : network.named_modules()) names_[m.module] = m.name;
  }
  void on_call(const nn::Module& module, const TensorList& inputs, const TensorList& outputs) override {
    calls_[&module] += 1;
    if (const auto* layer = dynamic_cast<const nn::Quantizable*>(&module);
        layer && const_cast<nn::Quantizable*>(layer)->bias_of_product() && outputs.size() == 1)
      results_.emplace_back(outputs[0], &module);
    const auto* norm = dynamic_cast<const nn::ChannelNorm*>(&module);
    if (!norm || !norm->is_fixed() || inputs.size() != 1) return;
    for (const auto& [result, from] : results_)
      if (result.impl() == inputs[0].impl()) found_.push_back({from, &module});
  }
  std::vector<FoldedNorm> pairs() const {
    std::vector<FoldedNorm> all;
    for (const auto& [layer, norm] : found_)
      if (calls_.at(layer) == 1 && calls_.at(norm) == 1 && names_.contains(layer) && names_.contains(norm))
        all.push_back({names_.at(layer), names_.at(norm)});
    return all;
  }

 private:
  std::map<const nn::Module*, std::string> names_;
  std::map<const nn::Module*, int> calls_;
  std::vector<std::pair<Tensor, const nn::Module*>> results_;  // held, so that no other takes their place
  std::vector<std::pair<const nn::Module*, const nn::Module*>> found_;
};

struct Places {
  nn::Quantizable* layer = nullptr;
  nn::ChannelNorm* norm = nullptr;
};
Places places_of(nn::Module& network, const FoldedNorm& pair) {
  Places p;
  for (const nn::NamedModule& m : network.named_modules()) {
    if (m.name == pair.layer) p.layer = dynamic_cast<nn::Quantizable*>(m.module);
    if (m.name == pair.norm) p.norm = dynamic_cast<nn::ChannelNorm*>(m.module);
  }
  if (!p.layer || !p.layer->bias_of_product() || !p.norm || !p.norm->is_fixed())
    throw ConfigError(str("'", pair.norm, "' cannot become a part of '", pair.layer, "'"),
                      "they are no batch norm in evaluation, and no convolution or linear layer",
                      "name such layers of this network");
  const std::int64_t channels = p.layer->weights().front().weight->shape()[0];
  if (channels != p.norm->running_mean().size(0))
    throw ConfigError(
        str("'", pair.norm, "' cannot become a part of '", pair.layer, "'"),
        str("it is for ", p.norm->running_mean().size(0), " channels, and the layer has ", channels),
        "name such layers of this network");
  return p;
}

void fold_one(nn::Module& network, const FoldedNorm& pair) {
  const auto [layer, norm] = places_of(network, pair);
  nn::Weight& weight = *layer->weights().front().weight;
  const Tensor w = to(weight.floats().detach(), DType::f64);
  const auto wide = [&](const Tensor& t, double otherwise) {
    return t.defined() ? to(t.detach(), DType::f64) : full({w.size(0)}, otherwise, DType::f64, w.device());
  };
  Tensor& bias = *layer->bias_of_product();
  const Tensor by = wide(norm->weight(), 1) / sqrt(to(norm->running_var(), DType::f64) + norm->eps());
  const Tensor moved = (wide(bias, 0) - to(norm->running_mean(), DType::f64)) * by + wide(norm->bias(), 0);
  Shape shape = Shape::filled(w.rank(), 1);
  shape[0] = w.size(0);
  const DType dtype = weight.dtype();
  weight = nn::parameter(to(w * reshape(by, shape), dtype));
  bias = nn::parameter(to(moved, dtype));
  norm->leave_out();
}

double relative_difference(const Tensor& a, const Tensor& b) {
  const Tensor x = to(a, DType::f64), y = to(b, DType::f64);
  return std::sqrt(sum(square(x - y)).item<double>() / std::max(sum(square(x)).item<double>(), 1e-300));
}

}  // namespace

std::vector<FoldedNorm> fold_batch_norms(nn::Module& network, const Tensor& example) {
  const NoGrad off;
  Tensor before;
  std::vector<FoldedNorm> pairs;
  {
    Pairs seen(network);
    before = network(example);
    pairs = seen.pairs();
  }
  if (pairs.empty()) return {};
  // What may have to come back.
  struct FoldedTensors {
    Places places;
    Tensor weight, bias;
  };
  std::vector<FoldedTensors> kept;
  for (const FoldedNorm& pair : pairs) {
    const Places p = places_of(network, pair);
    kept.push_back({p, p.layer->weights().front().weight->floats(), *p.layer->bias_of_product()});
    fold_one(network, pair);
  }
  constexpr double kRounding = 1e-4;
  if (relative_difference(before, network(example)) < kRounding) return pairs;
  for (const FoldedTensors& k : kept) {
    *k.places.layer->weights().front().weight = k.weight;
    *k.places.layer->bias_of_product() = k.bias;
    k.places.norm->leave_out(false);
  }
  return {};
}

void expect_folded(nn::Module& network, const std::vector<FoldedNorm>& pairs) {
  for (const FoldedNorm& pair : pairs) {
    const Places p = places_of(network, pair);
    const nn::Weight& weight = *p.layer->weights().front().weight;
    Tensor& bias = *p.layer->bias_of_product();
    if (!bias.defined()) bias = nn::parameter(zeros({weight.shape()[0]}, weight.dtype(), weight.device()));
    p.norm->leave_out();
  }
}

}  // namespace veldt::compress
