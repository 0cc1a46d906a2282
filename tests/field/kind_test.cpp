// What kind a picture is taken for, and how pixel art and drawings in two tones are drawn.
#include "veldt/field/kind.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/field/pictures.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/data/resample.h"
#include "veldt/field/fit.h"
#include "veldt/field/transparency.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

using test::draw;
using test::ink;

PictureKind kind(const Tensor& picture) { return kind_of(facts_of(picture), picture); }

// A face of three colours on a clear ground, 16x16, as a game has it.
Tensor sprite() {
  return draw(16, 16, 4, [](double x, double y, int c) {
    const double r = std::hypot(x - 7.5, y - 7.5);
    if (r > 7) return 0.0;
    if (c == 3) return 1.0;
    const bool is_eye = std::abs(std::abs(x - 7.5) - 2.5) < 1 && std::abs(y - 5.5) < 1;
    return is_eye ? 0.0 : r > 6 ? 51 * c / 255.0 : c == 2 ? 0.2 : 0.8;
  });
}

// A disc of ink whose edges the pixels have averaged.
Tensor averaged(std::int64_t channels) {
  return data::resample(
      draw(256, 256, channels,
           [](double x, double y, int c) { return std::hypot(x - 127, y - 120) < 90 ? 0.1 * c : 1.0; }),
      {32, 32}, data::Filter::area);
}

TEST(Kind, IsFoundFromThePixels) {
  EXPECT_EQ(kind(sprite()).style, Style::pixel);
  EXPECT_TRUE(kind(ink()).two_tone);
  EXPECT_EQ(kind(ink()).style, Style::line);
  EXPECT_EQ(kind(averaged(1)).style, Style::line);
  EXPECT_FALSE(kind(averaged(1)).two_tone);
  EXPECT_EQ(kind(averaged(3)).style, Style::drawing);
  EXPECT_EQ(kind(test::disc(3)).style, Style::photo);
}

// Shaded in many colours, but cut out as no program does that draws smooth edges.
TEST(Kind, OfAShadedSpriteIsPixelArt) {
  const auto shaded = [](double clear_alpha) {
    return draw(16, 16, 4, [clear_alpha](double x, double y, int c) {
      const bool is_inside = x + y > 9 && x + y < 24;
      if (c == 3) return is_inside ? 1.0 : (static_cast<int>(x) % 3 == 0 ? clear_alpha : 0.0);
      return is_inside ? std::fmod(x * 37 + y * 59 * (c + 1), 101) / 255 : 0.0;
    });
  };
  EXPECT_GT(facts_of(shaded(0)).colours, 64);
  EXPECT_EQ(kind(shaded(0)).style, Style::pixel);
  EXPECT_NE(kind(shaded(0.4)).style, Style::pixel);
}

TEST(Kind, OfSquaresIsPixelArtAtAnySizeOfThem) {
  const Tensor large = repeat_interleave(repeat_interleave(sprite(), 20, 0), 20, 1);
  EXPECT_EQ(facts_of(large).period, 20);
  EXPECT_EQ(kind(large).style, Style::pixel);
  const Tensor code = repeat_interleave(repeat_interleave(ink(), 4, 0), 4, 1);
  EXPECT_EQ(kind(code).style, Style::pixel);
  EXPECT_FALSE(kind(code).two_tone);
}

TEST(Kind, OfASlowRampIsNoPixelArt) {
  const auto ramp = [](std::int64_t side, double from, double step) {
    return draw(side, side, 1, [=](double x, double, int) { return from + step * std::floor(x); });
  };
  EXPECT_EQ(facts_of(ramp(40, 0.5, 2.4 / 65535)).period, 1) << "in 8 bits it is one square";
  EXPECT_NE(kind(ramp(40, 0.5, 2.4 / 65535)).style, Style::pixel);
  const Tensor strips = repeat_interleave(repeat_interleave(ramp(128, 0, 1 / 255.0), 2, 0), 2, 1);
  EXPECT_EQ(facts_of(strips).period, 2);
  EXPECT_NE(kind(strips).style, Style::pixel);
}

TEST(Kind, IsWhatOneAsksFor) {
  EXPECT_EQ(kind_of(facts_of(sprite()), sprite(), Style::drawing).style, Style::drawing);
  EXPECT_FALSE(kind_of(facts_of(ink()), ink(), Style::photo).two_tone);
  EXPECT_THROW(style_from("painting"), ConfigError);
}

TEST(Kind, CountsOneColourAndOnePixel) {
  const Tensor one = draw(1, 1, 3, [](double, double, int) { return 0.5; });
  EXPECT_EQ(facts_of(one).colours, 1);
  EXPECT_EQ(facts_of(one).period, 1);
  EXPECT_EQ(kind(draw(9, 7, 1, [](double, double, int) { return 0.5; })).style, Style::pixel)
      << "one square, which is right whatever it is called";
}

TEST(PixelArt, IsSquaresAtAnySize) {
  const ImageField field = fit(sprite(), {});
  EXPECT_TRUE(field.options().squares);
  const Tensor seen = Signal(sprite()).read(0, 16);
  for (const std::int64_t scale : {1, 2, 3, 4, 8}) {
    const Tensor squares = repeat_interleave(repeat_interleave(seen, scale, 0), scale, 1);
    EXPECT_LT(test::largest_difference(field.render({16 * scale, 16 * scale}), squares), 0.5 / 255) << scale;
  }
  // Pixels that lie across a border are what they cover of both sides.
  const Tensor grounds = on_two_grounds(seen);
  const Tensor area =
      data::resample(repeat_interleave(repeat_interleave(grounds, 3, 0), 3, 1), {24, 24}, data::Filter::area);
  EXPECT_LT(test::largest_difference(on_two_grounds(field.render({24, 24})), area), 0.5 / 255);
  const Tensor smaller = data::resample(grounds, {8, 8}, data::Filter::area);
  EXPECT_LT(test::largest_difference(on_two_grounds(field.render({8, 8})), smaller), 0.5 / 255);
}

TEST(PixelArt, IsItsAreasMeanWhereverTheSquaresMeet) {
  const ImageField field = fit(sprite(), {});
  const Tensor fine = on_two_grounds(field.render({16 * 30, 16 * 30}));
  for (const auto& [width, height] :
       {std::pair(24, 16), std::pair(20, 12), std::pair(17, 17), std::pair(40, 10)}) {
    const Tensor area = data::resample(fine, {width, height}, data::Filter::area);
    EXPECT_LT(test::largest_difference(on_two_grounds(field.render({width, height})), area), 0.5 / 255)
        << width << ' ' << height;
  }
}

TEST(PixelArt, ThatWasEnlargedIsKeptAsItsSquares) {
  const Tensor seen = Signal(sprite()).read(0, 16);
  const Tensor large = repeat_interleave(repeat_interleave(sprite(), 20, 0), 10, 1);
  const ImageField field = fit(large, {});
  EXPECT_EQ(field.options().period, 10) << "the largest square that both sides are made of";
  EXPECT_EQ(field.closing().coefficients().shape(), Shape({1, 32, 16, 4}));
  EXPECT_LT(test::largest_difference(field.render({160, 320}), Signal(large).read(0, 320)), 0.5 / 255);
  EXPECT_LT(test::largest_difference(field.render({16, 16}), seen), 0.5 / 255);
  const test::TempDir dir;
  field.save(dir / "f.safetensors");
  const ImageField again = ImageField::load(dir / "f.safetensors");
  EXPECT_EQ(test::largest_difference(again.render({50, 70}), field.render({50, 70})), 0);
}

TEST(PixelArt, GoesOnBeyondItsBorder) {
  const ImageField field = fit(sprite(), {});
  RenderOptions beyond;
  beyond.region = {-1, -0.5, 3, 1};
  const Tensor drawn = field.render({4, 32}, beyond);
  const Tensor above = slice(drawn, 0, 0, 16);
  EXPECT_LT(test::largest_difference(above, expand(slice(drawn, 0, 0, 1), {16, 4, 4})), 1e-6);
  beyond.region = {-1e9, -1e9, 2e9, 2e9};
  EXPECT_TRUE(std::isfinite(test::largest(field.render({3, 2}, beyond)))) << "of far away a few samples do";
}

TEST(PixelArt, RefusesAnotherLoss) {
  FitOptions wishes{.loss = Loss::bce};
  EXPECT_FALSE(choices_for(sprite(), wishes).field.squares) << "it asks for another way";
  wishes.style = Style::pixel;
  EXPECT_THROW(choices_for(sprite(), wishes), ConfigError);
  EXPECT_FALSE(choices_for(sprite(), {.footprint = 2}).field.squares);
}

TEST(PixelArt, IsDrawnSmoothIfThatIsAskedFor) {
  FitOptions wishes;
  wishes.style = Style::drawing;
  EXPECT_FALSE(choices_for(sprite(), wishes).field.squares);
  EXPECT_TRUE(choices_for(sprite(), wishes).has_teacher());
  EXPECT_FALSE(choices_for(sprite(), {.model = Model::siren}).field.squares);
  wishes.style = Style::pixel;
  wishes.model = Model::hashgrid;
  EXPECT_TRUE(choices_for(sprite(), wishes).field.squares);
}

// A prior that knows nothing: what it draws for the pixels is all that the contours can be taken from.
FitOptions with_tone_prior() {
  Rng rng(1);
  FitOptions wishes;
  wishes.tone_prior = std::make_shared<Prior>(PriorOptions{.width = 4, .depth = 2, .two_tone = true}, rng);
  return wishes;
}

TEST(TwoTones, AreThePictureAtItsOwnSize) {
  for (const std::int64_t channels : {1, 3}) {
    const Tensor picture = draw(24, 24, channels, [](double x, double y, int c) {
      return std::hypot(x - 11.5, y - 9) < 6 ? 0.0 : c == 1 ? 0.4 : 1.0;
    });
    const ImageField field = fit(picture, with_tone_prior());
    ASSERT_EQ(field.options().tones.size(), 2);
    EXPECT_EQ(test::largest_difference(field.render({24, 24}), picture), 0);
    RenderOptions part;
    part.region = {0.25, 0.25, 0.5, 0.5};
    EXPECT_EQ(
        test::largest_difference(field.render({12, 12}, part), slice(slice(picture, 0, 6, 18), 1, 6, 18)), 0);
  }
}

TEST(TwoTones, KeepWhatIsNoNumber) {
  ImageField field = fit(ink(), with_tone_prior());
  Tensor weight = field.network().named_parameters().back().tensor;
  NoGrad off;
  weight.assign(full(weight.shape(), std::numeric_limits<double>::quiet_NaN()));
  field.set_closing({});
  EXPECT_TRUE(std::isnan(field.render({24, 24}).data<float>()[0]));
}

TEST(TwoTones, OfColoursAreTaughtWithoutAPriorOfTheirs) {
  const Tensor picture =
      draw(24, 24, 3, [](double x, double y, int c) { return x + y < 20 ? 0.2 * c : 1.0; });
  const FitChoices choices = choices_for(picture, {});
  EXPECT_TRUE(choices.has_teacher());
  EXPECT_TRUE(choices.field.tones.empty());
}

TEST(TwoTones, AreHeldBySinesWithoutAPriorAndAreGreysIfThatIsAskedFor) {
  EXPECT_EQ(model_of(choices_for(ink(), {}).field), Model::siren);
  FitOptions wishes = with_tone_prior();
  EXPECT_FALSE(choices_for(ink(), wishes).field.tones.empty());
  wishes.style = Style::photo;
  EXPECT_TRUE(choices_for(ink(), wishes).field.tones.empty());
  EXPECT_TRUE(choices_for(ink(), wishes).has_teacher());
}

TEST(Source, OfPointsIsExactAtTheirPlaces) {
  const auto scene = [](double x, double y, int c) {
    return 0.5 + 0.4 * std::sin(x * (c + 2)) * std::cos(3 * y);
  };
  const auto sampled = [&](std::int64_t side) {
    const double step = 5.0 / static_cast<double>(side);
    return draw(side, side, 3,
                [&](double x, double y, int c) { return scene((x + 0.5) * step, (y + 0.5) * step, c); });
  };
  FitOptions wishes;
  wishes.source = Source::point;
  const ImageField field = fit(sampled(24), wishes);
  EXPECT_EQ(field.options().footprint, 1);
  EXPECT_LT(test::largest_difference(field.render({24, 24}), sampled(24)), 0.5 / 65535);
  const auto off = [&](const ImageField& f) { return mean(square(f.render({72, 72}) - sampled(72))).item(); };
  EXPECT_LT(off(field), 0.5 * off(fit(sampled(24), {})));
}

}  // namespace
}  // namespace veldt::field
