// A network of integers beside the same network in f64, and as bytes.
#include "veldt/codec/coordinate_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace veldt::codec {
namespace {

CoordinateNetwork some_network(const std::vector<std::int64_t>& sizes, int spread) {
  std::mt19937 random(4);
  CoordinateNetwork network;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const bool first = i == 0, last = i + 2 == sizes.size();
    CoordinateLayer layer{sizes[i], sizes[i + 1], first ? 48 : last ? 44 : 52, {}};
    for (std::int64_t k = 0; k < (layer.in + 1) * layer.out; ++k)
      layer.weights.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(2 * spread + 1)) -
                              spread);
    network.layers.push_back(layer);
  }
  return network;
}

double exact(const CoordinateNetwork& network, double x, double y) {
  std::vector<double> now{x, y};
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const CoordinateLayer& layer = network.layers[i];
    const bool last = i + 1 == network.layers.size();
    std::vector<double> next;
    for (std::int64_t unit = 0; unit < layer.out; ++unit) {
      double sum = 0;
      for (std::int64_t k = 0; k <= layer.in; ++k)
        sum += layer.weights[static_cast<std::size_t>(unit * (layer.in + 1) + k)] *
               (k == layer.in ? 1 : now[static_cast<std::size_t>(k)]);
      sum *= worth_of_step(layer.step, i == 0, last);
      next.push_back(last ? sum : std::sin(sum));
    }
    now = next;
  }
  return now[0];
}

TEST(CoordinateNetwork, IsTheFormulaButForRounding) {
  const CoordinateNetwork network = some_network({2, 12, 9, 1}, 6);
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const auto x = static_cast<std::int32_t>(random() % 131073) - 65536,
               y = static_cast<std::int32_t>(random() % 131073) - 65536;
    std::int32_t output = 0;
    network.at(x, y, &output);
    EXPECT_NEAR(output / 65536.0, exact(network, x / 65536.0, y / 65536.0), 0.02) << x << " " << y;
  }
}

TEST(CoordinateNetwork, ComesBackFromItsBytes) {
  for (const auto& sizes : {std::vector<std::int64_t>{2, 1, 1}, {2, 5, 7, 3}, {2, 64, 64, 64, 64, 4}}) {
    const CoordinateNetwork network = some_network(sizes, 9);
    RangeEncoder out;
    encode(out, network);
    const std::string bytes = out.finish();
    RangeDecoder in(bytes);
    const CoordinateNetwork back = decode_network(in, sizes.back());
    ASSERT_EQ(back.layers.size(), network.layers.size());
    for (std::size_t i = 0; i < back.layers.size(); ++i) {
      EXPECT_EQ(back.layers[i].weights, network.layers[i].weights);
      EXPECT_EQ(back.layers[i].step, network.layers[i].step);
    }
    EXPECT_EQ(back.draw({9, 4}), network.draw({9, 4}));
  }
}

TEST(CoordinateNetwork, TheLargestNumbersDoNotOverflow) {
  CoordinateNetwork network = some_network({2, 64, 64, 1}, 1);
  for (CoordinateLayer& layer : network.layers) {
    layer.step = kSteps - 1;
    std::fill(layer.weights.begin(), layer.weights.end(), kMostWeight);
  }
  std::int32_t output = 0;
  network.at(INT32_MAX, INT32_MIN, &output);
  EXPECT_LE(std::abs(output), 1 << 24);
}

}  // namespace
}  // namespace veldt::codec
