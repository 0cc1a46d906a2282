// The table of architectures: names, options, errors, numbers of parameters as they are published.
#include "veldt/models/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/plan.h"

namespace veldt::models {
namespace {

using test::error_of;
using ::testing::HasSubstr;

// Without memory, which VGG-16 would take half a gigabyte of.
std::int64_t parameters_of(const std::string& name, const Options& options = {}) {
  std::int64_t count = 0;
  step_facts([&] { count = make(name, options)->parameter_count(); });
  return count;
}

TEST(Registry, NetworksHaveAsManyParametersAsTheirAuthorsSay) {
  const std::pair<const char*, std::int64_t> published[] = {
      {"resnet18", 11'689'512},          {"resnet34", 21'797'672},
      {"resnet50", 25'557'032},          {"vgg16", 138'357'544},
      {"vgg16_bn", 138'365'992},         {"mobilenet_v2", 3'504'872},
      {"mobilenet_v3_large", 5'483'032}, {"mobilenet_v3_small", 2'542'856},
      {"vit_b_16", 86'567'656},          {"efficientnet_lite0", 4'652'008}};
  for (const auto& [name, count] : published) EXPECT_EQ(parameters_of(name), count) << name;
}

TEST(Registry, EveryNetworkHasTheHeadItNames) {
  for (const std::string& name : names()) {
    step_facts([&] {
      const auto network = make(name, {{"classes", 3}});
      bool found = false;
      for (const auto& [parameter, tensor] : network->named_parameters())
        found = found || (parameter == about(name).head + ".weight" && tensor.size(0) == 3);
      EXPECT_TRUE(found) << name;
    });
    EXPECT_FALSE(about(name).title.empty()) << name;
  }
}

TEST(Registry, OptionsChangeTheNetwork) {
  EXPECT_LT(parameters_of("mobilenet_v2", {{"width", 0.5}}), 2'000'000);
  EXPECT_EQ(parameters_of("resnet18", {{"in_channels", 1}}), 11'689'512 - 2 * 64 * 49);
  EXPECT_EQ(parameters_of("vit_b_16", {{"image_size", 32}}), 86'567'656 - (196 - 4) * 768);
  Rng rng(1);
  const auto network = make("mobilenet_v3_small", {{"classes", 7}, {"width", 0.25}}, rng);
  network->eval();
  EXPECT_EQ((*network)(zeros({2, 3, 64, 64})).shape(), (Shape{2, 7}));
}

TEST(Registry, TheSameSeedDrawsTheSameValues) {
  const auto first = [](std::uint64_t seed) {
    Rng rng(seed);
    return make("mobilenet_v3_small", {{"width", 0.25}}, rng)->parameters()[0].values<float>();
  };
  EXPECT_EQ(first(5), first(5));
  EXPECT_NE(first(5), first(6));
}

TEST(Registry, RefusesWhatItDoesNotHave) {
  EXPECT_THAT(error_of([] { make("resnet19"); }), HasSubstr("did you mean 'resnet18'?"));
  EXPECT_THAT(error_of([] { make("resnet18", {{"width", 2}}); }), HasSubstr("it has classes, in_channels"));
  EXPECT_THAT(error_of([] { make("resnet18", {{"classes", 0}}); }), HasSubstr("whole number from 1 to"));
  EXPECT_THAT(error_of([] { make("resnet18", {{"classes", 2.5}}); }), HasSubstr("cannot be 2.5"));
  EXPECT_THAT(error_of([] { make("vgg16", {{"dropout", NAN}}); }), HasSubstr("cannot be nan"));
  EXPECT_THAT(error_of([] { make("vit_b_16", {{"image_size", 100}}); }), HasSubstr("give a multiple of 16"));
  EXPECT_THROW(about(""), ConfigError);
}

TEST(Registry, VitTakesPicturesOfItsSizeAlone) {
  step_facts([&] {
    const auto network = make("vit_b_16");
    EXPECT_THAT(error_of([&] { (*network)(zeros({1, 3, 192, 192})); }), HasSubstr("another image_size"));
  });
}

}  // namespace
}  // namespace veldt::models
