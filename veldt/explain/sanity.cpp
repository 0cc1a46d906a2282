// Cascading randomisation, and rank correlation.
#include "veldt/explain/sanity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::explain {
namespace {

struct Layer {
  std::string name;
  std::vector<Tensor> parameters;
};

// Parameters of one name but for its last part, in the order of fields(), which is that of the forward pass
// in all but rare networks.
std::vector<Layer> layers_of(const nn::Module& model) {
  std::vector<Layer> layers;
  for (const auto& [name, parameter] : model.named_parameters()) {
    const std::size_t dot = name.rfind('.');
    const std::string layer = dot == std::string::npos ? name : name.substr(0, dot);
    if (layers.empty() || layers.back().name != layer) layers.push_back({layer, {}});
    layers.back().parameters.push_back(parameter);
  }
  return layers;
}

// Puts the values back that parameters had when it was made.
class KeptWeights {
 public:
  explicit KeptWeights(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      for (const Tensor& parameter : layer.parameters)
        kept_.emplace_back(parameter.detach(), clone(parameter.detach()));
  }
  ~KeptWeights() { restore(); }
  KeptWeights(const KeptWeights&) = delete;
  KeptWeights& operator=(const KeptWeights&) = delete;
  void restore() {
    for (auto& [parameter, values] : kept_) parameter.assign(values);
  }

 private:
  std::vector<std::pair<Tensor, Tensor>> kept_;
};

void randomise(const Layer& layer, Rng& rng) {
  for (const Tensor& parameter : layer.parameters) {
    const Tensor values = to(parameter.detach(), DType::f64);
    const double deviation = parameter.numel() > 1 ? stddev(values, {}, false, 0).item() : 0;
    parameter.detach().assign(randn(parameter.shape(), rng, mean(values).item(), deviation));
  }
}

std::vector<double> ranks_of(const Tensor& t) {
  const std::vector<double> values = to(to(t.detach(), Device{}), DType::f64).values<double>();
  for (const double v : values)
    if (!std::isfinite(v))
      throw ConfigError("cannot rank numbers that are not finite", str("one of them is ", v),
                        "look at the network's output for this input");
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  return ranks;
}

}  // namespace

double rank_correlation(const Tensor& a, const Tensor& b) {
  if (a.numel() != b.numel() || a.numel() < 1)
    throw ShapeError(str("cannot correlate ", a.shape(), " with ", b.shape()),
                     "each number has a partner at its place", "give two tensors of the same size");
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double middle = static_cast<double>(x.size() - 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - middle) * (y[i] - middle);
    of_x += (x[i] - middle) * (x[i] - middle);
    of_y += (y[i] - middle) * (y[i] - middle);
  }
  if (of_x == 0 && of_y == 0) return 1;  // the same everywhere, both of them
  return of_x > 0 && of_y > 0 ? both / std::sqrt(of_x * of_y) : 0;
}

SanityReport randomisation_check(const nn::Module& model, const Explanation& explain,
                                 const SanityOptions& o) {
  std::vector<Layer> layers = layers_of(model);
  if (layers.empty() || o.draws < 1 || o.stages < 1)
    throw ConfigError(
        str("cannot randomise ", layers.size(), " layers in ", o.stages, " stages, ", o.draws, " times"),
        "the check compares networks with other weights",
        "give a network with parameters, and 1 or more of both");
  std::reverse(layers.begin(), layers.end());
  const Tensor trained = abs(explain(model));
  if (trained.numel() > 0 && min(trained).item() == max(trained).item())
    throw ConfigError("cannot check a heat that is the same everywhere",
                      str("each of its ", trained.numel(), " magnitudes is ", max(trained).item(),
                          ", and the check compares how they rank"),
                      "explain by another method, or another output");
  const auto count = static_cast<std::int64_t>(layers.size()), stages = std::min(o.stages, count);
  SanityReport report;
  report.stages.resize(static_cast<std::size_t>(stages));
  KeptWeights kept(layers);
  for (std::int64_t draw = 0; draw < o.draws; ++draw) {
    Rng rng(o.seed, static_cast<std::uint64_t>(draw));
    std::int64_t done = 0;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const std::int64_t end = count * (stage + 1) / stages;
      for (; done < end; ++done) randomise(layers[static_cast<std::size_t>(done)], rng);
      SanityStage& found = report.stages[static_cast<std::size_t>(stage)];
      found.layer = layers[static_cast<std::size_t>(end - 1)].name;
      found.rank_correlation += rank_correlation(trained, abs(explain(model))) / static_cast<double>(o.draws);
    }
    kept.restore();
  }
  return report;
}

}  // namespace veldt::explain
