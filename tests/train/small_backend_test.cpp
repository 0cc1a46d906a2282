// A backend may start small: what it lacks is an error that names it or, where that is asked for, work of the
// cpu on copies, which is counted. tests/support/small_backend.cpp is one of eleven functions.
#include "tests/support/small_backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/fallback.h"
#include "veldt/tensor/plan.h"
#include "veldt/tensor/profile.h"

namespace veldt::test {
namespace {

class SmallBackend : public testing::Test {
 protected:
  void SetUp() override { set_host_fallback(true); }
  // A leak checker does not see pointers that are kept at other addresses: what is not in use goes back.
  void TearDown() override {
    set_host_fallback(false);
    EXPECT_EQ(pool(small_device()).stats().blocks_in_use, 0);
    pool(small_device()).trim();
  }
};

std::int64_t lent(const std::string& entry) {
  for (const FallbackCount& c : fallback_counts())
    if (c.entry == entry) return c.calls;
  return 0;
}

// LeCun et al. 1998, with max pooling and ReLU.
nn::Sequential lenet(Rng& rng) {
  return nn::Sequential{nn::Conv2d(1, 6, 5, {.padding = 2}, rng),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Conv2d(6, 16, 5, rng),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Flatten(),
                        nn::Linear(400, 120, rng),
                        nn::ReLU(),
                        nn::Linear(120, 84, rng),
                        nn::ReLU(),
                        nn::Linear(84, 10, rng)};
}

// The losses of some steps on a batch of pictures, eager or replayed by a Plan.
std::vector<double> losses(Device device, bool planned) {
  Rng rng(7);
  nn::Sequential model = lenet(rng);
  const Tensor x = to(rand({8, 1, 28, 28}, rng), device), labels = to(randint({8}, rng, 0, 10), device);
  model.to(device);
  optim::Adam adam(model.named_parameters(), {.lr = 2e-3});
  const auto step = [&] {
    adam.zero_grad();
    const Tensor loss = cross_entropy(model(x), labels);
    loss.backward();
    adam.step();
    return loss;
  };
  std::vector<double> found;
  if (!planned) {
    for (int i = 0; i < 4; ++i) found.push_back(step().item());
    return found;
  }
  Plan plan(step);
  for (int i = 0; i < 4; ++i) {
    plan.replay();
    found.push_back(plan.output().item());
  }
  return found;
}

TEST_F(SmallBackend, TrainsLeNetToTheLossesOfTheCpu) {
  for (const bool planned : {false, true}) {
    const std::vector<double> here = losses({}, planned), there = losses(small_device(), planned);
    EXPECT_LT(here.back(), 0.99 * here.front());
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 2e-4) << planned << ' ' << i;
  }
  for (const char* entry : {"convolve", "max_pool", "optimize", "reduce"}) EXPECT_GT(lent(entry), 0) << entry;
  for (const char* entry : {"matmul", "unary", "binary", "copy", "fill"}) EXPECT_EQ(lent(entry), 0) << entry;
  EXPECT_NE(fallback_text().find("the cpu did for small:0: "), std::string::npos) << fallback_text();
  EXPECT_NE(fallback_text().find(str("convolve ", lent("convolve"), " times")), std::string::npos)
      << fallback_text();
}

TEST_F(SmallBackend, NamesWhatItLacksUnlessTheCpuIsAskedToDoIt) {
  const Tensor x = to(full({2, 3}, 0.5), small_device());
  EXPECT_NEAR(to(tanh(x), Device{}).values<float>()[0], std::tanh(0.5), 1e-6);
  set_host_fallback(false);
  const std::string said = error_of<NoKernel>([&] { softmax(x, 1); });
  EXPECT_NE(said.find("there is no kernel of softmax on small:0"), std::string::npos) << said;
  EXPECT_NE(said.find("--fallback host"), std::string::npos) << said;
  const std::string answer = error_of<NoKernel>([&] {
    gather(x, 0, to(zeros({1, 3}, DType::i64), small_device()));
  });
  EXPECT_NE(answer.find("no kernel of index_range"), std::string::npos) << answer;

  const std::vector<const char*> names = lacking(backend(small_device()));
  EXPECT_EQ(names.size() + 9, std::size(kEntryFacts));  // its five, and four that may be missing
  EXPECT_TRUE(lacks(backend(small_device()), Entry::softmax));
  EXPECT_FALSE(lacks(backend(small_device()), Entry::matmul));
  EXPECT_TRUE(lacking(backend(Device{})).empty());
}

// What the cpu is lent keeps strides, gaps and overlaps, and what a call does not write.
TEST_F(SmallBackend, LendsViewsAsTheyLie) {
  const auto both = [](auto act) {
    Rng rng(3);
    const Tensor x = randn({6, 8}, rng);
    const std::vector<float> here = contiguous(act(x * 1.0)).template values<float>();
    const std::vector<float> there =
        contiguous(to(act(to(x, small_device())), Device{})).template values<float>();
    EXPECT_EQ(here, there);
  };
  both([](const Tensor& x) { return softmax(transpose(x, 0, 1), 0); });
  both([](const Tensor& x) { return sum(slice(x, 1, 2, 7, 2), {1}); });
  both([](const Tensor& x) { return cumsum(flip(x, {0}), 0); });
  both([](Tensor x) {  // a part of x is written; all around it stays
    slice(x, 1, 2, 5).assign(softmax(slice(x, 1, 1, 4), 1));
    return x;
  });
  both([](Tensor x) {  // scattered into itself: two views of one block
    const Tensor rows = to(arange(6), x.device());
    return index_add(x, 0, rows, x);
  });
}

TEST_F(SmallBackend, ShowsInAProfileWhatTheCpuDoes) {
  const Tensor x = to(full({4, 4}, 0.5), small_device());
  Profile profile;
  softmax(matmul(x, x), 1);
  EXPECT_NE(profile.table().find("softmax (on the cpu)"), std::string::npos) << profile.table();
  EXPECT_EQ(profile.table().find("matmul (on the cpu)"), std::string::npos);
}

// What its open() gives, as the tests below have it: each but the last is refused.
Backend g_given;
int g_opened = 0;
const Backend& open_given(Device device) {
  ++g_opened;
  sum(zeros({4})).item();  // it may compute on the cpu
  if (g_opened > 1) g_given.device = device;
  return g_given;
}

TEST_F(SmallBackend, OfAWrongTableIsRefused) {
  const Device device{register_backend("given", open_given), 0};
  g_given = backend(small_device());
  g_given.device = Device{};
  const std::string device_said = error_of<DeviceError>([&] { backend(device); });
  EXPECT_NE(device_said.find("its table says that it is cpu"), std::string::npos) << device_said;
  EXPECT_EQ(sum(zeros({4})).item(), 0);  // which works on

  g_given.formula_name = [](Entry entry, int op) {
    const char* const name = backend(Device{}).formula_name(entry, op);
    return entry == Entry::binary && op < 2 ? backend(Device{}).formula_name(entry, 1 - op) : name;
  };
  const std::string formula_said = error_of<DeviceError>([&] { backend(device); });
  EXPECT_NE(formula_said.find("numbers the formulas"), std::string::npos) << formula_said;

  g_given.formula_name = backend(Device{}).formula_name;
  EXPECT_EQ(backend(device).device, device);
}

TEST_F(SmallBackend, IsFoundByItsName) {
  const Device device = small_device();
  EXPECT_EQ(str(device), "small:0");
  EXPECT_EQ(choose_device("small").device, device);
  EXPECT_EQ(choose_device("small:0").device, device);
  EXPECT_EQ(choose_device("auto").device, Device{});
  EXPECT_NE(error_of<DeviceError>([] { choose_device("small:1"); }).find("no second small"),
            std::string::npos);
  const std::string said = error_of<ConfigError>([] { choose_device("smal"); });
  EXPECT_NE(said.find("small, small:N"), std::string::npos) << said;
  EXPECT_THROW(choose_device("small:"), ConfigError);
  EXPECT_THROW(choose_device("cpu:0"), ConfigError);
  EXPECT_THROW(backend(Device{DeviceKind::cpu, 1}), DeviceError);
  for (const char* name : {"small", "cpu", "auto", "", "a b", "Small"})
    EXPECT_THROW(add_device_kind(name), ConfigError) << name;
  EXPECT_EQ(bytes_for_tensors(device), 0u);  // it does not tell
}

}  // namespace
}  // namespace veldt::test
