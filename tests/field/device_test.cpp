// Fitting and drawing on another device, see tests/support/device_under_test.h.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "tests/field/pictures.h"
#include "tests/support/device_under_test.h"
#include "tests/support/temp_dir.h"
#include "veldt/field/batches.h"
#include "veldt/field/fit.h"
#include "veldt/field/image_field.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"

namespace veldt::field {
namespace {

using test::largest_difference;

constexpr Device kEmulated{DeviceKind::cuda, 0};

class FieldOnADevice : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::use_device_under_test(); }
};

FitOptions quick(Model model, Device device) {
  FitOptions options;
  options.model = model;
  options.width = 16;
  options.depth = 2;
  options.steps = 4;
  options.seed = 7;
  options.precision = Precision::f32;
  options.device = device;
  return options;
}

TEST_F(FieldOnADevice, LearnsWhatTheCpuLearns) {
  const Tensor picture = test::disc(3);
  for (const Model model : {Model::siren, Model::hashgrid, Model::wire, Model::fourier}) {
    const ImageField here = fit(picture, quick(model, {})), there = fit(picture, quick(model, kEmulated));
    EXPECT_EQ(there.device(), kEmulated);
    EXPECT_LT(largest_difference(here.render({24, 24}), there.render({24, 24})), 2e-3) << name_of(model);
  }
}

TEST_F(FieldOnADevice, ClosesAndPlaysASound) {
  std::vector<float> samples(900);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(std::round(20'000 * std::sin(0.01 * std::pow(i, 1.5))) / 32768);
  const Tensor sound = Tensor::from<float>({450, 2}, samples);
  const SoundField there = fit_sound(sound, 8000, {.steps = 4, .device = kEmulated});
  EXPECT_EQ(there.device(), kEmulated);
  EXPECT_LT(largest_difference(there.render(), sound), 0.25 / 32768);
  const SoundField here = fit_sound(sound, 8000, {.steps = 4});
  EXPECT_LT(largest_difference(there.render({.rate = 24000}), here.render({.rate = 24000})), 1e-5);
}

TEST_F(FieldOnADevice, LearnsWithEveryOptimizerAndSampling) {
  const Tensor picture = test::disc();
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::muon})
    for (const Sampling sampling : {Sampling::stratified, Sampling::error}) {
      FitOptions here = quick(Model::siren, {}), there = quick(Model::siren, kEmulated);
      here.optimizer = there.optimizer = optimizer;
      here.sampling = there.sampling = sampling;
      here.batch = there.batch = 100;
      EXPECT_LT(largest_difference(fit(picture, here).render({24, 24}), fit(picture, there).render({24, 24})),
                2e-3)
          << name_of(optimizer) << ", " << name_of(sampling);
    }
}

TEST_F(FieldOnADevice, IsResumedToTheSameBits) {
  const test::TempDir dir;
  const Tensor picture = test::disc();
  FitOptions options = quick(Model::siren, kEmulated);
  options.batch = 200;
  options.steps = 6;
  const FitChoices choices = choices_for(picture, options);
  Fitter whole(picture, choices);
  whole.run({}, {});

  CheckpointOptions checkpoints{.directory = dir / "run", .every = 0};
  train::Events stop;
  int steps = 0;
  stop.on_step = [&steps](std::int64_t step, double) { steps = static_cast<int>(step); };
  stop.should_stop = [&steps] { return steps >= 1; };  // the first step is taken alone
  EXPECT_EQ(Fitter(picture, choices).run(checkpoints, stop).steps, 1);
  checkpoints.resume = true;
  Fitter rest(picture, choices);
  EXPECT_EQ(rest.run(checkpoints, {}).steps, 6);
  EXPECT_EQ(largest_difference(ImageField(whole.field()).render({24, 24}),
                               ImageField(rest.field()).render({24, 24})),
            0);
}

// A device takes steps by itself, as many as fit into a moment; nobody can tell.
TEST_F(FieldOnADevice, TellsOfEveryStepThatItTookByItself) {
  const Tensor picture = test::disc();
  for (const std::int64_t batch : {0, 64}) {  // all of it, and batches that lie ready
    FitOptions options = quick(Model::siren, kEmulated);
    options.width = 4;
    options.depth = 1;
    options.steps = 70;
    options.batch = batch;
    options.sampling = Sampling::stratified;
    std::vector<double> there, here;
    train::Progress last;
    train::Events events;
    events.on_progress = [&](const train::Progress& p) { last = p; };
    const auto note_in = [](std::vector<double>& losses) {
      return [&losses](std::int64_t step, double loss) {
        losses.push_back(loss);
        EXPECT_EQ(step, static_cast<std::int64_t>(losses.size()));
      };
    };
    events.on_step = note_in(there);
    const Tensor drawn = fit(picture, options, events).render({24, 24});
    EXPECT_EQ(last.step, 70);
    const double rate = last.learning_rate;
    options.device = {};
    events.on_step = note_in(here);
    EXPECT_LT(largest_difference(drawn, fit(picture, options, events).render({24, 24})), 2e-3);
    EXPECT_EQ(last.learning_rate, rate);
    ASSERT_EQ(there.size(), here.size());
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 1e-3 * here[i]) << i;
  }
}

// What the device takes by itself is not to depend on how fast it is.
TEST_F(FieldOnADevice, TakesTheSameStepsHoweverManyAtATime) {
  const FitChoices choices = [] {
    FitOptions options = quick(Model::siren, kEmulated);
    options.batch = 100;
    options.sampling = Sampling::uniform;
    return choices_for(test::disc(), options);
  }();
  const PointSampler sampler(Signal(test::disc()), choices);
  Batches batches(sampler, kEmulated);
  ASSERT_GE(batches.ahead(), 20);
  Plan step([&] {
    batches.next();
    const Batch& batch = batches.current();
    return sum(batch.coordinates) + sum(batch.levels) * 100;
  });
  std::int64_t first = 3;
  for (const std::int64_t count : {1, 1, 20, 5}) {
    batches.prepare(first, count);
    const Tensor sums = empty({count}, DType::f32, kEmulated);
    step.replay(count, sums);
    const std::vector<float> got = sums.values<float>();
    for (std::int64_t i = 0; i < count; ++i) {
      const Batch wanted = sampler.batch(first + i);
      EXPECT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i)]),
                  sum(wanted.coordinates).item() + 100 * sum(wanted.levels).item(), 1e-2)
          << first + i;
    }
    first += count;
  }
}

TEST_F(FieldOnADevice, SaysAtWhichStepItDiverged) {
  FitOptions options = quick(Model::relu, kEmulated);
  options.steps = 200;
  options.optimizer = OptimizerKind::sgd;
  options.lr = 1000;
  options.batch = 0;
  std::int64_t told = 0;
  train::Events events;
  events.on_step = [&](std::int64_t step, double loss) {
    told = step;
    EXPECT_TRUE(std::isfinite(loss));
  };
  const std::string said = test::error_of<DivergedError>([&] { fit(test::disc(), options, events); });
  EXPECT_NE(said.find(str("at step ", told)), std::string::npos) << said;
}

TEST_F(FieldOnADevice, StopsAtItsGoalOnTheSameStepAsTheCpu) {
  FitOptions options = quick(Model::siren, {});
  options.steps = 400;
  options.batch = 128;
  options.sampling = Sampling::stratified;
  options.target_psnr = 18;
  const auto steps_on = [&](Device device) {
    options.device = device;
    Fitter fitter(test::disc(), choices_for(test::disc(), options));
    const train::RunResult result = fitter.run({}, {});
    EXPECT_EQ(result.stop, train::Stop::goal_met);
    return result.steps;
  };
  EXPECT_EQ(steps_on({}), steps_on(kEmulated));
}

TEST_F(FieldOnADevice, SaysWhichBatchFits) {
  Rng rng(3);
  const Tensor picture = rand({300, 300, 1}, rng);
  FitOptions options = quick(Model::siren, kEmulated);
  options.width = 300;  // too wide for a fused stack, whose memory does not grow with the batch
  options.depth = 1;
  options.steps = 1;
  options.sampling = Sampling::stratified;
  options.batch = 0;
  Pool& memory = pool(kEmulated);
  memory.trim();
  memory.set_limit(memory.stats().bytes_in_use + (std::size_t{20} << 20));
  const std::string said = test::thrown_by<OutOfMemory>([&] { fit(picture, options); }).fix();
  std::int64_t batch = 0;
  ASSERT_EQ(std::sscanf(said.c_str(), "use a batch of %ld or less", &batch), 1) << said;
  options.batch = batch;
  EXPECT_NO_THROW(fit(picture, options));
  options.batch = 2 * batch;
  EXPECT_THROW(fit(picture, options), OutOfMemory);
  memory.set_limit(0);
}

// Has the emulated device stop answering, or answer again.
void lose_device(bool lost) {
  void* const library = dlopen(look_for_devices(DeviceKind::cuda).path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  void* const function = dlsym(library, "_ZN5veldt3gpu9emulation11lose_deviceEb");
  dlclose(library);
  ASSERT_NE(function, nullptr);
  reinterpret_cast<void (*)(bool)>(function)(lost);
}

TEST_F(FieldOnADevice, KeepsItsCheckpointWhenTheDeviceIsLost) {
  if (test::on_real_gpu()) GTEST_SKIP() << "a real GPU cannot be told to get lost";
  const test::TempDir dir;
  const Tensor picture = test::disc();
  FitOptions options = quick(Model::siren, kEmulated);
  options.batch = 200;
  options.steps = 60;
  const FitChoices choices = choices_for(picture, options);
  Fitter whole(picture, choices);
  whole.run({}, {});

  CheckpointOptions checkpoints{.directory = dir / "run", .every = 0};
  std::int64_t kept = 0;
  train::Events events;
  events.on_checkpoint = [&](std::int64_t step, const std::string&) {
    kept = step;
    if (step >= 2) lose_device(true);
  };
  {
    Fitter lost(picture, choices);
    EXPECT_THROW(lost.run(checkpoints, events), DeviceError);
  }
  EXPECT_GE(kept, 2);
  EXPECT_LT(kept, 60);
  lose_device(false);
  checkpoints.resume = true;
  Fitter rest(picture, choices);
  std::int64_t taken_up = 0;
  events = {};
  events.on_start = [&](std::int64_t step) { taken_up = step; };
  EXPECT_EQ(rest.run(checkpoints, events).steps, 60);
  EXPECT_EQ(taken_up, kept);
  EXPECT_EQ(largest_difference(ImageField(whole.field()).render({24, 24}),
                               ImageField(rest.field()).render({24, 24})),
            0);
}

TEST_F(FieldOnADevice, IsSavedAndDrawnAnywhere) {
  const test::TempDir dir;
  const ImageField there = fit(test::disc(), quick(Model::siren, kEmulated));
  there.save(dir / "field.safetensors");
  Field here = Field::load(dir / "field.safetensors");
  EXPECT_EQ(here.device(), Device{});
  for (const std::int64_t size : {9, 24, 50})  // shrunk, as it is, enlarged
    EXPECT_LT(largest_difference(ImageField(here).render({size, size}), there.render({size, size})), 1e-5)
        << size;
  here.to(kEmulated);
  EXPECT_EQ(largest_difference(ImageField(here).render({24, 24}), there.render({24, 24})), 0);
}

TEST_F(FieldOnADevice, TakesBf16OfItselfAndTf32WhereItIs) {
  FitOptions options = quick(Model::siren, kEmulated);
  options.precision = {};
  EXPECT_EQ(choices_for(test::disc(), options).precision, Precision::bf16);
  options.precision = Precision::tf32;
  EXPECT_EQ(choices_for(test::disc(), options).precision, Precision::tf32);
  options.device = {};
  EXPECT_THROW(choices_for(test::disc(), options), DeviceError);
}

}  // namespace
}  // namespace veldt::field
