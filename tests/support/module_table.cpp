// The rows of veldt/nn's modules, their inputs, and how the headers' own list is read.
#include "tests/support/module_table.h"

#include <regex>
#include <utility>

#include "tests/support/values.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/gated.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/mlp.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/recurrent_cell.h"
#include "veldt/nn/resize.h"
#include "veldt/nn/sequential.h"
#include "veldt/nn/whitening.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using namespace nn;

Tensor forward_of(const Module& module, const Tensor& x) { return module(x); }

template <class Make> ModuleRow row(std::string name, const Shape& input, Make make) {
  using M = std::invoke_result_t<Make, Rng&>;
  return {.name = std::move(name),
          .input = input,
          .make = [make](Rng& rng) { return std::make_unique<M>(make(rng)); },
          .clone = [](const Module& m) { return std::make_unique<M>(nn::clone(static_cast<const M&>(m))); },
          .run = forward_of};
}
// One whose constructor takes these arguments, and no numbers by chance.
template <class M, class... Args> ModuleRow plain(std::string name, const Shape& input, Args... args) {
  return row(std::move(name), input, [args...](Rng&) { return M(args...); });
}
// One that draws its first values after these arguments.
template <class M, class... Args> ModuleRow drawn(std::string name, const Shape& input, Args... args) {
  return row(std::move(name), input, [args...](Rng& rng) { return M(args..., rng); });
}

void add_activations(std::vector<ModuleRow>& rows) {
  const Shape x{3, 8};
  rows.push_back(plain<ReLU>("ReLU", x));
  rows.push_back(plain<ReLU6>("ReLU6", x));
  rows.push_back(plain<SELU>("SELU", x));
  rows.push_back(plain<GELU>("GELU", x));
  rows.push_back(plain<GELUTanh>("GELUTanh", x));
  rows.push_back(plain<SiLU>("SiLU", x));
  rows.push_back(plain<Mish>("Mish", x));
  rows.push_back(plain<Tanh>("Tanh", x));
  rows.push_back(plain<Sigmoid>("Sigmoid", x));
  rows.push_back(plain<LogSigmoid>("LogSigmoid", x));
  rows.push_back(plain<Softplus>("Softplus", x));
  rows.push_back(plain<Softsign>("Softsign", x));
  rows.push_back(plain<Hardsigmoid>("Hardsigmoid", x));
  rows.push_back(plain<Hardswish>("Hardswish", x));
  rows.push_back(plain<LeakyReLU>("LeakyReLU", x, 0.1));
  rows.push_back(plain<ELU>("ELU", x, 0.7));
  rows.push_back(plain<CELU>("CELU", x, 1.5));
  rows.push_back(plain<Sine>("Sine", x, 2));
  rows.push_back(plain<Gauss>("Gauss", x, 0.5));
  rows.push_back(plain<Finer>("Finer", x, 0.5));
  rows.push_back(plain<Wire>("Wire", x, 2, 0.5));
  rows.push_back(plain<Softmax>("Softmax", x, 0));
  rows.push_back(plain<LogSoftmax>("LogSoftmax", x, -1));
  rows.push_back(plain<Hardtanh>("Hardtanh", x, -2, 1));
  rows.push_back(plain<PReLU>("PReLU", x, 8));
  rows.push_back(plain<GLU>("GLU", x));
  rows.push_back(drawn<SwiGLU>("SwiGLU", x, 8, 3));
}

template <int kDims> void add_spatial(std::vector<ModuleRow>& rows) {
  const std::string d = std::to_string(kDims) + "d";
  const Shape x = kDims == 1 ? Shape{2, 4, 6} : kDims == 2 ? Shape{2, 4, 4, 3} : Shape{1, 4, 2, 3, 2};
  rows.push_back(drawn<Conv<kDims>>("Conv" + d, x, 4, 2, 2));
  rows.push_back(drawn<ConvTranspose<kDims>>("ConvTranspose" + d, x, 4, 2, 2));
  rows.push_back(plain<BatchNorm<kDims>>("BatchNorm" + d, x, 4));
  rows.push_back(plain<InstanceNorm<kDims>>(
      "InstanceNorm" + d, x, 4, InstanceNormOptions{.affine = true, .track_running_stats = true}));
  rows.push_back(plain<MaxPool<kDims>>("MaxPool" + d, x, 2));
  rows.push_back(plain<AvgPool<kDims>>("AvgPool" + d, x, 2));
  rows.push_back(plain<AdaptiveMaxPool<kDims>>("AdaptiveMaxPool" + d, x, 2));
  rows.push_back(plain<AdaptiveAvgPool<kDims>>("AdaptiveAvgPool" + d, x, 2));
  rows.push_back(drawn<ChannelDropout<kDims>>("Dropout" + d, x, 0.5));
}

void add_sequences(std::vector<ModuleRow>& rows) {
  const Shape x{3, 2, 4};  // [time, n, size]
  rows.push_back(
      drawn<RNN>("RNN", x, 4, 3, RNNOptions{.num_layers = 2, .dropout = 0.3, .bidirectional = true}));
  rows.push_back(drawn<LSTM>("LSTM", x, 4, 3, RecurrentOptions{.bidirectional = true}));
  rows.push_back(drawn<GRU>("GRU", x, 4, 3, RecurrentOptions{.num_layers = 2}));
  rows.push_back(plain<LastStep>("LastStep", x));
  const auto from_a_state = [](const Module& m, const Tensor& given) {
    const Tensor state = narrow(given, 1, 0, 3);
    return dynamic_cast<const RecurrentCell&>(m)
        .step(given, {state, dynamic_cast<const LSTMCell*>(&m) ? state : Tensor()})
        .h;
  };
  rows.push_back(drawn<RNNCell>("RNNCell", {2, 4}, 4, 3, Nonlinearity::tanh, CellOptions{}));
  rows.back().run = from_a_state;
  rows.push_back(drawn<LSTMCell>("LSTMCell", {2, 4}, 4, 3, CellOptions{}));
  rows.back().run = from_a_state;
  rows.push_back(drawn<GRUCell>("GRUCell", {2, 4}, 4, 3, CellOptions{}));
  rows.back().run = from_a_state;
  rows.push_back(drawn<PositionEmbedding>("PositionEmbedding", x, 5, 4));
  rows.push_back(
      drawn<MultiheadAttention>("MultiheadAttention", x, 4, 2, MultiheadAttentionOptions{.dropout = 0.3}));
  const TransformerLayerOptions layer{.dim_feedforward = 5, .dropout = 0.3, .gelu = true};
  rows.push_back(drawn<TransformerEncoderLayer>("TransformerEncoderLayer", x, 4, 2, layer));
  rows.push_back(drawn<TransformerEncoder>("TransformerEncoder", x, 2, 4, 2, TransformerOptions{layer}));
  // What an encoder gave them to look at.
  const auto memory = [](const Tensor& given) { return given * 0.5 + 0.25; };
  rows.push_back(drawn<TransformerDecoderLayer>("TransformerDecoderLayer", x, 4, 2, layer));
  rows.back().run = [memory](const Module& m, const Tensor& given) {
    return dynamic_cast<const TransformerDecoderLayer&>(m).decode(given, memory(given));
  };
  rows.push_back(drawn<TransformerDecoder>("TransformerDecoder", x, 2, 4, 2, TransformerOptions{layer}));
  rows.back().run = [memory](const Module& m, const Tensor& given) {
    return dynamic_cast<const TransformerDecoder&>(m).decode(given, memory(given));
  };
}

void add_containers(std::vector<ModuleRow>& rows) {
  const Shape x{4, 6};
  rows.push_back(plain<Identity>("Identity", x));
  rows.push_back(row("Lambda", x, [](Rng&) { return Lambda([](const Tensor& t) { return t * 2.0; }); }));
  rows.push_back(row("Residual", x, [](Rng& rng) { return Residual(Linear(6, 6, rng)); }));
  const auto branches = [](Rng& rng) {
    return std::vector<NamedLayer>{{"same", Identity()}, {"deep", Linear(6, 3, rng)}};
  };
  rows.push_back(row("Concat", x, [branches](Rng& rng) { return Concat(1, branches(rng)); }));
  rows.push_back(row("Parallel", x, [branches](Rng& rng) { return Parallel(branches(rng)); }));
  rows.back().run = [](const Module& m, const Tensor& given) { return m(TensorList{given})[1]; };
  rows.push_back(row("ModuleDict", x, [branches](Rng& rng) { return ModuleDict(branches(rng)); }));
  rows.back().run = [](const Module& m, const Tensor& given) {
    return dynamic_cast<const ModuleDict&>(m)["deep"](given);
  };
  rows.push_back(row("Graph", x, [](Rng& rng) {
    Graph net;
    net.add("sum", Sum(), {0, net.add("deep", Linear(6, 6, rng), {0})});
    return net;
  }));
  const auto joined = [](const Module& m, const Tensor& given) {
    return m(TensorList{given, given * 0.5 + 0.25})[0];
  };
  rows.push_back(row("Sum", x, [](Rng&) { return Sum(); }));
  rows.back().run = joined;
  rows.push_back(row("Product", x, [](Rng&) { return Product(); }));
  rows.back().run = joined;
  rows.push_back(row("Cat", x, [](Rng&) { return Cat(1); }));
  rows.back().run = joined;
}

void add_others(std::vector<ModuleRow>& rows) {
  const Shape x{4, 6};
  rows.push_back(drawn<Linear>("Linear", x, 6, 3));
  rows.push_back(row("MLP", x, [](Rng& rng) {
    return MLP({6, 5, 3}, {.activation = MlpActivation::sine}, rng);
  }));
  rows.push_back(row("Sequential", x, [](Rng& rng) {
    Linear first(6, 4, rng), last(4, 2, rng);
    return Sequential{std::move(first), BatchNorm1d(4), Tanh(), Dropout(0.3, rng), std::move(last)};
  }));
  rows.push_back(drawn<Embedding>("Embedding", {2, 4}, 7, 3));
  rows.back().indices = 7;
  rows.push_back(drawn<Dropout>("Dropout", x, 0.3));
  rows.push_back(drawn<AlphaDropout>("AlphaDropout", x, 0.3));
  rows.push_back(drawn<StochasticDepth>("StochasticDepth", x, 0.3));
  rows.push_back(plain<LayerNorm>("LayerNorm", x, 6));
  rows.push_back(plain<RMSNorm>("RMSNorm", x, 6));
  rows.push_back(plain<GroupNorm>("GroupNorm", {2, 4, 3}, 2, 4));
  rows.push_back(plain<Flatten>("Flatten", {2, 4, 3}));
  rows.push_back(plain<Upsample>("Upsample", {2, 4, 3},
                                 InterpolateOptions{.scale_factor = {2}, .mode = Interpolation::linear}));
  rows.push_back(plain<PixelShuffle>("PixelShuffle", {1, 8, 2, 3}, 2));
  rows.push_back(plain<WhiteningConv2d>("WhiteningConv2d", {1, 2, 4, 4}, 2, 2));
  rows.push_back(plain<PixelUnshuffle>("PixelUnshuffle", {1, 2, 4, 4}, 2));
  rows.push_back(plain<Pad>("Pad", {2, 4, 3}, std::vector<std::int64_t>{1, 2}, PadMode::reflect));
}

}  // namespace

const std::vector<ModuleRow>& module_table() {
  static const std::vector<ModuleRow> table = [] {
    std::vector<ModuleRow> rows;
    add_activations(rows);
    add_spatial<1>(rows);
    add_spatial<2>(rows);
    add_spatial<3>(rows);
    add_sequences(rows);
    add_containers(rows);
    add_others(rows);
    return rows;
  }();
  return table;
}

Tensor input_of(const ModuleRow& row, DType dtype) {
  const std::int64_t n = numel(row.input);
  if (n % 8 != 0)
    throw Error("an input of a module cannot be made", row.name, "let it have a multiple of 8 numbers");
  Rng rng(5);
  if (row.indices > 0)
    return write(build(row.input,
                       [&](const Shape&) {
                         return static_cast<double>(rng.next_below(static_cast<std::uint64_t>(row.indices)));
                       }),
                 DType::i64);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < n; ++i)
    numbers.push_back(-4 + 8 * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
  for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[rng.next_below(i)]);
  return write({row.input, numbers}, dtype);
}

std::set<std::string> modules_in(const std::string& headers) {
  static const std::regex comment("//[^\n]*");
  static const std::regex derived(
      "(template <int \\w+>\\s+)?(?:class|struct) (\\w+)(?: final)? : (?:public )?(\\w+)");
  static const std::regex alias("using (\\w+) = (\\w+)<\\d>;");
  static const std::set<std::string> kBases = {"Activation", "ActivationWith", "Branches",  "ChannelNorm",
                                               "LoraLayer",  "RandomDropping", "Recurrent", "RecurrentCell"};
  const std::string text = std::regex_replace(headers, comment, "");
  std::set<std::string> modules = {"Module"}, templates;
  for (std::size_t known = 0; known != modules.size();) {  // until no other derives from one
    known = modules.size();
    for (std::sregex_iterator at(text.begin(), text.end(), derived), end; at != end; ++at)
      if (modules.contains((*at)[3])) {
        modules.insert((*at)[2]);
        if ((*at)[1].matched) templates.insert((*at)[2]);
      }
  }
  std::set<std::string> names;
  for (const std::string& name : modules)
    if (name != "Module" && !templates.contains(name) && !kBases.contains(name)) names.insert(name);
  for (std::sregex_iterator at(text.begin(), text.end(), alias), end; at != end; ++at)
    if (templates.contains((*at)[2])) names.insert((*at)[1]);
  return names;
}

}  // namespace veldt::test
