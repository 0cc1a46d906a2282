// A field's options come from files, and files may say anything.
#include "veldt/field/options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/field/pictures.h"
#include "tests/io/faults.h"
#include "veldt/core/rng.h"
#include "veldt/field/choose.h"
#include "veldt/field/network.h"
#include "veldt/field/automatic.h"

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

FieldOptions encoded() {
  FieldOptions o = small_options(12, 45, 3);
  o.activation = Activation::wire;
  o.scale = 1.0 / 3;
  o.encodings = {
      IdentityOptions{}, FrequencyOptions{7}, FourierOptions{5, 0.1},
      GridOptions{.levels = 3, .features = 3, .log2_entries = 5, .coarsest = 2, .finest = 9, .smooth = true}};
  return o;
}

IoError refusal(const std::string& text) {
  return test::thrown_by<IoError>([&] { field_options_from_json(text); });
}

// The options of a valid field, one key changed.
std::string options_with(const std::string& key, const json& value) {
  json options = json::parse(to_json(small_options(8, 8)));
  options[key] = value;
  return options.dump();
}

TEST(FieldOptions, ComeBackFromJson) {
  for (const FieldOptions& o : {small_options(1, 1), small_options(640, 480, 3), unusual(), encoded()}) {
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
      error = refusal(options_with(key, wrong));
      EXPECT_EQ(error.kind(), IoError::Kind::malformed);
      EXPECT_TRUE(test::says(error, key)) << error.what();
    }
  }
  for (const char* key : {"channels", "width", "height", "footprint", "first_omega", "omega", "widths"})
    EXPECT_TRUE(test::says(refusal(options_with(key, "8")), "wrong type")) << key;
  for (const char* key : {"channels", "width", "height", "footprint", "first_omega", "omega"})
    EXPECT_TRUE(test::says(refusal(options_with(key, true)), "wrong type")) << key;
  for (const char* key : {"bias", "constant_input"})
    EXPECT_TRUE(test::says(refusal(options_with(key, 1)), "wrong type"));
}

TEST(FieldOptions, RefuseNumbersThatWouldWrapAroundOrBeCut) {
  const std::int64_t wrapping = (std::int64_t{1} << 32) + 1;  // 1 as an int
  for (const char* key : {"channels", "width", "height", "footprint"})
    for (const json& value :
         {json(1.5), json(1e300), json(-1e300), json(std::uint64_t{1} << 63), json(wrapping)})
      EXPECT_EQ(refusal(options_with(key, value)).kind(), IoError::Kind::malformed) << key << " " << value;
  for (const json& value : {json({1.5}), json({1e300}), json({true}), json({UINT64_MAX}), json({wrapping})})
    EXPECT_EQ(refusal(options_with("widths", value)).kind(), IoError::Kind::malformed) << value;
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
    const IoError error = refusal(options_with(key, value));
    EXPECT_EQ(error.kind(), IoError::Kind::malformed) << key << " " << value;
  }
}

TEST(FieldOptions, CountTheParametersThatTheNetworkHas) {
  FieldOptions wide = small_options(8, 8, 3);
  wide.widths = {5};
  wide.bias = false;
  for (const FieldOptions& o : {small_options(8, 8), unusual(), wide, encoded()}) {
    Rng rng(1);
    const Network network(o, rng);
    EXPECT_EQ(parameter_count(o), network.parameter_count()) << to_json(o);
    std::int64_t stored = 0;
    for (const NamedTensor& t : network.state_dict()) stored += t.tensor.numel();
    EXPECT_EQ(stored_count(o), stored) << to_json(o);
  }
}

TEST(FieldOptions, GiveTheOriginalRecipe98752Parameters) {
  const FieldOptions o = simba_choices().field;
  EXPECT_EQ(parameter_count(o), 98752);
  Rng rng(1);
  EXPECT_EQ(Network(o, rng).parameter_count(), 98752);
}

TEST(FieldOptions, SayNothingOfEncodingsWhereThereAreNone) {
  const json plain = json::parse(to_json(small_options(8, 8)));
  EXPECT_FALSE(plain.contains("encodings"));
  EXPECT_FALSE(plain.contains("scale"));
  EXPECT_TRUE(field_options_from_json(plain.dump()).encodings.empty());
}

TEST(FieldOptions, RefuseEncodingsThatLie) {
  const json good = json::parse(to_json(encoded()));
  const auto refused = [&](std::size_t part, const char* key, const json& value) {
    json bad = good;
    bad["encodings"][part][key] = value;
    EXPECT_EQ(refusal(bad.dump()).kind(), IoError::Kind::malformed) << part << ' ' << key << ' ' << value;
  };
  for (std::size_t part = 0; part < 4; ++part)
    for (const auto& [key, value] : good["encodings"][part].items()) {
      json bad = good;
      bad["encodings"][part].erase(key);
      EXPECT_TRUE(test::says(refusal(bad.dump()), "'" + key + "' is missing")) << key;
      for (const json& wrong : {json(nullptr), json(json::object()), json(-1), json("8"), json(1e300)})
        refused(part, key.c_str(), wrong);
    }
  refused(0, "kind", "spline");
  refused(1, "octaves", 0);
  refused(1, "octaves", 25);
  refused(2, "frequencies", 65537);
  refused(2, "sigma", 0);
  refused(3, "levels", 33);
  refused(3, "features", 9);
  refused(3, "log2_entries", 31);
  refused(3, "log2_entries", (std::int64_t{1} << 32) + 5);  // 5 as an int
  refused(3, "coarsest", 10);                               // finer than the finest
  refused(3, "finest", (1 << 24) + 1);
  // Each within its bounds, but the table would take 256 GB.
  refused(3, "smooth", 1);
  json huge = good;
  huge["encodings"] = {{{"kind", "grid"},
                        {"levels", 32},
                        {"features", 8},
                        {"log2_entries", 30},
                        {"coarsest", 1 << 24},
                        {"finest", 1 << 24},
                        {"smooth", false}}};
  EXPECT_TRUE(test::says(refusal(huge.dump()), "numbers"));
  for (const json& wrong : {json(7), json(json::object()), json({7}), json({json::array()}),
                            json(std::vector<json>(9, {{"kind", "identity"}}))}) {
    json bad = good;
    bad["encodings"] = wrong;
    EXPECT_EQ(refusal(bad.dump()).kind(), IoError::Kind::malformed) << wrong;
  }
  json constant = good;
  constant["constant_input"] = true;
  EXPECT_TRUE(test::says(refusal(constant.dump()), "constant input"));
  json scale = good;
  scale["scale"] = 0;
  EXPECT_TRUE(test::says(refusal(scale.dump()), "scale"));
}

TEST(ModelFrom, KnowsItsNamesAndListsThemOtherwise) {
  for (const std::string& name : model_names()) {
    EXPECT_EQ(name_of(model_from(name)), name);
    FitChoices choices;
    choices.field = small_options(8, 8);
    choose_model(choices, model_from(name));
    EXPECT_EQ(name_of(model_of(choices.field)), name);
  }
  const auto error = test::thrown_by<ConfigError>([] { model_from("sirenn"); });
  EXPECT_TRUE(test::says(error, "'sirenn'"));
  EXPECT_TRUE(test::says(error, "siren, finer, tanh, relu, gauss, wire, fourier and hashgrid"));
}

}  // namespace
}  // namespace veldt::field
