// Clips: fields of position and time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/field/fit.h"
#include "veldt/field/morph.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

using test::TempDir;
using testing::HasSubstr;

// A soft spot that goes from left to right: u8 [frames, 12, 16, channels].
Tensor moving_spot(std::int64_t frames, std::int64_t channels = 3) {
  const Tensor out = empty({frames, 12, 16, channels}, DType::u8);
  std::uint8_t* to = out.data<std::uint8_t>();
  for (std::int64_t f = 0; f < frames; ++f)
    for (int y = 0; y < 12; ++y)
      for (int x = 0; x < 16; ++x)
        for (std::int64_t c = 0; c < channels; ++c) {
          const double at = 2 + 12 * (static_cast<double>(f) + 0.5) / static_cast<double>(frames);
          const double far = (x + 0.5 - at) * (x + 0.5 - at) + (y - 5.5) * (y - 5.5);
          *to++ = static_cast<std::uint8_t>(40 + 200 * std::exp(-far / (8 + 2 * static_cast<double>(c))));
        }
  return out;
}

TEST(Clip, IsALatticeOfItsFramesRows) {
  const Signal clip = Signal::clip(moving_spot(4), {0.1, 0.1, 0.2, 0.4});
  EXPECT_TRUE(clip.is_clip() && !clip.is_sound());
  EXPECT_EQ(clip.frames(), 4);
  EXPECT_EQ(clip.rows_a_frame(), 12);
  EXPECT_EQ(clip.rows(), 48);
  EXPECT_EQ(clip.points(), 48 * 16);
  EXPECT_NEAR(clip.seconds(), 0.8, 1e-12);
  EXPECT_NEAR(clip.time_of(0), 0.05 / 0.8, 1e-12);
  EXPECT_NEAR(clip.time_of(3), 0.6 / 0.8, 1e-12);
  const Signal still(zeros({3, 2, 1}));
  EXPECT_EQ(still.frames(), 1);
  EXPECT_EQ(still.time_of(0), 0.5);
  EXPECT_THROW(Signal::clip(moving_spot(4), {0.1}), ShapeError);
  EXPECT_THROW(Signal::clip(zeros({1, 2, 2, 1}), {0.1}), ShapeError);
  EXPECT_THROW(Signal::clip(moving_spot(1), {0}), ConfigError);
  EXPECT_THROW(Signal::clip(moving_spot(1), {NAN}), ConfigError);
}

TEST(Clip, IsReadBetweenItsFrames) {
  const Signal clip = Signal::clip(moving_spot(4), {0.1, 0.1, 0.2, 0.4});
  const Tensor second = reshape(clip.read(12, 12), {12 * 16, 3}),
               third = reshape(clip.read(24, 12), {12 * 16, 3});
  // The centre of pixel (5, 7) on frames 1 and 2, a quarter of the way, and beyond the last frame.
  const double places[] = {5.5, 7.5, 5.5, 7.5, 5.5, 7.5, 5.5, 7.5}, frames[] = {1, 2, 1.25, 3.4};
  const std::vector<float> read = clip.between(places, 4, frames).values<float>();
  const std::vector<float> a = second.values<float>(), b = third.values<float>(),
                           last = clip.read(36, 12).values<float>();
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t at = (7 * 16 + 5) * 3 + c;
    EXPECT_NEAR(read[c], a[at], 1e-6);
    EXPECT_NEAR(read[3 + c], b[at], 1e-6);
    EXPECT_NEAR(read[6 + c], 0.75 * a[at] + 0.25 * b[at], 1e-6);
    EXPECT_NEAR(read[9 + c], last[at], 1e-6);
  }
  EXPECT_NEAR(clip.time_at(1.5), (0.15 + 0.3) / 2 / 0.8, 1e-12);
  EXPECT_EQ(clip.time_at(-1), clip.time_of(0));
  EXPECT_EQ(clip.time_at(9), clip.time_of(3));
  EXPECT_EQ(Signal(zeros({3, 2, 1})).time_at(0), 0.5);
}

Field fitted(const Signal& clip, const FitOptions& options) {
  Fitter fitter(clip, choices_for(clip, options));
  fitter.run({}, {});
  return fitter.field();
}

TEST(Clip, IsLearnedWithWhatIsBetweenItsFrames) {
  const Signal clip = Signal::clip(moving_spot(8), std::vector<double>(8, 0.25));
  for (const Model model : {Model::hashgrid, Model::siren}) {
    const Field field = fitted(clip, {.seed = 3, .steps = 250, .model = model});
    EXPECT_GT(quality_of(field, clip), 30) << name_of(model);
    const Signal fine = Signal::clip(moving_spot(16), std::vector<double>(16, 0.125));
    EXPECT_GT(quality_of(field, fine), 22) << name_of(model);
  }
}

TEST(Clip, IsKeptInAFileThatOlderProgramsRefuse) {
  const TempDir dir = TempDir::in_memory();
  const Signal clip = Signal::clip(moving_spot(3), {0.1, 0.2, 0.3});
  const Field field = fitted(clip, {.seed = 3, .steps = 3, .model = Model::finer, .width = 8});
  field.save(dir / "m");
  const io::SafeTensors file = io::read_safetensors(dir / "m");
  EXPECT_EQ(file.metadata.at("format_version"), "4");
  EXPECT_THAT(file.metadata.at("options"), HasSubstr("\"dimensions\":3"));
  const ImageField read = ImageField::load(dir / "m");
  EXPECT_EQ(read.options(), field.options());
  EXPECT_EQ(read.options().frames, 3);
  EXPECT_NEAR(read.options().seconds, 0.6, 1e-12);
  const auto at = [](const ImageField& of, double time) {
    return of.render({16, 12}, {.time = time}).values<float>();
  };
  EXPECT_EQ(at(read, 0.3), at(ImageField(field), 0.3));
  EXPECT_NE(at(read, 0.3), at(read, 0.9));
  EXPECT_THROW(read.render({16, 12}, {.time = 1.1}), ConfigError);
  EXPECT_THROW(read.render({16, 12}, {.time = NAN}), ConfigError);
}

TEST(Clip, RefusesOptionsOfAStillPicture) {
  const Signal clip = Signal::clip(moving_spot(3), {0.1, 0.2, 0.3});
  EXPECT_THROW(choices_for(clip, {.style = Style::pixel}), ConfigError);
  EXPECT_THROW(choices_for(clip, {.footprint = 2}), ConfigError);
  FieldOptions options = choices_for(clip, {}).field;
  const auto text_with = [&](const std::string& old, const std::string& now) {
    std::string text = to_json(options);
    const std::size_t found = text.find(old);
    EXPECT_NE(found, std::string::npos) << old << " in " << text;
    return text.replace(found, old.size(), now);
  };
  EXPECT_EQ(field_options_from_json(to_json(options)), options);
  for (const auto& [old, now] :
       std::vector<std::pair<std::string, std::string>>{{"\"frames\":3", "\"frames\":0"},
                                                        {"\"frames\":3", "\"frames\":4611686018427387904"},
                                                        {"\"frames\":3", "\"frames\":\"3\""},
                                                        {"\"frames\":3,", ""},
                                                        {"\"seconds\":", "\"seconds\":-"},
                                                        {"\"time_scale\":", "\"time_scale\":7"},
                                                        {"\"dimensions\":3", "\"dimensions\":4"},
                                                        {"\"footprint\":1", "\"footprint\":2"}})
    EXPECT_EQ(test::thrown_by<IoError>([&] { field_options_from_json(text_with(old, now)); }).kind(),
              IoError::Kind::malformed)
        << now;
}

ImageField still_field(std::uint64_t seed, std::int64_t width = 6) {
  FieldOptions options;
  options.widths = {width};
  options.width = 9, options.height = 7;
  return ImageField(options, seed);
}

TEST(Morph, GoesFromOneFieldToTheOther) {
  const ImageField a = still_field(1), b = still_field(2);
  const Morph morph(a, b, {18, 14});
  const auto near = [](const Tensor& x, const Tensor& y) {
    const std::vector<float> one = x.values<float>(), other = y.values<float>();
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-5);
  };
  near(morph.picture(0), a.render({18, 14}));
  near(morph.picture(1), b.render({18, 14}));
  near(morph.picture(0.25), field_between(a, b, 0.25).render({18, 14}));
  EXPECT_NE(morph.picture(0.5).values<float>(), a.render({18, 14}).values<float>());
}

TEST(Morph, RefusesOtherForms) {
  const ImageField a = still_field(1), wide = still_field(1, 7);
  const ConfigError refused = test::thrown_by<ConfigError>([&] { Morph(a, wide, {9, 7}); });
  EXPECT_THAT(refused.why(), HasSubstr("layers of 6"));
  EXPECT_THAT(refused.why(), HasSubstr("layers of 7"));
  FieldOptions waves = a.options();
  waves.activation = Activation::relu;
  waves.encodings = {FourierOptions{.frequencies = 4}};
  EXPECT_THROW(Morph(ImageField(waves, 1), ImageField(waves, 2), {9, 7}).picture(0.5), ConfigError);
}

}  // namespace
}  // namespace veldt::field
