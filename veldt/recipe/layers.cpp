// The layers of recipes by their names.
#include "veldt/recipe/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/gated.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/resize.h"
#include "veldt/nn/whitening.h"
#include "veldt/ops/shape.h"

namespace veldt::recipe {
namespace {

using Layer = std::shared_ptr<nn::Module>;

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
  const std::vector<std::int64_t> stride = call.counts("stride", std::vector<std::int64_t>{1});
  o.stride = per_dim(stride);
  if (const std::string word = call.word("padding", {"same", "valid"}); !word.empty()) {
    if (word == "same" && std::any_of(stride.begin(), stride.end(), [](auto s) { return s > 1; }))
      throw call.refused("padding=same keeps the size, and a stride above 1 makes it smaller",
                         "give the padding as a number, or leave out the stride");
    o.padding = ConvPadding(word);
  } else {
    o.padding = ConvPadding(
        per_dim(call.counts("padding", std::vector<std::int64_t>{0}, {.least = 0, .most = 1 << 20})));
  }
  o.dilation = call.count("dilation", 1);
  o.groups = call.count("groups", 1);
  o.bias = call.on("bias", true);
  const std::string init = call.written("init", "");
  call.finish();
  if (!init.empty() && init != "dirac")
    throw call.refused(fmt::format("there is no initialiser '{}' for one layer", init),
                       "write init=dirac, or leave it out");
  return [=](const Site& site) {
    auto made = std::make_shared<nn::Conv<kDims>>(site.channels(), out, kernel, o, site.rng);
    // As many filters as there are channels pass those on; all others keep their random values.
    const Tensor& w = made->weight();
    if (!init.empty()) nn::init::dirac(slice(w.detach(), 0, 0, std::min(w.size(0), w.size(1))));
    return made;
  };
}

Build whitening(Call& call, const ModelFacts&) {
  const std::int64_t kernel = call.count("kernel");
  call.by_name();
  nn::WhiteningOptions o;
  o.bias = call.on("bias", true);
  o.eps = call.number("eps", o.eps, {.above = 0});
  call.finish();
  return [=](const Site& site) { return std::make_shared<nn::WhiteningConv2d>(site.channels(), kernel, o); };
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

template <class Norm> Build batch_norm_layer(Call& call, const ModelFacts&) {
  call.by_name();
  const bool scale = call.on("scale", true);
  call.finish();
  return [scale](const Site& site) {
    auto made = std::make_shared<Norm>(site.channels());
    if (!scale) Tensor(made->weight()).set_requires_grad(false);
    return made;
  };
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

// What a head has, whatever their number; 0: the size is shared out among them.
constexpr io::CountRange kHeadDim{.least = 0, .most = 1 << 16};

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
  o.head_dim = call.count("head_dim", 0, kHeadDim);
  o.causal = call.on("causal", facts.dtype == DType::i64 && facts.target.rank() == 0);
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

// ---- layers that resize ----

Interpolation mode_of(Call& call) {
  const std::string mode = call.written("mode", "nearest");
  if (mode == "linear" || mode == "bilinear") return Interpolation::linear;
  if (mode == "cubic" || mode == "bicubic") return Interpolation::cubic;
  if (mode != "nearest")
    throw call.refused("there is no mode '" + mode + "'", "choose nearest, linear or cubic");
  return Interpolation::nearest;
}

Build upsample(Call& call, const ModelFacts&) {
  const std::int64_t scale = call.count("scale", 2, {.least = 1, .most = 1 << 10});
  call.by_name();
  InterpolateOptions o;
  o.scale_factor = {static_cast<double>(scale)};
  o.mode = mode_of(call);
  o.align_corners = call.on("align_corners", false);
  call.finish();
  return [o](const Site&) { return std::make_shared<nn::Upsample>(o); };
}

// One amount for all sides of all dimensions behind the channels, or torch's list: left, right, top, bottom.
Build padding(Call& call, const ModelFacts&) {
  const std::vector<std::int64_t> amounts = call.counts("amounts", {}, {.least = 0, .most = 1 << 20});
  call.by_name();
  const std::string mode = call.written("mode", "zeros");
  const std::vector<std::pair<const char*, PadMode>> modes = {{"zeros", PadMode::zeros},
                                                              {"reflect", PadMode::reflect},
                                                              {"replicate", PadMode::replicate},
                                                              {"circular", PadMode::circular}};
  const double value = call.number("value", 0);
  call.finish();
  for (const auto& [name, which] : modes)
    if (mode == name)
      return [=, which = which](const Site& site) {
        std::vector<std::int64_t> sides = amounts;
        if (sides.size() == 1 && site.input.rank() > 2)
          sides.assign(2 * static_cast<std::size_t>(site.input.rank() - 2), amounts[0]);
        return which == PadMode::zeros ? std::make_shared<nn::Pad>(sides, value)
                                       : std::make_shared<nn::Pad>(sides, which);
      };
  throw call.refused("there is no mode '" + mode + "'", "choose zeros, reflect, replicate or circular");
}

template <class Shuffle> Build shuffle(Call& call, const ModelFacts&) {
  const std::int64_t r = call.count("r", 2, {.least = 1, .most = 1 << 10});
  call.finish();
  return [r](const Site&) { return std::make_shared<Shuffle>(r); };
}

// ---- activations that take a dimension, learn, or gate ----

template <class L> Read along(int otherwise) {
  return [otherwise](Call& call, const ModelFacts&) -> Build {
    const auto dim = static_cast<int>(call.count("dim", otherwise, {.least = -8, .most = 7}));
    call.finish();
    return [dim](const Site&) { return std::make_shared<L>(dim); };
  };
}

Build hardtanh_layer(Call& call, const ModelFacts&) {
  const double low = call.number("low", -1), high = call.number("high", 1);
  call.finish();
  return [=](const Site&) { return std::make_shared<nn::Hardtanh>(low, high); };
}

Build prelu_layer(Call& call, const ModelFacts&) {
  const bool each = call.on("each_channel", false);
  const double initial = call.number("initial", 0.25);
  call.finish();
  return [=](const Site& site) { return std::make_shared<nn::PReLU>(each ? site.channels() : 1, initial); };
}

Build swiglu_layer(Call& call, const ModelFacts&) {
  const std::int64_t out = call.count("out");
  call.by_name();
  const bool bias = call.on("bias", false);
  call.finish();
  return [=](const Site& site) {
    return std::make_shared<nn::SwiGLU>(site.last(), out, nn::LinearOptions{.bias = bias}, site.rng);
  };
}

// ---- layers of several values ----

Build decoder_layer(Call& call, const ModelFacts&) {
  const std::int64_t heads = call.count("heads");
  call.value("memory");
  call.by_name();
  nn::TransformerLayerOptions o;
  o.batch_first = true;
  const std::int64_t feedforward = call.count("dim_feedforward", 0);  // 0: not given
  o.dropout = call.number("dropout", 0.1, {.least = 0, .most = 1});
  o.gelu = call.on("gelu", true);
  o.norm_first = call.on("norm_first", true);
  o.head_dim = call.count("head_dim", 0, kHeadDim);
  o.causal = call.on("causal", true);
  call.finish();
  return [=](const Site& site) {
    check_sequences(site);
    nn::TransformerLayerOptions sized = o;
    sized.dim_feedforward = feedforward > 0 ? feedforward : 4 * site.last();
    return std::make_shared<nn::TransformerDecoderLayer>(site.last(), heads, sized, site.rng);
  };
}

// Attention to itself, or {x, memory}: to another value.
class Attention : public nn::Module {
 public:
  Attention(std::int64_t size, std::int64_t heads, const nn::MultiheadAttentionOptions& o, bool causal,
            Rng& rng)
      : attention_(size, heads, o, rng), causal_(causal) {}
  Tensor forward(const Tensor& x) const override { return forward_list({x})[0]; }
  TensorList forward_list(const TensorList& in) const override {
    nn::AttentionMask mask;
    mask.causal = causal_;
    return {attention_.attend(in.at(0), in.back(), in.back(), mask)};
  }
  void fields(nn::Fields& f) override { attention_.fields(f); }
  std::string title() const override { return attention_.title(); }

 private:
  nn::MultiheadAttention attention_;
  bool causal_;
};

Build attention(Call& call, const ModelFacts& facts) {
  const std::int64_t heads = call.count("heads");
  call.by_name();
  nn::MultiheadAttentionOptions o;
  o.batch_first = true;
  o.dropout = call.number("dropout", 0, {.least = 0, .most = 1});
  o.bias = call.on("bias", true);
  o.head_dim = call.count("head_dim", 0, kHeadDim);
  const bool other = call.has("memory");
  if (other) call.value("memory");
  const bool causal = call.on("causal", facts.dtype == DType::i64 && facts.target.rank() == 0 && !other);
  call.finish();
  return [=](const Site& site) {
    check_sequences(site);
    return std::make_shared<Attention>(site.last(), heads, o, causal, site.rng);
  };
}

template <class L> Build joined(Call& call, const ModelFacts&) {
  call.all_values();
  call.finish();
  return [](const Site&) { return std::make_shared<L>(); };
}

Build cat_layer(Call& call, const ModelFacts&) {
  call.all_values();
  call.by_name();
  const auto dim = static_cast<int>(call.count("dim", 1, {.least = -8, .most = 7}));
  call.finish();
  return [dim](const Site&) { return std::make_shared<nn::Cat>(dim); };
}

const std::vector<LayerKind>& layer_kinds() {
  static const std::vector<LayerKind> all = {
      {"Linear", linear},
      {"Conv1d", conv<1>},
      {"Conv2d", conv<2>},
      {"Conv3d", conv<3>},
      {"WhiteningConv2d", whitening},
      {"ConvTranspose1d", conv_transpose<1>},
      {"ConvTranspose2d", conv_transpose<2>},
      {"ConvTranspose3d", conv_transpose<3>},
      {"MaxPool1d", pool<nn::MaxPool1d, MaxPoolOptions>},
      {"MaxPool2d", pool<nn::MaxPool2d, MaxPoolOptions>},
      {"MaxPool3d", pool<nn::MaxPool3d, MaxPoolOptions>},
      {"AvgPool1d", pool<nn::AvgPool1d, AvgPoolOptions>},
      {"AvgPool2d", pool<nn::AvgPool2d, AvgPoolOptions>},
      {"AvgPool3d", pool<nn::AvgPool3d, AvgPoolOptions>},
      {"AdaptiveAvgPool1d", adaptive_pool<nn::AdaptiveAvgPool1d>},
      {"AdaptiveAvgPool2d", adaptive_pool<nn::AdaptiveAvgPool2d>},
      {"AdaptiveAvgPool3d", adaptive_pool<nn::AdaptiveAvgPool3d>},
      {"AdaptiveMaxPool1d", adaptive_pool<nn::AdaptiveMaxPool1d>},
      {"AdaptiveMaxPool2d", adaptive_pool<nn::AdaptiveMaxPool2d>},
      {"AdaptiveMaxPool3d", adaptive_pool<nn::AdaptiveMaxPool3d>},
      {"Upsample", upsample},
      {"Pad", padding},
      {"PixelShuffle", shuffle<nn::PixelShuffle>},
      {"PixelUnshuffle", shuffle<nn::PixelUnshuffle>},
      {"Flatten", plain<nn::Flatten>},
      {"BatchNorm1d", batch_norm_layer<nn::BatchNorm1d>},
      {"BatchNorm2d", batch_norm_layer<nn::BatchNorm2d>},
      {"BatchNorm3d", batch_norm_layer<nn::BatchNorm3d>},
      {"InstanceNorm1d", channel_norm<nn::InstanceNorm1d>},
      {"InstanceNorm2d", channel_norm<nn::InstanceNorm2d>},
      {"InstanceNorm3d", channel_norm<nn::InstanceNorm3d>},
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
      {"TransformerDecoderLayer", decoder_layer},
      {"MultiheadAttention", attention},
      {"Add", joined<nn::Sum>},
      {"Mul", joined<nn::Product>},
      {"Cat", cat_layer},
      {"Identity", plain<nn::Identity>},
      {"ReLU", plain<nn::ReLU>},
      {"ReLU6", plain<nn::ReLU6>},
      {"LeakyReLU", with_number<nn::LeakyReLU>("negative_slope", 0.01)},
      {"ELU", with_number<nn::ELU>("alpha", 1)},
      {"CELU", with_number<nn::CELU>("alpha", 1)},
      {"PReLU", prelu_layer},
      {"SELU", plain<nn::SELU>},
      {"GELU", plain<nn::GELU>},
      {"GELUTanh", plain<nn::GELUTanh>},
      {"SiLU", plain<nn::SiLU>},
      {"Mish", plain<nn::Mish>},
      {"Hardswish", plain<nn::Hardswish>},
      {"Hardsigmoid", plain<nn::Hardsigmoid>},
      {"Hardtanh", hardtanh_layer},
      {"Tanh", plain<nn::Tanh>},
      {"Sigmoid", plain<nn::Sigmoid>},
      {"LogSigmoid", plain<nn::LogSigmoid>},
      {"Softplus", plain<nn::Softplus>},
      {"Softsign", plain<nn::Softsign>},
      {"Softmax", along<nn::Softmax>(-1)},
      {"LogSoftmax", along<nn::LogSoftmax>(-1)},
      {"GLU", along<nn::GLU>(-1)},
      {"SwiGLU", swiglu_layer},
      {"Sine", with_number<nn::Sine>("omega", 30)},
  };
  return all;
}

}  // namespace

Build read_layer(Call& call, const ModelFacts& facts, const std::vector<std::string>& blocks) {
  for (const LayerKind& kind : layer_kinds())
    if (same_name(kind.name, call.name())) return kind.read(call, facts);
  std::vector<std::string> known = layer_names();
  known.insert(known.end(), blocks.begin(), blocks.end());
  throw call.unknown("layer", known);
}

bool is_layer(const std::string& name) {
  for (const std::string& known : layer_names())
    if (same_name(known, name)) return true;
  return false;
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_kinds()) names.emplace_back(kind.name);
  for (const char* name : {"Save", "Load"}) names.emplace_back(name);
  return names;
}

}  // namespace veldt::recipe
