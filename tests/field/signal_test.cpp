// A signal gives the samples it was made of, as floats, and keeps them as they were.
#include "veldt/field/signal.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt::field {
namespace {

Tensor bytes(const Shape& shape) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
  return Tensor::from<std::uint8_t>(shape, values);
}

TEST(Signal, OfBytesIsThatOfTheirLevels) {
  const Tensor stored = bytes({5, 7, 3});
  std::vector<float> levels;
  for (const std::uint8_t v : stored.values<std::uint8_t>()) levels.push_back(static_cast<float>(v) / 255.0f);
  const Signal a(stored), b(Tensor::from<float>({5, 7, 3}, levels));
  EXPECT_EQ(a.samples().dtype(), DType::u8);
  EXPECT_EQ(a.samples().data<std::uint8_t>(), stored.data<std::uint8_t>()) << "the memory is shared";
  EXPECT_EQ(a.read(0, 5).values<float>(), levels);
  const Tensor some = Tensor::from<std::int64_t>({4}, std::vector<std::int64_t>{34, 0, 12, 12});
  EXPECT_EQ(a.at(some).shape(), (Shape{4, 3}));
  EXPECT_EQ(a.at(some).values<float>(), b.at(some).values<float>());
  EXPECT_EQ(a.read(2, 2).values<float>(), b.read(2, 2).values<float>());
  EXPECT_EQ(a.read(2, 2).values<float>()[0], levels[2 * 7 * 3]);
  EXPECT_EQ(a.power(), 1);
}

TEST(Signal, OfASoundIsPartsOfItsPeak) {
  const Signal sound = Signal::sound(Tensor::of({3, 2}, {0.5, -2, 1, 0, 0.25, -0.5}), 8000);
  EXPECT_TRUE(sound.is_sound());
  EXPECT_EQ(sound.peak(), 2);
  EXPECT_EQ(sound.points(), 3);
  EXPECT_EQ(sound.channels(), 2);
  EXPECT_EQ(sound.read(0, 3).values<float>(), (std::vector<float>{0.25, -1, 0.5, 0, 0.125, -0.25}));
  EXPECT_NEAR(sound.power(), (0.25 * 0.25 + 1 + 0.25 + 0.125 * 0.125 + 0.25 * 0.25) / 6, 1e-12);
  EXPECT_NEAR(decibels(sound, sound.power() / 100), 20, 1e-12);
}

TEST(Signal, BetweenItsSamplesIsTheirCubicConvolution) {
  // A parabola across and a line down, which cubic convolution reproduces away from the border.
  Tensor picture = empty({6, 8, 1});
  for (std::int64_t y = 0; y < 6; ++y)
    for (std::int64_t x = 0; x < 8; ++x)
      picture.data<float>()[y * 8 + x] =
          static_cast<float>(0.01 * static_cast<double>(x * x) + 0.05 * static_cast<double>(y));
  const Signal signal(picture);
  const double places[] = {3.5, 2.5, 3.75, 2.5, 4.0, 3.1, 0.1, 0.2};
  const std::vector<float> levels = signal.between(places, 4).values<float>();
  EXPECT_EQ(levels[0], picture.data<float>()[2 * 8 + 3]);
  EXPECT_NEAR(levels[1], 0.01 * 3.25 * 3.25 + 0.05 * 2, 1e-6);
  EXPECT_NEAR(levels[2], 0.01 * 3.5 * 3.5 + 0.05 * 2.6, 1e-6);
  EXPECT_NEAR(levels[3], 0, 0.01);  // beyond the border its sample goes on
  const Signal bytes(Tensor::of({1, 2, 1}, {0, 255}, DType::u8));
  EXPECT_NEAR(bytes.between(std::array<double, 2>{1.0, 0.5}.data(), 1).item(), 0.5, 1e-6);
}

TEST(Signal, OfSilenceIsAlwaysExact) {
  const Signal silence = Signal::sound(Tensor::of({2, 1}, {0, 0}), 10);
  EXPECT_EQ(silence.peak(), 0);
  EXPECT_EQ(silence.read(0, 2).values<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(decibels(silence, 0.5), INFINITY);
}

TEST(Signal, RefusesWhatIsNone) {
  EXPECT_THROW(Signal(Tensor::of({2, 2}, {0, 1, 1, 0})), ShapeError);
  EXPECT_THROW(Signal(Tensor::of({1, 2, 1}, {0, 1}, DType::i64)), ShapeError);
  EXPECT_THROW(Signal(empty({0, 2, 1})), ShapeError);
  EXPECT_THROW(Signal::sound(empty({0, 2}), 8000), ShapeError);
  EXPECT_THROW(Signal::sound(Tensor::of({2}, {0, 1}), 8000), ShapeError);
  EXPECT_THROW(Signal::sound(Tensor::of({2, 1}, {0, 1}), 0), ConfigError);
  const Error error = test::thrown_by([] { Signal::sound(Tensor::of({2, 2}, {0, 0, 0, NAN}), 8000); });
  EXPECT_NE(error.why().find("frame 1"), std::string::npos) << error.what();
}

// What nobody sees would show between the pixels.
TEST(Signal, GivesClearPixelsTheColourOfThoseBeside) {
  const Tensor picture =
      Tensor::from<std::uint8_t>({1, 4, 2}, std::vector<std::uint8_t>{0, 0, 90, 255, 0, 0, 30, 7});
  EXPECT_EQ(Signal(picture).samples().values<std::uint8_t>(),
            (std::vector<std::uint8_t>{90, 0, 90, 255, 90, 0, 30, 7}));
  EXPECT_EQ(picture.values<std::uint8_t>()[0], 0) << "the caller's picture stays as it is";
  const Tensor clear = Tensor::from<float>({1, 1, 4}, std::vector<float>{0.1f, 0.2f, 0.3f, 0});
  EXPECT_EQ(Signal(clear).samples().values<float>(), clear.values<float>()) << "there is none beside it";
}

TEST(Signal, KnowsItsBits) {
  EXPECT_EQ(Signal(Tensor::from<float>({1, 2, 1}, std::vector<float>{0.0f, 200 / 255.0f})).bits(), 8);
  EXPECT_EQ(Signal(Tensor::from<float>({1, 2, 1}, std::vector<float>{0.0f, 200.4f / 255.0f})).bits(), 16);
}

}  // namespace
}  // namespace veldt::field
