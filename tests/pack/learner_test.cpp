// Learning a photograph's latents: gradients beside differences, the cost beside the coder's, threads,
// instruction sets.
#include "veldt/pack/learner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/codec/some_networks.h"
#include "veldt/codec/synthesis.h"
#include "veldt/core/threads.h"
#include "veldt/pack/colours.h"

namespace veldt::pack {
namespace {

using codec::Networks;

std::vector<std::uint8_t> some_picture(Size size) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        pixels.push_back(static_cast<std::uint8_t>((x * (5 + c) + y * y * 3 + (x > y ? 90 : 0)) & 255));
  return pixels;
}

constexpr codec::ColourAxes kAxes = {{{{64, 0, 0}, {0, 45, 45}, {0, -45, 45}}}, {130, 120, 110}};

std::vector<float> some_colours(Size size) { return along_axes(some_picture(size), kAxes); }

// Networks whose latents move: a few steps from chance.
struct Learned {
  Learned(Size size, int steps) : learner(size, some_colours(size)), networks(codec::some_networks(5)) {
    for (int s = 0; s < steps; ++s) {
      Networks<float> gradient{};
      learner.differentiate(networks, {.soft = true, .seed = static_cast<std::uint32_t>(s)}, 1e-3, &gradient);
      learner.update(0.3, 1e-3);
    }
  }
  Learner learner;
  Networks<float> networks;
};

TEST(PackLearner, GradientsOfTheNetworksAreThoseOfDifferences) {
  const Size size{37, 26};
  Learned l(size, 12);
  const Rounding how{.soft = true, .seed = 9};
  const double lambda = 0.05;
  Networks<float> gradient{};
  l.learner.differentiate(l.networks, how, lambda, &gradient);
  const auto loss = [&] {
    const Cost cost = l.learner.measure(l.networks, how);
    return cost.square_error + lambda * cost.bits / l.learner.pixels();
  };
  double largest = 0;
  for (const float g : gradient.numbers()) largest = std::max(largest, std::abs(static_cast<double>(g)));
  for (std::size_t i = 0; i < codec::kNumbers; i += i < codec::kNumbers - 40 ? 13 : 1) {
    float& n = l.networks.numbers()[i];
    const float before = n, step = 2e-3f;
    n = before + step;
    const double up = loss();
    n = before - step;
    const double down = loss();
    n = before;
    EXPECT_NEAR(static_cast<double>(gradient.numbers()[i]), (up - down) / static_cast<double>(2 * step),
                0.02 * largest + 0.03 * std::abs(static_cast<double>(gradient.numbers()[i])))
        << i;
  }
}

// By the error alone: a filter is small beside a model.
TEST(PackLearner, GradientsOfTheFiltersAreThoseOfDifferences) {
  Learned l({37, 26}, 12);
  const Rounding how{.soft = true, .seed = 9};
  Networks<float> gradient{};
  l.learner.differentiate(l.networks, how, 0, &gradient);
  for (std::size_t level = 0; level + 1 < codec::kLevels; ++level)
    for (std::size_t i = 0; i < codec::kUpsampling; ++i) {
      float& n = l.networks.synthesis.upsampling[level][i];
      const float before = n, step = 2e-3f;
      n = before + step;
      const double up = l.learner.measure(l.networks, how).square_error;
      n = before - step;
      const double down = l.learner.measure(l.networks, how).square_error;
      n = before;
      const double difference = (up - down) / static_cast<double>(2 * step);
      EXPECT_GT(std::abs(difference), 1e-5);
      EXPECT_NEAR(static_cast<double>(gradient.synthesis.upsampling[level][i]), difference,
                  1e-5 + 0.02 * std::abs(difference))
          << level << " " << i;
    }
}

void latents_like_differences(double lambda, float near) {
  const Size size{21, 34};
  Learner learner(size, some_colours(size));
  const Networks<float> networks = codec::some_networks(5);
  const Rounding how{.soft = true, .seed = 9};
  std::vector<std::vector<float>> latents;
  for (int level = 0; level < codec::kLevels; ++level) {
    const Size s = codec::level_size(size, level);
    std::vector<float>& of = latents.emplace_back();
    for (std::int64_t i = 0; i < s.width * s.height; ++i)
      of.push_back(static_cast<float>(i * (level + 3) % 11) / 4 - 1.2f);
    learner.begin_with(level, of);
  }
  learner.differentiate(networks, how, lambda, nullptr);
  std::vector<std::vector<float>> gradients;
  for (int level = 0; level < codec::kLevels; ++level) gradients.push_back(learner.gradient(level));
  const auto loss = [&](int level) {
    learner.begin_with(level, latents[static_cast<std::size_t>(level)]);
    const Cost cost = learner.measure(networks, how);
    return cost.square_error + lambda * cost.bits / learner.pixels();
  };
  for (int level = 0; level < codec::kLevels; ++level) {
    std::vector<float>& of = latents[static_cast<std::size_t>(level)];
    const std::vector<float>& gradient = gradients[static_cast<std::size_t>(level)];
    float largest = 0;
    for (const float g : gradient) largest = std::max(largest, std::abs(g));
    const Size s = codec::level_size(size, level);
    const std::size_t width = static_cast<std::size_t>(s.width), last = of.size() - 1;
    // Corners, edges and the middle.
    for (const std::size_t i : {std::size_t{0}, width - 1, last - width + 1, last, width / 2,
                                last - width / 2, last / 2, last / 2 + width / 2}) {
      const float before = of[i], step = 1e-3f;
      of[i] = before + step;
      const double up = loss(level);
      of[i] = before - step;
      const double down = loss(level);
      of[i] = before;
      EXPECT_NEAR(static_cast<double>(gradient[i]), (up - down) / static_cast<double>(2 * step),
                  static_cast<double>(near * (largest + std::abs(gradient[i]))))
          << "lambda " << lambda << ", level " << level << ", " << i;
    }
    loss(level);
  }
}

TEST(PackLearner, GradientsOfTheLatentsAreThoseOfDifferences) {
  latents_like_differences(0.05, 0.02f);
  latents_like_differences(0, 0.004f);  // of the pixels alone
}

TEST(PackLearner, TheStepsOfTheLatentsMakeTheLossSmaller) {
  const Size size{48, 40};
  Learner learner(size, some_colours(size));
  const Networks<float> networks = codec::some_networks(5);
  double first = 0, last = 0;
  for (int s = 0; s < 60; ++s) {
    Networks<float> gradient{};
    const Cost cost = learner.differentiate(networks, {.soft = true, .seed = static_cast<std::uint32_t>(s)},
                                            1e-4, &gradient);
    last = cost.square_error + 1e-4 * cost.bits / learner.pixels();
    if (s == 0) first = last;
    learner.update(0.12, 1e-4);
  }
  EXPECT_LT(last, 0.8 * first);
}

TEST(PackLearner, TheCostIsThatOfTheDecoder) {
  const Size size{70, 45};
  Learned l(size, 15);
  const Networks<std::int32_t> integers = codec::to_integers(l.networks);
  const Cost cost = l.learner.measure(codec::to_floats(integers), {.soft = false});
  const codec::Pyramid pyramid = l.learner.rounded();
  double bits = 0;
  for (int level = 0; level < codec::kLevels; ++level) {
    const Size s = codec::level_size(size, level);
    bits += bits_of_tile(pyramid, level, {0, 0, s.width, s.height},
                         integers.models[static_cast<std::size_t>(codec::model_of(level))]);
  }
  EXPECT_GT(bits, 1000);
  // A latent that its model did not expect counts 16 bits at most while it is learned.
  EXPECT_NEAR(bits, cost.bits, 0.05 * cost.bits);
  EXPECT_GT(bits, 0.99 * cost.bits);
  const std::vector<std::uint8_t> decoded =
      synthesise(pyramid, {0, 0, size.width, size.height}, integers.synthesis, kAxes);
  const std::vector<std::uint8_t> truth = some_picture(size);
  double square = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) square += std::pow((decoded[i] - truth[i]) / 255.0, 2);
  // The decoder clips to 0..1, which only helps.
  EXPECT_LT(square / static_cast<double>(decoded.size()), 1.01 * cost.square_error);
  EXPECT_GT(square / static_cast<double>(decoded.size()), 0.7 * cost.square_error);
}

TEST(PackLearner, IsTheSameOnAnyNumberOfThreads) {
  const int before = num_threads();
  std::vector<double> bits;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Learned l({61, 150}, 5);
    Networks<float> gradient{};
    bits.push_back(l.learner.differentiate(l.networks, {}, 1e-3, &gradient).bits);
    for (std::size_t i = 0; i < codec::kNumbers; i += 7)
      bits.push_back(static_cast<double>(gradient.numbers()[i]));
  }
  set_num_threads(before);
  for (std::size_t i = 0; i < bits.size() / 2; ++i) EXPECT_EQ(bits[i], bits[i + bits.size() / 2]);
}

TEST(PackLearner, TakesAnySize) {
  for (const Size size : {Size{1, 1}, Size{2, 1}, Size{1, 3}, Size{17, 16}, Size{33, 1}, Size{3, 65}}) {
    Learned l(size, 3);
    const Cost cost = l.learner.measure(l.networks, {.soft = false});
    EXPECT_TRUE(std::isfinite(cost.bits) && std::isfinite(cost.square_error))
        << size.width << " " << size.height;
  }
}

}  // namespace
}  // namespace veldt::pack
