// Resampling against Pillow; the numbers are in tests/golden/resample.json, which resample.py wrote.
#include "veldt/data/resample.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using nlohmann::json;

const json& golden() {
  static const json all = json::parse(std::ifstream(VELDT_SOURCE "/tests/golden/resample.json"));
  return all;
}

Tensor picture_of(const json& from) {
  const auto values = from.at("values").get<std::vector<float>>();
  return Tensor::from<float>({from.at("height").get<std::int64_t>(), from.at("width").get<std::int64_t>(), 1},
                             values);
}

void expect_golden(const json& source) {
  const Tensor picture = picture_of(source);
  for (const json& expected : source.at("cases")) {
    const std::string filter = expected.at("filter");
    const Tensor out = resample(picture, {expected.at("width"), expected.at("height")}, filter_from(filter));
    const auto values = out.values<float>();
    const auto wanted = expected.at("values").get<std::vector<double>>();
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], wanted[i], 2e-7 * (1 + std::abs(wanted[i])))
          << filter << out.shape() << " at " << i;
  }
}

Tensor ramp(std::int64_t h, std::int64_t w, std::int64_t c) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < h * w * c; ++i) values.push_back(static_cast<float>(i * 7 % 256) / 255);
  return Tensor::from<float>({h, w, c}, values);
}

const std::vector<Filter> kAll = {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::lanczos3,
                                  Filter::area};

TEST(GoldenResample, KernelsArePillows) { expect_golden(golden().at("small")); }

TEST(GoldenResample, AreaIsTheMeanOverBlocks) { expect_golden(golden().at("blocky")); }

TEST(Resample, AreaOfWholeBlocksIsExact) {
  const Tensor picture = Tensor::of({2, 4, 1}, {0, 1, 1, 1, 0, 0, 1, 1});
  EXPECT_EQ(resample(picture, {2, 1}, Filter::area).values<float>(), (std::vector<float>{0.25f, 1}));
}

TEST(Resample, AreaSharesAPixelThatLiesAcrossABoundary) {
  const Tensor picture = Tensor::of({1, 3, 1}, {0, 0.5, 1});
  const auto out = resample(picture, {2, 1}, Filter::area).values<float>();
  EXPECT_NEAR(out[0], 0.5 / 3, 1e-7);
  EXPECT_NEAR(out[1], 2.5 / 3, 1e-7);
}

TEST(Resample, AreaEnlargedByAWholeFactorRepeatsPixels) {
  const Tensor picture = ramp(3, 5, 2);
  EXPECT_EQ(resample(picture, {15, 9}, Filter::area).values<float>(),
            resample(picture, {15, 9}, Filter::nearest).values<float>());
}

TEST(Resample, ConstantPicturesStayConstant) {
  const Tensor picture = Tensor::of({3, 2, 1}, {1, 1, 1, 1, 1, 1});
  for (const Filter filter : kAll)
    for (const auto& [h, w] : {std::pair{7, 5}, {1, 1}, {2, 9}})
      for (const float v : resample(picture, {w, h}, filter).values<float>())
        EXPECT_NEAR(v, 1, 1e-6) << name_of(filter);
}

TEST(Resample, ChannelsDoNotMix) {
  const Tensor picture = ramp(6, 5, 3);
  for (const Filter filter : kAll) {
    const Tensor all = resample(picture, {4, 9}, filter);
    for (int c = 0; c < 3; ++c) {
      const Tensor alone = resample(contiguous(slice(picture, 2, c, c + 1)), {4, 9}, filter);
      EXPECT_EQ(contiguous(slice(all, 2, c, c + 1)).values<float>(), alone.values<float>());
    }
  }
}

TEST(Resample, ViewsAreReadByTheirStrides) {
  const Tensor picture = ramp(4, 6, 1);
  const Tensor turned = transpose(picture, 0, 1);
  EXPECT_EQ(resample(turned, {8, 12}, Filter::bicubic).values<float>(),
            resample(contiguous(turned), {8, 12}, Filter::bicubic).values<float>());
}

TEST(Resample, TheSameSizeIsACopyOfItsOwn) {
  const Tensor picture = ramp(4, 6, 1);
  for (const Filter filter : kAll) {
    const Tensor out = resample(picture, {6, 4}, filter);
    EXPECT_EQ(out.values<float>(), picture.values<float>());
    EXPECT_NE(out.data<float>(), picture.data<float>());
  }
}

TEST(Resample, RefusesWhatIsNoPicture) {
  EXPECT_THROW(resample(Tensor::of({2, 2}, {0, 0, 0, 0}), {2, 2}, Filter::area), ShapeError);
  EXPECT_THROW(resample(empty({0, 2, 1}), {2, 2}, Filter::area), ShapeError);
  EXPECT_THROW(resample(ramp(2, 2, 1), {2, 0}, Filter::area), ShapeError);
  EXPECT_THROW(resample(Tensor::of({1, 1, 1}, {0}, DType::f64), {2, 2}, Filter::area), ShapeError);
}

TEST(Resample, FiltersHaveNames) {
  for (const Filter filter : kAll) EXPECT_EQ(filter_from(name_of(filter)), filter);
  EXPECT_THROW(filter_from("lanczos"), ConfigError);
}

}  // namespace
}  // namespace veldt::data
