// What a Profile counts, and what DetectAnomaly finds.
#include "veldt/tensor/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <functional>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using testing::HasSubstr;

const Profile::Line* find(const std::vector<Profile::Line>& lines, const std::string& name) {
  for (const Profile::Line& line : lines)
    if (line.name == name) return &line;
  return nullptr;
}

TEST(Profile, CountsCallsBytesAndWorkByKernel) {
  Rng rng(1);
  const Tensor a = randn({20, 30}, rng), b = randn({30, 10}, rng);
  std::vector<Profile::Line> lines;
  {
    const Profile profile;
    for (int i = 0; i < 3; ++i) tanh(matmul(a, b));
    lines = profile.lines();
  }
  tanh(a);  // no longer counted
  const Profile::Line* const product = find(lines, "matmul");
  const Profile::Line* const activation = find(lines, "tanh");
  ASSERT_TRUE(product && activation);
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_EQ(product->calls, 3);
  EXPECT_EQ(product->flops, 3 * 2.0 * 20 * 30 * 10);
  EXPECT_EQ(product->bytes, 3 * 4.0 * (20 * 30 + 30 * 10 + 20 * 10));
  EXPECT_EQ(activation->bytes, 3 * 4.0 * 2 * 20 * 10);
  EXPECT_GT(product->seconds, 0);
}

TEST(Profile, SeesBackwardAndReplays) {
  Tensor w = Tensor::of({2}, {1, 2}).set_requires_grad();
  const auto step = [&] { sum(tanh(w)).backward(); };
  step();
  Plan plan(step);
  const Profile profile;
  step();
  plan.replay();
  const std::vector<Profile::Line> lines = profile.lines();
  ASSERT_TRUE(find(lines, "tanh slope"));
  EXPECT_EQ(find(lines, "tanh slope")->calls, 2);
}

// What the Trace Event Format asks of complete events: a name, a category, a process, a thread, and times in
// microseconds; here also that calls of one thread do not overlap.
TEST(Profile, KeepsTheFirstCallsForATrace) {
  Tensor w = Tensor::of({2}, {1, 2}).set_requires_grad();
  Profile profile(8);
  for (int i = 0; i < 4; ++i) sum(tanh(w)).backward();
  ASSERT_EQ(profile.spans().size(), 8);
  const auto trace = nlohmann::json::parse(profile.trace());
  double end = 0;
  int calls = 0, gradients = 0;
  for (const auto& event : trace["traceEvents"]) {
    EXPECT_TRUE(event["name"].is_string() && event["pid"].is_number_integer() &&
                event["tid"].is_number_integer());
    if (event["ph"] == "M") continue;
    EXPECT_EQ(event["ph"], "X");
    EXPECT_TRUE(event["cat"] == "forward" || event["cat"] == "backward");
    EXPECT_GE(event["ts"].get<double>(), end - 0.002);
    EXPECT_GE(event["dur"].get<double>(), 0);
    end = event["ts"].get<double>() + event["dur"].get<double>();
    EXPECT_GE(event["args"]["bytes"].get<std::int64_t>(), 0);
    gradients += event["args"].contains("gradient of") ? 1 : 0;
    ++calls;
  }
  EXPECT_EQ(calls, 8);
  EXPECT_GE(gradients, 1);
  EXPECT_TRUE(Profile().spans().empty());
}

TEST(Profile, PrintsATableThatAddsUp) {
  const Profile profile;
  tanh(ones({10}));
  const std::string table = profile.table();
  EXPECT_THAT(table, HasSubstr("kernel"));
  EXPECT_THAT(table, HasSubstr("tanh"));
  EXPECT_THAT(table, HasSubstr("GFLOP/s"));
}

std::string anomaly_in(const std::function<void()>& work) {
  try {
    const DetectAnomaly detect;
    work();
  } catch (const DivergedError& e) {
    return e.what();
  }
  return "none";
}

TEST(DetectAnomaly, NamesTheFirstOpToMakeANaN) {
  const Tensor x = Tensor::of({2, 2}, {4, 1, -1, 9});
  const std::string text = anomaly_in([&] { exp(sqrt(x) * 2); });
  EXPECT_THAT(text, HasSubstr("sqrt made the first NaN"));
  EXPECT_THAT(text, HasSubstr("its result [2, 2] does at [1, 0]"));
}

TEST(DetectAnomaly, NamesTheOpWhoseGradientMadeIt) {
  Tensor x = Tensor::of({2}, {0, 1}).set_requires_grad();
  // sqrt has an infinite slope at 0, and 0 times infinity is no number.
  const std::string text = anomaly_in([&] { sum(sqrt(x) * Tensor::of({2}, {0, 1})).backward(); });
  EXPECT_THAT(text, HasSubstr("in the gradient of sqrt"));
}

TEST(DetectAnomaly, LetsANaNPassThatWasThereBefore) {
  const Tensor x = sqrt(Tensor::of({1}, {-1}));
  EXPECT_EQ(anomaly_in([&] { exp(x); }), "none");
}

TEST(DetectAnomaly, DoesNotAccuseWhoeverAddsToANaN) {
  Tensor w = Tensor::of({1}, {2}).set_requires_grad();
  w.set_grad(sqrt(Tensor::of({1}, {-1})));
  EXPECT_EQ(anomaly_in([&] { sum(square(w)).backward(); }), "none");
}

TEST(DetectAnomaly, WatchesReplays) {
  Tensor x = Tensor::of({1}, {4});
  Plan plan([&] { return sqrt(x); });
  EXPECT_EQ(anomaly_in([&] { plan.replay(); }), "none");
  x.assign(Tensor::of({1}, {-4}));
  EXPECT_THAT(anomaly_in([&] { plan.replay(); }), HasSubstr("sqrt made the first NaN"));
}

}  // namespace
}  // namespace veldt
