#include "veldt/app/recipe_model.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "veldt/app/call.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/init.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

using Layer = std::shared_ptr<nn::Module>;

// Where a layer is put: the shape of what comes in, [1, ..].
struct Site {
  const Shape& input;
  const ModelFacts& facts;
  Rng& rng;

  std::int64_t last() const { return input.back(); }
  // Of pictures and sequences with channels in front.
  std::int64_t channels() const { return input.rank() < 2 ? input[0] : input[1]; }
};

using Build = std::function<Layer(Call&, const Site&)>;
struct LayerKind {
  const char* name;
  Build build;
};

template <class L> Layer plain(Call& call, const Site&) {
  call.finish();
  return std::make_shared<L>();
}

template <class L> Build with_number(const char* name, double otherwise) {
  return [name, otherwise](Call& call, const Site&) -> Layer {
    const double value = call.number(name, otherwise);
    call.finish();
    return std::make_shared<L>(value);
  };
}

PerDim per_dim(const std::vector<std::int64_t>& all) {
  return all.size() == 1 ? PerDim(all[0]) : PerDim(Shape(std::span<const std::int64_t>(all)));
}

template <int kDims> Layer conv(Call& call, const Site& site) {
  const std::int64_t out = call.count("out");
  const PerDim kernel = per_dim(call.counts("kernel"));
  call.by_name();
  nn::ConvLayerOptions o;
  o.stride = per_dim(call.counts("stride", std::vector<std::int64_t>{1}));
  const std::string padding = call.word("padding");
  if (padding == "same" || padding == "valid")
    o.padding = ConvPadding(padding.c_str());
  else if (!padding.empty())
    o.padding =
        count_from({"padding of '" + call.text() + "'", "padding="}, padding, {.least = 0, .most = 1 << 20});
  o.dilation = call.count("dilation", 1);
  o.groups = call.count("groups", 1);
  o.bias = call.on("bias", true);
  call.finish();
  return std::make_shared<nn::Conv<kDims>>(site.channels(), out, kernel, o, site.rng);
}

template <int kDims> Layer conv_transpose(Call& call, const Site& site) {
  const std::int64_t out = call.count("out");
  const PerDim kernel = per_dim(call.counts("kernel"));
  call.by_name();
  nn::ConvTransposeLayerOptions o;
  o.stride = per_dim(call.counts("stride", std::vector<std::int64_t>{1}));
  o.padding = per_dim(call.counts("padding", std::vector<std::int64_t>{0}, {.least = 0}));
  o.output_padding = per_dim(call.counts("output_padding", std::vector<std::int64_t>{0}, {.least = 0}));
  o.bias = call.on("bias", true);
  call.finish();
  return std::make_shared<nn::ConvTranspose<kDims>>(site.channels(), out, kernel, o, site.rng);
}

template <class Pool, class Options> Layer pool(Call& call, const Site&) {
  const PerDim kernel = per_dim(call.counts("kernel"));
  call.by_name();
  Options o;
  if (const auto stride = call.counts("stride", std::vector<std::int64_t>{}); !stride.empty())
    o.stride = per_dim(stride);
  o.padding = per_dim(call.counts("padding", std::vector<std::int64_t>{0}, {.least = 0}));
  call.finish();
  return std::make_shared<Pool>(kernel, o);
}

template <class Pool> Layer adaptive_pool(Call& call, const Site&) {
  const PerDim size = per_dim(call.counts("size"));
  call.finish();
  return std::make_shared<Pool>(size);
}

template <class Norm> Layer channel_norm(Call& call, const Site& site) {
  call.finish();
  return std::make_shared<Norm>(site.channels());
}

template <class Norm> Layer last_norm(Call& call, const Site& site) {
  call.finish();
  return std::make_shared<Norm>(site.last());
}

template <class Drop> Layer dropout(Call& call, const Site& site) {
  const double p = call.number("p", 0.5, {.least = 0, .most = 1});
  call.finish();
  return std::make_shared<Drop>(p, site.rng);
}

// Layers over sequences would take [n, in] for one without a batch.
void check_sequences(const Call& call, const Site& site) {
  if (site.input.rank() != 3)
    throw call.refused(str("it takes sequences [n, time, in], and what comes is ", site.input),
                       "put it behind an Embedding, or where the data are sequences");
}

template <class Net, class Options> Layer recurrent(Call& call, const Site& site) {
  check_sequences(call, site);
  const std::int64_t hidden = call.count("hidden");
  call.by_name();
  Options o;
  o.batch_first = true;
  o.num_layers = call.count("num_layers", 1, {.least = 1, .most = 64});
  o.dropout = call.number("dropout", 0, {.least = 0, .most = 1});
  o.bidirectional = call.on("bidirectional", false);
  call.finish();
  return std::make_shared<Net>(site.last(), hidden, o, site.rng);
}

Layer transformer(Call& call, const Site& site) {
  check_sequences(call, site);
  const std::int64_t heads = call.count("heads");
  call.by_name();
  nn::TransformerLayerOptions o;
  o.batch_first = true;
  o.dim_feedforward = call.count("dim_feedforward", 4 * site.last());
  o.dropout = call.number("dropout", 0.1, {.least = 0, .most = 1});
  o.gelu = call.on("gelu", true);
  o.norm_first = call.on("norm_first", true);
  o.causal = call.on("causal", site.facts.dtype == DType::i64);
  call.finish();
  return std::make_shared<nn::TransformerEncoderLayer>(site.last(), heads, o, site.rng);
}

Layer linear(Call& call, const Site& site) {
  const std::int64_t out = call.count("out");
  call.by_name();
  const bool bias = call.on("bias", true);
  call.finish();
  return std::make_shared<nn::Linear>(site.last(), out, nn::LinearOptions{.bias = bias}, site.rng);
}

Layer embedding(Call& call, const Site& site) {
  const std::int64_t dim = call.count("dim");
  call.finish();
  if (site.facts.dtype != DType::i64)
    throw call.refused("it reads tokens, and the data are numbers", "begin with another layer");
  return std::make_shared<nn::Embedding>(site.facts.outputs, dim, site.rng);
}

Layer positions(Call& call, const Site& site) {
  call.finish();
  check_sequences(call, site);
  return std::make_shared<nn::PositionEmbedding>(site.input[1], site.last(), site.rng);
}

const std::vector<LayerKind>& layer_kinds() {
  static const std::vector<LayerKind> all = {
      {"Linear", linear},
      {"Conv1d", conv<1>},
      {"Conv2d", conv<2>},
      {"Conv3d", conv<3>},
      {"ConvTranspose1d", conv_transpose<1>},
      {"ConvTranspose2d", conv_transpose<2>},
      {"MaxPool1d", pool<nn::MaxPool1d, MaxPoolOptions>},
      {"MaxPool2d", pool<nn::MaxPool2d, MaxPoolOptions>},
      {"AvgPool1d", pool<nn::AvgPool1d, AvgPoolOptions>},
      {"AvgPool2d", pool<nn::AvgPool2d, AvgPoolOptions>},
      {"AdaptiveAvgPool1d", adaptive_pool<nn::AdaptiveAvgPool1d>},
      {"AdaptiveAvgPool2d", adaptive_pool<nn::AdaptiveAvgPool2d>},
      {"AdaptiveMaxPool2d", adaptive_pool<nn::AdaptiveMaxPool2d>},
      {"Flatten", plain<nn::Flatten>},
      {"BatchNorm1d", channel_norm<nn::BatchNorm1d>},
      {"BatchNorm2d", channel_norm<nn::BatchNorm2d>},
      {"InstanceNorm2d", channel_norm<nn::InstanceNorm2d>},
      {"GroupNorm",
       [](Call& call, const Site& site) -> Layer {
         const std::int64_t groups = call.count("num_groups");
         call.finish();
         return std::make_shared<nn::GroupNorm>(groups, site.channels());
       }},
      {"LayerNorm", last_norm<nn::LayerNorm>},
      {"RMSNorm", last_norm<nn::RMSNorm>},
      {"Dropout", dropout<nn::Dropout>},
      {"Dropout2d", dropout<nn::Dropout2d>},
      {"AlphaDropout", dropout<nn::AlphaDropout>},
      {"Embedding", embedding},
      {"PositionEmbedding", positions},
      {"RNN", recurrent<nn::RNN, nn::RNNOptions>},
      {"LSTM", recurrent<nn::LSTM, nn::RecurrentOptions>},
      {"GRU", recurrent<nn::GRU, nn::RecurrentOptions>},
      {"LastStep", plain<nn::LastStep>},
      {"TransformerEncoderLayer", transformer},
      {"Relu", plain<nn::Relu>},
      {"Relu6", plain<nn::Relu6>},
      {"LeakyRelu", with_number<nn::LeakyRelu>("negative_slope", 0.01)},
      {"Elu", with_number<nn::Elu>("alpha", 1)},
      {"Selu", plain<nn::Selu>},
      {"Gelu", plain<nn::Gelu>},
      {"Silu", plain<nn::Silu>},
      {"Mish", plain<nn::Mish>},
      {"Hardswish", plain<nn::Hardswish>},
      {"Tanh", plain<nn::Tanh>},
      {"Sigmoid", plain<nn::Sigmoid>},
      {"Softplus", plain<nn::Softplus>},
      {"Sine", with_number<nn::Sine>("omega", 30)},
  };
  return all;
}

Layer build_layer(Call& call, const Site& site) {
  for (const LayerKind& kind : layer_kinds())
    if (same_name(kind.name, call.name())) return kind.build(call, site);
  throw call.unknown("layer", layer_names());
}

// Of all weights with two dimensions or more.
void initialise(const Recipe& recipe, const nn::Module& model, Rng& rng) {
  if (!recipe.init.given()) return;
  Call call(recipe.init.source(), recipe.init.texts.at(0));
  call.must_be("initialiser", {"xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
                               "lecun_normal", "orthogonal", "normal"});
  const std::vector<std::pair<const char*, std::function<void(Tensor)>>> known = {
      {"xavier_uniform", [&](Tensor w) { nn::init::xavier_uniform(w, rng); }},
      {"xavier_normal", [&](Tensor w) { nn::init::xavier_normal(w, rng); }},
      {"kaiming_uniform", [&](Tensor w) { nn::init::kaiming_uniform(w, rng); }},
      {"kaiming_normal", [&](Tensor w) { nn::init::kaiming_normal(w, rng); }},
      {"lecun_normal", [&](Tensor w) { nn::init::lecun_normal(w, rng); }},
      {"orthogonal", [&](Tensor w) { nn::init::orthogonal(w, 1, rng); }},
      {"normal", [&, deviation = call.name() == "normal" ? call.number("deviation", {}, {.above = 0}) : 0](
                     Tensor w) { nn::init::normal(w, 0, deviation, rng); }},
  };
  call.finish();
  for (const auto& [name, fill] : known)
    if (call.name() == name)
      for (const auto& [parameter, tensor] : model.named_parameters())
        if (tensor.rank() >= 2) fill(tensor);
}

}  // namespace

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_kinds()) names.emplace_back(kind.name);
  return names;
}

nn::Sequential build_model(const Recipe& recipe, const ModelFacts& facts, double most_parameters) {
  NoGrad off;
  Rng rng(static_cast<std::uint64_t>(recipe.seed));
  Shape shape{1};
  for (const std::int64_t size : facts.input) shape.push_back(size);
  Tensor x = zeros(shape, facts.dtype);
  nn::Sequential model;
  double parameters = 0;
  for (std::size_t i = 0; i < recipe.layers.texts.size(); ++i) {
    Call call(recipe.layers.source(i), recipe.layers.texts[i], {{"outputs", facts.outputs}});
    const Shape input = x.shape();
    try {
      Layer layer = build_layer(call, {input, facts, rng});
      parameters += static_cast<double>(layer->parameter_count());
      if (parameters > most_parameters)
        throw call.refused(fmt::format("with it the network has {} parameters", parameters),
                           "the file holds fewer");
      layer->eval();
      x = (*layer)(x);
      layer->train();
      model.add(std::move(layer));
    } catch (const UsageError&) {
      throw;
    } catch (const Error& e) {
      throw UsageError(fmt::format("{} cannot be '{}'", recipe.layers.source(i).name, call.text()),
                       fmt::format("{}: {}", e.summary(), e.why()), e.fix());
    }
  }
  const int sequence = facts.dtype == DType::i64 ? 1 : 0;
  if (x.rank() != 2 + sequence || x.size(-1) != facts.outputs)
    throw UsageError(
        str(recipe.layers.where, " end in ", x.shape()),
        str("the data want ", facts.outputs, " outputs for each ", sequence == 1 ? "token" : "example"),
        "end with Linear(outputs), behind Flatten or LastStep if need be");
  initialise(recipe, model, rng);
  return model;
}

}  // namespace veldt::app
