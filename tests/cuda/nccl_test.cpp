// Sums over ranks of lists on the emulated device: over NCCL's links and, without them, through the memory of
// the host, with the bits of lists on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/nccl_emulation.h"
#include "tests/support/ranks.h"
#include "veldt/core/error.h"
#include "veldt/dist/data_parallel.h"
#include "veldt/dist/sum_tree.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/tensor/device_library.h"

namespace veldt::test {
namespace {

using gpu::emulation::NcclState;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kTwin = "needs the emulated device, which has a twin of NCCL";

class NcclRanks : public testing::Test {
 protected:
  void SetUp() override {
    use_emulated_device();
    gpu::emulation::set_nccl(NcclState::works);
    gpu::emulation::take_nccl_messages();
  }
  void TearDown() override { gpu::emulation::set_nccl(NcclState::works); }
};

struct SumCase {
  int ranks;
  std::int64_t leaves, count;
  dist::SumOptions options = {};
};
const std::vector<SumCase> kSumCases{
    {2, 2, 10},
    {3, 3, 20'000},
    {3, 5, 20'000},
    {2, 4, 9'001, {.halves = true}},
    {3, 3, 30, {.halves = true}},
    {4, 4, 20'001, {.scattered = true}},
};

// What a rank has after a sum: of its own share where it is scattered.
std::vector<float> sum_on(Device device, dist::Communicator& ranks, const SumCase& c) {
  std::vector<Tensor> lists;
  std::vector<View> nodes;
  const dist::Leaves share = dist::share_of_leaves(c.leaves, ranks.rank(), c.ranks);
  for (const dist::Leaves node : dist::nodes_within(c.leaves, share)) {
    Rng rng(static_cast<std::uint64_t>(1000 + node.begin));
    lists.push_back(to(randn({c.count}, rng), device));
    nodes.push_back(lists.back().view());
  }
  const Tensor out = zeros({c.count}, DType::f32, device);
  dist::SumOptions options = c.options;
  options.device = device;
  ranks.begin_sum(nodes, out.view(), c.leaves, options).wait();
  const Tensor sum = to(out, Device{});
  const dist::Numbers own = c.options.scattered && c.count * 4 > 16 << 10
                                ? dist::share_of_numbers(c.count, ranks.rank(), c.ranks)
                                : dist::Numbers{0, c.count};
  return {sum.data<float>() + own.begin, sum.data<float>() + own.end};
}

void expect_sums_of_the_host(const SumCase& c) {
  EXPECT_THAT(run_ranks(c.ranks,
                        [&](dist::Communicator& ranks) {
                          const std::vector<float> host = sum_on(Device{}, ranks, c);
                          for (int i = 0; i < 2; ++i)
                            if (sum_on(kEmulated, ranks, c) != host) throw Error("other bits", "", "");
                        }),
              Each(IsEmpty()))
      << c.ranks << " ranks, " << c.leaves << " leaves, " << c.count << " numbers";
}

TEST_F(NcclRanks, SumsHaveTheBitsOfTheHost) {
  if (on_real_gpu()) GTEST_SKIP() << kTwin;
  for (const SumCase& c : kSumCases) {
    expect_sums_of_the_host(c);
    EXPECT_GT(gpu::emulation::take_nccl_messages(), 0u);
  }
}

// On a real GPU too: ranks that share one are refused.
TEST_F(NcclRanks, WithoutItSumsGoThroughTheHost) {
  for (const NcclState state : {NcclState::missing, NcclState::refuses}) {
    gpu::emulation::set_nccl(state);
    for (const SumCase& c : kSumCases) expect_sums_of_the_host(c);
    EXPECT_EQ(gpu::emulation::take_nccl_messages(), 0u);
  }
}

TEST_F(NcclRanks, TheWayIsNamed) {
  if (on_real_gpu()) GTEST_SKIP() << kTwin;
  const auto way = [] {
    std::string of_rank_1;
    EXPECT_THAT(run_ranks(2,
                          [&](dist::Communicator& ranks) {
                            const std::string own = ranks.way_between(kEmulated);
                            if (ranks.rank() == 1) of_rank_1 = own;
                          }),
                Each(IsEmpty()));
    return of_rank_1;
  };
  EXPECT_EQ(way(), "NCCL 2.27.7");
  EXPECT_EQ(link_library(DeviceKind::cuda), "NCCL 2.27.7");
  gpu::emulation::set_nccl(NcclState::missing);
  EXPECT_THAT(way(), StartsWith("the memory of the host (rank 0"));
  EXPECT_THAT(error_of<DeviceError>([] { link_library(DeviceKind::cuda); }),
              HasSubstr("libnccl.so.2: cannot open"));
  gpu::emulation::set_nccl(NcclState::refuses);
  EXPECT_THAT(way(), HasSubstr("invalid usage"));
}

// The weights of two ranks after some steps, each with a batch of its own.
std::string train(NcclState state, bool shares_optimizer = false) {
  gpu::emulation::set_nccl(state);
  std::array<std::vector<float>, 2> weights;
  const std::vector<std::string> failures = run_ranks(2, [&](dist::Communicator& ranks) {
    Rng init(7);
    nn::Sequential net{nn::Linear(3, 70, init), nn::Tanh(), nn::Linear(70, 70, init), nn::Tanh(),
                       nn::Linear(70, 1, init)};
    net.to(kEmulated);
    optim::Adam adam(net.named_parameters(), {.lr = 1e-2});
    dist::DataParallel parallel(ranks, adam, {.bucket_bytes = 4096});
    if (shares_optimizer) parallel.share_optimizer();
    Rng rng(static_cast<std::uint64_t>(ranks.rank()));
    for (int step = 0; step < 3; ++step) {
      const Tensor x = to(randn({8, 3}, rng), kEmulated);
      adam.zero_grad();
      const Tensor loss = mse_loss(net(x), narrow(x, 1, 0, 1));
      {
        const auto sending = parallel.sending();
        loss.backward();
      }
      adam.step();
    }
    for (const auto& [name, parameter] : net.named_parameters()) {
      const Tensor host = to(parameter.detach(), Device{});
      auto& own = weights[static_cast<std::size_t>(ranks.rank())];
      own.insert(own.end(), host.data<float>(), host.data<float>() + host.numel());
    }
  });
  EXPECT_THAT(failures, Each(IsEmpty()));
  EXPECT_EQ(weights[0], weights[1]);
  return {reinterpret_cast<const char*>(weights[0].data()), weights[0].size() * sizeof(float)};
}

TEST_F(NcclRanks, TrainTheSameNetworkEitherWay) {
  if (on_real_gpu()) GTEST_SKIP() << kTwin;
  const std::string by_links = train(NcclState::works);
  EXPECT_GT(gpu::emulation::take_nccl_messages(), 0u);
  EXPECT_FALSE(by_links.empty());
  EXPECT_EQ(by_links, train(NcclState::missing));
  EXPECT_EQ(by_links, train(NcclState::works, true));
  EXPECT_EQ(by_links, train(NcclState::missing, true));
}

TEST_F(NcclRanks, ThatHaveLostOneSaySo) {
  if (on_real_gpu()) GTEST_SKIP() << kTwin;
  const std::vector<std::string> failures = run_ranks(2, [](dist::Communicator& ranks) {
    sum_on(kEmulated, ranks, kSumCases[0]);
    ranks.barrier();
    gpu::emulation::end_nccl_groups();
    sum_on(kEmulated, ranks, kSumCases[0]);
  });
  EXPECT_THAT(failures, Each(HasSubstr("NCCL cannot talk to the other GPUs\n  why: remote process exited")));
}

}  // namespace
}  // namespace veldt::test
