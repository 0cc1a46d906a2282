// A field's options come from files, and files may say anything.
#include "veldt/field/options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/field/pictures.h"
#include "tests/io/faults.h"
#include "veldt/core/rng.h"
#include "veldt/field/network.h"
#include "veldt/field/recipe.h"

namespace veldt::field {
namespace {

using nlohmann::json;
using test::small_options;

FieldOptions unusual() {
  FieldOptions o = small_options(123, 45, 4);
  o.activation = Activation::gauss;
  o.widths = {1, 7, 300};
  o.first_omega = 0.1;
  o.omega = 1e-3 / 3;
  o.bias = false;
  o.constant_input = true;
  o.head = Head::ink;
  o.coordinates = Coordinates::corners;
  o.footprint = 3;
  return o;
}

IoError refusal(const std::string& text) {
  return test::io_error_of([&] { field_options_from_json(text); });
}

// The options of a valid field, one key changed.
std::string with(const std::string& key, const json& value) {
  json options = json::parse(to_json(small_options(8, 8)));
  options[key] = value;
  return options.dump();
}

TEST(FieldOptions, ComeBackFromJson) {
  for (const FieldOptions& o : {small_options(1, 1), small_options(640, 480, 3), unusual()}) {
    EXPECT_EQ(field_options_from_json(to_json(o)), o) << to_json(o);
    EXPECT_EQ(to_json(o).find('\n'), std::string::npos);
  }
}

TEST(FieldOptions, RefuseTextThatIsNoObject) {
  const std::string deep(100000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("7"), deep, std::string("null"),
        std::string("\xff\xfe"), std::string("{\"omega\":1e999}")})
    EXPECT_EQ(refusal(text).kind(), IoError::Kind::malformed) << text.substr(0, 40);
}

TEST(FieldOptions, NameTheKeyThatIsMissingOrOfTheWrongType) {
  const json whole = json::parse(to_json(small_options(8, 8)));
  for (const auto& [key, value] : whole.items()) {
    json options = whole;
    options.erase(key);
    IoError error = refusal(options.dump());
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(test::says(error, "'" + key + "' is missing")) << error.what();
    for (const json& wrong :
         {json(nullptr), json(json::object()), json({{"a", 1}}), json::array({json::array()})}) {
      error = refusal(with(key, wrong));
      EXPECT_EQ(error.kind(), IoError::Kind::malformed);
      EXPECT_TRUE(test::says(error, key)) << error.what();
    }
  }
  for (const char* key : {"channels", "width", "height", "footprint", "first_omega", "omega", "widths"})
    EXPECT_TRUE(test::says(refusal(with(key, "8")), "wrong type")) << key;
  for (const char* key : {"channels", "width", "height", "footprint", "first_omega", "omega"})
    EXPECT_TRUE(test::says(refusal(with(key, true)), "wrong type")) << key;
  for (const char* key : {"bias", "constant_input"})
    EXPECT_TRUE(test::says(refusal(with(key, 1)), "wrong type"));
}

TEST(FieldOptions, RefuseNumbersThatWouldWrapAroundOrBeCut) {
  const std::int64_t wrapping = (std::int64_t{1} << 32) + 1;  // 1 as an int
  for (const char* key : {"channels", "width", "height", "footprint"})
    for (const json& value :
         {json(1.5), json(1e300), json(-1e300), json(std::uint64_t{1} << 63), json(wrapping)})
      EXPECT_EQ(refusal(with(key, value)).kind(), IoError::Kind::malformed) << key << " " << value;
  for (const json& value : {json({1.5}), json({1e300}), json({true}), json({UINT64_MAX}), json({wrapping})})
    EXPECT_EQ(refusal(with("widths", value)).kind(), IoError::Kind::malformed) << value;
}

TEST(FieldOptions, RefuseSizesThatMakeNoSense) {
  const std::vector<std::pair<const char*, json>> wrong = {
      {"widths", json::array()},
      {"widths", {0}},
      {"widths", {-1}},
      {"widths", {65537}},
      {"widths", std::vector<int>(65, 1)},
      {"widths", std::vector<int>(64, 65536)},
      {"channels", 0},
      {"channels", -1},
      {"channels", 5},
      {"width", 0},
      {"width", -8},
      {"height", 0},
      {"height", (std::int64_t{1} << 30) + 1},
      {"footprint", 0},
      {"footprint", -1},
      {"footprint", 17},
      {"omega", 0},
      {"omega", -30},
      {"first_omega", 1e7},
      {"activation", "swish"},
      {"activation", ""},
      {"head", "softmax"},
      {"coordinates", "polar"},
  };
  for (const auto& [key, value] : wrong) {
    const IoError error = refusal(with(key, value));
    EXPECT_EQ(error.kind(), IoError::Kind::malformed) << key << " " << value;
  }
}

TEST(FieldOptions, CountTheParametersThatTheNetworkHas) {
  FieldOptions wide = small_options(8, 8, 3);
  wide.widths = {5};
  wide.bias = false;
  for (const FieldOptions& o : {small_options(8, 8), unusual(), wide}) {
    Rng rng(1);
    EXPECT_EQ(parameter_count(o), Network(o, rng).parameter_count()) << to_json(o);
  }
}

TEST(FieldOptions, GiveTheOriginalRecipe98752Parameters) {
  const FieldOptions o = simba_plan().field;
  EXPECT_EQ(parameter_count(o), 98752);
  Rng rng(1);
  EXPECT_EQ(Network(o, rng).parameter_count(), 98752);
}

TEST(ActivationFrom, KnowsItsNamesAndListsThemOtherwise) {
  for (const Activation a :
       {Activation::siren, Activation::finer, Activation::tanh, Activation::relu, Activation::gauss})
    EXPECT_EQ(activation_from(name_of(a)), a);
  try {
    activation_from("sirenn");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_TRUE(test::says(error, "'sirenn'"));
    EXPECT_TRUE(test::says(error, "siren, finer, tanh, relu and gauss"));
  }
}

}  // namespace
}  // namespace veldt::field
