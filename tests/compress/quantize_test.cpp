// Quantised networks: formats, ranges, files, training that knows of it, and what is refused.
#include "veldt/compress/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/veldt.h"

namespace veldt::compress {
namespace {

using nn::QuantizedInput;
using test::error_of;
using testing::HasSubstr;

nn::Sequential small_network(std::uint64_t seed) {
  Rng rng(seed);
  return nn::Sequential{nn::Conv2d(3, 16, 3, {.padding = 1}, rng),
                        nn::ReLU(),
                        nn::Conv2d(16, 32, 3, {.stride = 2, .padding = 1, .groups = 2}, rng),
                        nn::ReLU(),
                        nn::Flatten(),
                        nn::Linear(32 * 4 * 4, 64, rng),
                        nn::Tanh(),
                        nn::Linear(64, 10, rng)};
}
Tensor pictures(std::uint64_t seed, std::int64_t n = 16) {
  Rng rng(seed);
  return rand({n, 3, 8, 8}, rng, -1, 1);
}
double decibels(const Tensor& exact, const Tensor& found) {
  const Tensor a = to(exact, DType::f64), b = to(found, DType::f64);
  return 10 * std::log10(sum(square(a)).item<double>() / sum(square(a - b)).item<double>());
}

TEST(Quantize, ComputesNearlyWhatFloatsDo) {
  const NoGrad off;
  const Tensor x = pictures(2);
  for (const Method method : {Method::weights, Method::dynamic, Method::calibrated})
    for (const Calibration how :
         {Calibration::min_max, Calibration::percentile, Calibration::mse, Calibration::entropy}) {
      if (method != Method::calibrated && how != Calibration::min_max) continue;
      nn::Sequential network = small_network(1);
      network.eval();
      const Tensor exact = network(x);
      const Scheme scheme = quantize(network, {.method = method, .calibration = how}, [&] { network(x); });
      EXPECT_EQ(scheme.weights.size(), 4u);
      EXPECT_EQ(scheme.weights.at("0.weight").input, method == Method::weights   ? QuantizedInput::floats
                                                     : method == Method::dynamic ? QuantizedInput::dynamic
                                                                                 : QuantizedInput::fixed);
      EXPECT_GT(decibels(exact, network(x)),
                how == Calibration::percentile || how == Calibration::entropy ? 20 : 33)
          << static_cast<int>(method) << ' ' << static_cast<int>(how);
    }
}

TEST(Quantize, IntegersComputeWhatTheFloatsThatTheyStandForDo) {
  const NoGrad off;
  nn::Sequential network = small_network(1);
  network.eval();
  const Tensor x = pictures(2);
  quantize(network, {.calibration = Calibration::min_max}, [&] { network(x); });
  const Tensor by_integers = network(x);
  Tensor by_floats;
  {
    const EnableGrad on;  // an input that wants a gradient is multiplied by floats
    by_floats = network(Tensor(x.detach() + 0.0).set_requires_grad());
  }
  EXPECT_GT(decibels(by_floats.detach(), by_integers), 45);  // but for numbers that are nearly a half
}

TEST(Quantize, TakesAQuarterOfTheMemory) {
  nn::Sequential network = small_network(1);
  const auto bytes = [&] {
    double all = 0;
    for (const auto& [name, t] : network.state_dict())
      all += static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype()));
    return all;
  };
  const double before = bytes();
  quantize(network, {.method = Method::dynamic});
  EXPECT_LT(bytes() / before, 0.27);
}

TEST(Quantize, WeightsThatChangeAreSeenAtOnce) {
  const NoGrad off;
  const Tensor x = pictures(2);
  nn::Sequential network = small_network(1), other = small_network(7);
  for (nn::Sequential* n : {&network, &other}) {
    n->eval();
    quantize(*n, {}, [&] { (*n)(x); });
    (*n)(x);  // packs its weights
  }
  NamedTensors held = network.state_dict();
  const NamedTensors new_ones = other.state_dict();
  for (std::size_t i = 0; i < held.size(); ++i) held[i].tensor.detach().assign(new_ones[i].tensor);
  EXPECT_EQ(max(abs(network(x) - other(x))).item<float>(), 0);
}

TEST(Quantize, FourBitsAreForRowsOfGroups) {
  const NoGrad off;
  nn::Sequential network = small_network(1);
  network.eval();
  const Tensor x = pictures(2), exact = network(x);
  const Scheme scheme = quantize(network, {.bits = 4});
  EXPECT_EQ(scheme.weights.at("5.weight"), (nn::WeightFormat{4, QuantizedInput::floats}));
  EXPECT_EQ(scheme.weights.at("0.weight"), (nn::WeightFormat{8, QuantizedInput::floats}));
  EXPECT_GT(decibels(exact, network(x)), 17);
  EXPECT_THAT(error_of<ConfigError>([] {
                nn::Sequential odd{nn::Linear(33, 2)};
                expect(odd, {.weights = {{"0.weight", {4, QuantizedInput::floats}}}});
              }),
              HasSubstr("groups of 32"));
}

TEST(Quantize, RecurrentNetworksAndTablesToo) {
  const NoGrad off;
  Rng rng(4);
  nn::Sequential network{nn::Embedding(20, 16, rng), nn::LSTM(16, 24, {.batch_first = true}, rng),
                         nn::Linear(24, 20, rng)};
  network.eval();
  const Tensor x = randint({5, 9}, rng, 0, 20), exact = network(x);
  for (const Method method : {Method::weights, Method::dynamic, Method::calibrated}) {
    nn::Sequential copy = nn::clone(network);
    const Scheme scheme = quantize(copy, {.method = method}, [&] { copy(x); });
    EXPECT_EQ(scheme.weights.at("1.weight_hh_l0").bits, 8);
    EXPECT_GT(decibels(exact, copy(x)), 30);
  }
}

// How often all steps of an LSTM are one kernel.
class OneKernelCalls final : public Interceptor {
 public:
  void on_call(const KernelCall& call, const Backend& backend) override {
    if (call.is(Entry::lstm_quantized)) ++calls_;
    call.run(backend);
  }
  // Of fn().
  template <class Fn> int of(const Fn& fn) {
    calls_ = 0;
    const InterceptorScope scope(this);
    fn();
    return calls_;
  }

 private:
  int calls_ = 0;
};

// One kernel takes all steps; with lengths they are ops. What the first rounds at a half the others may round
// to the other side.
TEST(Quantize, StepsOfAnLstmAreTheSameInOneKernel) {
  const NoGrad off;
  Rng rng(5);
  nn::LSTM lstm(10, 24, {.num_layers = 2, .bidirectional = true}, rng);
  lstm.eval();
  const Tensor x = randn({7, 6, 10}, rng), h = rand({4, 6, 24}, rng, -1, 1), c = randn({4, 6, 24}, rng);
  quantize(lstm, {.method = Method::dynamic});
  nn::RecurrentResult one, ops;
  OneKernelCalls kernel;
  EXPECT_EQ(kernel.of([&] { one = lstm.run(x, {h, c}); }), 4);
  EXPECT_EQ(kernel.of([&] { ops = lstm.run(x, {h, c}, full({6}, 7, DType::i64)); }), 0);
  EXPECT_GT(decibels(ops.output, one.output), 60);
  EXPECT_GT(decibels(ops.state.h, one.state.h), 60);
  EXPECT_GT(decibels(ops.state.c, one.state.c), 60);
}

TEST(Quantize, StepsOfAnLstmAreOpsWhereTheFirstWeightIsLearned) {
  Rng rng(5);
  nn::LSTM lstm(10, 24, {}, rng);
  lstm.eval();
  quantize(lstm, {.method = Method::dynamic, .keep = {"weight_ih_l0"}});
  const Tensor x = randn({7, 6, 10}, rng);
  OneKernelCalls kernel;
  EXPECT_EQ(kernel.of([&] { sum(lstm(x)).backward(); }), 0);
  EXPECT_TRUE(lstm.named_parameters().front().tensor.grad().defined());
  const NoGrad off;
  EXPECT_EQ(kernel.of([&] { lstm(x); }), 1);
}

TEST(Quantize, KeepsWhatIsToStayFloats) {
  nn::Sequential network = small_network(1);
  const Scheme scheme = quantize(network, {.method = Method::dynamic, .keep = {"0", "7.weight"}});
  EXPECT_FALSE(scheme.weights.contains("0.weight"));
  EXPECT_FALSE(scheme.weights.contains("7.weight"));
  EXPECT_TRUE(scheme.weights.contains("5.weight"));
  nn::Sequential other = small_network(1);
  EXPECT_THAT(error_of<ConfigError>([&] { quantize(other, {.keep = {"9"}}); }), HasSubstr("9"));
  EXPECT_THAT(error_of<ConfigError>([&] { quantize(other, {.bits = 3}); }), HasSubstr("3 bits"));
  EXPECT_THAT(error_of<ConfigError>([&] { quantize(network, {.method = Method::dynamic}); }),
              HasSubstr("already"));
}

TEST(Quantize, RefusesNumbersThatAreNotFinite) {
  nn::Sequential network{nn::Linear(4, 4)};
  network.parameters()[0].detach()(0, 0) = NAN;
  EXPECT_THAT(error_of<Error>([&] { quantize(network, {.method = Method::dynamic}); }), HasSubstr("NaN"));
}

// A gradient by the input goes through what the integers stand for; there is none by them.
TEST(Quantize, GradientsReachTheInput) {
  nn::Sequential network = small_network(1);
  network.eval();
  quantize(network, {.method = Method::weights});
  const Tensor x = pictures(5, 2).set_requires_grad();
  sum(network(x)).backward();
  EXPECT_GT(sum(abs(x.grad())).item(), 0);
  EXPECT_EQ(network.parameters().size(), 4u);  // biases
}

TEST(Scheme, IsTheSameFromItsText) {
  const Scheme scheme{
      .folded = {{"0", "1"}},
      .weights = {{"0.weight", {8, QuantizedInput::fixed}}, {"3.weight", {4, QuantizedInput::floats}}}};
  const Scheme again = scheme_of_json(in_json(scheme));
  EXPECT_EQ(again.weights, scheme.weights);
  ASSERT_EQ(again.folded.size(), 1u);
  EXPECT_EQ(again.folded[0].layer, "0");
  EXPECT_EQ(again.folded[0].norm, "1");
  for (const char* wrong :
       {"", "{}", "[]", R"({"format_version":2,"folded":{},"weights":{}})",
        R"({"format_version":1,"weights":{}})",
        R"({"format_version":1,"folded":{},"weights":{"a":{"bits":7,"input":"floats"}}})",
        R"({"format_version":1,"folded":{},"weights":{"a":{"bits":8,"input":"words"}}})",
        R"({"format_version":1,"folded":{},"weights":{"a":{"bits":8.5,"input":"floats"}}})",
        R"({"format_version":1,"folded":{"a":1},"weights":{}})",
        R"({"format_version":1,"folded":{},"weights":{},"links":{"a":{"to":"b","relu":1}}})"})
    EXPECT_THROW(scheme_of_json(wrong), IoError) << wrong;
}

TEST(Scheme, AStateGoesBackIntoANetworkOfIts) {
  const NoGrad off;
  nn::Sequential network = small_network(1), other = small_network(9);
  network.eval(), other.eval();
  const Tensor x = pictures(2);
  const Scheme scheme = quantize(network, {}, [&] { network(x); });
  expect(other, scheme);
  other.load_state_dict(network.state_dict());
  check(other);
  EXPECT_TRUE(array_equal(other(x), network(x)));
}

TEST(Scheme, RefusesNumbersThatHaveNoMeaning) {
  const auto changed = [](const char* name, double value, std::int64_t at = 0) {
    nn::Sequential network = small_network(1);
    quantize(network, {}, [&] { network(pictures(2)); });
    for (const auto& [own, tensor] : network.state_dict())
      if (own == name) tensor.detach()(at) = value;
    return error_of<IoError>([&] { check(network); });
  };
  for (const double scale : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_THAT(changed("0.weight_scale", scale), HasSubstr("0.weight"));
    EXPECT_THAT(changed("5.weight_input", scale), HasSubstr("5.weight"));
  }
  for (const double zero : {-1.0, 256.0, 0.5, static_cast<double>(NAN)})
    EXPECT_THAT(changed("2.weight_input", zero, 1), HasSubstr("zero point"));
  nn::Sequential network = small_network(1);
  EXPECT_THAT(error_of<ConfigError>([&] {
                expect(network, {.weights = {{"8.weight", {}}}});
              }),
              HasSubstr("8.weight"));
  EXPECT_THAT(error_of<ConfigError>([&] { expect(network, {.folded = {{"0", "1"}}}); }), HasSubstr("'1'"));
  nn::Sequential table{nn::Embedding(20, 64)};
  EXPECT_THAT(error_of<ConfigError>([&] {
                expect(table, {.weights = {{"0.weight", {4, QuantizedInput::floats}}}});
              }),
              HasSubstr("looked up"));
}

TEST(Links, PassBytesOnWithTheSameBits) {
  const NoGrad off;
  Rng rng(4);
  nn::Sequential network{nn::Conv2d(3, 16, 3, {.padding = 1}, rng),
                         nn::ReLU(),
                         nn::MaxPool2d(2),
                         nn::Conv2d(16, 32, 3, rng),
                         nn::ReLU(),
                         nn::Flatten(),
                         nn::Linear(128, 64, rng),
                         nn::Tanh(),
                         nn::Linear(64, 10, rng)};
  network.eval();
  const Tensor x = pictures(2);
  Scheme scheme = quantize(network, {}, [&] { network(x); });
  const Tensor exact = network(x);
  scheme.links = link_layers(network, x);
  ASSERT_EQ(scheme.links.size(), 2u);  // tanh takes floats
  EXPECT_EQ(scheme.links.at("0.weight"), (Link{"3.weight", true}));
  EXPECT_EQ(scheme.links.at("3.weight"), (Link{"6.weight", true}));
  EXPECT_EQ(network[0](x).dtype(), DType::u8);
  EXPECT_TRUE(array_equal(network(x), exact));
  nn::Sequential again = nn::clone(network);
  EXPECT_EQ(scheme_of_json(in_json(scheme)).links, scheme.links);
  EXPECT_THROW(set_links(again, {{"0.weight", {"9.weight", true}}}), ConfigError);
}

TEST(Links, AreNotThereWhereNumbersAreRead) {
  const NoGrad off;
  Rng rng(6);
  nn::Graph network;
  const auto first = network.add("first", nn::Conv2d(3, 3, 3, {.padding = 1}, rng), {0});
  const auto second = network.add("second", nn::Conv2d(3, 3, 3, {.padding = 1}, rng), {first});
  network.add("sum", nn::Sum(), {first, second});
  network.eval();
  const Tensor x = pictures(9);
  quantize(network, {}, [&] { network(x); });
  const Tensor exact = network(x);
  EXPECT_TRUE(link_layers(network, x).empty());
  EXPECT_TRUE(array_equal(network(x), exact));
}

TEST(Sensitivities, AreOfEachWeightByItself) {
  nn::Sequential network = small_network(1);
  network.eval();
  const Tensor x = pictures(2);
  Scheme scheme = planned(network, {});
  const auto ranges = calibrated(network, scheme, Calibration::min_max, [&] { network(x); });
  const Tensor exact = network(x).detach();
  const auto all = sensitivities(network, scheme, ranges, [&] { return network(x); });
  ASSERT_EQ(all.size(), 4u);
  for (const Sensitivity& s : all) EXPECT_GT(s.decibels, 30) << s.name;
  EXPECT_TRUE(array_equal(network(x).detach(), exact));  // nothing has stayed
}

// What training saw is what the integers compute, of both numbers of bits.
TEST(Simulate, TrainsNetworksThatBecomeIntegersWithoutLoss) {
  Rng rng(3);
  const Tensor x = rand({256, 32}, rng, -1, 1), w = randn({32, 1}, rng), y = tanh(matmul(x, w));
  for (const int bits : {8, 4}) {
    Rng draws(5);
    nn::Sequential network{nn::Linear(32, 64, draws), nn::Tanh(), nn::Linear(64, 1, draws)};
    const Scheme scheme = planned(network, {.bits = bits});
    simulate(network, scheme);
    optim::Adam adam(network.named_parameters(), {.lr = 0.01});
    for (int step = 0; step < 150; ++step) {
      adam.zero_grad();
      mse_loss(network(x), y).backward();
      adam.step();
    }
    const NoGrad off;
    network.eval();
    const Tensor simulated = network(x);
    EXPECT_LT(mse_loss(simulated, y).item(), 0.02);
    const Taught taught = end_simulation(network);
    EXPECT_EQ(taught.scheme.weights, scheme.weights);
    apply(network, taught.scheme, taught.ranges);
    EXPECT_GT(decibels(simulated, network(x)), 40);
  }
}

// Biases stay numbers, and learn beside what is rounded.
TEST(Simulate, BiasesLearn) {
  const QuantizeOptions kinds[] = {{}, {.method = Method::dynamic}, {.method = Method::weights}, {.bits = 4}};
  for (const QuantizeOptions& kind : kinds) {
    Rng rng(3);
    nn::Sequential pictures{nn::Conv2d(3, 8, 3, rng)}, rows{nn::Linear(32, 5, rng)},
        texts{nn::LSTM(32, 6, {.batch_first = true}, rng)};
    for (nn::Sequential* network : {&pictures, &rows, &texts}) {
      simulate(*network, planned(*network, kind));
      const Tensor x = network == &pictures ? randn({2, 3, 5, 5}, rng)
                       : network == &rows   ? randn({4, 32}, rng)
                                            : randn({2, 3, 32}, rng);
      const Tensor y = (*network)(x);
      sum(square(y)).backward();
      for (const auto& [name, p] : network->named_parameters()) {
        if (name.find("bias") == std::string::npos) continue;
        ASSERT_TRUE(p.grad().defined()) << name;
        EXPECT_GT(sum(abs(p.grad())).item(), 0) << name;
        if (network == &texts) continue;
        const Tensor by_hand = sum(y.detach() * 2.0, network == &rows ? Dims{0} : Dims{0, 2, 3});
        EXPECT_LT(max(abs(p.grad() - by_hand)).item(), 1e-4) << name;
      }
    }
  }
}

// An embedding's rows are rounded as the table's are.
TEST(Simulate, LooksUpRowsAsTheTableHasThem) {
  Rng rng(3);
  nn::Sequential network{nn::Embedding(20, 16, rng)};
  simulate(network, planned(network, {}));
  const Tensor x = randint({5, 9}, rng, 0, 20), seen = network(x);
  sum(square(seen)).backward();
  EXPECT_GT(sum(abs(network.parameters()[0].grad())).item(), 0);
  const Taught taught = end_simulation(network);
  apply(network, taught.scheme, taught.ranges);
  const NoGrad off;
  EXPECT_TRUE(array_equal(seen.detach(), network(x)));
}

TEST(Fold, ANetworkWithoutNormsComputesTheSame) {
  const NoGrad off;
  Rng rng(6);
  nn::Sequential network{nn::Conv2d(3, 8, 3, {.bias = false}, rng),
                         nn::BatchNorm2d(8),
                         nn::ReLU(),
                         nn::Flatten(),
                         nn::Linear(8 * 36, 5, rng),
                         nn::BatchNorm1d(5)};
  for (int i = 0; i < 3; ++i) network(pictures(static_cast<std::uint64_t>(i)));  // statistics
  network.eval();
  const Tensor x = pictures(9), exact = network(x);
  const auto pairs = fold_batch_norms(network, x);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].layer, "0");
  EXPECT_EQ(pairs[0].norm, "1");
  EXPECT_TRUE(allclose(network(x), exact, 1e-4, 1e-5));
  for (const auto& [name, tensor] : network.state_dict()) EXPECT_FALSE(name.starts_with("1.")) << name;
  nn::Sequential other{nn::Conv2d(3, 8, 3, {.bias = false}, rng),
                       nn::BatchNorm2d(8),
                       nn::ReLU(),
                       nn::Flatten(),
                       nn::Linear(8 * 36, 5, rng),
                       nn::BatchNorm1d(5)};
  other.eval();
  expect_folded(other, pairs);
  other.load_state_dict(network.state_dict());
  EXPECT_TRUE(array_equal(other(x), network(x)));
}

// What else reads the layer's result would see another one.
TEST(Fold, LeavesAResultThatIsReadTwice) {
  const NoGrad off;
  Rng rng(6);
  nn::Graph network;
  const auto conv = network.add("conv", nn::Conv2d(3, 3, 3, {.padding = 1}, rng), {0});
  const auto norm = network.add("norm", nn::BatchNorm2d(3), {conv});
  network.add("sum", nn::Sum(), {conv, norm});
  network(pictures(1));
  network.eval();
  const Tensor x = pictures(9), exact = network(x);
  EXPECT_TRUE(fold_batch_norms(network, x).empty());
  EXPECT_TRUE(array_equal(network(x), exact));
}

}  // namespace
}  // namespace veldt::compress
