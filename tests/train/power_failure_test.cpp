// The power fails at any moment while checkpoints are saved: the newest that was reported is there, or a
// later one.
#include <gtest/gtest.h>

#include "tests/support/power_failure.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/train/checkpoint.h"

namespace veldt::train {
namespace {

CheckpointData checkpoint_of(std::int64_t step) {
  return {.step = step,
          .model = {{"w", full({3}, static_cast<double>(step))}},
          .optim = {{"m", full({3}, static_cast<double>(step))}},
          .state_json = str(step)};
}

TEST(PowerFailure, LeavesTheNewestCheckpointThatWasReported) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const test::TempDir dir = test::TempDir::in_memory();
  test::Journal journal(dir.path());
  {
    const test::Watch watch(journal);
    CheckpointDir checkpoints(dir / "runs/x", 2);
    for (const std::int64_t step : {1, 2, 3, 3, 4}) {  // a run that stops where it has saved does so twice
      checkpoints.save(checkpoint_of(step));
      journal.promise(step);
    }
  }
  int trees = 0;
  journal.replay(12, [&](const std::string& root, std::int64_t promised) {
    CheckpointDir left(root + "/runs/x", 2);
    std::optional<CheckpointData> newest;
    try {
      newest = left.load_newest();
    } catch (const IoError& error) {
      EXPECT_LT(promised, 0) << error.what();
    }
    if (newest) {
      EXPECT_EQ(newest->state_json, str(newest->step));
      EXPECT_EQ(newest->model.at(0).tensor.values<float>()[2], static_cast<float>(newest->step));
    }
    EXPECT_GE(newest ? newest->step : -1, promised);
    ++trees;
  });
  EXPECT_GT(trees, 12 * 5 * 20);
}

}  // namespace
}  // namespace veldt::train
