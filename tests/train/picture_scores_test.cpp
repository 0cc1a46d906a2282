// Picture scores against scikit-image; the numbers are in tests/golden/metrics.json, which metrics.py wrote.
#include "veldt/train/picture_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/shape.h"

namespace veldt::train {
namespace {

// The formula of metrics.py.
Tensor wave(std::int64_t height, std::int64_t width, std::int64_t channels, double phase,
            bool threshold = false) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const auto y = static_cast<double>(row), x = static_cast<double>(column),
                   c = static_cast<double>(channel);
        const double v = 0.5 + 0.3 * std::sin(0.7 * x + 0.9 * c + phase) * std::cos(0.4 * y - phase) +
                         0.2 * std::sin(0.05 * x * y);
        const auto level = static_cast<float>(std::clamp(v, 0.0, 1.0));
        values.push_back(threshold ? (level >= 0.5f ? 1.0f : 0.0f) : level);
      }
  return Tensor::from<float>({height, width, channels}, values);
}

TEST(GoldenMetrics, ScoresAreScikitImages) {
  const auto cases = nlohmann::json::parse(std::ifstream(VELDT_SOURCE "/tests/golden/metrics.json"));
  for (const auto& expected : cases) {
    const std::int64_t h = expected.at("height"), w = expected.at("width"), c = expected.at("channels");
    const bool threshold = expected.at("threshold");
    const PictureScore score =
        compare_pictures(wave(h, w, c, 0, threshold), wave(h, w, c, expected.at("phase"), threshold));
    EXPECT_NEAR(score.psnr, expected.at("psnr").get<double>(), 1e-6);
    EXPECT_NEAR(score.ssim, expected.at("ssim").get<double>(), 1e-7);
    EXPECT_NEAR(score.mae, expected.at("mae").get<double>(), 1e-6);
    EXPECT_NEAR(score.max_abs, expected.at("max_abs").get<double>(), 1e-5);
    EXPECT_EQ(score.wrong_pixels, expected.at("wrong_pixels").get<std::int64_t>());
  }
}

TEST(Metrics, IdenticalPicturesHaveInfinitePsnr) {
  const Tensor a = wave(13, 12, 3, 0);
  const PictureScore score = compare_pictures(a, a);
  EXPECT_EQ(score.psnr, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(score.ssim, 1, 1e-12);
  EXPECT_EQ(score.mae, 0);
  EXPECT_EQ(score.max_abs, 0);
  EXPECT_EQ(score.wrong_pixels, 0);
}

TEST(Metrics, BlackAgainstWhiteIsAsWrongAsCanBe) {
  const Tensor black = Tensor::of({1, 2, 1}, {0, 0}), white = Tensor::of({1, 2, 1}, {1, 1});
  const PictureScore score = compare_pictures(black, white);
  EXPECT_NEAR(score.psnr, 0, 1e-12);
  EXPECT_LT(score.ssim, 1e-3);
  EXPECT_EQ(score.mae, 255);
  EXPECT_EQ(score.max_abs, 255);
  EXPECT_EQ(score.wrong_pixels, 2);
}

TEST(Metrics, MidGreyIsLight) {
  const Tensor grey = Tensor::of({1, 2, 1}, {0.5, 0.4999});
  EXPECT_EQ(compare_pictures(grey, Tensor::of({1, 2, 1}, {1, 0})).wrong_pixels, 0);
  EXPECT_EQ(compare_pictures(grey, Tensor::of({1, 2, 1}, {0, 1})).wrong_pixels, 2);
}

TEST(Metrics, AWrongPixelCountsOnceForAllItsChannels) {
  const Tensor a = Tensor::of({1, 2, 3}, {1, 1, 1, 0, 0, 0}), b = Tensor::of({1, 2, 3}, {0, 0, 1, 0, 0, 0});
  EXPECT_EQ(compare_pictures(a, b).wrong_pixels, 1);
}

TEST(Metrics, SmallPicturesHaveASsim) {
  for (const auto& [h, w] : {std::pair{1, 1}, {2, 3}, {10, 11}, {1, 40}}) {
    EXPECT_NEAR(ssim(wave(h, w, 1, 0), wave(h, w, 1, 0)), 1, 1e-12);
    EXPECT_LT(ssim(wave(h, w, 1, 0), wave(h, w, 1, 2)), 1);
  }
}

TEST(Metrics, OnePixelsSsimIsItsLuminanceTerm) {
  const double expected = (2 * 0.25 * 0.75 + 1e-4) / (0.25 * 0.25 + 0.75 * 0.75 + 1e-4);
  EXPECT_NEAR(ssim(Tensor::of({1, 1, 1}, {0.25}), Tensor::of({1, 1, 1}, {0.75})), expected, 1e-12);
}

TEST(Metrics, ThreadsDoNotChangeTheBits) {
  const Tensor a = wave(150, 40, 3, 0), b = wave(150, 40, 3, 0.4);
  const test::ThreadsScope scope(1);
  const PictureScore one = compare_pictures(a, b);
  set_num_threads(3);
  const PictureScore three = compare_pictures(a, b);
  EXPECT_EQ(one.psnr, three.psnr);
  EXPECT_EQ(one.ssim, three.ssim);
  EXPECT_EQ(one.mae, three.mae);
}

TEST(Metrics, RowsThatComeInPartsScoreTheSame) {
  for (const std::int64_t height : {1, 9, 11, 40, 300}) {
    const Tensor a = wave(height, 30, 3, 0), b = wave(height, 30, 3, 0.4);
    const PictureScore whole = compare_pictures(a, b);
    for (const std::int64_t part : {1, 3, 10, 64, 301}) {
      PictureComparison comparison({30, height}, 3);
      for (std::int64_t at = 0; at < height; at += part) {
        const std::int64_t end = std::min(height, at + part);
        comparison.add(slice(a, 0, at, end), slice(b, 0, at, end));
      }
      const PictureScore score = comparison.score();
      EXPECT_EQ(score.psnr, whole.psnr);
      EXPECT_EQ(score.ssim, whole.ssim) << height << ' ' << part;
      EXPECT_EQ(score.mae, whole.mae);
      EXPECT_EQ(score.max_abs, whole.max_abs);
      EXPECT_EQ(score.wrong_pixels, whole.wrong_pixels);
    }
  }
}

TEST(Metrics, EachRowIsAskedForOnce) {
  PictureComparison comparison({5, 4}, 1);
  EXPECT_THROW(comparison.score(), ShapeError);
  EXPECT_THROW(comparison.add(wave(2, 4, 1, 0), wave(2, 4, 1, 0)), ShapeError);
  EXPECT_THROW(comparison.add(wave(5, 5, 1, 0), wave(5, 5, 1, 0)), ShapeError);
  comparison.add(wave(4, 5, 1, 0), wave(4, 5, 1, 0));
  EXPECT_THROW(comparison.add(wave(1, 5, 1, 0), wave(1, 5, 1, 0)), ShapeError);
  EXPECT_THROW(PictureComparison({5, 0}, 1), ShapeError);
}

TEST(Metrics, ViewsAreReadByTheirStrides) {
  const Tensor a = transpose(wave(20, 14, 1, 0), 0, 1), b = transpose(wave(20, 14, 1, 1), 0, 1);
  EXPECT_EQ(ssim(a, b), ssim(contiguous(a), contiguous(b)));
  EXPECT_EQ(psnr(a, b), psnr(contiguous(a), contiguous(b)));
}

TEST(Metrics, ANumberThatIsNoneStaysNone) {
  const Tensor bad = Tensor::of({1, 2, 1}, {std::nan(""), 0}), good = Tensor::of({1, 2, 1}, {0, 0});
  const PictureScore score = compare_pictures(bad, good);
  EXPECT_TRUE(std::isnan(score.psnr));
  EXPECT_TRUE(std::isnan(score.max_abs));
}

TEST(Metrics, NamesBothShapesWhenTheyDisagree) {
  const auto error =
      test::thrown_by<ShapeError>([] { compare_pictures(wave(4, 5, 1, 0), wave(5, 4, 1, 0)); });
  EXPECT_NE(error.summary().find("[4, 5, 1]"), std::string::npos);
  EXPECT_NE(error.summary().find("[5, 4, 1]"), std::string::npos);
  EXPECT_THROW(psnr(empty({0, 4, 1}), empty({0, 4, 1})), ShapeError);
}

}  // namespace
}  // namespace veldt::train
