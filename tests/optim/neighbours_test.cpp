// A program that trains with the library as it comes, while others use the cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "tests/support/busy_processes.h"
#include "veldt/core/cores.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/random.h"
#include "veldt/optim/sgd.h"

namespace veldt {
namespace {

// 2.2 times as long was measured on two cores. 107 times is what waiting by spinning alone took.
TEST(SlowNeighbours, LetAPlainTrainingGoOn) {
  Rng rng(1);
  nn::Sequential model{nn::Linear(64, 256, rng), nn::ReLU(), nn::Linear(256, 256, rng), nn::ReLU(),
                       nn::Linear(256, 10, rng)};
  optim::SGD sgd(model.parameters(), {.lr = 0.01});
  const Tensor x = rand({256, 64}, rng), classes = randint({256}, rng, 0, 10);
  const auto time_steps = [&] {
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < 200; ++step) {
      sgd.zero_grad();
      cross_entropy(model(x), classes).backward();
      sgd.step();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  time_steps();
  double best = 1e9;
  for (int attempt = 0; attempt < 3 && best > 6; ++attempt) {
    const double alone = time_steps();
    const test::BusyProcesses busy(static_cast<std::size_t>(cores_of_this_process().usable()));
    best = std::min(best, time_steps() / alone);
  }
  RecordProperty("times_as_long", std::to_string(best));
  EXPECT_LT(best, 6);
}

}  // namespace
}  // namespace veldt
