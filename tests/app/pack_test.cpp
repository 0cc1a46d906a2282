// veldt pack and veldt unpack: what they write and say, packed pictures elsewhere, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Pack : public testing::Test {
 protected:
  // A picture of many colours.
  std::string photo() const {
    const Tensor ramp = reshape(arange(0, 1, 1.0 / (24 * 32)), {24, 32, 1});
    io::write_image(dir_ / "photo.png", cat({ramp, 1.0 - ramp, ramp * ramp}, 2));
    return dir_ / "photo.png";
  }
  const TempDir dir_;
};

TEST_F(Pack, ADrawingIsExactAndSmall) {
  const Ran packed = run_veldt({"pack", kCub, "-o", dir_ / "cub.vp", "--json"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const auto said = nlohmann::json::parse(packed.out);
  EXPECT_EQ(said["family"], "drawing");
  EXPECT_EQ(said["exact"], true);
  EXPECT_EQ(said["bytes"], std::filesystem::file_size(dir_ / "cub.vp"));
  EXPECT_LT(said["bytes"], 500);
  ASSERT_EQ(run_veldt({"unpack", dir_ / "cub.vp", "-o", dir_ / "cub.png"}).exit_code, 0);
  EXPECT_THAT(run_veldt({"compare", dir_ / "cub.png", kCub}).out, HasSubstr("identical"));
}

TEST_F(Pack, APackedPictureIsAPictureToOtherVerbs) {
  const Ran packed = run_veldt({"pack", photo(), "-o", dir_ / "photo.vp", "--steps", "4", "--bpp", "2",
                                "--family", "photograph", "--json"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const double psnr = nlohmann::json::parse(packed.out)["psnr"];
  const Ran compared = run_veldt({"compare", dir_ / "photo.vp", photo(), "--json"});
  EXPECT_NEAR(nlohmann::json::parse(compared.out)["psnr"].get<double>(), psnr, 1e-3) << compared.err;
  EXPECT_EQ(run_veldt({"resize", dir_ / "photo.vp", "-o", dir_ / "half.png", "--scale", "0.5"}).exit_code, 0);
  EXPECT_THAT(run_veldt({"info", dir_ / "photo.vp", "--verify"}).out, HasSubstr("32"));
  const Ran part = run_veldt({"unpack", dir_ / "photo.vp", "-o", dir_ / "part.png", "--crop", "3,4,10,11"});
  EXPECT_EQ(part.exit_code, 0) << part.err;
  EXPECT_EQ(io::image_info(dir_ / "part.png").width, 10);
}

TEST_F(Pack, APackedPictureIsAFieldToRenderAndExport) {
  ASSERT_EQ(run_veldt({"pack", kCub, "-o", dir_ / "cub.vp"}).exit_code, 0);
  ASSERT_EQ(run_veldt({"pack", photo(), "-o", dir_ / "photo.vp", "--steps", "4", "--bpp", "2", "--family",
                       "photograph"})
                .exit_code,
            0);
  for (const std::string name : {"cub", "photo"}) {
    const std::string packed = dir_ / (name + ".vp"), own = dir_ / "own.png", large = dir_ / "large.png";
    ASSERT_EQ(run_veldt({"render", packed, "-o", own}).exit_code, 0);
    EXPECT_THAT(run_veldt({"compare", own, packed}).out, HasSubstr("identical"));
    ASSERT_EQ(run_veldt({"render", packed, "-o", large, "--size", "300"}).exit_code, 0);
    EXPECT_EQ(io::image_info(large).width, 300);
    const Ran page = run_veldt({"export", packed, "-o", dir_ / "page.html"});
    EXPECT_EQ(page.exit_code, 0) << page.err;
    EXPECT_THAT(io::read_file(dir_ / "page.html"), HasSubstr("<title>" + name + "</title>"));
  }
}

TEST_F(Pack, ALargeHeaderOfPixelsIsNoted) {
  ASSERT_EQ(run_veldt({"resize", kCub, "-o", dir_ / "cub.png", "--size", "420"}).exit_code, 0);
  ASSERT_EQ(run_veldt({"pack", dir_ / "cub.png", "-o", dir_ / "cub.vp", "--family", "exact"}).exit_code, 0);
  const Ran exported = run_veldt({"export", dir_ / "cub.vp", "-o", dir_ / "cub.h"});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("holds each pixel"));
}

TEST_F(Pack, APhotographKeepsItsAlpha) {
  const Tensor ramp = reshape(arange(0, 1, 1.0 / (24 * 32)), {24, 32, 1});
  io::write_image(dir_ / "alpha.png", cat({ramp, 1.0 - ramp, ramp * ramp, 1.0 - ramp}, 2));
  const Ran packed = run_veldt(
      {"pack", dir_ / "alpha.png", "-o", dir_ / "alpha.vp", "--steps", "4", "--family", "photograph"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const Tensor before = io::read_image(dir_ / "alpha.png"), after = io::read_image(dir_ / "alpha.vp");
  EXPECT_EQ(slice(after, 2, 3, 4).values<float>(), slice(before, 2, 3, 4).values<float>());
}

TEST_F(Pack, AQualityCanBeAskedForInPlaceOfASize) {
  const auto psnr_of = [&](const std::string& wanted) {
    const Ran packed = run_veldt({"pack", photo(), "-o", dir_ / "a.vp", "--steps", "150", "--family",
                                  "photograph", "--psnr", wanted, "--json"});
    EXPECT_EQ(packed.exit_code, 0) << packed.err;
    return nlohmann::json::parse(packed.out)["psnr"].get<double>();
  };
  const double fair = psnr_of("28"), good = psnr_of("36");
  EXPECT_NEAR(fair, 28, 2.5);  // of a small picture in few steps
  EXPECT_NEAR(good, 36, 2.5);
  // A flag is stronger than a setting, also one that asks for something else.
  const Ran packed = run_veldt({"pack", photo(), "-o", dir_ / "a.vp", "--steps", "1", "--psnr", "30"},
                               {.environment = {"VELDT_BPP=2"}});
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
}

TEST_F(Pack, ATableOfPixelsIsAPictureToo) {
  ASSERT_EQ(run_veldt({"csv", "encode", kCub, "-o", dir_ / "cub.csv"}).exit_code, 0);
  const Ran packed = run_veldt({"pack", dir_ / "cub.csv", "-o", dir_ / "a.vp"});
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_THAT(packed.out, HasSubstr("exact"));
}

TEST_F(Pack, ACutPhotographIsShownIfAsked) {
  ASSERT_EQ(
      run_veldt({"pack", photo(), "-o", dir_ / "a.vp", "--steps", "2", "--family", "photograph"}).exit_code,
      0);
  const std::string bytes = io::read_file(dir_ / "a.vp");
  io::write_file(dir_ / "cut.vp", bytes.substr(0, bytes.size() - 5));
  const Ran refused = run_veldt({"unpack", dir_ / "cut.vp", "-o", dir_ / "cut.png"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("ends too early"));
  const Ran taken = run_veldt({"unpack", dir_ / "cut.vp", "-o", dir_ / "cut.png", "--partial"});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_THAT(taken.err, ContainsRegex("9[0-9] % of the bytes of its grids are there"));
}

TEST_F(Pack, SaysWhatIsWrong) {
  ASSERT_EQ(run_veldt({"pack", kCub, "-o", dir_ / "cub.vp"}).exit_code, 0);
  EXPECT_THAT(run_veldt({"export", dir_ / "cub.vp", "-o", dir_ / "a.onnx"}).err,
              HasSubstr("it is a packed picture"));
  EXPECT_THAT(run_veldt({"pack", photo(), "-o", dir_ / "a.vp", "--bpp", "1", "--psnr", "30"}).err,
              HasSubstr("excludes"));
  EXPECT_THAT(run_veldt({"pack", kCub, "-o", dir_ / "a.png"}).err, HasSubstr("name it .vp"));
  EXPECT_THAT(run_veldt({"unpack", photo(), "-o", dir_ / "a.png"}).err, HasSubstr("it is a PNG already"));
  EXPECT_THAT(run_veldt({"pack", photo(), "-o", dir_ / "a.vp", "--bpp", "9"}).err, HasSubstr("--bpp"));
  EXPECT_THAT(run_veldt({"unpack", photo(), "-o", dir_ / "a.png", "--crop", "1,2,3"}).err,
              HasSubstr("four whole numbers"));
  std::string damaged(300, 'x');
  damaged.replace(0, 6, "\x89VPK\x04\x30");
  io::write_file(dir_ / "bad.vp", damaged);
  for (const char* verb : {"unpack", "resize"})
    EXPECT_EQ(run_veldt({verb, dir_ / "bad.vp", "-o", dir_ / "a.png", "--max-pixels", "100"}).exit_code, 4)
        << verb;
}

}  // namespace
}  // namespace veldt::test
