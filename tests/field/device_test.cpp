// Fitting and drawing on another device: the emulated one of tests/support/gpu_emulation.h.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/field/pictures.h"
#include "tests/support/temp_dir.h"
#include "veldt/field/fit.h"
#include "veldt/field/image_field.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/device_library.h"

namespace veldt::field {
namespace {

constexpr Device kEmulated{DeviceKind::cuda, 0};

class FieldOnADevice : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_cuda_library(VELDT_CUDA_LIBRARY); }
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

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = to(a, Device{}).values<float>(), y = to(b, Device{}).values<float>();
  double most = x.size() == y.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = std::fabs(double{x[i]} - double{y[i]});
    if (!(off <= most)) most = std::isnan(off) ? INFINITY : off;
  }
  return most;
}

TEST_F(FieldOnADevice, LearnsWhatTheCpuLearns) {
  const Tensor picture = test::disc(3);
  for (const Model model : {Model::siren, Model::hashgrid, Model::wire, Model::fourier}) {
    const ImageField here = fit(picture, quick(model, {})), there = fit(picture, quick(model, kEmulated));
    EXPECT_EQ(there.device(), kEmulated);
    EXPECT_LT(largest_difference(here.render(24, 24), there.render(24, 24)), 2e-3) << name_of(model);
  }
}

TEST_F(FieldOnADevice, LearnsWithEveryOptimizerAndSampling) {
  const Tensor picture = test::disc();
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::muon})
    for (const Sampling sampling : {Sampling::stratified, Sampling::error}) {
      FitOptions here = quick(Model::siren, {}), there = quick(Model::siren, kEmulated);
      here.optimizer = there.optimizer = optimizer;
      here.sampling = there.sampling = sampling;
      here.batch = there.batch = 100;
      EXPECT_LT(largest_difference(fit(picture, here).render(24, 24), fit(picture, there).render(24, 24)),
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
  const FitPlan plan = plan_for(picture, options);
  Fitter whole(picture, plan);
  whole.run({}, {});

  CheckpointOptions checkpoints{.directory = dir / "run", .every = 0};
  train::Events stop;
  int steps = 0;
  stop.on_step = [&steps](std::int64_t step, double) { steps = static_cast<int>(step); };
  stop.should_stop = [&steps] { return steps == 3; };
  Fitter(picture, plan).run(checkpoints, stop);
  checkpoints.resume = true;
  Fitter rest(picture, plan);
  EXPECT_EQ(rest.run(checkpoints, {}).steps, 6);
  EXPECT_EQ(
      largest_difference(ImageField(whole.field()).render(24, 24), ImageField(rest.field()).render(24, 24)),
      0);
}

TEST_F(FieldOnADevice, IsSavedAndDrawnAnywhere) {
  const test::TempDir dir;
  const ImageField there = fit(test::disc(), quick(Model::siren, kEmulated));
  there.save(dir / "field.safetensors");
  Field here = Field::load(dir / "field.safetensors");
  EXPECT_EQ(here.device(), Device{});
  for (const std::int64_t size : {9, 24, 50})  // shrunk, as it is, enlarged
    EXPECT_LT(largest_difference(ImageField(here).render(size, size), there.render(size, size)), 1e-5)
        << size;
  here.to(kEmulated);
  EXPECT_EQ(largest_difference(ImageField(here).render(24, 24), there.render(24, 24)), 0);
}

TEST_F(FieldOnADevice, RefusesBf16ThatTheDeviceDoesNotHave) {
  FitOptions options = quick(Model::siren, kEmulated);
  options.precision = {};
  EXPECT_EQ(plan_for(test::disc(), options).precision, Precision::f32);
  options.precision = Precision::bf16;
  EXPECT_THROW(plan_for(test::disc(), options), DeviceError);
}

}  // namespace
}  // namespace veldt::field
