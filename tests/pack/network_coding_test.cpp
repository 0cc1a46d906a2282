// Coded networks: what they cost, and that coarse steps are taken where they are worth it.
#include "veldt/pack/network_coding.h"

#include <gtest/gtest.h>

#include "veldt/codec/base_networks.h"
#include "veldt/pack/colours.h"

namespace veldt::pack {
namespace {

std::vector<float> slopes(Size size) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      for (std::int64_t c = 0; c < 3; ++c) pixels.push_back(static_cast<std::uint8_t>(3 * x + c * y));
  return along_axes(pixels, {});
}

// A little away from the base, in every number.
codec::Networks<float> changed() {
  codec::Networks<float> networks = codec::to_floats(codec::base_networks(1));
  float sign = 1;
  for (float& n : networks.numbers()) n += 0.01f * (sign = -sign);
  return networks;
}

TEST(NetworkCoding, CoarserStepsTakeFewerBits) {
  const double fine = round_networks(1, changed(), 3).bits, coarse = round_networks(1, changed(), 8).bits;
  EXPECT_GT(coarse, 0);
  EXPECT_LT(coarse, 0.7 * fine);
}

TEST(NetworkCoding, WhatIsNotWorthItsBitsStaysAtTheBase) {
  const Size size{40, 30};
  Learner learner(size, slopes(size));
  for (std::uint32_t s = 0; s < 40; ++s) {
    learner.differentiate(changed(), {.seed = s}, 1e-4, nullptr);
    learner.update(0.12, 1e-4);
  }
  // Where a bit costs next to nothing changes that matter are kept, and where it costs everything none.
  const CodedNetworks kept = code_networks(1, changed(), learner, 1e-9);
  EXPECT_GT(kept.bits, 500);
  EXPECT_LT(learner.measure(codec::to_floats(kept.networks), {.soft = false}).square_error,
            learner.measure(codec::to_floats(codec::base_networks(1)), {.soft = false}).square_error);
  const CodedNetworks none = code_networks(1, changed(), learner, 1e3);
  EXPECT_LT(none.bits, 100);
  for (std::size_t i = 0; i < codec::kNumbers; ++i)
    ASSERT_EQ(none.networks.numbers()[i], codec::base_networks(1).numbers()[i]);
}

}  // namespace
}  // namespace veldt::pack
