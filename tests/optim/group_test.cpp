// Groups of parameters keep their own rates and options, through files too.
#include "veldt/optim/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optim/leaf.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/optim/sgd.h"

namespace veldt::optim {
namespace {

using test::leaf;
using test::values;
using testing::HasSubstr;

TEST(Groups, KeepTheProportionOfTheirRates) {
  const NamedTensors a{{"a", leaf({2})}}, b{{"b", leaf({2})}};
  SGD sgd(std::vector<Group<SGDOptions>>{{a, {.lr = 0.5}}, {b, {.lr = 0.25}}});
  sgd.set_lr(0.25);
  EXPECT_EQ(sgd.group_lr(0), 0.25);
  EXPECT_EQ(sgd.group_lr(1), 0.125);
  sgd.set_group_lr(1, 2);
  EXPECT_EQ(sgd.lr(), 0.25);
  (sum(a[0].tensor) + sum(b[0].tensor)).backward();
  sgd.step();
  EXPECT_EQ(values(a[0].tensor)[0], 0.75f);
  EXPECT_EQ(values(b[0].tensor)[0], -1);
  sgd.set_lr(0.5);
  EXPECT_EQ(sgd.group_lr(1), 0.25);
  EXPECT_THROW(sgd.set_group_lr(2, 1), ConfigError);
  EXPECT_THROW(sgd.group_lr(2), ConfigError);
}

TEST(Groups, AreMadeOfNames) {
  NamedTensors all;
  for (const char* name : {"body.0.weight", "body.1.weight", "head.weight", "heads"})
    all.push_back({name, leaf({2})});
  SGD sgd(groups_by_name<SGDOptions>(all, {.lr = 1},
                                     {{"body", {.lr = 2}}, {"body.1", {.lr = 3}}, {"head", {.lr = 4}}}));
  EXPECT_EQ(sgd.group_count(), 4u);
  EXPECT_EQ(sgd.names(),
            (std::vector<std::string>{"heads", "body.0.weight", "body.1.weight", "head.weight"}));
  EXPECT_EQ(sgd.lr(), 1);
  EXPECT_EQ(sgd.group_lr(2), 3);
  // Without a rest the first that is named comes first.
  all = {{"head.weight", leaf({2})}};
  EXPECT_EQ(SGD(groups_by_name<SGDOptions>(all, {.lr = 1}, {{"head", {.lr = 4}}})).lr(), 4);
  EXPECT_THAT(error_of([&] {
                groups_by_name<SGDOptions>(all, {}, {{"head", {.lr = 1}}, {"head", {.lr = 2}}});
              }),
              HasSubstr("the group head is there twice"));
  EXPECT_THAT(test::error_of([&] {
                groups_by_name<SGDOptions>(all, {}, {{"hea", {}}});
              }),
              HasSubstr("no trained parameter's name begins with hea"));
}

TEST(Groups, MayNeedDifferentStates) {
  const NamedTensors a{{"a", leaf({2})}}, b{{"b", leaf({2})}};
  SGD sgd(std::vector<Group<SGDOptions>>{{a, {.lr = 1}}, {b, {.lr = 1, .momentum = 0.5}}});
  for (int i = 0; i < 2; ++i) {
    sgd.zero_grad();
    (sum(a[0].tensor) + sum(b[0].tensor)).backward();
    sgd.step();
  }
  EXPECT_EQ(values(a[0].tensor)[0], -1);
  EXPECT_EQ(values(b[0].tensor)[0], -1.5f);
}

TEST(Groups, SaveTheirRates) {
  const Tensor a = leaf({2}), b = leaf({2});
  const std::vector<Group<SGDOptions>> groups{{{{"a", a}}, {.lr = 1}}, {{{"b", b}}, {.lr = 2}}};
  SGD sgd(groups);
  sgd.set_group_lr(1, 7);
  SGD other(groups);
  other.load_state_dict(sgd.state_dict());
  EXPECT_EQ(other.group_lr(0), 1);
  EXPECT_EQ(other.group_lr(1), 7);
  SGD single({leaf({2}), leaf({2})});
  EXPECT_THAT(test::error_of([&] { single.load_state_dict(sgd.state_dict()); }),
              HasSubstr("lr is [2], not []"));
}

TEST(Groups, RefuseAParameterInTwoAndTwoOfOneName) {
  const Tensor a = leaf({2});
  using Sgds = std::vector<Group<SGDOptions>>;
  EXPECT_THAT(test::error_of([&] {
                SGD(Sgds{{{{"a", a}}, {}}, {{{"b", a}}, {}}});
              }),
              HasSubstr("parameter b is in two groups"));
  EXPECT_THAT(test::error_of([&] {
                SGD(Sgds{{{{"a", a}}, {}}, {{{"a", leaf({1})}}, {}}});
              }),
              HasSubstr("two parameters are named a"));
  EXPECT_THAT(test::error_of([&] {
                SGD(Sgds{{{{"a", a}}, {.clip = {.norm = 1}}}, {{{"b", leaf({1})}}, {.clip = {.norm = 2}}}});
              }),
              HasSubstr("clip.norm of 1 and of 2"));
}

}  // namespace
}  // namespace veldt::optim
