// An audit names the parameter that does not learn, and the op at which its gradient was lost.
#include "veldt/nn/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Two layers, of which the way to the first is cut as the test wants.
struct Net : Module {
  void fields(Fields& f) override { f("first", first)("second", second); }
  Linear first{3, 3}, second{3, 1};
};

const Tensor& input() {
  static const Tensor x = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 7});
  return x;
}

GradientAudit audit_of(const Net& net, const Tensor& loss) {
  if (loss.requires_grad()) loss.backward();
  return audit_gradients(net, loss);
}

TEST(Audit, OfAHealthyNetworkFindsNothing) {
  const Net net;
  const GradientAudit audit = audit_of(net, sum(net.second(net.first(input()))));
  EXPECT_TRUE(audit.healthy());
  EXPECT_TRUE(audit.cuts.empty());
  EXPECT_EQ(audit.parameters, 4);
  EXPECT_EQ(audit.text(), "all 4 parameters have gradients\n");
}

TEST(Audit, NamesWhatIsMissingAndTheDetachThatCutIt) {
  const Net net;
  const GradientAudit audit = audit_of(net, sum(net.second(net.first(input()).detach())));
  ASSERT_EQ(audit.findings.size(), 2u);
  EXPECT_EQ(audit.findings[0].name, "first.weight");
  EXPECT_EQ(audit.findings[0].fault, GradientFault::missing);
  EXPECT_THAT(audit.cuts, Contains("detach, read by linear"));
  EXPECT_THAT(audit.text(), HasSubstr("first.weight [3, 3]: no gradient"));
  EXPECT_THAT(audit.text(), HasSubstr("the graph is cut by detach, read by linear"));
}

TEST(Audit, NamesNoGradThroughOpsBehindIt) {
  const Net net;
  Tensor h;
  {
    const NoGrad off;
    h = net.first(input());
  }
  const GradientAudit audit = audit_of(net, sum(net.second(h * 2.0 + 1.0)));
  EXPECT_THAT(audit.cuts, Contains("NoGrad, read by linear"));
}

TEST(Audit, NamesArgmaxComparisonsAndConversions) {
  const Net net;
  const Tensor h = net.first(input());
  const Tensor chosen = gather(net.second(input()), 0, reshape(argmax(h * 0.0, 1), {2, 1}));
  EXPECT_THAT(audit_of(net, sum(chosen)).cuts, Contains(HasSubstr("argmax, read by")));
  const Tensor masked = net.second(input()) * to(greater(sum(h, {1}, true), zeros({})), DType::f32);
  EXPECT_THAT(audit_of(net, sum(masked)).cuts, Contains(HasSubstr("greater, read by")));
  const Tensor rounded = net.second(to(to(h, DType::i64), DType::f32));
  EXPECT_THAT(audit_of(net, sum(rounded)).cuts, Contains(HasSubstr("whole numbers, read by linear")));
}

TEST(Audit, AnswersWhenBackwardCannotBeCalledAtAll) {
  const Net net;
  const GradientAudit audit = audit_of(net, sum(net.second(net.first(input())).detach()));
  EXPECT_EQ(audit.findings.size(), 4u);
  EXPECT_THAT(audit.cuts, Contains("detach"));
}

TEST(Audit, TellsZerosFromNansAndLeavesFrozenOnesOut) {
  Net net;
  net.freeze("second.bias");
  const Tensor h = net.first(input());
  const GradientAudit zero = audit_of(net, sum(net.second(h) * 0.0));
  ASSERT_EQ(zero.findings.size(), 3u);
  EXPECT_EQ(zero.findings[2].fault, GradientFault::zero);
  const GradientAudit nan = audit_of(net, sum(net.second(net.first(input())) * std::nan("")));
  EXPECT_EQ(nan.findings.at(0).fault, GradientFault::not_finite);
  EXPECT_THAT(nan.text(), HasSubstr("NaN or an infinity"));
}

}  // namespace
}  // namespace veldt::nn
