// Norms of gradients, layers, confusions.
#include "veldt/live/looks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/io/png_bytes.h"
#include "veldt/nn/evaluating.h"
#include "veldt/nn/hooks.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/tensor/graph.h"

namespace veldt::live {
namespace {

// "conv1" of "conv1.weight".
std::string layer_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

// Collects the calls of modules without modules inside.
class LeafCalls : public nn::CallListener {
 public:
  explicit LeafCalls(const nn::Module& model) {
    for (const auto& [name, module] : model.named_modules())
      if (module->children().empty()) names_[module] = name;
  }
  void on_call(const nn::Module& module, const TensorList&, const TensorList& outputs) override {
    const auto found = names_.find(&module);
    if (found == names_.end() || lines.size() >= Record::kMostLayers) return;
    std::string shape;
    for (const Tensor& y : outputs)
      if (y.defined()) shape += str(shape.empty() ? "" : ", ", y.shape());
    lines.push_back({found->second, module.title(), shape, module.parameter_count()});
    found->second += " again";
  }
  std::vector<LayerLine> lines;

 private:
  std::map<const nn::Module*, std::string> names_;
};

// An example's first tensor as a picture: [h, w], or [c, h, w] with 1 or 3 channels, from its least to its
// greatest value, scaled down to at most 96 pixels a side; an empty text for anything else.
std::string picture_of(const Tensor& given) {
  const NoGrad off;
  constexpr std::int64_t kMostShown = 96, kMostSide = 8192;
  Tensor x = to(given, DType::f32);
  if (x.rank() == 2) x = unsqueeze(x, 0);
  if (x.rank() != 3 || (x.size(0) != 1 && x.size(0) != 3) || x.size(1) < 2 || x.size(2) < 2 ||
      std::max(x.size(1), x.size(2)) > kMostSide)
    return "";
  const std::int64_t longer = std::max(x.size(1), x.size(2));
  const auto side = [longer](std::int64_t n) { return std::max<std::int64_t>(1, n * kMostShown / longer); };
  if (longer > kMostShown) x = adaptive_avg_pool2d(x, {side(x.size(1)), side(x.size(2))});
  const double low = min(x).item(), high = max(x).item();
  if (!std::isfinite(low) || !std::isfinite(high)) return "";
  return io::png_bytes(contiguous(permute((x - low) * (1 / std::max(high - low, 1e-12)), {1, 2, 0})));
}

std::string class_name(const std::vector<std::string>& names, std::int64_t number) {
  return static_cast<std::size_t>(number) < names.size() ? names[static_cast<std::size_t>(number)]
                                                         : str(number);
}

}  // namespace

std::vector<std::pair<std::string, double>> gradient_norms(const nn::Module& model, std::size_t most) {
  const NoGrad off;
  std::vector<std::pair<std::string, std::vector<Tensor>>> layers;
  for (const auto& [name, tensor] : model.named_parameters()) {
    if (!tensor.grad().defined()) continue;
    if (layers.empty() || layers.back().first != layer_of(name)) layers.push_back({layer_of(name), {}});
    layers.back().second.push_back(tensor.grad());
  }
  std::vector<std::pair<std::string, double>> norms;
  const std::size_t count = std::min(most, layers.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [name, gradients] =
        layers[count == 1 ? 0 : (i * (layers.size() - 1) + (count - 1) / 2) / (count - 1)];
    double squares = 0;
    for (const Tensor& g : gradients) squares += sum(g * g).item();
    norms.emplace_back(name, std::sqrt(squares));
  }
  return norms;
}

std::vector<LayerLine> layers_of(const nn::Module& model, const Tensor& input) {
  const nn::Evaluating now(model);
  const NoGrad off;
  LeafCalls calls(model);
  model(input);
  return calls.lines;
}

std::vector<LayerLine> layers_of(const nn::Module& model) {
  std::vector<LayerLine> lines;
  for (const auto& [name, module] : model.named_modules()) {
    std::int64_t own = module->parameter_count();
    for (const auto& [below, inner] : module->children()) own -= inner->parameter_count();
    if (own > 0 && lines.size() < Record::kMostLayers) lines.push_back({name, module->title(), "", own});
  }
  return lines;
}

Confusions::Confusions(std::int64_t classes, std::size_t worst) : classes_(classes), most_(worst) {
  constexpr std::int64_t kMostClasses = 10'000;
  if (classes < 1 || classes > kMostClasses)
    throw ConfigError(str("confusions of ", classes, " classes cannot be counted"),
                      str("there are 1 to ", kMostClasses), "give the number of the network's outputs");
  counts_.resize(static_cast<std::size_t>(classes * classes));
}

void Confusions::look(const TensorList& outputs, const data::Batch& batch) {
  if (outputs.empty() || batch.empty())
    throw ShapeError("there is nothing to count", "outputs or the batch are empty", "give logits and labels");
  const Tensor &y = outputs[0], labels = batch.back();
  if (y.rank() != 2 || y.size(1) != classes_ || labels.rank() != 1 || labels.size(0) != y.size(0))
    throw ShapeError(
        "confusions cannot be counted",
        str("outputs are ", y.shape(), " and labels ", labels.shape(), ", of ", classes_, " classes"),
        "give logits [n, classes] and labels [n]");
  const std::vector<float> p = to(softmax(to(y, DType::f32), 1), Device{}).values<float>();
  const std::vector<std::int64_t> truth = to(to(labels, Device{}), DType::i64).values<std::int64_t>();
  const auto less_bad = [](const Bad& a, const Bad& b) { return a.probability < b.probability; };
  for (std::size_t i = 0; i < truth.size(); ++i, ++seen_) {
    if (truth[i] < 0 || truth[i] >= classes_) continue;  // is not counted
    const float* row = p.data() + i * static_cast<std::size_t>(classes_);
    if (!std::isfinite(row[truth[i]])) continue;  // a softmax has one such value only among others
    const std::int64_t taken_for = std::max_element(row, row + classes_) - row;
    ++counts_[static_cast<std::size_t>(truth[i] * classes_ + taken_for)];
    bad_.push_back({seen_, truth[i], taken_for, row[truth[i]]});
    std::push_heap(bad_.begin(), bad_.end(), less_bad);
    if (bad_.size() <= most_) continue;
    std::pop_heap(bad_.begin(), bad_.end(), less_bad);
    bad_.pop_back();
  }
}

ConfusionTable Confusions::table(const std::vector<std::string>& names) const {
  ConfusionTable table{.counts = counts_};
  for (std::int64_t i = 0; i < classes_; ++i) table.classes.push_back(class_name(names, i));
  return table;
}

std::vector<WorstExample> Confusions::worst(const data::Dataset& set,
                                            const std::vector<std::string>& names) const {
  std::vector<Bad> bad = bad_;
  std::sort(bad.begin(), bad.end(), [](const Bad& a, const Bad& b) {
    return std::pair(a.probability, a.number) < std::pair(b.probability, b.number);
  });
  std::vector<WorstExample> all;
  for (const Bad& b : bad)
    all.push_back({.name = set.name_of(b.number),
                   .label = class_name(names, b.label),
                   .taken_for = class_name(names, b.taken_for),
                   .probability = b.probability,
                   .png = picture_of(set.get(b.number).at(0))});
  return all;
}

}  // namespace veldt::live
