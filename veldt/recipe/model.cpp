// The table of layers that a recipe may name, and the network that is built from it layer by layer.
#include "veldt/recipe/model.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>

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
#include "veldt/recipe/call.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::recipe {
namespace {

using Layer = std::shared_ptr<nn::Module>;

// The place of a layer: the shape of its input, [1, ..].
struct Site {
  const Call& call;
  const Shape& input;
  Rng& rng;

  std::int64_t last() const { return input.back(); }
  // The channels of pictures, and of sequences with channels in front.
  std::int64_t channels() const { return input.rank() < 2 ? input[0] : input[1]; }
};

// Arguments are read before the input is known, so that a wrong one is reported before data are looked for.
using Build = std::function<Layer(const Site&)>;
using Read = std::function<Build(Call&, const ModelFacts&)>;
struct LayerKind {
  const char* name;
  Read read;
};

template <class L> Build plain(Call& call, const ModelFacts&) {
  call.finish();
  return [](const Site&) { return std::make_shared<L>(); };
}

template <class L> Read with_number(const char* name, double otherwise) {
  return [name, otherwise](Call& call, const ModelFacts&) -> Build {
    const double value = call.number(name, otherwise);
    call.finish();
    return [value](const Site&) { return std::make_shared<L>(value); };
  };
}

PerDim per_dim(const std::vector<std::int64_t>& all) {
  return all.size() == 1 ? PerDim(all[0]) : PerDim(Shape(std::span<const std::int64_t>(all)));
}

template <int kDims> Build conv(Call& call, const ModelFacts&) {
  const std::int64_t out = call.count("out");
  const PerDim kernel = per_dim(call.counts("kernel"));
  call.by_name();
  nn::ConvLayerOptions o;
  o.stride = per_dim(call.counts("stride", std::vector<std::int64_t>{1}));
  if (const std::string word = call.word("padding", {"same", "valid"}); !word.empty())
    o.padding = ConvPadding(word);
  else
    o.padding = ConvPadding(
        per_dim(call.counts("padding", std::vector<std::int64_t>{0}, {.least = 0, .most = 1 << 20})));
  o.dilation = call.count("dilation", 1);
  o.groups = call.count("groups", 1);
  o.bias = call.on("bias", true);
  call.finish();
  return [=](const Site& site) {
    return std::make_shared<nn::Conv<kDims>>(site.channels(), out, kernel, o, site.rng);
  };
}

template <int kDims> Build conv_transpose(Call& call, const ModelFacts&) {
  const std::int64_t out = call.count("out");
  const PerDim kernel = per_dim(call.counts("kernel"));
  call.by_name();
  nn::ConvTransposeLayerOptions o;
  o.stride = per_dim(call.counts("stride", std::vector<std::int64_t>{1}));
  o.padding = per_dim(call.counts("padding", std::vector<std::int64_t>{0}, {.least = 0}));
  o.output_padding = per_dim(call.counts("output_padding", std::vector<std::int64_t>{0}, {.least = 0}));
  o.bias = call.on("bias", true);
  call.finish();
  return [=](const Site& site) {
    return std::make_shared<nn::ConvTranspose<kDims>>(site.channels(), out, kernel, o, site.rng);
  };
}

template <class Pool, class Options> Build pool(Call& call, const ModelFacts&) {
  const PerDim kernel = per_dim(call.counts("kernel"));
  call.by_name();
  Options o;
  if (const auto stride = call.counts("stride", std::vector<std::int64_t>{}); !stride.empty())
    o.stride = per_dim(stride);
  o.padding = per_dim(call.counts("padding", std::vector<std::int64_t>{0}, {.least = 0}));
  call.finish();
  return [=](const Site&) { return std::make_shared<Pool>(kernel, o); };
}

template <class Pool> Build adaptive_pool(Call& call, const ModelFacts&) {
  const PerDim size = per_dim(call.counts("size"));
  call.finish();
  return [size](const Site&) { return std::make_shared<Pool>(size); };
}

template <class Norm> Build channel_norm(Call& call, const ModelFacts&) {
  call.finish();
  return [](const Site& site) { return std::make_shared<Norm>(site.channels()); };
}

template <class Norm> Build last_norm(Call& call, const ModelFacts&) {
  call.finish();
  return [](const Site& site) { return std::make_shared<Norm>(site.last()); };
}

Build group_norm(Call& call, const ModelFacts&) {
  const std::int64_t groups = call.count("num_groups");
  call.finish();
  return [groups](const Site& site) { return std::make_shared<nn::GroupNorm>(groups, site.channels()); };
}

template <class Drop> Build dropout(Call& call, const ModelFacts&) {
  const double p = call.number("p", 0.5, {.least = 0, .most = 1});
  call.finish();
  return [p](const Site& site) { return std::make_shared<Drop>(p, site.rng); };
}

// Layers over sequences would treat [n, in] as one sequence without a batch.
void check_sequences(const Site& site) {
  if (site.input.rank() != 3)
    throw site.call.refused(str("it takes sequences [n, time, in], and the input is ", site.input),
                            "put it after an Embedding, or where the data are sequences");
}

template <class Net, class Options> Build recurrent(Call& call, const ModelFacts&) {
  const std::int64_t hidden = call.count("hidden");
  call.by_name();
  Options o;
  o.batch_first = true;
  o.num_layers = call.count("num_layers", 1, {.least = 1, .most = 64});
  o.dropout = call.number("dropout", 0, {.least = 0, .most = 1});
  o.bidirectional = call.on("bidirectional", false);
  call.finish();
  return [=](const Site& site) {
    check_sequences(site);
    return std::make_shared<Net>(site.last(), hidden, o, site.rng);
  };
}

Build transformer(Call& call, const ModelFacts& facts) {
  const std::int64_t heads = call.count("heads");
  call.by_name();
  nn::TransformerLayerOptions o;
  o.batch_first = true;
  const std::int64_t feedforward = call.count("dim_feedforward", 0);  // 0: not given
  o.dropout = call.number("dropout", 0.1, {.least = 0, .most = 1});
  o.gelu = call.on("gelu", true);
  o.norm_first = call.on("norm_first", true);
  o.causal = call.on("causal", facts.dtype == DType::i64);
  call.finish();
  return [=](const Site& site) {
    check_sequences(site);
    nn::TransformerLayerOptions sized = o;
    sized.dim_feedforward = feedforward > 0 ? feedforward : 4 * site.last();
    return std::make_shared<nn::TransformerEncoderLayer>(site.last(), heads, sized, site.rng);
  };
}

Build linear(Call& call, const ModelFacts&) {
  const std::int64_t out = call.count("out");
  call.by_name();
  const bool bias = call.on("bias", true);
  call.finish();
  return [=](const Site& site) {
    return std::make_shared<nn::Linear>(site.last(), out, nn::LinearOptions{.bias = bias}, site.rng);
  };
}

Build embedding(Call& call, const ModelFacts& facts) {
  const std::int64_t dim = call.count("dim");
  call.finish();
  if (facts.dtype != DType::i64)
    throw call.refused("it reads tokens, and the data are numbers", "begin with another layer");
  return [dim, tokens = facts.outputs](const Site& site) {
    return std::make_shared<nn::Embedding>(tokens, dim, site.rng);
  };
}

Build positions(Call& call, const ModelFacts&) {
  call.finish();
  return [](const Site& site) {
    check_sequences(site);
    return std::make_shared<nn::PositionEmbedding>(site.input[1], site.last(), site.rng);
  };
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
      {"GroupNorm", group_norm},
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
      {"ReLU", plain<nn::ReLU>},
      {"ReLU6", plain<nn::ReLU6>},
      {"LeakyReLU", with_number<nn::LeakyReLU>("negative_slope", 0.01)},
      {"ELU", with_number<nn::ELU>("alpha", 1)},
      {"SELU", plain<nn::SELU>},
      {"GELU", plain<nn::GELU>},
      {"SiLU", plain<nn::SiLU>},
      {"Mish", plain<nn::Mish>},
      {"Hardswish", plain<nn::Hardswish>},
      {"Tanh", plain<nn::Tanh>},
      {"Sigmoid", plain<nn::Sigmoid>},
      {"Softplus", plain<nn::Softplus>},
      {"Sine", with_number<nn::Sine>("omega", 30)},
  };
  return all;
}

Build read_layer(Call& call, const ModelFacts& facts) {
  for (const LayerKind& kind : layer_kinds())
    if (same_name(kind.name, call.name())) return kind.read(call, facts);
  throw call.unknown("layer", layer_names());
}

Call layer_call(const Recipe& recipe, std::size_t i, const ModelFacts& facts) {
  return {recipe.layers.source(i), recipe.layers.texts[i], {{"outputs", facts.outputs}}};
}

using Fill = std::function<void(Tensor, Rng&)>;

// None, if the layers' own initial values stay.
Fill initialiser_of(const Recipe& recipe) {
  if (!recipe.init.given()) return {};
  Call call(recipe.init.source(), recipe.init.texts.at(0));
  call.must_be("initialiser", {"xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
                               "lecun_normal", "orthogonal", "normal"});
  const double deviation = call.name() == "normal" ? call.number("deviation", {}, {.above = 0}) : 0;
  call.finish();
  const std::vector<std::pair<const char*, Fill>> known = {
      {"xavier_uniform", [](Tensor w, Rng& rng) { nn::init::xavier_uniform(w, 1, rng); }},
      {"xavier_normal", [](Tensor w, Rng& rng) { nn::init::xavier_normal(w, 1, rng); }},
      {"kaiming_uniform", [](Tensor w, Rng& rng) { nn::init::kaiming_uniform(w, 0, rng); }},
      {"kaiming_normal", [](Tensor w, Rng& rng) { nn::init::kaiming_normal(w, 0, rng); }},
      {"lecun_normal", [](Tensor w, Rng& rng) { nn::init::lecun_normal(w, rng); }},
      {"orthogonal", [](Tensor w, Rng& rng) { nn::init::orthogonal(w, 1, rng); }},
      {"normal", [deviation](Tensor w, Rng& rng) { nn::init::normal(w, 0, deviation, rng); }},
  };
  for (const auto& [name, fill] : known)
    if (call.name() == name) return fill;
  return {};
}

constexpr std::int64_t kMostElements = 1 << 28;  // numbers of an example between two layers: a gigabyte

}  // namespace

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_kinds()) names.emplace_back(kind.name);
  return names;
}

void check_model(const Recipe& recipe) {
  // The number of outputs does not matter here.
  const ModelFacts facts{.dtype = recipe.kind == "text" ? DType::i64 : DType::f32, .outputs = 1};
  for (std::size_t i = 0; i < recipe.layers.texts.size(); ++i) {
    Call call = layer_call(recipe, i, facts);
    read_layer(call, facts);
  }
  initialiser_of(recipe);
}

nn::Sequential build_model(const Recipe& recipe, const ModelFacts& facts, double most_parameters) {
  NoGrad off;
  Rng rng(static_cast<std::uint64_t>(recipe.seed));
  const Fill fill = initialiser_of(recipe);
  Shape shape{1};
  for (const std::int64_t size : facts.input) shape.push_back(size);
  DType dtype = facts.dtype;
  nn::Sequential model;
  double parameters = 0;
  for (std::size_t i = 0; i < recipe.layers.texts.size(); ++i) {
    Call call = layer_call(recipe, i, facts);
    const Shape input = shape;
    DType next = dtype;
    try {
      const Build build = read_layer(call, facts);
      // Planned first: sizes are checked before anything takes memory or time.
      step_facts([&] {
        Rng other(0);
        const Layer layer = build({call, input, other});
        parameters += static_cast<double>(layer->parameter_count());
        if (parameters > most_parameters)
          throw call.refused(fmt::format("with it the network has {} parameters", parameters),
                             "the file holds fewer");
        layer->eval();
        const Tensor y = (*layer)(zeros(input, dtype));
        shape = y.shape(), next = y.dtype();
      });
      if (numel(shape) > kMostElements)
        throw call.refused(str("an example becomes ", shape, " there"), "give smaller sizes");
      dtype = next;
      model.add(build({call, input, rng}));
    } catch (const UsageError&) {
      throw;
    } catch (const Error& e) {
      throw UsageError(fmt::format("{} cannot be '{}'", recipe.layers.source(i).name, call.text()),
                       fmt::format("{}: {}", e.summary(), e.why()), e.fix());
    }
  }
  const int sequence = facts.dtype == DType::i64 ? 1 : 0;
  if (shape.rank() != 2 + sequence || shape.back() != facts.outputs)
    throw UsageError(
        str(recipe.layers.where, " end in ", shape),
        str("the data need ", facts.outputs, " outputs for each ", sequence == 1 ? "token" : "example"),
        "end with Linear(outputs), after Flatten or LastStep if needed");
  // All weights with two dimensions or more.
  if (fill)
    for (const auto& [name, tensor] : model.named_parameters())
      if (tensor.rank() >= 2) fill(tensor, rng);
  return model;
}

nn::Sequential build_model(const std::string& toml, const ModelFacts& facts) {
  return build_model(parse_model(toml), facts);
}

}  // namespace veldt::recipe
