// veldt fit and render of animated pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/io/make_gif.h"
#include "tests/support/temp_dir.h"
#include "veldt/field/field.h"
#include "veldt/io/animation.h"
#include "veldt/io/clip.h"
#include "veldt/io/image.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// Four frames of 12 x 8 in 0.8 seconds: a bar that moves.
class ClipCommand : public testing::Test {
 protected:
  void SetUp() override {
    io::Animation film({12, 8});
    for (int f = 0; f < 4; ++f) {
      std::vector<std::uint8_t> pixels;
      for (int i = 0; i < 96; ++i) {
        const bool is_bar = i % 12 / 3 == f;
        pixels.insert(pixels.end(), {static_cast<std::uint8_t>(is_bar ? 230 : 20), 60, 90});
      }
      film.add(pixels, 0.2);
    }
    film.write(clip_);
  }
  Ran fit(const Words& more = {}) const {
    Words words = {"fit", clip_, "-o", model_, "--steps", "200", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words);
  }
  Ran render(const Words& more) const {
    Words words = {"render", model_};
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words);
  }
  const TempDir dir_;
  const std::string clip_ = dir_ / "bar.apng", model_ = dir_ / "m.safetensors", out_ = dir_ / "o.apng";
};

TEST_F(ClipCommand, IsDrawnAtAnySizeAndNumberOfFrames) {
  const Ran ran = fit({"--preview", dir_ / "p.png", "--preview-every", "150"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("12x8, 4 frames in 0.8 s"));
  EXPECT_GT(nlohmann::json::parse(ran.out)["psnr"], 30);
  EXPECT_EQ(io::image_info(dir_ / "p.png").width, 12);
  const auto drawn = [&](const Words& more, const Shape& shape, double seconds) {
    Words words = {"-o", out_};
    words.insert(words.end(), more.begin(), more.end());
    const Ran drawing = render(words);
    ASSERT_EQ(drawing.exit_code, 0) << drawing.err;
    const io::Clip clip = io::read_clip(out_);
    EXPECT_EQ(clip.frames.shape(), shape);
    EXPECT_NEAR(clip.duration(), seconds, 0.01);
  };
  drawn({}, {4, 8, 12, 3}, 0.8);
  drawn({"--frames", "9", "--size", "30"}, {9, 20, 30, 3}, 0.8);
  drawn({"--fps", "10"}, {8, 8, 12, 3}, 0.8);
  drawn({"--frames", "6", "--fps", "2", "--crop", "0,0,6,8"}, {6, 8, 6, 3}, 3);
  // One moment, in which the bar is where it is then.
  const auto moment = [&](const char* at) {
    EXPECT_EQ(render({"-o", dir_ / "m.png", "--at", at}).exit_code, 0);
    return io::read_picture(dir_ / "m.png", {.keep_bytes = true}).image;
  };
  EXPECT_GT(moment("0.1").data<std::uint8_t>()[3], 180);
  EXPECT_LT(moment("0.7").data<std::uint8_t>()[3], 80);
  const Ran dry = render({"-o", dir_ / "none.apng", "--frames", "20", "--dry-run", "--json"});
  EXPECT_EQ(nlohmann::json::parse(dry.out)["frames"], 20) << dry.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "none.apng"));
  const Ran info = run_veldt({"info", model_, "--json"});
  EXPECT_EQ(nlohmann::json::parse(info.out)["fitted_to"]["frames"], 4) << info.err;
}

TEST_F(ClipCommand, IsComparedFrameByFrame) {
  const Ran fitted = fit();
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const Ran ran = run_veldt({"compare", clip_, model_, "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto found = nlohmann::json::parse(ran.out);
  EXPECT_EQ(found["frames"].size(), 4);
  EXPECT_NEAR(found["psnr"], nlohmann::json::parse(fitted.out)["psnr"].get<double>(), 0.01);
  EXPECT_THAT(run_veldt({"compare", model_, clip_}).out, HasSubstr("frame 4"));
  // As another program would: the frames that are drawn are a clip too.
  ASSERT_EQ(render({"-o", out_}).exit_code, 0);
  const Ran drawn = run_veldt({"compare", clip_, out_, "--json"});
  EXPECT_NEAR(nlohmann::json::parse(drawn.out)["psnr"].get<double>(), found["psnr"].get<double>(), 0.01);
  EXPECT_THAT(run_veldt({"compare", clip_, clip_}).out, HasSubstr("inf (identical)"));
  EXPECT_EQ(run_veldt({"compare", clip_, model_, "--min-psnr", "90"}).exit_code, 8);
  ASSERT_EQ(render({"-o", out_, "--frames", "3"}).exit_code, 0);
  EXPECT_EQ(run_veldt({"compare", clip_, out_}).exit_code, 2);
}

TEST_F(ClipCommand, FitsOneFrameOnRequestAndGifsToo) {
  const Ran still = fit({"--still", "--prior", "none"});
  ASSERT_EQ(still.exit_code, 0) << still.err;
  EXPECT_THAT(still.err, HasSubstr("the first is taken"));
  EXPECT_EQ(render({"-o", dir_ / "s.png"}).exit_code, 0);
  const std::string gif = dir_ / "a.gif", colours("\0\0\0\xff\0\0\0\xff\0\0\0\xff", 12);
  put_bytes(gif,
            make_gif(4, 2, colours,
                     {{.width = 4, .height = 2, .numbers = {0, 1, 2, 3, 3, 2, 1, 0}, .hundredths = 10},
                      {.width = 4, .height = 2, .numbers = {3, 1, 2, 0, 3, 2, 1, 0}, .hundredths = 30}}));
  const Ran ran = run_veldt({"fit", gif, "-o", model_, "--steps", "20"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("2 frames in 0.4 s"));
}

// As a picture of it would be; nothing is written.
TEST_F(ClipCommand, RefusesToDrawANetworkThatHasDiverged) {
  ASSERT_EQ(fit({"--steps", "2"}).exit_code, 0);
  const field::Field field = field::Field::load(model_);
  for (const NamedTensor& named : field.network().state_dict()) {
    Tensor weights = named.tensor;
    // Finite, as the reader of models asks; the sums are not.
    for (std::int64_t i = 0; i < weights.numel(); ++i) weights.data<float>()[i] = i % 2 == 0 ? 3e38f : -3e38f;
  }
  field.save(model_);
  const Ran ran = render({"-o", out_});
  EXPECT_EQ(ran.exit_code, render({"-o", dir_ / "m.png", "--at", "0.1"}).exit_code);
  EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("NaN"));
  EXPECT_FALSE(std::filesystem::exists(out_));
  const Ran compared = run_veldt({"compare", clip_, model_, "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  for (const char* measure : {"psnr", "ssim", "mae", "max_abs"})
    EXPECT_TRUE(nlohmann::json::parse(compared.out)[measure].is_null()) << compared.out;
}

TEST_F(ClipCommand, RefusesWhatDoesNotFit) {
  ASSERT_EQ(fit({"--steps", "2"}).exit_code, 0);
  const auto refused = [&](const Words& words, int code, const char* why) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused({"render", model_, "-o", dir_ / "a.jpg"}, 2, "animated PNG");
  refused({"render", model_, "-o", dir_ / "a.png"}, 2, "a .png is one picture");
  refused({"render", model_, "-o", dir_ / "a.mp4"}, 2, "animated PNG");
  refused({"render", model_, "-o", dir_ / "a.png", "--dry-run"}, 2, "--at");
  refused({"render", model_, "-o", dir_ / "a.apng", "--frames", "99999", "--dry-run"}, 2, "lower --fps");
  refused({"render", model_, "-o", dir_ / "a.APNG", "--at", "0.1"}, 2, "animated");
  refused({"render", model_, "-o", out_, "--at", "0.1"}, 2, "an .apng is animated");
  refused({"render", model_, "-o", out_, "--at", "9"}, 2, "0.8 seconds");
  refused({"render", model_, "-o", dir_ / "m.png", "--at", "0.1", "--frames", "3"}, 2, "--at is one picture");
  refused({"render", model_, "-o", out_, "--frames", "0"}, 2, "--frames");
  refused({"render", model_, "-o", out_, "--fps", "1000000"}, 2, "--fps");
  refused({"render", model_, model_, "--morph", "3", "-o", out_}, 2, "a clip cannot be morphed");
  refused({"compare", model_, kCub}, 2, "animated picture");
  refused({"fit", clip_, "-o", model_, "--preset", "simba"}, 2, "stand still");
  refused({"fit", clip_, "-o", model_, "--style", "photo"}, 2, "stand still");
  refused({"fit", clip_, "-o", model_, "--max-pixels", "300"}, 4, "4 frames of 12 x 8");
  std::string bytes = bytes_of(clip_);
  put_bytes(clip_, bytes.substr(0, bytes.size() - 20));
  refused({"fit", clip_, "-o", model_}, 4, "the file ends too early");
  bytes[bytes.find("fdAT") + 6] ^= 1;
  put_bytes(clip_, bytes);
  refused({"fit", clip_, "-o", model_}, 4, "checksum of its fdAT");
}

}  // namespace
}  // namespace veldt::test
