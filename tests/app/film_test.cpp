// The film of a fit, and the way from one picture to another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <optional>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/film_maker.h"
#include "veldt/io/clip.h"
#include "veldt/io/image.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;

class Film : public testing::Test {
 protected:
  std::vector<std::string> fit(const std::string& steps, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"fit",     picture_, "-o",      model_, "--steps", steps,
                                      "--model", "siren",  "--width", "16",   "--film",  film_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void SetUp() override {
    const Tensor cub = io::read_image(kCub);
    io::write_image(picture_, slice(slice(cub, 0, 60, 100), 1, 60, 110));
  }
  static double difference(const io::Clip& clip, std::int64_t a, std::int64_t b) {
    const std::int64_t each = clip.frames.numel() / clip.frames.size(0);
    const std::uint8_t* levels = clip.frames.data<std::uint8_t>();
    double sum = 0;
    for (std::int64_t i = 0; i < each; ++i)
      sum += std::abs(int{levels[a * each + i]} - int{levels[b * each + i]}) / 255.0;
    return sum / static_cast<double>(each);
  }
  const TempDir dir_;
  const std::string picture_ = dir_ / "small.png", model_ = dir_ / "m.safetensors", film_ = dir_ / "f.apng";
};
using SlowFilm = Film;  // hundreds of starts, or seconds of fits: too slow under the sanitizers

TEST_F(SlowFilm, ShowsWhatChanges) {
  ASSERT_EQ(run_veldt(fit("120")).exit_code, 0);
  const io::Clip clip = io::read_clip(film_);
  const std::int64_t frames = clip.frames.size(0);
  EXPECT_EQ(clip.frames.size(1), 160);  // 50 x 40, four times as large
  EXPECT_EQ(clip.frames.size(2), 200);
  EXPECT_GE(frames, 10);
  EXPECT_LE(frames, 80);
  for (std::int64_t i = 1; i + 1 < frames; ++i) EXPECT_GE(difference(clip, i - 1, i), 0.0024) << i;
  EXPECT_NEAR(clip.seconds.front(), 0.05, 1e-9);
  EXPECT_NEAR(clip.seconds.back(), 2, 1e-9);
  // The last is what the model draws.
  ASSERT_EQ(run_veldt({"render", model_, "-o", dir_ / "d.png", "--size", "200x160", "--supersample", "1"})
                .exit_code,
            0);
  const Tensor drawn = io::read_picture(dir_ / "d.png", {.keep_bytes = true}).image;
  ASSERT_EQ(drawn.numel(), clip.frames.numel() / frames);
  const std::uint8_t *a = drawn.data<std::uint8_t>(),
                     *b = clip.frames.data<std::uint8_t>() + (frames - 1) * drawn.numel();
  int most = 0;
  for (std::int64_t i = 0; i < drawn.numel(); ++i) most = std::max(most, std::abs(int{a[i]} - int{b[i]}));
  EXPECT_LE(most, 1);
  // The steps alone decide.
  const std::string before = bytes_of(film_);
  ASSERT_EQ(run_veldt(fit("120")).exit_code, 0);
  EXPECT_EQ(bytes_of(film_), before);
}

TEST_F(Film, GoesOnWithItsRun) {
  const std::string checkpoints = dir_ / "run";
  ASSERT_EQ(run_veldt(fit("60", {"--checkpoint", checkpoints})).exit_code, 0);
  const std::int64_t first = io::read_clip(film_).frames.size(0);
  const Ran resumed = run_veldt(fit("120", {"--checkpoint", checkpoints, "--resume"}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const io::Clip clip = io::read_clip(film_);
  EXPECT_GT(clip.frames.size(0), first);
  EXPECT_LT(clip.seconds[static_cast<std::size_t>(first - 1)], 1);
  // Without the film of the steps before it begins here, and says so.
  ASSERT_TRUE(std::filesystem::remove(film_));
  const Ran late = run_veldt(fit("180", {"--checkpoint", checkpoints, "--resume"}));
  ASSERT_EQ(late.exit_code, 0) << late.err;
  EXPECT_THAT(late.err, HasSubstr("the film begins at step 120"));
  // Another picture's film is not touched.
  ASSERT_EQ(run_veldt({"fit", kCub, "-o", dir_ / "c.safetensors", "--steps", "2", "--film", film_}).exit_code,
            0);
  const Ran other = run_veldt(fit("190", {"--checkpoint", checkpoints, "--resume"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("not the film of this run"));
}

TEST_F(Film, IsWrittenWhenARunIsStopped) {
  Process fitting(fit("100000000"), dir_);
  ASSERT_TRUE(comes_true([&] { return fitting.err().find("step ") != std::string::npos; }));
  fitting.send(SIGINT);
  EXPECT_EQ(fitting.wait(), 130);
  EXPECT_GT(io::read_clip(film_).frames.size(0), 2);
}

TEST_F(Film, IsRefusedWhereThereIsNone) {
  const auto refused = [&](const std::vector<std::string>& words, const char* why) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused({"fit", picture_, "-o", model_, "--film", dir_ / "f.gif"}, "animated PNG");
  refused({"fit", picture_, "-o", model_, "--film", dir_ / "f.png"}, "a .png is one picture");
  refused({"fit", picture_, "-o", model_, "--film", model_}, "animated PNG");
  std::filesystem::create_symlink(picture_, dir_ / "same.apng");
  refused({"fit", picture_, "-o", model_, "--film", dir_ / "same.apng"}, "overwrite");
  refused({"fit", picture_, kCub, "-o", dir_ / "models/", "--film", film_}, "--film");
}

TEST(FilmMaker, HasABoundedNumberOfFrames) {
  field::FieldOptions options;
  options.widths = {4};
  options.width = 4, options.height = 1;
  const TempDir dir;
  field::Field field(options, 1);
  app::FilmMaker film(dir / "f.apng", field);
  film.begin(0);
  Rng rng(3);
  for (std::int64_t step = 1; film.frames() > 0 && step < 2'000'000; step += 1 + step / 25) {
    if (step % 3 == 0) continue;
    for (const auto& [name, tensor] : field.network().state_dict()) {
      Tensor weights = tensor;
      weights.assign(
          field::Field(options, static_cast<std::uint64_t>(step)).network().state_dict()[0].tensor);
      break;
    }
    film.on_step(step);
    ASSERT_LE(film.frames(), app::FilmMaker::kMostFrames);
  }
  EXPECT_GT(film.frames(), 60);
}

// Breaks at steps that are looked at, and that are not.
TEST(FilmMaker, HasTheFramesOfARunWithoutABreak) {
  field::FieldOptions options;
  options.widths = {4};
  options.width = 4, options.height = 1;
  const TempDir dir;
  field::Field field(options, 1);
  const auto take_step = [&](app::FilmMaker& film, std::int64_t step) {
    const auto to = field.network().state_dict(),
               from = field::Field(options, static_cast<std::uint64_t>(step + 1)).network().state_dict();
    for (std::size_t i = 0; i < to.size(); ++i) Tensor(to[i].tensor).assign(from[i].tensor);
    if (step > 0) film.on_step(step);
  };
  const auto film_of = [&](const std::string& name, const std::vector<std::int64_t>& breaks) {
    std::optional<app::FilmMaker> film(std::in_place, dir / name, field);
    take_step(*film, 0);
    film->begin(0);
    for (std::int64_t step = 1; step <= 110; ++step) {
      take_step(*film, step);
      if (std::find(breaks.begin(), breaks.end(), step) == breaks.end()) continue;
      film->save();
      film.emplace(dir / name, field);
      EXPECT_TRUE(film->begin(step));
    }
    film->finish();
    return bytes_of(dir / name);
  };
  const std::string whole = film_of("whole.apng", {});
  EXPECT_TRUE(film_of("broken.apng", {57, 101, 102}) == whole);
}

// ---- morphs ----

TEST_F(Film, GoesFromOnePictureToAnother) {
  const std::string other = dir_ / "o.png", second = dir_ / "m2.safetensors", morph = dir_ / "morph.apng";
  io::write_image(other, affine(io::read_image(picture_), -1, 1));
  ASSERT_EQ(run_veldt({"fit", picture_, "-o", model_, "--steps", "40", "--prior", "none"}).exit_code, 0);
  ASSERT_EQ(
      run_veldt({"fit", other, "-o", second, "--steps", "40", "--prior", "none", "--init", model_}).exit_code,
      0);
  const Ran ran = run_veldt({"render", model_, second, "--morph", "5", "-o", morph, "--fps", "10"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const io::Clip clip = io::read_clip(morph);
  ASSERT_EQ(clip.frames.shape(), (Shape{5, 40, 50, 1}));
  EXPECT_NEAR(clip.seconds[1], 0.1, 1e-9);
  // Its ends are the pictures that the models draw.
  const std::int64_t each = 40 * 50;
  for (const auto& [path, frame] : {std::pair(model_, 0), {second, 4}}) {
    ASSERT_EQ(run_veldt({"render", path, "-o", dir_ / "end.png"}).exit_code, 0);
    const Tensor end = io::read_picture(dir_ / "end.png", {.keep_bytes = true}).image;
    int most = 0;
    for (std::int64_t i = 0; i < each; ++i)
      most = std::max(most, std::abs(int{end.data<std::uint8_t>()[i]} -
                                     int{clip.frames.data<std::uint8_t>()[frame * each + i]}));
    EXPECT_LE(most, 1) << path;
  }
  EXPECT_GT(difference(clip, 1, 2), 0.01);
}

// What a refused morph says to do is done, and the morph is drawn.
TEST_F(Film, IsDrawnOnceItsAdviceIsFollowed) {
  const std::string first = dir_ / "1.png", second = dir_ / "2.png", other = dir_ / "o.safetensors";
  const Tensor grey = slice(slice(io::read_image(picture_), 0, 0, 12), 1, 0, 18);
  const Tensor colour = cat({grey, grey * 0.5, affine(grey, -1, 1)}, 2);
  const auto fits = [](const std::string& picture, const std::string& model,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"fit", picture, "-o", model, "--steps", "3", "--prior", "none"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  };
  const auto morph = [&] {
    return run_veldt({"render", model_, other, "--morph", "2", "-o", dir_ / "x.apng"});
  };
  io::write_image(first, grey), io::write_image(second, colour);
  fits(first, model_), fits(second, other);
  EXPECT_THAT(morph().err,
              HasSubstr("save the grey picture as RGB, fit the first again, and fit the second"));
  io::write_image(first, cat({grey, grey, grey}, 2));
  fits(first, model_), fits(second, other, {"--init", model_});
  EXPECT_EQ(morph().exit_code, 0);

  io::write_image(second, cat({colour, affine(grey, -0.5, 1)}, 2));
  fits(second, other);
  EXPECT_THAT(morph().err, HasSubstr("resize IN -o OUT --scale 1 --background white"));
  const std::string laid = dir_ / "3.png";
  ASSERT_EQ(run_veldt({"resize", second, "-o", laid, "--scale", "1", "--background", "white"}).exit_code, 0);
  fits(laid, other, {"--init", model_});
  EXPECT_EQ(morph().exit_code, 0);

  io::write_image(second, contiguous(transpose(colour, 0, 1)));
  fits(second, other, {"--init", model_});
  EXPECT_THAT(morph().err, HasSubstr("resize IN -o OUT --size 18x12"));
  ASSERT_EQ(run_veldt({"resize", second, "-o", laid, "--size", "18x12"}).exit_code, 0);
  fits(laid, other, {"--init", model_});
  EXPECT_EQ(morph().exit_code, 0);

  fits(laid, other, {"--style", "pixel"});
  EXPECT_THAT(morph().err, HasSubstr("fit both with --style photo"));
  fits(first, model_, {"--style", "photo"}), fits(laid, other, {"--style", "photo", "--init", model_});
  EXPECT_EQ(morph().exit_code, 0);

  fits(laid, other, {"--model", "siren", "--width", "24"});
  EXPECT_THAT(morph().err, HasSubstr("fix: fit the second picture again with --init FIRST"));
  fits(laid, other, {"--init", model_});
  EXPECT_EQ(morph().exit_code, 0);
}

TEST_F(SlowFilm, IsDrawnOnceItsAdviceOnAlphaIsFollowed) {
  const std::string first = dir_ / "1.png", second = dir_ / "2.png", other = dir_ / "o.safetensors";
  const Tensor grey = slice(slice(io::read_image(picture_), 0, 0, 12), 1, 0, 18),
               alpha = affine(grey, -0.5, 1);
  const Tensor colour = cat({grey, grey * 0.5, affine(grey, -1, 1)}, 2);
  const auto fits = [](const std::string& picture, const std::string& model,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"fit", picture, "-o", model, "--steps", "3", "--prior", "none"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  };
  // What the pictures are, what is advised, and what they are once that was done.
  struct Case {
    Tensor a, b;
    const char* advice;
    Tensor a_then, b_then;
  };
  const Tensor rgba = cat({colour, alpha}, 2), greys = cat({grey, grey, grey}, 2);
  const std::vector<Case> cases = {
      {grey, rgba, "white), save the grey picture as RGB, fit the first again, and fit", greys, colour},
      {rgba, colour, "white), fit the first again, and fit", colour, colour},
      {colour, rgba, "white), and fit the second", colour, colour},
      {cat({grey, alpha}, 2), rgba, "fix: save the grey picture as RGBA, fit the first again",
       cat({greys, alpha}, 2), rgba},
      {rgba, cat({grey, alpha}, 2), "fix: save the grey picture as RGBA, and fit the second", rgba,
       cat({greys, alpha}, 2)}};
  for (const Case& c : cases) {
    io::write_image(first, c.a), io::write_image(second, c.b);
    fits(first, model_), fits(second, other);
    const std::vector<std::string> words = {"render", model_, other, "--morph", "2", "-o", dir_ / "x.apng"};
    EXPECT_THAT(run_veldt(words).err, HasSubstr(c.advice));
    io::write_image(first, c.a_then), io::write_image(second, c.b_then);
    if (std::string(c.advice).find("first again") != std::string::npos) fits(first, model_);
    fits(second, other, {"--init", model_});
    EXPECT_EQ(run_veldt(words).exit_code, 0) << c.advice;
  }
}

TEST_F(Film, IsRefusedBetweenOtherForms) {
  const std::string wide = dir_ / "w.safetensors", still = dir_ / "s.safetensors";
  ASSERT_EQ(run_veldt(fit("2")).exit_code, 0);
  ASSERT_EQ(
      run_veldt({"fit", picture_, "-o", wide, "--steps", "2", "--model", "siren", "--width", "24"}).exit_code,
      0);
  const auto refused = [&](const std::vector<std::string>& words, const char* why) {
    std::vector<std::string> all = {"render"};
    all.insert(all.end(), words.begin(), words.end());
    if (std::find(all.begin(), all.end(), "-o") == all.end()) all.insert(all.end(), {"-o", dir_ / "x.apng"});
    const Ran ran = run_veldt(all);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "x.apng"));
  };
  refused({model_, wide, "--morph", "4"}, "different forms");
  refused({model_, "--morph", "4"}, "two models");
  refused({model_, model_, "--morph", "4", "--frames", "7"}, "--frames does not fit --morph");
  refused({model_, wide}, "one model at a time");
  refused({model_, model_, "--morph", "1"}, "--morph");
  refused({model_, model_, "--morph", "4", "-o", dir_ / "x.png"}, "a .png is one picture");
  refused({model_, model_, "--morph", "4", "--bits", "16"}, "16 bits");
  refused({model_, model_, "--morph", "4", "--size", "20000"}, "16384");
  refused({model_, "--frames", "4"}, "stands still");
  refused({model_, "--at", "1"}, "stands still");
}

}  // namespace
}  // namespace veldt::test
