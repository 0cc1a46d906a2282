// Data parallel training against torch's DistributedDataParallel over gloo: the same losses and weights.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/python.h"
#include "tests/support/ranks.h"
#include "tests/support/temp_dir.h"
#include "veldt/dist/data_parallel.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/random.h"
#include "veldt/optim/adam.h"

namespace veldt::dist {
namespace {

constexpr std::int64_t kExamples = 24, kSteps = 100;

struct SameAsTorch {
  SameAsTorch() {
    Rng rng(3);
    net = nn::Sequential{nn::Linear(6, 16, rng), nn::Tanh(), nn::Linear(16, 3, rng)};
    x = randn({kExamples, 6}, rng), y = randn({kExamples, 3}, rng);
  }
  nn::Sequential net;
  Tensor x, y;
};

void append(std::vector<float>& to, const std::vector<float>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

// The mean loss of each step, then all parameters.
std::vector<float> learned(Communicator& ranks) {
  const SameAsTorch same;
  optim::Adam adam(same.net.named_parameters(), {.lr = 0.01});
  DataParallel parallel(ranks, adam);
  const std::int64_t begin = kExamples * ranks.rank() / ranks.size(),
                     count = kExamples * (ranks.rank() + 1) / ranks.size() - begin;
  std::vector<float> all;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    adam.zero_grad();
    const Tensor loss = mse_loss(same.net(narrow(same.x, 0, begin, count)), narrow(same.y, 0, begin, count));
    {
      const auto sending = parallel.sending();
      loss.backward();
    }
    adam.step();
    const Tensor sum = loss.detach();
    ranks.all_reduce(sum);
    all.push_back(static_cast<float>(sum.item() / ranks.size()));
  }
  for (const Tensor& p : same.net.parameters()) append(all, p.values<float>());
  return all;
}

TEST(SlowDataParallel, LearnsWhatTorchsDistributedDataParallelDoes) {
  if (!test::python_has("torch")) GTEST_SKIP() << test::python() << " has no torch; set VELDT_PYTHON";
  for (const int size : {2, 3}) {
    const test::TempDir dir;
    std::vector<float> begin;
    const SameAsTorch same;
    for (const Tensor& p : same.net.parameters()) append(begin, p.values<float>());
    append(begin, same.x.values<float>());
    append(begin, same.y.values<float>());
    std::ofstream(dir / "begin.f32", std::ios::binary)
        .write(reinterpret_cast<const char*>(begin.data()), std::ssize(begin) * 4);
    ASSERT_EQ(test::run_python(std::string(VELDT_SOURCE) + "/tests/dist/ddp.py " + dir.path() + " " +
                               std::to_string(size) + " " + std::to_string(kSteps)),
              0);
    const std::string bytes = test::bytes_of(dir / "end.f32");
    const auto* const torch = reinterpret_cast<const float*>(bytes.data());
    std::atomic<int> compared = 0;
    test::run_ranks(size, [&](Communicator& ranks) {
      const std::vector<float> own = learned(ranks);
      ASSERT_EQ(own.size() * 4, bytes.size());
      for (std::size_t i = 0; i < own.size(); ++i)
        EXPECT_NEAR(own[i], torch[i], 1e-5 * std::max(1.F, std::abs(torch[i]))) << i;
      ++compared;
    });
    EXPECT_EQ(compared, size);
  }
}

}  // namespace
}  // namespace veldt::dist
