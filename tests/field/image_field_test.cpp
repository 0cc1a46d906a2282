// One file holds all of a field, and a file that is not one is refused before any memory is asked for.
#include "veldt/field/image_field.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/field/pictures.h"
#include "tests/io/faults.h"
#include "tests/support/sanitizers.h"
#include "veldt/io/safetensors.h"

namespace veldt::field {
namespace {

using test::bytes_of;
using test::says;
using test::small_options;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;
using Metadata = std::map<std::string, std::string>;

void expect_same(const ImageField& a, const ImageField& b) {
  EXPECT_EQ(a.options(), b.options());
  EXPECT_EQ(a.training(), b.training());
  const auto x = a.tensors(), y = b.tensors();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].name, y[i].name);
    EXPECT_EQ(x[i].tensor.values<float>(), y[i].tensor.values<float>());
  }
}

// What loading says of a file with this content.
IoError refusal(const NamedTensors& tensors, const Metadata& metadata) {
  const TempDir dir;
  io::write_safetensors(dir / "m.safetensors", tensors, metadata);
  const IoError error = thrown_by<IoError>([&] { ImageField::load(dir / "m.safetensors"); });
  EXPECT_TRUE(says(error, "m.safetensors") || says(error, "options of this field")) << error.what();
  return error;
}

const ImageField& small() {
  static const ImageField field(small_options(12, 8, 3), 1);
  return field;
}

Metadata with(const std::string& key, const std::string& value) {
  Metadata metadata = small().metadata();
  metadata[key] = value;
  return metadata;
}

TEST(ImageField, ComesBackFromItsFileBitForBit) {
  const TempDir dir;
  ImageField field(small_options(33, 21, 4), 9);
  field.set_training(R"({"steps":3})");
  field.save(dir / "m.safetensors");
  const ImageField loaded = ImageField::load(dir / "m.safetensors");
  expect_same(field, loaded);
  EXPECT_EQ(test::largest_difference(field.render({40, 30}), loaded.render({40, 30})), 0);
  loaded.save(dir / "again.safetensors");
  EXPECT_EQ(bytes_of(dir / "m.safetensors"), bytes_of(dir / "again.safetensors"));
  EXPECT_EQ(test::count_entries(dir.path()), 2u);
}

TEST(ImageField, SaysWhatItIsInItsMetadata) {
  const Metadata metadata = small().metadata();
  EXPECT_EQ(field_kind(metadata), "image_field");
  EXPECT_EQ(metadata.at("kind"), "veldt.image_field");
  EXPECT_EQ(metadata.at("format_version"), "1");
  EXPECT_EQ(field_options_from_json(metadata.at("options")), small().options());
  EXPECT_EQ(field_kind({}), "");
  EXPECT_EQ(field_kind({{"kind", "image_field"}}), "");
}

TEST(ImageField, CountsItsParameters) {
  std::int64_t numbers = 0;
  for (const NamedTensor& t : small().tensors()) numbers += t.tensor.numel();
  EXPECT_EQ(small().parameter_count(), numbers);
}

TEST(ImageField, RefusesOptionsThatMakeNoSense) {
  FieldOptions o = small_options(8, 8);
  o.widths = {0};
  EXPECT_THROW(ImageField(o, 1), ConfigError);
}

TEST(ImageField, RefusesFilesOfOtherKinds) {
  EXPECT_EQ(refusal(small().tensors(), {}).kind(), Kind::malformed);
  EXPECT_EQ(refusal(small().tensors(), with("kind", "gpt")).kind(), Kind::malformed);
  for (const char* key : {"format_version", "options"}) {
    Metadata metadata = small().metadata();
    metadata.erase(key);
    EXPECT_EQ(refusal(small().tensors(), metadata).kind(), Kind::malformed) << key;
  }
  for (const char* version : {"", "one", "0", "-1", "1.5", "1 ", "99999999999999999999"})
    EXPECT_EQ(refusal(small().tensors(), with("format_version", version)).kind(), Kind::malformed) << version;
  EXPECT_EQ(refusal(small().tensors(), with("options", "[]")).kind(), Kind::malformed);
}

TEST(ImageField, NamesBothVersionsOfANewerFile) {
  const IoError error = refusal(small().tensors(), with("format_version", "7"));
  EXPECT_EQ(error.kind(), Kind::corrupt);
  EXPECT_TRUE(says(error, "format version 7")) << error.what();
  EXPECT_TRUE(says(error, "up to 4")) << error.what();
}

TEST(ImageField, RefusesOptionsThatNeedMoreThanTheFileHoldsBeforeAllocating) {
  if (test::kForeignHeap) GTEST_SKIP() << "memory is measured";
  FieldOptions huge = small().options();
  huge.widths = {16000, 16000, 16000, 16000};  // 3 GB of parameters
  const std::string options = to_json(huge);
  const int status = test::in_child([&] {
    const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    return refusal(small().tensors(), with("options", options)).kind() == Kind::malformed ? 7 : 8;
  });
  EXPECT_EQ(status, 7);
  huge.widths.assign(64, 65536);
  EXPECT_EQ(refusal(small().tensors(), with("options", to_json(huge))).kind(), Kind::malformed);
}

TEST(ImageField, NamesTheTensorThatIsMissingOrOfAnotherShape) {
  auto tensors = small().tensors();
  tensors[2].name = "layers.7.weight";
  IoError error = refusal(tensors, small().metadata());
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "layers.1.weight")) << error.what();
  tensors = small().tensors();
  std::swap(tensors[0].name, tensors[1].name);
  error = refusal(tensors, small().metadata());
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "layers.0.")) << error.what();
  tensors = small().tensors();
  tensors.pop_back();
  EXPECT_EQ(refusal(tensors, small().metadata()).kind(), Kind::malformed);
  tensors = small().tensors();
  tensors.push_back({"extra", Tensor::of({1}, {1})});
  EXPECT_EQ(refusal(tensors, small().metadata()).kind(), Kind::malformed);
  tensors = small().tensors();
  const auto bias = tensors[1].tensor.values<float>();
  tensors[1].tensor =
      Tensor::from<double>(tensors[1].tensor.shape(), std::vector<double>(bias.begin(), bias.end()));
  EXPECT_EQ(refusal(tensors, small().metadata()).kind(), Kind::malformed);
}

// Such a picture could not be written: better said when loading than after drawing half of it.
TEST(ImageField, RefusesWeightsThatAreNotNumbers) {
  for (const float bad : {NAN, INFINITY}) {
    auto tensors = small().tensors();
    std::vector<float> values = tensors[2].tensor.values<float>();
    values[5] = bad;
    tensors[2].tensor = Tensor::from<float>(tensors[2].tensor.shape(), values);
    const IoError error = refusal(tensors, small().metadata());
    EXPECT_EQ(error.kind(), Kind::corrupt);
    EXPECT_TRUE(says(error, "layers.1.weight")) << error.what();
  }
}

TEST(ImageField, IsNeverReadWrongFromADamagedFile) {
  const TempDir dir;
  const std::string file = dir / "m.safetensors";
  FieldOptions o = small_options(4, 4);
  o.widths = {2};
  const ImageField field(o, 1);
  field.save(file);
  const std::string whole = bytes_of(file);
  for (std::size_t i = 0; i < whole.size(); i += 13) {
    test::put_bytes(file, whole.substr(0, i));
    EXPECT_EQ(thrown_by<IoError>([&] { ImageField::load(file); }).kind(), Kind::malformed) << i;
  }
  for (std::size_t i = 0; i < whole.size(); i += 9) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 2);
    test::put_bytes(file, flipped);
    try {
      // A file whose digests have lost their name passes for one of another make; what it says is still
      // right.
      expect_same(ImageField::load(file), field);
    } catch (const IoError& error) {
      EXPECT_TRUE(error.kind() == Kind::malformed || error.kind() == Kind::corrupt) << i;
    }
  }
}

}  // namespace
}  // namespace veldt::field
