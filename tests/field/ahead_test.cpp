// A run whose device runs ahead gives the same result as one that is checked after each step.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/field/pictures.h"
#include "tests/support/device_under_test.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/field/batches.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/optim/adam.h"
#include "veldt/train/loop.h"

namespace veldt::field {
namespace {

constexpr Device kDevice{DeviceKind::cuda, 0};
constexpr std::int64_t kSteps = 150;

FitChoices choices_of_batches() {
  FitOptions options;
  options.model = Model::siren;
  options.batch = 32;
  options.sampling = Sampling::uniform;
  return choices_for(test::disc(), options);
}

// A line through the levels of a picture, by batches that lie ready.
class Line final : public train::Task {
 public:
  Line()
      : choices_(choices_of_batches()),
        layer_(choices_.field.inputs(), 1, rng_),
        adam_((layer_.to(kDevice), layer_.named_parameters()), {.lr = 0.01}),
        sampler_(Signal(test::disc()), choices_),
        batches_(sampler_, kDevice) {}

  nn::Module& model() override { return layer_; }
  optim::Optimizer& optimizer() override { return adam_; }
  void prepare(std::int64_t step, std::int64_t steps) override {
    most_prepared = std::max(most_prepared, steps);
    batches_.prepare(step, steps);
  }
  std::int64_t runs_ahead(std::int64_t) const override { return batches_.ahead(); }
  bool repeats() const override { return true; }
  Tensor loss() override {
    batches_.next();
    return mse_loss(layer_(batches_.current().coordinates), batches_.current().levels);
  }
  bool reached(std::int64_t) override { return false; }
  std::map<std::string, std::string> metadata() const override { return {}; }
  std::vector<float> parameters() const { return adam_.slab().values().values<float>(); }

  std::int64_t most_prepared = 0;

 private:
  const FitChoices choices_;
  Rng rng_{5};
  nn::Linear layer_;
  optim::Adam adam_;
  PointSampler sampler_;
  Batches batches_;
};

class FieldOnADeviceAhead : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::use_device_under_test(); }
  void SetUp() override {
    events_.on_step = [this](std::int64_t step, double loss) {
      losses_.push_back(loss);
      EXPECT_EQ(step, first_ + static_cast<std::int64_t>(losses_.size()));
    };
  }
  // look_every: 0 for a look after each step.
  static train::RunOptions options(double look_every, const std::string& directory = "") {
    train::RunOptions o;
    o.steps = kSteps;
    o.rate = [](std::int64_t step) { return 0.05 / (1 + 0.02 * static_cast<double>(step)); };
    o.look_every = look_every;
    o.checkpoint_dir = directory;
    return o;
  }

  train::Events events_;
  std::vector<double> losses_;
  std::int64_t first_ = 0;
};

TEST_F(FieldOnADeviceAhead, GivesTheBitsOfARunThatIsLookedAtAfterEachStep) {
  Line alone, ahead;
  train::run(alone, options(0), events_);
  const std::vector<double> wanted = std::exchange(losses_, {});
  train::run(ahead, options(1e9), events_);
  EXPECT_EQ(alone.most_prepared, 1);
  EXPECT_EQ(ahead.most_prepared, 64);
  EXPECT_EQ(losses_, wanted);
  EXPECT_EQ(ahead.parameters(), alone.parameters());
  EXPECT_LT(wanted.back(), wanted.front() / 2);
}

TEST_F(FieldOnADeviceAhead, IsStoppedInTheMiddleAndResumedToTheSameBits) {
  Line whole, first, rest;
  train::run(whole, options(1e9));
  const test::TempDir dir;
  events_.should_stop = [this] { return losses_.size() == 20; };
  const train::RunResult stopped = train::run(first, options(1e9, dir / "run"), events_);
  EXPECT_EQ(stopped.stop, train::Stop::asked);
  EXPECT_EQ(stopped.steps, 66);  // two alone, then 64 together
  EXPECT_EQ(losses_.size(), 66u);
  first_ = 66;
  losses_.clear();
  events_.should_stop = nullptr;
  train::RunOptions again = options(1e9, dir / "run");
  again.resume = true;
  EXPECT_EQ(train::run(rest, again, events_).steps, kSteps);
  EXPECT_EQ(rest.parameters(), whole.parameters());
}

TEST_F(FieldOnADeviceAhead, NamesTheStepAndTheRateThatDiverged) {
  const auto said = [this](double look_every) {
    Line line;
    train::RunOptions o = options(look_every);
    o.rate = [](std::int64_t step) { return step < 30 ? 0.01 : 1e25 * static_cast<double>(step); };
    losses_.clear();
    try {
      train::run(line, o, events_);
    } catch (const DivergedError& error) {
      EXPECT_EQ(losses_.size(), 31u);
      return error.summary() + error.why().substr(error.why().find("at a rate"));
    }
    return std::string("it did not");
  };
  EXPECT_EQ(said(1e9), said(0));
  EXPECT_NE(said(1e9).find("at step 31"), std::string::npos) << said(1e9);
}

}  // namespace
}  // namespace veldt::field
