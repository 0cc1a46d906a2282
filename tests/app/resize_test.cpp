// veldt resize: sizes, filters, alpha, depths, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/data/resample.h"
#include "veldt/io/image.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class Resize : public testing::Test {
 protected:
  Ran resize(const std::string& input, const Words& more, const std::string& output = "out.png") const {
    Words words{"resize", input, "-o", dir_ / output};
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words);
  }
  Tensor result(const std::string& input, const Words& more) const {
    const Ran ran = resize(input, more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return io::read_image(dir_ / "out.png");
  }
  std::string written(const std::string& name, const Tensor& picture, int bits = 8) const {
    io::write_image(dir_ / name, picture, {.bits = bits});
    return dir_ / name;
  }
  const TempDir dir_;
};

TEST_F(Resize, GivesWhatTheFilterGives) {
  const Tensor cub = io::read_image(kCub);
  for (const char* filter : {"nearest", "bilinear", "bicubic", "lanczos3", "area"}) {
    const Tensor expected =
        clamp(data::resample(cub, {.width = 61, .height = 40}, data::filter_from(filter)), 0, 1);
    const Tensor out = result(kCub, {"--size", "61x40", "--filter", filter, "--quiet"});
    ASSERT_EQ(out.shape(), expected.shape()) << filter;
    EXPECT_LE(max(abs(out - expected)).item(), 0.5 / 255 + 1e-6) << filter;
  }
}

TEST_F(Resize, KeepsTheFormUnlessToldOtherwise) {
  const std::string wide = written("wide.png", full({10, 40, 3}, 0.25));
  EXPECT_EQ(result(wide, {"--size", "20"}).shape(), (Shape{5, 20, 3}));
  EXPECT_EQ(result(wide, {"--scale", "1.5"}).shape(), (Shape{15, 60, 3}));
  EXPECT_EQ(result(wide, {"--scale", "0.01"}).shape(), (Shape{1, 1, 3}));
  const Ran ran = resize(wide, {"--size", "20x20"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("stretches the picture, which is 40x10; --size 20 would not"));
  EXPECT_THAT(ran.out, HasSubstr("out.png: 20x20, by lanczos3"));
  const auto json = nlohmann::json::parse(resize(wide, {"--size", "8", "--json"}).out);
  EXPECT_EQ(json.at("width"), 8);
  EXPECT_EQ(json.at("height"), 2);
  EXPECT_EQ(json.at("channels"), 3);
  EXPECT_EQ(json.at("filter"), "lanczos3");
}

// Red that is seen beside green that is not: the mean is red, half seen.
TEST_F(Resize, LetsInvisibleColoursCountForNothing) {
  const std::string logo = written("logo.png", Tensor::of({1, 2, 4}, {1, 0, 0, 1, 0, 1, 0, 0}));
  const Tensor mean = result(logo, {"--size", "1x1", "--filter", "area", "--quiet"});
  EXPECT_THAT(mean.values<float>(),
              testing::Pointwise(testing::FloatNear(0.003f), std::vector<float>{1, 0, 0, 0.5}));
  const Tensor laid =
      result(logo, {"--size", "1x1", "--filter", "area", "--quiet", "--background", "#0000ff"});
  EXPECT_THAT(laid.values<float>(),
              testing::Pointwise(testing::FloatNear(0.003f), std::vector<float>{0.5, 0, 0.5}));
  const Ran jpeg = resize(logo, {"--scale", "2"}, "out.jpg");
  EXPECT_EQ(jpeg.exit_code, 2);
  EXPECT_THAT(jpeg.err, HasSubstr("--background white"));
}

TEST_F(Resize, KeepsSixteenBits) {
  const std::string deep = written("deep.png", full({2, 2, 1}, 0.123), 16);
  EXPECT_NEAR(max(result(deep, {"--scale", "2"})).item(), 0.123, 1e-5);
  EXPECT_EQ(io::image_info(dir_ / "out.png").bit_depth, 16);
  EXPECT_EQ(resize(deep, {"--scale", "2", "--bits", "8"}).exit_code, 0);
  EXPECT_EQ(io::image_info(dir_ / "out.png").bit_depth, 8);
}

TEST_F(Resize, SaysWhatItCannotDo) {
  const auto refused = [&](const Words& more, int code, const char* text) {
    const Ran ran = resize(kCub, more);
    EXPECT_EQ(ran.exit_code, code) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out.png"));
  };
  refused({}, 2, "the new size is missing");
  refused({"--size", "0"}, 2, "a side must be above 0");
  refused({"--size", "4000000000x4000000000"}, 2, "raise --max-pixels");
  refused({"--size", "5", "--scale", "2"}, 2, "--scale");
  refused({"--size", "5", "--filter", "lanczos"}, 2, "lanczos3");
  EXPECT_EQ(run_veldt({"resize", kCub, "-o", kCub, "--size", "5"}).exit_code, 2);
  EXPECT_EQ(run_veldt({"resize", VELDT_SOURCE "/README.md", "-o", dir_ / "a.png", "--size", "5"}).exit_code,
            4);
}

}  // namespace
}  // namespace veldt::test
