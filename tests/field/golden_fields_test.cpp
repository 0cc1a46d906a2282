// Files of every kind of field stay readable, and draw what docs/formats.md says: tests/golden/fields.py
// wrote them and drew them in float64, without Veldt.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "veldt/field/image_field.h"

namespace veldt::field {
namespace {

TEST(GoldenFields, DrawWhatTheReferenceDraws) {
  std::ifstream file(VELDT_SOURCE "/tests/golden/fields.json");
  ASSERT_TRUE(file) << "tests/golden/fields.json is missing; tests/golden/fields.py makes it";
  const auto golden = nlohmann::json::parse(file).get<std::map<std::string, std::vector<double>>>();
  EXPECT_EQ(golden.size(), model_names().size() + 1);
  for (const auto& [name, levels] : golden) {
    const ImageField field =
        ImageField::load(std::string(VELDT_SOURCE "/tests/golden/fields/") + name + ".safetensors");
    if (name != "side_by_side") {
      EXPECT_EQ(name_of(model_of(field.options())), name);
    }
    const std::vector<float> drawn = field.render(6, 4).values<float>();
    ASSERT_EQ(drawn.size(), levels.size()) << name;
    for (std::size_t i = 0; i < levels.size(); ++i)
      EXPECT_NEAR(static_cast<double>(drawn[i]), levels[i], 1e-5) << name << ", number " << i;
  }
}

}  // namespace
}  // namespace veldt::field
