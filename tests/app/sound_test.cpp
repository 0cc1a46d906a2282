// Sounds through the real command: fitted, played, compared, described, resumed.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "veldt/core/error.h"
#include "veldt/io/sound.h"

namespace veldt::test {
namespace {

using Words = std::vector<std::string>;
using nlohmann::json;

class SoundCommand : public testing::Test {
 protected:
  void SetUp() override {
    io::write_sound(sound_, tones(2), 8000);
    try {
      io::sound_info(sound_);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // A twentieth of a second: [400, channels].
  static Tensor tones(std::int64_t channels, double peak = 0.5) {
    std::vector<float> values;
    for (int i = 0; i < 400; ++i)
      for (int c = 0; c < channels; ++c)
        values.push_back(static_cast<float>(peak * std::sin(0.1 * (c + 1) * i)));
    return Tensor::from<float>({400, channels}, values);
  }
  Words fit(const Words& more = {}) const {
    return Words{"fit",     sound_, "-o",          model_, "--steps",       "300",   "--width", "24",
                 "--depth", "2",    "--batch",     "200",  "--first-omega", "60",    "--omega", "10",
                 "--lr",    "5e-3", "--optimizer", "adam", "--quiet",       "--json"} +
           more;
  }
  json fitted(const Words& more = {}) const {
    const Ran ran = run_veldt(fit(more));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  static json json_of(const Words& words) {
    const Ran ran = run_veldt(words + Words{"--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  double snr_of(const std::string& path) const { return json_of({"compare", sound_, path}).at("snr"); }

  const TempDir dir_, log_;
  const std::string sound_ = dir_ / "s.wav", model_ = dir_ / "m.safetensors", out_ = dir_ / "o.wav";
};

TEST_F(SoundCommand, FitsAndPlaysWhatItWasGiven) {
  const json fit = fitted();
  EXPECT_GT(fit.at("snr").get<double>(), 20);
  EXPECT_EQ(fit.at("identical"), false);
  EXPECT_FALSE(fit.contains("psnr"));
  const json drawn = json_of({"render", model_, "-o", out_});
  EXPECT_EQ(drawn.at("frames"), 400);
  EXPECT_EQ(drawn.at("rate"), 8000);
  EXPECT_EQ(drawn.at("channels"), 2);
  EXPECT_NEAR(snr_of(out_), fit.at("snr").get<double>(), 0.01);
  EXPECT_NEAR(snr_of(model_), fit.at("snr").get<double>(), 0.01);
  EXPECT_EQ(io::sound_info(out_).channels, 2);
}

TEST_F(SoundCommand, GivesTheSamplesOfAWavBack) {
  io::write_sound(sound_, tones(2), 8000, {.bits = 16});
  json_of({"fit", sound_, "-o", model_, "--quiet"});
  json_of({"render", model_, "-o", out_, "--bits", "16"});
  EXPECT_EQ(json_of({"compare", sound_, out_}).at("identical"), true);
}

TEST_F(SoundCommand, SaysHowLargeTheModelWillBe) {
  for (const double step : {0.001, 2.0}) {  // a slow wave, and one near half the rate
    std::vector<float> values(20'000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(0.7 * std::sin(step * static_cast<double>(i)));
    io::write_sound(sound_, Tensor::from<float>({20'000, 1}, values), 8000);
    const double said = json_of({"fit", sound_, "-o", model_, "--dry-run", "--quiet"}).at("model_bytes");
    json_of({"fit", sound_, "-o", model_, "--quiet"});
    EXPECT_NEAR(said, static_cast<double>(std::filesystem::file_size(model_)), 2000) << step;
  }
}

TEST_F(SoundCommand, PlaysPartsAtAnyRate) {
  fitted();
  EXPECT_EQ(json_of({"render", model_, "-o", out_, "--rate", "48000"}).at("frames"), 2400);
  EXPECT_EQ(json_of({"render", model_, "-o", out_, "--rate", "2000"}).at("frames"), 100);
  EXPECT_EQ(json_of({"render", model_, "-o", out_, "--from", "0.01", "--to", "0.03"}).at("frames"), 160);
  EXPECT_EQ(json_of({"render", model_, "-o", out_, "--bits", "16"}).at("frames"), 400);
  EXPECT_NE(io::sound_info(out_).format.find("16 bit"), std::string::npos);
  EXPECT_GT(snr_of(out_), 20);
}

TEST_F(SoundCommand, SaysWhatItFittedAndHowWellInWords) {
  Words words = fit();
  words.pop_back();
  words.pop_back();
  const Ran ran = run_veldt(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("fitting 0.05 s at 8000 Hz"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("\nSNR "), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("PSNR"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("pixels"), std::string::npos) << ran.out;
}

TEST_F(SoundCommand, DescribesSoundsAndTheirModels) {
  const json sound = json_of({"info", sound_, "--verify"});
  EXPECT_EQ(sound.at("kind"), "sound");
  EXPECT_EQ(sound.at("seconds"), 0.05);
  EXPECT_EQ(sound.at("channels"), 2);
  fitted({"--steps", "1"});
  const json model = json_of({"info", model_, "--verify"});
  EXPECT_EQ(model.at("kind"), "sound_field");
  EXPECT_EQ(model.at("layers"), "1-24-24-2");
  EXPECT_EQ(model.at("fitted_to").at("frames"), 400);
}

TEST_F(SoundCommand, ComparesAndWritesTheDifference) {
  io::write_sound(dir_ / "half.wav", tones(2, 0.25), 8000);
  EXPECT_NEAR(snr_of(dir_ / "half.wav"), 20 * std::log10(2), 1e-3);
  EXPECT_EQ(json_of({"compare", sound_, sound_}).at("identical"), true);
  EXPECT_EQ(json_of({"compare", sound_, sound_}).at("snr"), 999);
  io::write_sound(dir_ / "silence.wav", tones(2, 0), 8000);
  EXPECT_EQ(json_of({"compare", dir_ / "silence.wav", sound_}).at("snr"), -999);
  json_of({"compare", sound_, dir_ / "half.wav", "--diff", out_});
  EXPECT_NEAR(json_of({"compare", dir_ / "half.wav", out_}).at("snr").get<double>(), -20 * std::log10(2),
              1e-3);
  EXPECT_EQ(run_veldt({"compare", sound_, dir_ / "half.wav", "--min-psnr", "7"}).exit_code, 8);
}

TEST_F(SoundCommand, IsTheSameAfterAStop) {
  fitted();
  const auto whole = tensors_of(model_);
  const Words kept = {"--checkpoint", dir_ / "run", "--every", "1ms", "--threads", "1"};
  fitted({"--threads", "1"});
  const auto alone = tensors_of(model_);
  Process process(fit(kept), log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(dir_ / "run"); }));
  process.send(SIGINT);
  const int code = process.wait();
  EXPECT_TRUE(code == 130 || code == 0) << process.err();
  if (code == 130) {
    fitted(kept + Words{"--resume"});
  }
  EXPECT_EQ(tensors_of(model_), alone);
  EXPECT_EQ(whole.size(), alone.size());
}

TEST_F(SoundCommand, WhatWasLearnedIsKeptBeforeItIsMadeExact) {
  io::write_sound(sound_, tones(2), 8000, {.bits = 16});
  Process process({"fit", sound_, "-o", model_, "--steps", "1000000", "--preview", dir_ / "p{step}.wav",
                   "--preview-every", "1"},
                  log_);
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(dir_ / "p000001.wav"); })) << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_NE(process.err().find("holds the field so far; its samples are now made exact"), std::string::npos)
      << process.err();
}

TEST_F(SoundCommand, PreviewsAreSounds) {
  fitted({"--preview", dir_ / "p{step}.wav", "--preview-every", "200"});
  for (const char* name : {"p000000.wav", "p000200.wav", "p000300.wav"})
    EXPECT_EQ(io::sound_info(dir_ / name).frames, 400) << name;
}

TEST_F(SoundCommand, PlaysSilenceAndOneSampleExactlyOrWell) {
  io::write_sound(sound_, tones(1, 0), 8000);
  EXPECT_EQ(fitted({"--steps", "3"}).at("identical"), true);
  json_of({"render", model_, "-o", out_});
  EXPECT_EQ(io::read_sound(out_).samples.values<float>(), tones(1, 0).values<float>());
  io::write_sound(sound_, Tensor::of({1, 1}, {0.25}), 8000);
  EXPECT_GT(fitted().at("snr").get<double>(), 25);
  io::write_sound(sound_, Tensor::from<float>({100, 1}, std::vector<float>(100, -0.5f)), 8000);
  EXPECT_GT(fitted().at("snr").get<double>(), 25);
}

TEST_F(SoundCommand, RefusesWhatIsForPicturesAndTheOtherWayRound) {
  fitted({"--steps", "1"});
  const auto refused = [&](const Words& words, int code, const std::string& word) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_NE(ran.err.find(word), std::string::npos) << ran.err;
  };
  refused({"render", model_, "-o", out_, "--size", "10"}, 2, "--size");
  refused({"render", model_, "-o", out_, "--crop", "0,0,1,1"}, 2, "--crop");
  refused({"render", model_, "-o", dir_ / "o.png"}, 2, ".wav");
  refused({"render", model_, "-o", out_, "--bits", "8"}, 2, "8 bits");
  refused({"render", model_, "-o", out_, "--bits", "8", "--dry-run"}, 2, "8 bits");
  refused(fit({"--preview", dir_ / "p.png", "--dry-run"}), 2, ".wav");
  refused({"render", model_, "-o", out_, "--from", "1"}, 2, "0.05 seconds");
  refused({"render", model_, "-o", out_, "--from", "0.4", "--to", "0.1"}, 2, "not after the beginning");
  refused({"render", model_, "-o", out_, "--rate", "2000000000"}, 2, "2000000000");
  refused(fit({"--preset", "simba"}), 2, "simba");
  refused(fit({"--loss", "hinge"}), 2, "hinge");
  refused(fit({"-o", out_}), 2, "name it .safetensors, and draw it");
  refused({"csv", "encode", sound_, "-o", dir_ / "t.csv"}, 4, "it is a sound");
  put_bytes(dir_ / "p.png", rings_png());
  refused({"compare", sound_, dir_ / "p.png"}, 2, "p.png is not a sound");
  ASSERT_EQ(run_veldt(small_fit(dir_ / "p.png", dir_ / "picture", 1)).exit_code, 0);
  refused({"render", dir_ / "picture", "-o", dir_ / "o.png", "--rate", "8000"}, 2, "--rate");
  refused({"compare", sound_, dir_ / "picture"}, 2, "is not a sound");
  io::write_sound(dir_ / "mono.wav", tones(1), 8000);
  refused({"compare", sound_, dir_ / "mono.wav"}, 2, "of 1 channel at");
}

// 400 frames of 2 channels.
TEST_F(SoundCommand, RefusesMoreSamplesThanMaxPixels) {
  for (const Words& words :
       {fit({"--dry-run"}), Words{"info", sound_, "--verify"}, Words{"compare", sound_, sound_}}) {
    const Ran ran = run_veldt(words + Words{"--max-pixels", "799"});
    EXPECT_EQ(ran.exit_code, 4) << words[0];
    EXPECT_NE(ran.err.find("799 samples are allowed"), std::string::npos) << ran.err;
    EXPECT_EQ(run_veldt(words + Words{"--max-pixels", "800"}).exit_code, 0) << words[0];
  }
}

TEST_F(SoundCommand, SaysAtWhichRateTwoModelsAreCompared) {
  fitted({"--steps", "1"});
  const Tensor tone = tones(2);
  io::write_sound(dir_ / "fast.wav", tone, 16000);
  io::write_sound(dir_ / "slow.wav", tone, 8000);
  Words words = fit({"--steps", "1"});
  words[1] = dir_ / "fast.wav";
  words[3] = dir_ / "fast";
  ASSERT_EQ(run_veldt(words).exit_code, 0);
  // Half as long, so they cannot be compared, but the note comes first.
  EXPECT_NE(run_veldt({"compare", model_, dir_ / "fast"})
                .err.find("fast is played at 8000 Hz, and was fitted at 16000"),
            std::string::npos);
  EXPECT_EQ(run_veldt({"compare", model_, dir_ / "slow.wav"}).err, "");
}

TEST_F(SoundCommand, ADryRunPredictsAndWritesNothing) {
  EXPECT_EQ(fitted({"--dry-run"}).at("dry_run"), true);
  EXPECT_EQ(count_entries(dir_.path()), 1u);
  fitted({"--steps", "1"});
  const json render = json_of({"render", model_, "-o", out_, "--rate", "4000", "--dry-run"});
  EXPECT_EQ(render.at("frames"), 200);
  EXPECT_EQ(render.at("samples_a_frame"), 2);
  EXPECT_EQ(render.at("uncompressed_bytes"), 1600);
  EXPECT_EQ(count_entries(dir_.path()), 2u);
}

}  // namespace
}  // namespace veldt::test
