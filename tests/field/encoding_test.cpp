// Encodings of coordinates, each against its formula.
#include "veldt/field/encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/field/image_field.h"
#include "veldt/ops/random.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

Tensor points(std::int64_t n, std::int64_t inputs = 2) {
  Rng rng(3);
  return rand({n, inputs}, rng, -1, 1);
}

Encoding make(const EncodingOptions& options, std::int64_t inputs = 2) {
  Rng rng(5);
  return Encoding(inputs, options, rng);
}

FieldOptions field_with(std::vector<EncodingOptions> encodings) {
  FieldOptions o;
  o.activation = Activation::relu;
  o.widths = {8};
  o.width = o.height = 8;
  o.encodings = std::move(encodings);
  return o;
}

TEST(Encoding, HasAsManyFeaturesAsItSays) {
  const std::vector<EncodingOptions> all = {IdentityOptions{}, FrequencyOptions{4}, FourierOptions{6, 2},
                                            GridOptions{.levels = 3, .log2_entries = 8, .finest = 64}};
  for (const std::int64_t inputs : {1, 2, 3, 4})
    for (const EncodingOptions& o : all)
      EXPECT_EQ(make(o, inputs)(points(7, inputs)).shape(), Shape({7, features_of(o, inputs)})) << o.index();
}

TEST(Encoding, OfFrequenciesIsSinesAndThenCosinesOfEachOctave) {
  const Tensor x = points(5);
  const auto at = x.values<float>(), y = make(FrequencyOptions{3})(x).values<float>();
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t j = 0; j < 2; ++j) {
        const double z = std::exp2(k) * std::numbers::pi * static_cast<double>(at[2 * i + j]);
        EXPECT_NEAR(y[12 * i + 2 * k + j], std::sin(z), 1e-5);
        EXPECT_NEAR(y[12 * i + 6 + 2 * k + j], std::cos(z), 1e-5);
      }
}

// In f32 there would be eight places or so within a cell near the end.
TEST(Encoding, OfALongLineInterpolatesAtThePlaceItIsGiven) {
  const std::int64_t cells = 900'001;
  const Encoding grid = make(
      GridOptions{.levels = 1, .features = 1, .log2_entries = 30, .coarsest = cells, .finest = cells}, 1);
  Tensor table = grid.named_parameters()[0].tensor;
  std::vector<float> values(static_cast<std::size_t>(cells + 1));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? 1.0f : -1.0f;
  NoGrad off;
  table.assign(Tensor::from<float>(table.shape(), values));
  const Tensor x = points(1000, 1);
  const auto at = x.values<float>(), y = grid(x).values<float>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double place = (0.5 * static_cast<double>(at[i]) + 0.5) * static_cast<double>(cells);
    const double t = place - std::floor(place), way = std::fmod(std::floor(place), 2) > 0 ? -1 : 1;
    EXPECT_NEAR(y[i], way * (2 * t - 1), 1e-5) << at[i];
  }
}

TEST(Encoding, OfFourierTakesItsWavesFromANormalDistribution) {
  const Encoding fourier = make(FourierOptions{4096, 3});
  const NamedTensors buffers = fourier.named_buffers();
  ASSERT_EQ(buffers.size(), 1u);
  EXPECT_EQ(buffers[0].name, "frequencies");
  EXPECT_TRUE(fourier.named_parameters().empty());  // not trained
  const auto b = buffers[0].tensor.values<float>();
  double sum = 0, squares = 0;
  for (const float v : b) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(sum / 8192, 0, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 8192), 3, 0.1);
  const Tensor x = points(3);
  const auto at = x.values<float>(), y = fourier(x).values<float>();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4096; k += 111) {
      const double z = 2 * std::numbers::pi *
                       (static_cast<double>(b[2 * k]) * static_cast<double>(at[2 * i]) +
                        static_cast<double>(b[2 * k + 1]) * static_cast<double>(at[2 * i + 1]));
      EXPECT_NEAR(y[8192 * i + k], std::sin(z), 1e-4);
      EXPECT_NEAR(y[8192 * i + 4096 + k], std::cos(z), 1e-4);
    }
}

TEST(Encoding, OfAGridCoversMinusOneToOneAndStartsNearZero) {
  const Encoding grid = make(GridOptions{.levels = 1, .log2_entries = 10, .coarsest = 4, .finest = 4});
  const NamedTensors parameters = grid.named_parameters();
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].name, "table");
  const auto table = parameters[0].tensor.values<float>();
  ASSERT_EQ(table.size(), 50u);
  float largest = 0;
  for (const float v : table) largest = std::max(largest, std::abs(v));
  EXPECT_LE(largest, 1e-4f);
  EXPECT_GT(largest, 0.8e-4f);
  // The corners of the square are the first and the last vertex.
  const auto y = grid(Tensor::of({3, 2}, {-1, -1, 1, 1, 0.5, -1})).values<float>();
  EXPECT_FLOAT_EQ(y[0], table[0]);
  EXPECT_FLOAT_EQ(y[2], table[48]);
  EXPECT_FLOAT_EQ(y[4], table[6]);
}

TEST(Encoding, RefusesATableBeyondMemoryBeforeItTakesAny) {
  const GridOptions huge{
      .levels = 32, .features = 8, .log2_entries = 30, .coarsest = 1 << 24, .finest = 1 << 24};
  EXPECT_THROW(make(huge), ConfigError);
  EXPECT_THROW(make(GridOptions{}, 5), ConfigError);
}

TEST(Encodings, PutTheirFeaturesSideBySide) {
  Rng rng(5);
  const Encodings both(2, {IdentityOptions{}, FrequencyOptions{1}}, rng), none(2, {}, rng);
  const Tensor x = points(4);
  EXPECT_EQ(both.features(), 6);
  const auto at = x.values<float>(), y = both(x).values<float>();
  const auto waves = make(FrequencyOptions{1})(x).values<float>();
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ(y[6 * i + j], at[2 * i + j]);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(y[6 * i + 2 + j], waves[4 * i + j]);
  }
  EXPECT_EQ(none.features(), 2);
  EXPECT_EQ(none(x).values<float>(), at);
}

TEST(ImageField, KeepsWhatItsEncodingsDrewInItsFile) {
  const test::TempDir dir;
  const std::string path = dir / "field.safetensors";
  const ImageField field(
      field_with({FourierOptions{9, 4}, GridOptions{.levels = 2, .log2_entries = 6, .finest = 32}}), 11);
  field.save(path);
  const ImageField back = ImageField::load(path);
  EXPECT_EQ(back.options(), field.options());
  EXPECT_EQ(back.render({8, 8}).values<float>(), field.render({8, 8}).values<float>());
  std::vector<std::string> names;
  for (const NamedTensor& t : back.tensors()) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string>{"encoding.parts.0.frequencies", "encoding.parts.1.table",
                                             "layers.0.weight", "layers.0.bias", "layers.1.weight",
                                             "layers.1.bias"}));
}

}  // namespace
}  // namespace veldt::field
