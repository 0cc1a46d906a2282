// Pictures of every kind through the real command: what goes in comes out, in as many channels and bits.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/io/make_gif.h"
#include "tests/support/sanitizers.h"
#include "veldt/io/image.h"

namespace veldt::test {
namespace {

using Words = std::vector<std::string>;

struct Kind {
  std::string name;
  int type, depth, channels;
};

class PicturesCommand : public testing::TestWithParam<Kind> {
 protected:
  static std::string png(const Kind& kind) {
    const int most = (1 << kind.depth) - 1;
    std::vector<int> samples;
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 24; ++x)
        for (int c = 0; c < kind.channels; ++c)
          samples.push_back(most * (kind.depth == 1 ? (x > 7 && y > 5) * 43 : x + y * (c % 2)) / 43);
    return make_png({.width = 24, .height = 20, .depth = kind.depth, .type = kind.type}, samples);
  }
  static nlohmann::json json_of(const Words& words) {
    const Ran ran = run_veldt(words + Words{"--json", "--quiet"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  }

  const TempDir dir_;
  const std::string in_ = dir_ / "in.png", model_ = dir_ / "m.safetensors", out_ = dir_ / "out.png";
};

TEST_P(PicturesCommand, AreFittedAndDrawnInTheirChannelsAndBits) {
  const Kind& kind = GetParam();
  put_bytes(in_, png(kind));
  const auto fit = json_of(small_fit(in_, model_, 300));
  EXPECT_GT(fit.at("psnr").get<double>(), kind.depth == 1 ? 12 : 24);
  json_of({"render", model_, "-o", out_});
  EXPECT_EQ(io::image_info(out_).bit_depth, kind.depth == 16 ? 16 : 8) << "as the source had them";
  const std::string bits = std::to_string(kind.depth);
  json_of({"render", model_, "-o", out_, "--bits", bits});
  const io::ImageInfo info = io::image_info(out_);
  EXPECT_EQ(info.channels, kind.channels);
  EXPECT_EQ(info.bit_depth, kind.depth);
  EXPECT_EQ(info.width, 24);
  EXPECT_EQ(info.height, 20);
  if (kind.channels % 2 == 1) {  // alpha would be laid over white
    const auto compared = json_of({"compare", in_, out_});
    EXPECT_EQ(compared.at("identical"), fit.at("identical"));
    if (kind.depth > 1) {
      EXPECT_GT(compared.at("psnr").get<double>(), fit.at("psnr").get<double>() - 0.5);
    }
  }
  if (kind.depth == 16) {
    int fine = 0;  // levels that 8 bits do not have
    for (const float v : io::read_image(out_).values<float>())
      fine += static_cast<int>(std::lround(v * 65535)) % 257 != 0;
    EXPECT_GT(fine, 300);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PicturesCommand,
    testing::Values(Kind{"Ink", PNG_COLOR_TYPE_GRAY, 1, 1}, Kind{"Grey", PNG_COLOR_TYPE_GRAY, 8, 1},
                    Kind{"GreyAlpha", PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2}, Kind{"Rgb", PNG_COLOR_TYPE_RGB, 8, 3},
                    Kind{"Rgba", PNG_COLOR_TYPE_RGB_ALPHA, 8, 4}, Kind{"Grey16", PNG_COLOR_TYPE_GRAY, 16, 1},
                    Kind{"GreyAlpha16", PNG_COLOR_TYPE_GRAY_ALPHA, 16, 2},
                    Kind{"Rgb16", PNG_COLOR_TYPE_RGB, 16, 3},
                    Kind{"Rgba16", PNG_COLOR_TYPE_RGB_ALPHA, 16, 4}),
    [](const auto& at) { return at.param.name; });

class PlainPictures : public PicturesCommand {};

TEST_F(PlainPictures, OfOnePixelOrOneLevelAreFitted) {
  for (const int level : {0, 100, 255}) {
    put_bytes(in_, make_png({}, {level}));
    EXPECT_GT(json_of(small_fit(in_, model_, 300)).at("psnr").get<double>(), 20) << level;
    put_bytes(in_, make_png({.width = 16, .height = 9}, std::vector<int>(16 * 9, level)));
    EXPECT_GT(json_of(small_fit(in_, model_, 300)).at("psnr").get<double>(), 30) << level;
    json_of({"render", model_, "-o", out_, "--size", "64"});
    EXPECT_EQ(io::image_info(out_).width, 64);
  }
}

// A JPEG has no alpha: a background is required, and is visible in the result.
TEST_F(PlainPictures, OfAlphaAreLaidOverAColour) {
  std::vector<int> samples;
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x)
      for (const int value : {200, 40, 40, x < 8 ? 0 : 255}) samples.push_back(value);
  put_bytes(in_, make_png({.width = 16, .height = 16, .type = PNG_COLOR_TYPE_RGB_ALPHA}, samples));
  json_of(small_fit(in_, model_, 300));
  const std::string jpeg = dir_ / "out.jpg";
  const Ran refused = run_veldt({"render", model_, "-o", jpeg, "--quiet"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(has_three_lines(refused.err)) << refused.err;
  EXPECT_NE(refused.err.find("--background white"), std::string::npos) << refused.err;
  for (const char* colour : {"#0000FF", "blue", "Blue", "#00f"}) {
    json_of({"render", model_, "-o", jpeg, "--background", colour});
    EXPECT_EQ(io::image_info(jpeg).channels, 3);
    // Exactly the colours of the picture with alpha, laid over blue.
    json_of({"render", model_, "-o", out_, "--bits", "16"});
    json_of({"render", model_, "-o", dir_ / "over.png", "--background", colour, "--bits", "16"});
    const std::vector<float> above = io::read_image(out_).values<float>(),
                             laid = io::read_image(dir_ / "over.png").values<float>();
    ASSERT_EQ(laid.size(), 16u * 16 * 3);
    ASSERT_EQ(above.size(), 16u * 16 * 4);
    for (std::size_t i = 0; i < 256; ++i)
      for (std::size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(laid[3 * i + c],
                    above[4 * i + c] * above[4 * i + 3] + (c == 2 ? 1 - above[4 * i + 3] : 0), 3e-5);
  }
  for (const char* wrong : {"bleu", "#12345", "#12345g", "", "0000ff"}) {
    const Ran ran = run_veldt({"render", model_, "-o", jpeg, "--background", wrong});
    EXPECT_EQ(ran.exit_code, 2) << wrong;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
  }
}

TEST_F(PlainPictures, OfGreyAndAlphaStayGreyOverGrey) {
  put_bytes(in_, make_png({.width = 2, .height = 2, .type = PNG_COLOR_TYPE_GRAY_ALPHA},
                          {9, 0, 9, 80, 200, 99, 9, 255}));
  json_of(small_fit(in_, model_, 10));
  for (const auto& [colour, channels] : {std::pair("white", 1), {"silver", 1}, {"teal", 3}}) {
    json_of({"render", model_, "-o", out_, "--background", colour});
    EXPECT_EQ(io::image_info(out_).channels, channels) << colour;
  }
  // Without alpha a background changes nothing.
  put_bytes(in_, rings_png());
  json_of(small_fit(in_, model_, 10));
  json_of({"render", model_, "-o", out_});
  json_of({"render", model_, "-o", dir_ / "same.png", "--background", "red"});
  EXPECT_EQ(bytes_of(out_), bytes_of(dir_ / "same.png"));
}

// Once, by the command that reads it, and not with --quiet.
TEST_F(PlainPictures, AreSaidToHaveMoreThanIsTaken) {
  const std::string gif = dir_ / "cat.gif", palette("\0\0\0\x30\x30\x30\x90\x90\x90\xff\xff\xff", 12);
  const GifFrame frame{.width = 4, .height = 4, .numbers = {0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0}};
  put_bytes(gif, make_gif(4, 4, palette, {frame, frame, frame}));
  const std::string note = "veldt: note: " + gif + " has 3 pictures; the first is taken\n";
  const std::string still = dir_ / "still.png";
  io::write_image(still, full({4, 4, 1}, 0.5F));
  const Ran compared = run_veldt({"compare", gif, still});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_EQ(compared.err, note);
  EXPECT_EQ(run_veldt({"compare", gif, gif}).err, "");  // all of it
  EXPECT_NE(run_veldt(small_fit(gif, model_, 10) + Words{"--still"}).err.find(note), std::string::npos);
  EXPECT_EQ(run_veldt(small_fit(gif, model_, 10) + Words{"--quiet"}).err, "");
  const Ran told = run_veldt({"info", gif, "--json"});
  const auto info = nlohmann::json::parse(told.out);
  EXPECT_EQ(info.at("format"), "GIF");
  EXPECT_EQ(info.at("pictures"), 3);
  EXPECT_EQ(info.at("left_out"), "has 3 pictures; the first is taken");
}

// Four megapixels in colour, 12.6 MB of samples; as floats they would be 50 MB.
TEST_F(PlainPictures, OfBytesAreFittedInLittleMoreThanTheirBytes) {
  if (kForeignHeap) GTEST_SKIP() << "memory is measured";
  const TempDir log;
  const int side = 2048;
  std::vector<int> samples;
  for (int i = 0; i < side * side * 3; ++i) samples.push_back((i / 3 % side + i / 7000) % 256);
  put_bytes(in_, make_png({.width = side, .height = side, .type = PNG_COLOR_TYPE_RGB}, samples));
  samples = {};
  put_bytes(dir_ / "small.png", rings_png());
  const auto peak = [&](const std::string& picture) {
    // A network whose size is not that of the picture.
    Process process({"fit", picture, "-o", model_, "--model", "siren", "--steps", "3", "--width", "4",
                     "--depth", "1", "--batch", "256", "--threads", "1", "--quiet"},
                    log);
    EXPECT_EQ(process.wait(), 0) << process.err();
    return process.peak_megabytes();
  };
  EXPECT_LT(peak(in_) - peak(dir_ / "small.png"), 2 * 12.6);
}

}  // namespace
}  // namespace veldt::test
