// Batches that a step changes before it learns from them: the same bits recorded or not, and resumed before
// and after they change their shape.
#include "veldt/train/adaptation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using testing::HasSubstr;

// The weights after a fit of 320 points in batches of 32, from the same first ones.
std::vector<float> learned(const FitOptions& options) {
  Rng rng(5);
  nn::Sequential model{nn::Linear(2, 8, rng), nn::Tanh(), nn::Linear(8, 3, rng)};
  optim::Adam adam(model.named_parameters(), {.lr = 0.02});
  data::Loader loader(data::from_tensors({randn({320, 2}, rng), randint({320}, rng, 0, 3)}),
                      {.batch = 32, .shuffle = true, .seed = 3});
  Trainer(model, adam).fit(loader, nullptr, options);
  std::vector<float> all;
  for (const Tensor& p : model.parameters())
    for (const float v : p.values<float>()) all.push_back(v);
  return all;
}

TEST(Adaptation, ChangesWhatEachStepLearnsFrom) {
  const test::TempDir dir;
  std::vector<std::int64_t> sizes;
  const Adaptation halved{[&](std::int64_t step, data::Batch& batch) {
                            for (Tensor& t : batch)
                              if (step < 12) t = slice(t, 0, 0, 16);
                            sizes.push_back(batch[0].size(0));
                          },
                          "half at first"};
  const std::vector<float> whole = learned({.steps = 20, .adapt = halved});
  EXPECT_EQ(sizes.size(), 20u);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 16), 12);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 32), 8);
  EXPECT_NE(learned({.steps = 20}), whole);
  EXPECT_EQ(learned({.steps = 20, .record = true, .adapt = halved}), whole);
  for (const std::int64_t cut : {5, 15}) {
    const std::string out = dir / std::to_string(cut);
    learned({.steps = cut, .out = out, .record = true, .adapt = halved});
    EXPECT_THAT(test::error_of<Error>([&] { learned({.steps = 20, .out = out, .resume = true}); }),
                HasSubstr("adapt"));
    EXPECT_EQ(learned({.steps = 20, .out = out, .resume = true, .record = true, .adapt = halved}), whole)
        << cut;
  }
}

TEST(Adaptation, RefusesNothing) {
  EXPECT_THAT(test::error_of<ConfigError>([] { learned({.steps = 1, .adapt = Adaptation{}}); }),
              HasSubstr("no function"));
  const Adaptation emptied{[](std::int64_t, data::Batch& batch) { batch.clear(); }, "empties"};
  EXPECT_THAT(test::error_of<ConfigError>([&] { learned({.steps = 1, .adapt = emptied}); }),
              HasSubstr("batch of step 0"));
}

}  // namespace
}  // namespace veldt::train
