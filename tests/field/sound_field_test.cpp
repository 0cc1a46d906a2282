// A field of a sound: fitted like a picture, kept in the same kind of file, played at any rate.
#include "veldt/field/sound_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/field/pictures.h"
#include "tests/support/temp_dir.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/field/fit.h"
#include "veldt/field/sinc.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kRate = 8000;

// [frames, channels]; channel c is a tone of 200 (c + 1) Hz.
Tensor tones(std::int64_t frames, std::int64_t channels, double peak = 0.4) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < frames; ++i)
    for (std::int64_t c = 0; c < channels; ++c)
      values.push_back(
          static_cast<float>(peak * std::sin(2 * std::numbers::pi * 200 * static_cast<double>(c + 1) *
                                             static_cast<double>(i) / kRate)));
  return Tensor::from<float>({frames, channels}, values);
}

FitOptions quick_sound(std::int64_t steps = 300) {
  FitOptions options;
  options.width = 24;
  options.depth = 2;
  options.first_omega = 60;
  options.omega = 10;
  options.batch = 200;
  options.optimizer = OptimizerKind::adam;
  options.lr = 5e-3;
  options.steps = steps;
  options.seed = 3;
  return options;
}

double snr(const Tensor& drawn, const Tensor& sound) {
  double squares = 0, errors = 0;
  const std::vector<float> a = drawn.values<float>(), b = sound.values<float>();
  for (std::size_t i = 0; i < b.size(); ++i) {
    squares += std::pow(static_cast<double>(b[i]), 2);
    errors += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return 10 * std::log10(squares / errors);
}

FieldOptions small_sound(std::int64_t frames, std::int64_t channels = 1) {
  FieldOptions o;
  o.dimensions = 1;
  o.widths = {16, 16};
  o.channels = channels;
  o.head = Head::plain;
  o.width = 1;
  o.height = frames;
  o.rate = kRate;
  o.peak = 0.5;
  return o;
}

TEST(SoundFit, LearnsMonoAndStereo) {
  for (const std::int64_t channels : {1, 2, 3}) {
    const Tensor sound = tones(400, channels);
    const SoundField field = fit_sound(sound, kRate, quick_sound());
    EXPECT_EQ(field.render().shape(), sound.shape());
    EXPECT_GT(snr(field.render(), sound), 25) << channels;
  }
}

TEST(SoundFit, IsAsLoudAsTheSound) {
  for (const double peak : {1e-4, 30.0}) {
    const Tensor sound = tones(400, 1, peak);
    const Signal signal = Signal::sound(sound, kRate);
    const SoundField field = fit_sound(sound, kRate, quick_sound());
    EXPECT_GT(snr(field.render(), sound), 25) << peak;
    EXPECT_NEAR(quality_of(field, signal), snr(field.render(), sound), 0.05);
  }
}

TEST(SoundFit, LearnsSoundsThatHaveNothingInThem) {
  const Tensor silence = tones(50, 2, 0);
  EXPECT_EQ(fit_sound(silence, kRate, quick_sound(5)).render().values<float>(), silence.values<float>());
  const Tensor plain = Tensor::from<float>({50, 1}, std::vector<float>(50, -0.3f));
  EXPECT_GT(snr(fit_sound(plain, kRate, quick_sound()).render(), plain), 30);
  const Tensor one = Tensor::of({1, 1}, {0.25});
  EXPECT_GT(snr(fit_sound(one, kRate, quick_sound()).render(), one), 30);
}

TEST(SoundFit, StopsAtTheTarget) {
  const Signal sound = Signal::sound(tones(400, 1), kRate);
  FitOptions options = quick_sound(100000);
  options.target_psnr = 15;
  Fitter fitter(sound, choices_for(sound, options));
  EXPECT_EQ(fitter.run({}, {}).stop, train::Stop::goal_met);
  EXPECT_GE(quality_of(fitter.field(), sound), 15);
}

TEST(SoundFit, KeepsTheFrequenciesItDrew) {
  const Signal sound = Signal::sound(tones(400, 1), kRate);
  const FitChoices choices = choices_for(sound, quick_sound(20));
  Fitter fitter(sound, choices);
  const NamedTensors before = Field(choices.field, choices.seed).tensors();
  fitter.run({}, {});
  const NamedTensors after = fitter.field().tensors();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i].tensor.values<float>() == before[i].tensor.values<float>(),
              after[i].name.starts_with("layers.0."))
        << after[i].name;
}

// Longer than a network of sines could hold: a sum of tones up to `highest` Hz, louder the lower.
Tensor chord(double highest, std::int64_t channels = 1) {
  const std::int64_t frames = 20000;
  std::vector<float> values(static_cast<std::size_t>(frames * channels));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto frame = static_cast<double>(i / static_cast<std::size_t>(channels));
    const double shift = static_cast<double>(i % static_cast<std::size_t>(channels));
    for (double hz = 50; hz <= highest; hz *= 1.7)
      values[i] += static_cast<float>(10 / hz * std::sin(2 * std::numbers::pi * hz * frame / kRate + shift));
  }
  return Tensor::from<float>({frames, channels}, values);
}

// What the grid alone holds.
Tensor open_frames(SoundField field) {
  field.set_closing({});
  return field.render();
}

TEST(SoundFit, HoldsALongSoundInFewerNumbersThanFrames) {
  for (const std::int64_t channels : {1, 2, 12}) {
    const Tensor sound = chord(1000, channels);
    const SoundField field = fit_sound(sound, kRate, {});
    EXPECT_GT(snr(open_frames(field), sound), 36) << channels;
    EXPECT_LT(parameter_count(field.options()), sound.numel() / 2) << channels;
    EXPECT_EQ(field_options_from_json(to_json(field.options())), field.options());
  }
}

TEST(SoundFit, IsTrueBetweenTheFramesOfALongSound) {
  const Tensor sound = chord(1000);
  std::vector<float> half;
  for (std::size_t i = 0; i < 10000; ++i) half.push_back(sound.values<float>()[2 * i]);
  const SoundField field =
      fit_sound(Tensor::from<float>({10000, 1}, half), kRate / 2, {.model = Model::hashgrid});
  const Tensor played = field.render({.rate = kRate});
  // Apart from the ends: what lies beyond them nobody knows.
  EXPECT_GT(snr(slice(played, 0, 1000, 19000), slice(sound, 0, 1000, 19000)), 100);
}

TEST(SoundFit, GivesMoreNumbersToHigherSounds) {
  const auto numbers = [](const Tensor& sound) {
    return parameter_count(choices_for(Signal::sound(sound, kRate), {}).field);
  };
  EXPECT_GT(numbers(chord(2000)), numbers(chord(500)) * 5 / 4);
  EXPECT_LT(numbers(chord(3900)), 20000);
  EXPECT_LT(numbers(Tensor::from<float>({20000, 1}, std::vector<float>(20000, 0.5f))), 10);
  EXPECT_LT(numbers(Tensor::from<float>({20000, 1}, std::vector<float>(20000))), 10);
}

// Layers are a network's, or read the levels of a grid: never the one feature of a broken line.
TEST(SoundFit, GivesLongSoundsANetworkWhereLayersAreAskedFor) {
  using Widths = std::vector<std::int64_t>;
  const Signal sound = Signal::sound(chord(500), kRate);
  EXPECT_TRUE(choices_for(sound, {}).field.widths.empty());
  EXPECT_EQ(choices_for(sound, {.width = 32}).field.widths, (Widths{32, 32, 32}));
  for (const FitOptions& wishes :
       {FitOptions{.width = 32}, FitOptions{.depth = 2}, FitOptions{.optimizer = OptimizerKind::muon}}) {
    const FitChoices choices = choices_for(sound, wishes);
    EXPECT_EQ(model_of(choices.field), Model::siren);
    EXPECT_EQ(choices.lr, 1e-3);
  }
  EXPECT_EQ(model_of(choices_for(sound, {.optimizer = OptimizerKind::adamw}).field), Model::hashgrid);
  for (FitOptions wishes :
       {FitOptions{.width = 32}, FitOptions{.depth = 3}, FitOptions{.optimizer = OptimizerKind::muon}}) {
    wishes.model = Model::hashgrid;
    const FitChoices choices = choices_for(sound, wishes);
    EXPECT_GT(std::get<GridOptions>(choices.field.encodings.front()).levels, 8);
    EXPECT_EQ(choices.field.widths,
              Widths(static_cast<std::size_t>(wishes.depth.value_or(2)), wishes.width.value_or(64)));
    EXPECT_EQ(choices.lr, 1e-2);
  }
}

TEST(SoundFit, TurnsTheMatricesOfALongSoundByMuon) {
  const Signal sound = Signal::sound(chord(500), kRate);
  for (const std::optional<Model> model : {std::optional<Model>(), std::optional(Model::hashgrid)}) {
    const FitOptions wishes{.steps = 3, .model = model, .optimizer = OptimizerKind::muon};
    EXPECT_EQ(Fitter(sound, choices_for(sound, wishes)).run({}, {}).steps, 3);
  }
}

TEST(SoundFit, RefusesWhatIsForPictures) {
  const Signal sound = Signal::sound(tones(40, 1), kRate);
  const auto refused = [&](auto change) {
    FitOptions options = quick_sound();
    change(options);
    EXPECT_THROW(choices_for(sound, options), ConfigError);
  };
  refused([](FitOptions& o) { o.simba = true; });
  refused([](FitOptions& o) { o.loss = Loss::hinge; });
  refused([](FitOptions& o) { o.loss = Loss::bce; });
  refused([](FitOptions& o) { o.footprint = 2; });
}

TEST(SoundFit, RefusesMoreFramesThanPositionsTellApart) {
  const Tensor endless = expand(Tensor::of({1, 1}, {0.5}), {(1 << 23) + 1, 1});
  EXPECT_THROW(choices_for(Signal::sound(endless, kRate), quick_sound()), ConfigError);
}

// Rounded to 16 bits: the numbers of a WAV.
std::vector<long> in_steps(const Tensor& sound) {
  std::vector<long> out;
  for (const float sample : sound.values<float>()) out.push_back(std::lround(sample * 32768));
  return out;
}

// Of any length; without a wave, and with nothing but high ones.
TEST(SoundFit, IsExactAtItsFrames) {
  for (const std::int64_t frames : {1, 2, 3, 17, 700, 70'000})
    for (const std::int64_t channels : {1, 2, 9}) {
      if (frames * channels > 200'000) continue;
      Rng rng(4);
      Tensor noise = round(affine(rand({frames, channels}, rng), 50'000, -25'000));
      noise = affine(noise, 1.0 / 32768, 0);
      const SoundField field = fit_sound(noise, kRate, {.steps = 30});
      EXPECT_EQ(in_steps(field.render()), in_steps(noise)) << frames << " x " << channels;
      EXPECT_GT(snr(field.render(), noise), 110) << frames << " x " << channels;
    }
}

TEST(SoundFit, PlaysWhatAWindowedSincMakesOfItsFrames) {
  Rng rng(5);
  const Tensor sound = affine(rand({70'000, 2}, rng), 1.5, -0.75);
  const SoundField field = fit_sound(sound, kRate, {.steps = 30});
  for (const std::int64_t rate : {2 * kRate, 4 * kRate, 11025L, 3000L}) {
    const Tensor played = field.render({.rate = rate});
    const Tensor wanted =
        SincResampler(static_cast<double>(kRate) / static_cast<double>(rate)).at(0, played.size(0), sound, 0);
    EXPECT_GT(snr(played, wanted), 100) << rate;
  }
}

// A smooth sound is closed by one number of f16 for each frame. Where two are needed anyway, the grid has few
// vertices and takes few steps.
TEST(SoundFit, NeedsOneNumberAFrameForASmoothSound) {
  EXPECT_EQ(fit_sound(chord(1000), kRate, {}).options().closing, 1);
  EXPECT_EQ(fit_sound(chord(3900), kRate, {}).options().closing, 2);
  const FitChoices smooth = choices_for(Signal::sound(chord(1000), kRate), {}),
                   sharp = choices_for(Signal::sound(chord(3900), kRate), {});
  EXPECT_LT(sharp.steps, smooth.steps / 2);
  EXPECT_LT(parameter_count(sharp.field), parameter_count(smooth.field) / 2);
}

TEST(SoundFit, ClosesNoNetwork) {
  EXPECT_EQ(fit_sound(tones(400, 1), kRate, quick_sound(5)).options().closing, 0);
  EXPECT_EQ(fit_sound(tones(400, 1), kRate, {.steps = 5, .model = Model::siren}).options().closing, 0);
  EXPECT_EQ(model_of(choices_for(Signal::sound(tones(400, 1), kRate), {.first_omega = 50}).field),
            Model::siren);
}

// In its last half 24 bits tell places a 33rd of a frame apart. The grid is finer than
// the recipe's, so that this would show: read in f32 it holds 52 dB.
TEST(SlowSoundFit, HoldsAMillionFrames) {
  std::vector<float> values(1'000'000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(0.25 * static_cast<double>(i)));
  const Signal sound = Signal::sound(Tensor::from<float>({1'000'000, 1}, values), 44100);
  FitChoices choices = choices_for(sound, {});
  auto& grid = std::get<GridOptions>(choices.field.encodings.front());
  grid.coarsest = grid.finest = 800'000;
  choices.steps = 480;
  Fitter fitter(sound, choices);
  fitter.run({}, {});
  EXPECT_GT(snr(open_frames(SoundField(fitter.field())), sound.samples()), 57);
}

TEST(SoundField, ComesBackFromItsFile) {
  const test::TempDir dir;
  const SoundField field(small_sound(100, 2), 5);
  field.save(dir / "s");
  const SoundField loaded = SoundField::load(dir / "s");
  EXPECT_EQ(loaded.options(), field.options());
  EXPECT_EQ(loaded.render().values<float>(), field.render().values<float>());
  EXPECT_EQ(field_kind(field.metadata()), "sound_field");
  EXPECT_EQ(loaded.seconds(), 100.0 / kRate);
}

TEST(SoundField, IsClosedInItsFileToo) {
  const test::TempDir dir;
  const SoundField field = fit_sound(tones(300, 2), kRate, {.steps = 3});
  field.save(dir / "s");
  const SoundField loaded = SoundField::load(dir / "s");
  EXPECT_EQ(loaded.options(), field.options());
  EXPECT_EQ(loaded.render({.rate = 3 * kRate}).values<float>(),
            field.render({.rate = 3 * kRate}).values<float>());
  EXPECT_EQ(field.metadata().at("format_version"), "2");
}

TEST(SoundField, PlaysAPartOfAClosedOneAsInTheWhole) {
  const SoundField field = fit_sound(tones(3000, 2), kRate, {.steps = 3});
  const std::vector<float> whole = field.render({.rate = 3 * kRate}).values<float>();
  const Tensor part = field.render({.from = 800.0 / kRate, .to = 1000.0 / kRate, .rate = 3 * kRate});
  ASSERT_EQ(part.shape(), (Shape{600, 2}));
  for (std::size_t i = 0; i < 1200; ++i) EXPECT_NEAR(part.values<float>()[i], whole[4800 + i], 1e-6) << i;
}

TEST(SoundField, PlaysTheSameOnAnyThreads) {
  const test::ThreadsScope scope;
  const SoundField field = fit_sound(chord(1000), kRate, {.steps = 20});
  std::vector<std::vector<float>> played;
  for (const int n : {1, 3}) {
    set_num_threads(n);
    played.push_back(field.render({.rate = 3 * kRate}).values<float>());
  }
  EXPECT_EQ(played[0], played[1]);
}

TEST(SoundField, TakesAPointForEachFittedFrameOfAClosedOne) {
  const SoundField field = fit_sound(tones(300, 1), kRate, {.steps = 3});
  EXPECT_NEAR(field.samples_a_frame({.rate = 4 * kRate}), 0.25, 1e-9);
  EXPECT_NEAR(field.samples_a_frame({.rate = kRate / 4}), 4, 1e-9);
}

TEST(SoundField, RefusesRegionsFarBeyondAClosedOne) {
  const SoundField field = fit_sound(tones(30, 1), kRate, {.steps = 3});
  const auto ignored = [](const Tensor&, std::int64_t) { return true; };
  for (const Region& region : {Region{.y = 1e300}, Region{.height = 1e300}, Region{.y = -1e300}})
    EXPECT_THROW(field.Field::render_bands({1, 10}, {.region = region}, ignored), ConfigError);
  field.Field::render_bands({1, 10}, {.region = {.y = 5, .height = 1e6}},
                            [](const Tensor& rows, std::int64_t) {
                              for (const float sample : rows.values<float>()) EXPECT_EQ(sample, 0);
                              return true;
                            });
}

TEST(SoundField, IsNoPictureAndAPictureIsNoSound) {
  const test::TempDir dir;
  Field(small_sound(100), 5).save(dir / "sound");
  Field(test::small_options(4, 4), 5).save(dir / "picture");
  EXPECT_THROW(ImageField::load(dir / "sound"), IoError);
  EXPECT_THROW(SoundField::load(dir / "picture"), IoError);
  EXPECT_THROW(ImageField(Field(small_sound(9), 5)), ConfigError);
  EXPECT_THROW(SoundField(Field(test::small_options(4, 4), 5)), ConfigError);
  Field field(small_sound(9), 5);
  auto metadata = field.metadata();
  metadata["kind"] = "veldt.image_field";
  EXPECT_THROW(Field::from_tensors(field.tensors(), metadata, "s"), IoError);
}

TEST(SoundField, RefusesOptionsThatAreNoSounds) {
  const auto refused = [](auto change) {
    FieldOptions o = small_sound(10);
    change(o);
    EXPECT_THROW(check(o), ConfigError);
    EXPECT_THROW(field_options_from_json(to_json(o)), IoError);
  };
  refused([](FieldOptions& o) { o.rate = 0; });
  refused([](FieldOptions& o) { o.width = 2; });
  refused([](FieldOptions& o) { o.height = 0; });
  refused([](FieldOptions& o) { o.channels = 0; });
  refused([](FieldOptions& o) { o.channels = 1000; });
  refused([](FieldOptions& o) { o.peak = -1; });
  refused([](FieldOptions& o) { o.head = Head::clamp; });
  refused([](FieldOptions& o) { o.footprint = 2; });
  refused([](FieldOptions& o) { o.closing = 3; });
  FieldOptions o = test::small_options(4, 4);
  o.head = Head::plain;
  EXPECT_THROW(check(o), ConfigError);
}

// Times are those of the frames, whatever the rate: every other frame of twice the rate is one of the sound.
TEST(SoundField, PlaysTheSameMomentsAtAnyRate) {
  const SoundField field(small_sound(100), 5);
  const std::vector<float> own = field.render().values<float>();
  const std::vector<float> twice = field.render({.rate = 2 * kRate}).values<float>();
  ASSERT_EQ(twice.size(), 200u);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(twice[2 * i], own[i], 1e-5) << i;
}

TEST(SoundField, PlaysAPartAsInTheWhole) {
  const SoundField field(small_sound(100, 2), 5);
  const std::vector<float> own = field.render().values<float>();
  const Tensor part = field.render({.from = 20.0 / kRate, .to = 50.0 / kRate});
  ASSERT_EQ(part.shape(), (Shape{30, 2}));
  for (std::size_t i = 0; i < 60; ++i) EXPECT_NEAR(part.values<float>()[i], own[40 + i], 1e-5) << i;
}

// A tone above half the new rate would come back as another one; the mean over a frame takes most of it away.
TEST(SoundField, AveragesAtALowerRate) {
  const SoundField field(small_sound(400), 5);
  const std::vector<float> fine = field.render({.rate = 4 * kRate}).values<float>();
  const std::vector<float> coarse = field.render({.rate = kRate / 4}).values<float>();
  ASSERT_EQ(coarse.size(), 100u);
  for (std::size_t i = 1; i + 1 < coarse.size(); ++i) {
    double mean = 0;  // of four samples, a frame of the sound apart, around the moment
    for (const int k : {-6, -2, 2, 6})
      mean += static_cast<double>(fine[static_cast<std::size_t>(static_cast<int>(i) * 16 + k)]) / 4;
    EXPECT_NEAR(coarse[i], mean, 1e-4) << i;
  }
}

TEST(SoundField, RefusesPartsThatAreNotThere) {
  const SoundField field(small_sound(100), 5);
  EXPECT_THROW(field.render({.from = -1}), ConfigError);
  EXPECT_THROW(field.render({.from = 1}), ConfigError);
  EXPECT_THROW(field.render({.to = 1}), ConfigError);
  EXPECT_THROW(field.render({.from = 0.005, .to = 0.004}), ConfigError);
  EXPECT_THROW(field.render({.from = NAN}), ConfigError);
  EXPECT_THROW(field.render({.rate = -1}), ConfigError);
  EXPECT_THROW(field.render({.to = 1e-6}), ConfigError);
}

}  // namespace
}  // namespace veldt::field
