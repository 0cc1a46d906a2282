// What convolutions refuse, and in which dtypes they compute; values and gradients are in the op table.
#include "veldt/ops/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/convolution.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"
#include "veldt/tensor/profile.h"

namespace veldt {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

Tensor random(const Shape& shape) {
  Rng rng(7);
  return rand(shape, rng, -1, 1);
}

Tensor image() { return zeros({2, 3, 8, 8}); }
Tensor weight() { return zeros({6, 3, 5, 5}); }

// As TensorFlow's networks with a stride of 2 have it.
TEST(Convolution, PadsEachSideByANumberOfItsOwn) {
  Rng rng(1);
  for (const DType dtype : {DType::f32, DType::f64})
    for (const PadMode mode : {PadMode::zeros, PadMode::reflect}) {
      const Tensor x = rand({2, 4, 9, 8}, rng, -1, 1, dtype).set_requires_grad(),
                   w = rand({6, 2, 3, 3}, rng, -1, 1, dtype).set_requires_grad();
      const ConvOptions own = {.stride = 2,
                               .padding = {PerDim{0, 1}, PerDim{1, 2}},
                               .groups = 2,
                               .padding_mode = mode},
                        none = {.stride = 2, .groups = 2};
      const Tensor y = conv2d(x, w, {}, own), wanted = conv2d(pad(x, {1, 2, 0, 1}, mode), w, {}, none);
      ASSERT_EQ(y.shape(), wanted.shape());
      EXPECT_LE(max(abs(y - wanted)).item(), 1e-5);
      const Grads by = grad(sum(square(y)), {x, w}), by_wanted = grad(sum(square(wanted)), {x, w});
      for (std::size_t i = 0; i < 2; ++i) EXPECT_LE(max(abs(by[i] - by_wanted[i])).item(), 1e-4);
    }
}

TEST(Convolution, NamesBothShapesWhenTheyDisagree) {
  const auto refused = [](const Tensor& x, const Tensor& w, const ConvOptions& options = {}) {
    return error_of<ShapeError>([&] { conv2d(x, w, {}, options); });
  };
  const auto both = AllOf(HasSubstr("conv2d cannot apply a weight of [6, 3, 5, 5] to [2, 4, 8, 8]"),
                          HasSubstr("reads 3 channels, the input has 4"));
  EXPECT_THAT(refused(zeros({2, 4, 8, 8}), weight()), both);
  EXPECT_THAT(refused(image(), weight(), {.groups = 2}), HasSubstr("3 times 2 channels, the input has 3"));
  EXPECT_THAT(refused(image(), weight(), {.groups = 4}),
              HasSubstr("6 channels do not come in 4 equal groups"));
  EXPECT_THAT(refused(zeros({2, 3, 8}), zeros({6, 3, 5})), HasSubstr("with 2 spatial dimensions"));
  EXPECT_THAT(refused(zeros({2, 3, 4, 8}), weight()), HasSubstr("has 4 elements and 0 of padding"));
  EXPECT_THAT(refused(image(), weight(), {.dilation = 2}), HasSubstr("reaches over 9"));
  EXPECT_THAT(refused(zeros({2, 3, 0, 8}), weight()), HasSubstr("[2, 3, 0, 8]"));
  EXPECT_THAT(refused(image(), weight(), {.padding = 8, .padding_mode = PadMode::reflect}),
              HasSubstr("pad cannot add 8 and 8 elements to dimension 3 of [2, 3, 8, 8]"));
}

TEST(Convolution, NamesTheOptionThatNoShapeServes) {
  const auto refused = [](const ConvOptions& options) {
    return error_of<ConfigError>([&] { conv2d(image(), weight(), {}, options); });
  };
  EXPECT_THAT(refused({.stride = 0}), HasSubstr("stride of 0"));
  EXPECT_THAT(refused({.padding = -1}), HasSubstr("padding of -1"));
  EXPECT_THAT(refused({.dilation = {1, -2}}), HasSubstr("dilation of -2"));
  EXPECT_THAT(refused({.groups = 0}), HasSubstr("groups of 0"));
  EXPECT_THAT(refused({.stride = {1, 2, 3}}), HasSubstr("3 numbers [1, 2, 3]"));
  EXPECT_THAT(refused({.stride = 2, .padding = "same"}), HasSubstr("\"same\" with a stride of 2"));
  EXPECT_THAT(refused({.stride = std::int64_t{1} << 40}), HasSubstr("stride of 1099511627776"));
  const Tensor turned = zeros({3, 6, 5, 5});
  EXPECT_THAT(error_of<ConfigError>(
                  [&] { conv_transpose2d(image(), turned, {}, {.stride = 2, .output_padding = 2}); }),
              HasSubstr("output_padding of 2"));
}

TEST(Convolution, RefusesSizesThatNoMemoryHolds) {
  constexpr std::int64_t kMost = ConvLayout::kMost;
  const Tensor x = zeros({1, 1, 4}), w = zeros({1, 1, 3});
  EXPECT_THROW(conv1d(x, w, {}, {.padding = kMost}), ShapeError);
  EXPECT_THROW(conv1d(x, w, {}, {.dilation = kMost}), ShapeError);
  EXPECT_THROW(conv1d(x, w, {}, {.padding = "same", .dilation = kMost}), ShapeError);
  EXPECT_THROW(conv_transpose1d(x, w, {}, {.stride = kMost}), ShapeError);
  EXPECT_THROW(conv_transpose1d(x, w, {}, {.dilation = kMost}), ShapeError);
  EXPECT_THROW(conv_transpose1d(x, w, {}, {.padding = kMost}), ShapeError);
  // The largest numbers that serve: one output, of the first element.
  EXPECT_EQ(conv1d(x + 1, w + 1, {}, {.stride = kMost}).item(), 3);
}

TEST(Convolution, RefusesABiasOfAnotherSizeAndOtherDtypes) {
  EXPECT_THAT(error_of<ShapeError>([] { conv2d(image(), weight(), zeros({5})); }),
              AllOf(HasSubstr("bias of [5]"), HasSubstr("[6, 3, 5, 5]"), HasSubstr("6 output channels")));
  EXPECT_THAT(error_of<ShapeError>([] {
                conv2d(image(), zeros({6, 3, 5, 5}, DType::f64));
              }),
              HasSubstr("f64 to f32"));
}

TEST(Convolution, ComputesHalvesAsSinglesRoundedOnce) {
  const Tensor x = random({2, 3, 8, 8}), w = random({6, 3, 5, 5}), b = random({6});
  for (const DType half : {DType::bf16, DType::f16}) {
    const Tensor hx = to(x, half).set_requires_grad(), hw = to(w, half), hb = to(b, half);
    const Tensor y = conv2d(hx, hw, hb);
    EXPECT_EQ(y.dtype(), half);
    const Tensor exact = conv2d(to(hx.detach(), DType::f32), to(hw, DType::f32), to(hb, DType::f32));
    EXPECT_EQ(to(y.detach(), DType::f32).values<float>(), to(to(exact, half), DType::f32).values<float>());
    sum(y).backward();
    EXPECT_EQ(hx.grad().dtype(), half);
  }
  EXPECT_EQ(conv1d(arange(4).alias({1, 1, 4}, {4, 4, 1}, 0), ones({1, 1, 2}, DType::i64)).dtype(),
            DType::f32);
}

TEST(Convolution, GivesTheSameBitsInEveryRun) {
  const Tensor x = random({5, 6, 14, 14}).set_requires_grad(), w = random({16, 6, 5, 5}).set_requires_grad();
  const auto run = [&] {
    const Tensor y = conv2d(x, w);
    std::vector<float> bits = y.detach().values<float>();
    for (const Tensor& g : grad(sum(y * y), {x, w})) {
      const std::vector<float> more = g.values<float>();
      bits.insert(bits.end(), more.begin(), more.end());
    }
    return bits;
  };
  EXPECT_EQ(run(), run());
}

// One call a part, and the floating point operations of each.
TEST(Convolution, IsThreeCallsOfEqualWorkForwardAndBack) {
  const Tensor x = random({2, 3, 8, 8}).set_requires_grad(), w = random({6, 3, 5, 5}).set_requires_grad();
  Profile profile;
  sum(conv2d(x, w)).backward();
  double flops = 0;
  std::int64_t calls = 0;
  for (const Profile::Line& line : profile.lines())
    if (line.name == "convolve") flops += line.flops, calls += line.calls;
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(flops, 3.0 * 2 * (2 * 6 * 4 * 4) * 75);
}

// A plan lets a kernel that fills its output write where a gradient is kept; the bits are those of a step.
TEST(Convolution, RunsInAPlan) {
  Tensor w = random({6, 3, 5, 5}).set_requires_grad();
  const Tensor x = random({2, 3, 8, 8});
  const auto step = [&] {
    w.zero_grad();
    const Tensor loss = sum(square(conv2d(x, w)));
    loss.backward();
    return loss;
  };
  step();
  const std::vector<float> expected = w.grad().values<float>();
  Plan plan(step);
  plan.replay();
  EXPECT_EQ(w.grad().values<float>(), expected);
}

}  // namespace
}  // namespace veldt
