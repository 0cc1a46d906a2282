// Modules: what their fields become in names, files, modes and prints, and what a forgotten one leads to.
#include "veldt/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/derivatives.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/recompute.h"

namespace veldt::nn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

// All that Fields takes.
struct Everything : Module {
  void fields(Fields& f) override {
    f("gain", gain)("mean", mean)("layers", layers)("maybe", maybe)("absent", absent)("owned", owned)(
        "shared", shared)("none", none)("scales", scales)("undefined", undefined);
  }
  Tensor gain = parameter(ones({2})), mean = zeros({2}), undefined;
  std::vector<Linear> layers{Linear(2, 2), Linear(2, 2, {.bias = false})};
  std::optional<Linear> maybe = Linear(2, 1), absent;
  std::unique_ptr<Linear> owned = std::make_unique<Linear>(1, 1);
  std::shared_ptr<Module> shared = std::make_shared<Sequential>(Linear(1, 1)), none;
  std::vector<Tensor> scales{parameter(ones({1})), zeros({1})};
};

TEST(Fields, NamesEveryKindOfMember) {
  const Everything m;
  EXPECT_THAT(
      names_of(m.named_parameters()),
      ElementsAre("gain", "layers.0.weight", "layers.0.bias", "layers.1.weight", "maybe.weight", "maybe.bias",
                  "owned.weight", "owned.bias", "shared.0.weight", "shared.0.bias", "scales.0"));
  EXPECT_THAT(names_of(m.named_buffers()), ElementsAre("mean", "scales.1"));
  EXPECT_EQ(m.parameter_count(), 2 + 4 + 2 + 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1);
}

TEST(Module, PrintsItsTree) {
  struct Outer : Module {
    void fields(Fields& f) override { f("layers", layers)("head", head); }
    std::vector<Sequential> layers{Sequential(Linear(2, 3), Sine(30))};
    Linear head{3, 1, {.bias = false}};
    std::string title() const override { return "Outer"; }
  };
  EXPECT_EQ(Outer().description(),
            "Outer\n"
            "  layers.0: Sequential\n"
            "    0: Linear(2, 3)\n"
            "    1: Sine(30)\n"
            "  head: Linear(3, 1, no bias)\n"
            "12 parameters\n");
}

TEST(Module, IsTitledByItsTypeUnlessItSaysMore) { EXPECT_EQ(Tanh().title(), "Tanh"); }

TEST(Module, WithoutForwardSaysSo) {
  EXPECT_THAT(error_of([] { Everything()(ones({1})); }), HasSubstr("Everything has no forward()"));
}

TEST(Module, CopiesShareParameters) {
  const Linear a(2, 2);
  const Linear b = a;
  Tensor w = a.weight();
  w.assign(full({2, 2}, 3));
  EXPECT_EQ(b.weight().values<float>(), std::vector<float>(4, 3.0f));
}

TEST(Module, ListsASharedParameterOnceAndSavesItTwice) {
  const Linear layer(2, 2);
  const Sequential tied(layer, layer);
  EXPECT_THAT(names_of(tied.named_parameters()), ElementsAre("0.weight", "0.bias"));
  EXPECT_EQ(tied.parameter_count(), 6);
  EXPECT_THAT(names_of(tied.state_dict()), ElementsAre("0.weight", "0.bias", "1.weight", "1.bias"));
}

TEST(Module, RefusesTheSameNameTwice) {
  struct Twice : Module {
    void fields(Fields& f) override { f("a", a)("a", b); }
    Tensor a = ones({1}), b = ones({1});
  };
  EXPECT_THAT(error_of([] { Twice().state_dict(); }), HasSubstr("two tensors named a"));
}

// Forgets one of its two weights.
struct Forgetful : Module {
  Tensor forward(const Tensor& x) const override { return linear(linear(x, first), second); }
  void fields(Fields& f) override { f("first", first); }
  Tensor first = parameter(ones({5, 2})), second = parameter(ones({1, 5}));
};

TEST(Module, ForgottenMemberIsAnErrorThatGivesItsShape) {
  const Forgetful m;
  EXPECT_EQ(m.parameters().size(), 1u);
  const Tensor loss = mse_loss(m(ones({3, 2})), zeros({3, 1}));
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("shape [1, 5] is in no fields()"));
}

TEST(Module, FreezingKeepsParametersButGivesThemNoGradient) {
  Sequential m(Linear(2, 2), Linear(2, 1));
  m[0].freeze();
  EXPECT_EQ(m.named_parameters().size(), 4u);
  EXPECT_THAT(m.named_buffers(), IsEmpty());
  mse_loss(m(ones({3, 2})), zeros({3, 1})).backward();
  EXPECT_FALSE(m.parameters()[0].grad().defined());
  EXPECT_TRUE(m.parameters()[2].grad().defined());
  m[0].requires_grad(true);
  EXPECT_TRUE(m.parameters()[0].requires_grad());
}

TEST(Module, ALeafThatRequiresAGradientIsAParameterEvenWhenFrozen) {
  struct Plain : Module {
    void fields(Fields& f) override { f("a", a); }
    Tensor a = ones({1}).set_requires_grad();
  };
  Plain m;
  m.freeze();
  EXPECT_THAT(names_of(m.named_parameters()), ElementsAre("a"));
}

TEST(Module, TrainAndEvalReachEveryModule) {
  Sequential m(Linear(2, 2), Sequential(Tanh()));
  EXPECT_TRUE(m.training());
  m.eval();
  EXPECT_FALSE(m.training());
  EXPECT_FALSE(m[1].training());
  m.train();
  EXPECT_TRUE(m[1].training());
}

TEST(Module, ConvertsFloatsOnlyAndKeepsTheGraphAlive) {
  struct Counted : Module {
    void fields(Fields& f) override { f("weight", weight)("count", count); }
    Tensor weight = parameter(ones({2})), count = arange(2);
  };
  Counted m;
  m.to(DType::f64);
  EXPECT_EQ(m.weight.dtype(), DType::f64);
  EXPECT_EQ(m.count.dtype(), DType::i64);
  mse_loss(m.weight, zeros({2}, DType::f64)).backward();
  EXPECT_EQ(m.weight.grad().values<double>(), (std::vector<double>{1, 1}));
}

// Such as the constants of a formula.
TEST(Module, WhatIsUnsavedIsConvertedAndCopiedButNoState) {
  struct Scaled : Module {
    void fields(Fields& f) override {
      f("weight", weight);
      f.unsaved(scale);
      f.unsaved(undefined);
    }
    Tensor weight = parameter(ones({2})), scale = ones({2}), undefined;
  };
  Scaled m, copy = clone(m);
  EXPECT_THAT(names_of(m.state_dict()), ElementsAre("weight"));
  EXPECT_THAT(m.named_buffers(), IsEmpty());
  m.to(DType::f64);
  EXPECT_EQ(m.scale.dtype(), DType::f64);
  EXPECT_EQ(copy.scale.dtype(), DType::f32);
}

TEST(Module, FreezesByTheBeginningOfANameUpToADot) {
  struct Two : Module {
    void fields(Fields& f) override { f("body", body)("body2", body2); }
    Sequential body{Linear(2, 2), Linear(2, 2)};
    Linear body2{2, 1};
  };
  Two m;
  m.freeze("body");
  EXPECT_FALSE(m.body.parameters()[3].requires_grad());
  EXPECT_TRUE(m.body2.weight().requires_grad());
  m.requires_grad(true, "body.1.bias");
  EXPECT_FALSE(m.body.parameters()[2].requires_grad());
  EXPECT_TRUE(m.body.parameters()[3].requires_grad());
  EXPECT_THAT(error_of([&] { m.freeze("bod"); }), HasSubstr("no parameter's name begins with bod"));
  EXPECT_THROW(m.freeze("bod"), ConfigError);
}

// ------------------------------------------------------------------ where an error happened

struct Wrapped : Module {
  Tensor forward(const Tensor& x) const override { return head(body(x)); }
  void fields(Fields& f) override { f("body", body)("head", head); }
  Sequential body{Linear(2, 8), ReLU(), Sequential(ReLU(), Linear(64, 10))};
  Linear head{10, 1};
};

TEST(Place, NamesTheInnermostModuleByItsPathFromTheOutermost) {
  const Wrapped m;
  const std::string message = error_of([&] { m(ones({3, 2})); });
  EXPECT_THAT(message, HasSubstr(", in body.2.1 (Linear(64, 10))\n  why: "));
  EXPECT_THAT(message, HasSubstr("[3, 8]"));    // what came
  EXPECT_THAT(message, HasSubstr("[10, 64]"));  // what was there
  EXPECT_THAT(message, HasSubstr("fix: "));
  EXPECT_THROW(m(ones({3, 2})), ShapeError);  // and is still what it was
  EXPECT_THAT(error_of([&] { m.body(ones({3, 2})); }), HasSubstr(", in 2.1 (Linear(64, 10))"));
  EXPECT_THAT(error_of([&] { m.head(ones({3, 2})); }), HasSubstr(", in Linear(10, 1)\n"));
}

TEST(Place, IsToldOfAWrongDtypeToo) {
  const Wrapped m;
  const std::string message = error_of([&] { m(ones({3, 2}, DType::f64)); });
  EXPECT_THAT(message, HasSubstr(", in body.0 (Linear(2, 8))"));
  EXPECT_THAT(message, HasSubstr("f64"));
  EXPECT_THAT(message, HasSubstr("f32"));
}

TEST(Place, OfAModuleThatNobodyListsIsItsTitle) {
  struct Secret : Module {
    Tensor forward(const Tensor& x) const override { return inner(x); }
    Linear inner{2, 2};
  };
  struct Outer : Module {
    Tensor forward(const Tensor& x) const override { return secret(x); }
    void fields(Fields& f) override { f("secret", secret); }
    Secret secret;
  };
  EXPECT_THAT(error_of([&] { Outer()(ones({3, 3})); }), HasSubstr(", in Linear(2, 2)\n"));
}

// ------------------------------------------------------------------ clones

TEST(Clone, HasParametersAndInnerModulesOfItsOwn) {
  const Wrapped m;
  Wrapped copy = clone(m);
  EXPECT_EQ(names_of(copy.named_parameters()), names_of(m.named_parameters()));
  const std::vector<Tensor> theirs = copy.parameters(), ours = m.parameters();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(theirs[i].values<float>(), ours[i].values<float>());
    EXPECT_TRUE(theirs[i].requires_grad());
    Tensor(theirs[i]).assign(zeros(theirs[i].shape()));
    EXPECT_NE(theirs[i].values<float>(), ours[i].values<float>());
  }
  copy.eval();
  EXPECT_TRUE(m.body[2].training());
}

TEST(Clone, KeepsTiesBuffersAndWhatIsFrozen) {
  const Linear layer(2, 2);
  Sequential tied(layer, layer);
  tied.freeze("0.weight");
  const Sequential copy = clone(tied);
  EXPECT_EQ(copy.named_parameters().size(), 2u);
  EXPECT_FALSE(copy.parameters()[0].requires_grad());
  EXPECT_TRUE(copy.parameters()[1].requires_grad());
  EXPECT_NE(copy.parameters()[0].impl(), layer.weight().impl());
}

TEST(Clone, RefusesToShareWhatAPointerHolds) {
  struct Holder : Module {
    void fields(Fields& f) override { f("inner", inner); }
    std::shared_ptr<Linear> inner = std::make_shared<Linear>(2, 2);
  };
  struct Careful : Holder {
    void unshare() override { inner = std::make_shared<Linear>(*inner); }
  };
  EXPECT_THAT(error_of([] { clone(Holder()); }), HasSubstr("inner is shared with the copy"));
  const Careful careful;
  EXPECT_NE(clone(careful).inner->weight().impl(), careful.inner->weight().impl());
  Sequential vague;
  vague.add(std::shared_ptr<Module>(std::make_shared<Linear>(2, 2)));
  EXPECT_THAT(error_of([&] { clone(vague); }), HasSubstr("cannot clone layer 0, a Linear(2, 2)"));
}

// ------------------------------------------------------------------ summaries

TEST(Summary, ShowsWhatEachModuleDid) {
  struct Outer : Module {
    Tensor forward(const Tensor& x) const override { return head(layers[0](layers[0](x))) * scale; }
    void fields(Fields& f) override { f("layers", layers)("head", head)("scale", scale); }
    std::string title() const override { return "Outer"; }
    std::vector<Sequential> layers{Sequential(Linear(3, 3), Dropout(0.5))};
    Linear head{3, 1, {.bias = false}};
    Tensor scale = ones({1});
  };
  const Outer m;
  const auto stream = m.state_dict()[2].tensor.values<std::int64_t>();
  EXPECT_EQ(m.summary({5, 3}),
            "module                         output  parameters  bytes  FLOPs\n"
            "Outer                          [5, 1]           0      4      0\n"
            "  layers.0: Sequential         [5, 3]           0      0      0\n"
            "    0: Linear(3, 3)            [5, 3]          12     48    180\n"
            "    1: Dropout(0.5)            [5, 3]           0     16      0\n"
            "  head: Linear(3, 1, no bias)  [5, 1]           3     12     30\n"
            "input [5, 3]: 15 parameters, 80 bytes, 210 FLOPs\n");
  EXPECT_EQ(m.summary(ones({5, 3})), m.summary({5, 3}));
  EXPECT_TRUE(m.layers[0][1].training());
  EXPECT_EQ(m.state_dict()[2].tensor.values<std::int64_t>(), stream);
  EXPECT_THAT(error_of([&] { m.summary({5, 4}); }), HasSubstr(", in layers.0.0 (Linear(3, 3))"));
}

// ------------------------------------------------------------------ state

TEST(ModuleState, RoundTripsAndConverts) {
  const Linear from(3, 2, {.dtype = DType::f64});
  Linear into(3, 2);
  EXPECT_TRUE(into.load_state_dict(from.state_dict()).complete());
  const std::vector<double> expected = from.weight().values<double>();
  const std::vector<float> loaded = into.weight().values<float>();
  for (std::size_t i = 0; i < loaded.size(); ++i) EXPECT_EQ(loaded[i], static_cast<float>(expected[i]));
}

TEST(ModuleState, ListsAllThatDoesNotFitAtOnceAndChangesNothing) {
  Sequential m(Linear(2, 3), Linear(3, 1));
  const auto before = m.parameters()[0].values<float>();
  const NamedTensors state{{"0.weight", ones({3, 2})}, {"0.bias", ones({4})}, {"extra", ones({1})}};
  const std::string message = error_of([&] { m.load_state_dict(state); });
  EXPECT_THAT(message, HasSubstr("2 tensors missing, 1 unexpected, 1 of another shape"));
  EXPECT_THAT(message, HasSubstr("missing: 1.weight, 1.bias"));
  EXPECT_THAT(message, HasSubstr("unexpected: extra"));
  EXPECT_THAT(message, HasSubstr("0.bias: [3] in the module, [4] in the state"));
  EXPECT_EQ(m.parameters()[0].values<float>(), before);
}

TEST(ModuleState, NotStrictLoadsWhatFitsAndReportsTheRest) {
  Sequential m(Linear(2, 3), Linear(3, 1));
  const LoadReport report = m.load_state_dict({{"0.weight", ones({3, 2})}, {"extra", ones({1})}}, false);
  EXPECT_THAT(report.missing, ElementsAre("0.bias", "1.weight", "1.bias"));
  EXPECT_THAT(report.unexpected, ElementsAre("extra"));
  EXPECT_EQ(m.parameters()[0].values<float>(), std::vector<float>(6, 1.0f));
}

// parameters() is a plain vector, functions of tensors take a TensorList, and each becomes the other.
TEST(Parameters, GoIntoDerivatives) {
  Linear layer(2, 1);
  layer.load_state_dict({{"weight", Tensor::of({1, 2}, {1, 2})}, {"bias", Tensor::of({1}, {3})}});
  const Tensor x = Tensor::of({1, 2}, {1, 10});
  const auto f = [&](const TensorList& p) { return sum(square(matmul(x, transpose(p[0])) + p[1])); };
  const std::vector<Tensor> u{ones({1, 2}), ones({1})};
  const Grads h = hvp(f, layer.parameters(), u);  // 2 [1, 10, 1] [1, 10, 1]^T u
  EXPECT_THAT(h[0].values<float>(), ElementsAre(24, 240));
  EXPECT_THAT(h[1].values<float>(), ElementsAre(24));
  EXPECT_EQ(vjp(f, layer.parameters(), ones({})).size(), 2U);
  EXPECT_EQ(jvp(f, layer.parameters(), u).item(), 2 * 24 * 12);

  const std::vector<Tensor> slopes = grad(checkpoint(f, layer.parameters()), layer.parameters());
  EXPECT_THAT(slopes[0].values<float>(), ElementsAre(48, 480));
  const auto of_a_vector = [](const std::vector<Tensor>& p) { return sum(p[0]); };
  EXPECT_EQ(checkpoint(of_a_vector, layer.parameters()).item(), 3);
}

}  // namespace
}  // namespace veldt::nn
