// Recurrent layers against PyTorch (tests/golden/recurrent.json), and what lengths, dropout and plans make of
// them.
#include "veldt/nn/recurrent.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/derivatives.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

using nlohmann::json;
using test::error_of;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor drawn(const Shape& shape, DType dtype = DType::f32) {
  Rng rng(7);
  return rand(shape, rng, -1, 1, dtype);
}

Tensor lengths_of(std::vector<std::int64_t> values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

std::unique_ptr<Recurrent> recurrent_of(const json& g) {
  const std::string name = g.at("layer");
  const json& o = g.at("options");
  const std::int64_t in = g.at("in"), hidden = g.at("hidden");
  if (name == "RNN")
    return std::make_unique<RNN>(
        in, hidden,
        RNNOptions{.num_layers = o.at("num_layers"),
                   .nonlinearity = o.at("nonlinearity") == "relu" ? Nonlinearity::relu : Nonlinearity::tanh,
                   .bias = o.at("bias"),
                   .batch_first = o.at("batch_first"),
                   .bidirectional = o.at("bidirectional")});
  const RecurrentOptions options{.num_layers = o.at("num_layers"),
                                 .bias = o.at("bias"),
                                 .batch_first = o.at("batch_first"),
                                 .bidirectional = o.at("bidirectional")};
  if (name == "LSTM") return std::make_unique<LSTM>(in, hidden, options);
  return std::make_unique<GRU>(in, hidden, options);
}

Tensor weighted(const Tensor& y) {
  std::vector<double> weights(static_cast<std::size_t>(y.numel()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5 + 0.1 * static_cast<double>(i % 7);
  return sum(y * veldt::to(Tensor::from<double>(y.shape(), weights), y.dtype()));
}

// Products of other numbers of rows may be rounded otherwise.
void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LE(max(abs(a - b)).item(), 1e-6);
}

class GoldenRecurrent : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenRecurrent, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(veldt::name_of(at.param)); });

TEST_P(GoldenRecurrent, ResultsAndGradientsAreTorchs) {
  const double tolerance = 4 * test::tolerance_of(GetParam());
  const json cases = test::read_golden("recurrent.json").at("cases");
  ASSERT_GE(cases.size(), 11u);
  for (const json& g : cases) {
    const std::unique_ptr<Recurrent> layer = recurrent_of(g);
    layer->to(GetParam());
    NamedTensors state;
    for (const auto& [name, values] : g.at("state").items()) state.push_back({name, test::tensor_of(values)});
    layer->load_state_dict(state);
    const auto leaf = [](const json& at) { return test::tensor_of(at, GetParam()).set_requires_grad(); };
    const Tensor x = leaf(g.at("x"));
    RecurrentState first;
    if (g.at("first").contains("h")) first.h = leaf(g.at("first").at("h"));
    if (g.at("first").contains("c")) first.c = leaf(g.at("first").at("c"));
    Tensor lengths;
    if (!g.at("lengths").is_null()) lengths = lengths_of(g.at("lengths"));
    const RecurrentResult r = layer->run(x, first, lengths);
    EXPECT_TRUE(test::near(r.output, g.at("output"), tolerance)) << layer->title();
    EXPECT_TRUE(test::near(r.state.h, g.at("last").at("h"), tolerance)) << layer->title();
    EXPECT_EQ(r.state.c.defined(), g.at("last").contains("c"));
    Tensor loss = weighted(r.output) + weighted(r.state.h);
    if (r.state.c.defined()) {
      EXPECT_TRUE(test::near(r.state.c, g.at("last").at("c"), tolerance)) << layer->title();
      loss = loss + weighted(r.state.c);
    }
    loss.backward();
    const json& gradients = g.at("gradients");
    EXPECT_TRUE(test::near(x.grad(), gradients.at("x"), 4 * tolerance)) << layer->title();
    if (first.h.defined()) {
      EXPECT_TRUE(test::near(first.h.grad(), gradients.at("h"), 4 * tolerance)) << layer->title();
    }
    if (first.c.defined()) {
      EXPECT_TRUE(test::near(first.c.grad(), gradients.at("c"), 4 * tolerance)) << layer->title();
    }
    EXPECT_EQ(layer->named_parameters().size(), g.at("state").size());
    for (const auto& [name, tensor] : layer->named_parameters())
      EXPECT_TRUE(test::near(tensor.grad(), gradients.at(name), 4 * tolerance))
          << layer->title() << ' ' << name;
  }
}

TEST(Recurrent, IsDifferentiableTwice) {
  const LSTM lstm(2, 2, {.bidirectional = true, .dtype = DType::f64});
  const GRU gru(2, 2, {.dtype = DType::f64});
  const Tensor x = drawn({3, 2, 2}, DType::f64).set_requires_grad(), lengths = lengths_of({3, 2});
  EXPECT_TRUE(gradgradcheck([&](const TensorList& in) { return lstm.run(in[0], {}, lengths).output; }, {x}));
  EXPECT_TRUE(gradgradcheck([&](const TensorList& in) { return gru(in[0]); }, {x}));
}

TEST(Recurrent, DoesNotReadThePadding) {
  const GRU layer(2, 3, {.num_layers = 2, .bidirectional = true});
  const Tensor clean = drawn({4, 2, 2}), lengths = lengths_of({4, 2});
  const Tensor dirty = clean.detach() + 0;
  select(narrow(dirty, 0, 2, 2), 1, 1).assign(full({2, 2}, std::numeric_limits<double>::quiet_NaN()));
  const auto gradient = [&](const Tensor& x) {
    for (Tensor p : layer.parameters()) p.zero_grad();
    const RecurrentResult r = layer.run(x, {}, lengths);
    (sum(r.output) + sum(r.state.h)).backward();
    return layer.parameters()[0].grad().values<float>();
  };
  EXPECT_EQ(gradient(dirty), gradient(clean));
}

TEST(Recurrent, OfALengthIsWhatTheSequenceAloneGives) {
  const LSTM layer(2, 3, {.num_layers = 2, .bidirectional = true});
  const Tensor x = drawn({5, 3, 2});
  const RecurrentResult all = layer.run(x, {}, lengths_of({5, 0, 2}));
  const RecurrentResult alone = layer.run(narrow(select(x, 1, 2), 0, 0, 2));  // [time, in]
  expect_near(narrow(select(all.output, 1, 2), 0, 0, 2), alone.output);
  expect_near(select(all.state.h, 1, 2), alone.state.h);
  expect_near(select(all.state.c, 1, 2), alone.state.c);
  EXPECT_THAT(narrow(select(all.output, 1, 2), 0, 2, 3).values<float>(), Each(0));
  EXPECT_THAT(select(all.output, 1, 1).values<float>(), Each(0));  // of no length: the first state stays
  EXPECT_THAT(select(all.state.h, 1, 1).values<float>(), Each(0));
}

TEST(Recurrent, GoesOnFromTheStateItLeft) {
  const GRU layer(2, 3, {.num_layers = 2});
  const Tensor x = drawn({5, 3, 2});
  const RecurrentResult whole = layer.run(x), head = layer.run(narrow(x, 0, 0, 2)),
                        tail = layer.run(narrow(x, 0, 2, 3), head.state);
  expect_near(cat({head.output, tail.output}), whole.output);
  expect_near(tail.state.h, whole.state.h);
}

TEST(Recurrent, OfHalvesGoesOnFromItsStateUnderAnAutocast) {
  Rng rng(2);
  const LSTM layer(4, 8, {.dtype = DType::bf16}, rng);
  const Tensor x = veldt::to(drawn({5, 2, 4}), DType::bf16);
  const Autocast now(DType::bf16);
  const RecurrentState state = layer.run(x).state;
  EXPECT_EQ(layer.run(x, state).output.dtype(), DType::bf16);
}

// The gradients of all parameters of a layer whose numbers are bf16.
template <class Layer> Grads slopes_of(DType dtype, const Tensor& lengths) {
  Rng rng(6);
  const auto number = [&](const Tensor& t) { return veldt::to(veldt::to(t, DType::bf16), dtype); };
  Layer layer(8, 16, {.dtype = dtype});
  NamedTensors state = layer.state_dict();
  for (NamedTensor& each : state) each.tensor = number(randn(each.tensor.shape(), rng) * 0.2);
  layer.load_state_dict(state);
  const Tensor x = number(rand({256, 64, 8}, rng));
  return grad(sum(layer.run(x, {}, lengths).output), layer.parameters());
}

// They are added up over the steps in f32, not in halves.
template <class Layer> void expect_precise_slopes(const Tensor& lengths) {
  const Grads halves = slopes_of<Layer>(DType::bf16, lengths), wanted = slopes_of<Layer>(DType::f64, lengths);
  ASSERT_EQ(halves.size(), 4u);
  for (std::size_t i = 0; i < halves.size(); ++i)
    EXPECT_LE(max(abs(veldt::to(halves[i], DType::f64) - wanted[i])).item(),
              0.02 * max(abs(wanted[i])).item())
        << Layer(1, 1).title() << ", parameter " << i;
}

TEST(Recurrent, OfHalvesHasGradientsAsPreciseAsHalves) {
  const Tensor lengths = lengths_of(std::vector<std::int64_t>(64, 250));
  for (const Tensor& each : {Tensor(), lengths}) {
    expect_precise_slopes<RNN>(each);
    expect_precise_slopes<GRU>(each);
    expect_precise_slopes<LSTM>(each);
  }
}

TEST(Recurrent, GivesOneDtypeUnderAnAutocastWithLengthsAndWithout) {
  Rng rng(2);
  const LSTM layer(4, 8, rng);
  const Tensor x = drawn({5, 2, 4});
  const Autocast now(DType::bf16);
  const RecurrentResult all = layer.run(x), part = layer.run(x, {}, lengths_of({5, 5}));
  EXPECT_EQ(all.output.dtype(), DType::bf16);
  EXPECT_EQ(part.output.dtype(), DType::bf16);
  EXPECT_EQ(part.state.c.dtype(), all.state.c.dtype());
}

TEST(Recurrent, ReadsLengthsAnewAtEachReplayOfAPlan) {
  const LSTM layer(2, 3, {.bidirectional = true});
  const Tensor x = drawn({4, 2, 2}), lengths = lengths_of({4, 4});
  Plan plan([&] { return layer.run(x, {}, lengths).output; });
  lengths.detach().assign(lengths_of({1, 3}));
  plan.replay();
  EXPECT_EQ(plan.output().values<float>(), layer.run(x, {}, lengths).output.values<float>());
  lengths.detach().assign(lengths_of({1, 5}));
  EXPECT_THROW(plan.replay(), ShapeError);
}

TEST(Recurrent, DropsBetweenLayersInTrainingAndResumes) {
  GRU layer(2, 8, {.num_layers = 2, .dropout = 0.5}), twin = clone(layer);
  const Tensor x = drawn({3, 2, 2});
  const std::vector<float> first = layer(x).values<float>(), second = layer(x).values<float>();
  EXPECT_NE(first, second);
  twin(x);
  EXPECT_EQ(twin(x).values<float>(), second);
  EXPECT_EQ(layer.state_dict().back().name, "dropout.rng");
  layer.eval();
  EXPECT_EQ(layer(x).values<float>(), layer(x).values<float>());
  // Nothing is dropped from the input, and nothing after the last layer.
  GRU all(2, 8, {.num_layers = 2, .dropout = 1});
  const RecurrentResult in_training = all.run(x);
  for (const float v : in_training.output.values<float>()) EXPECT_NE(v, 0);
  all.eval();
  EXPECT_EQ(select(in_training.state.h, 0, 0).values<float>(),
            select(all.run(x).state.h, 0, 0).values<float>());
  EXPECT_EQ(GRU(2, 8, {.dropout = 0.5}).state_dict().size(), 4u);
}

TEST(Recurrent, HasTorchsNamesBoundsAndTitles) {
  Rng rng(3);
  const LSTM layer(6, 16, {.num_layers = 2, .bidirectional = true}, rng);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : layer.named_parameters()) {
    names.push_back(name);
    EXPECT_LE(max(abs(tensor)).item(), 0.25);
    EXPECT_GE(max(abs(tensor)).item(), 0.23) << name;
  }
  EXPECT_THAT(names,
              ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                          "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                          "weight_hh_l1", "bias_ih_l1", "bias_hh_l1", "weight_ih_l1_reverse",
                          "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse"));
  EXPECT_EQ(layer.title(), "LSTM(6, 16, 2 layers, bidirectional)");
  EXPECT_EQ(GRU(6, 4, {.bias = false, .batch_first = true, .dropout = 0.5}).title(),
            "GRU(6, 4, batch first, dropout 0.5, no bias)");
  EXPECT_EQ(RNN(6, 4, {.nonlinearity = Nonlinearity::relu}).title(), "RNN(6, 4, relu)");
}

TEST(Recurrent, CountsTheOperationsOfItsProducts) {
  // Each of 5 * 2 steps: both directions of layer 0 read 3 numbers, those of layer 1 read 8.
  const GRU layer(3, 4, {.num_layers = 2, .bidirectional = true});
  EXPECT_EQ(layer.flops({5, 2, 3}, {5, 2, 8}), 2.0 * 10 * 2 * 12 * (3 + 4 + 8 + 4));
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const LSTM layer(2, 3, {.batch_first = true});
  const auto refused = [&](const Tensor& x, const RecurrentState& s = {}, const Tensor& lengths = {}) {
    return error_of<ShapeError>([&] { layer.run(x, s, lengths); });
  };
  EXPECT_THAT(refused(ones({4, 5, 3})), HasSubstr("LSTM cannot take [4, 5, 3]"));
  EXPECT_THAT(refused(ones({4, 0, 2})), HasSubstr("no steps"));
  EXPECT_THAT(refused(ones({4, 5, 2}, DType::f64)), HasSubstr("f64"));
  EXPECT_THAT(refused(ones({4, 5, 2}), {ones({1, 5, 3}), {}}), HasSubstr("state h of f32 [1, 5, 3]"));
  EXPECT_THAT(refused(ones({4, 5, 2}), {{}, ones({4, 3})}), HasSubstr("state c"));
  EXPECT_THAT(refused(ones({4, 5, 2}), {}, lengths_of({5, 5})), HasSubstr("i64 [2]"));
  EXPECT_THAT(refused(ones({1, 5, 2}), {}, ones({1})), HasSubstr("f32 [1]"));
  EXPECT_THAT(refused(ones({2, 5, 2}), {}, lengths_of({5, 6})), HasSubstr("a length of 6"));
  EXPECT_THAT(refused(ones({2, 5, 2}), {}, lengths_of({5, -1})), HasSubstr("a length of -1"));
  EXPECT_THROW(GRU(2, 3).run(ones({4, 5, 2}), {{}, ones({1, 5, 3})}), ConfigError);
  EXPECT_THAT(error_of<ConfigError>([] { GRU(0, 3); }), HasSubstr("GRU(0, 3)"));
  EXPECT_THROW(GRU(2, 3, {.num_layers = 0}), ConfigError);
  EXPECT_THROW(GRU(2, 3, {.num_layers = 2, .dropout = 1.5}), ConfigError);
}

TEST(LastStep, TakesTheEndOfEachSequence) {
  const Tensor x = reshape(arange(12, DType::f32), {2, 3, 2});
  EXPECT_THAT(LastStep()(x).values<float>(), ElementsAre(4, 5, 10, 11));
  EXPECT_THROW(LastStep()(ones({3})), ShapeError);
  EXPECT_THROW(LastStep()(ones({2, 0, 3})), ShapeError);
}

}  // namespace
}  // namespace veldt::nn
