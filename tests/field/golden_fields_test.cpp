// Files of every kind of field stay readable, and draw what docs/formats.md says: tests/golden/fields.py
// and sized_fields.py wrote them and drew them in float64, without Veldt.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "veldt/field/image_field.h"
#include "veldt/field/sound_field.h"

namespace veldt::field {
namespace {

using Numbers = std::vector<double>;
using ByKey = std::map<std::string, Numbers>;

std::string path_of(const std::string& name) {
  return std::string(VELDT_SOURCE "/tests/golden/fields/") + name + ".safetensors";
}

template <class T> std::map<std::string, T> golden_of(const std::string& name) {
  std::ifstream file(VELDT_SOURCE "/tests/golden/" + name);
  EXPECT_TRUE(file) << "tests/golden/" << name << " is missing; fields.py or sized_fields.py there makes it";
  return nlohmann::json::parse(file).get<std::map<std::string, T>>();
}

void expect_near(const std::vector<float>& drawn, const Numbers& golden, const std::string& name) {
  ASSERT_EQ(drawn.size(), golden.size()) << name;
  for (std::size_t i = 0; i < golden.size(); ++i)
    EXPECT_NEAR(static_cast<double>(drawn[i]), golden[i], 1e-5) << name << ", number " << i;
}

TEST(GoldenFields, DrawWhatTheReferenceDraws) {
  const ByKey golden = golden_of<Numbers>("fields.json");
  EXPECT_EQ(golden.size(), model_names().size() + 1);
  for (const auto& [name, levels] : golden) {
    const ImageField field = ImageField::load(path_of(name));
    if (name != "side_by_side") {
      EXPECT_EQ(name_of(model_of(field.options())), name);
    }
    expect_near(field.render({6, 4}).values<float>(), levels, name);
  }
}

TEST(GoldenFields, DrawWhatTheReferenceDrawsAtEverySize) {
  const auto golden = golden_of<ByKey>("sized_fields.json");
  EXPECT_EQ(golden.size(), 7u);
  for (const auto& [name, by_size] : golden) {
    EXPECT_EQ(by_size.size(), 5u) << name;
    const ImageField field = ImageField::load(path_of(name));
    for (const auto& [size, levels] : by_size) {
      const auto width = std::stoll(size), height = std::stoll(size.substr(size.find('x') + 1));
      expect_near(field.render({width, height}).values<float>(), levels, name + " at " + size);
    }
  }
}

TEST(GoldenFields, PlayWhatTheReferencePlays) {
  const auto golden = golden_of<ByKey>("sound_fields.json");
  EXPECT_EQ(golden.size(), 4u);
  for (const auto& [name, by_rate] : golden) {
    EXPECT_EQ(by_rate.size(), 3u) << name;
    for (const auto& [rate, samples] : by_rate)
      expect_near(SoundField::load(path_of(name)).render({.rate = std::stoll(rate)}).values<float>(), samples,
                  name + " at " + rate);
  }
}

}  // namespace
}  // namespace veldt::field
