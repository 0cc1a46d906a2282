// The header: compiles without a warning, gives the field's levels, and takes numbers as text where there are
// many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/publish/fields.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/header.h"
#include "veldt/publish/svg.h"
#include "veldt/publish/page.h"
#include "veldt/publish/glsl.h"

namespace veldt::test {
namespace {

// What a program of this text prints; compiled as a user would, with warnings as errors.
std::string printed_by(const TempDir& dir, const std::string& text) {
  io::write_file(dir / "main.cpp", text);
  const std::string compile =
      str(VELDT_CXX, " -std=c++17 -Wall -Wextra -Werror -Wpedantic -Wshadow -I", dir.path(), " ",
          dir / "main.cpp", " -o ", dir / "main", " && ", dir / "main", " > ", dir / "out");
  EXPECT_EQ(std::system(compile.c_str()), 0);
  return io::read_file(dir / "out");
}

constexpr std::int64_t kWide = 23, kHigh = 17;
constexpr Size kAt{7, 10};  // the pixel at whose middle a colour is asked for

// The levels at the middles of kWide x kHigh pixels. Drawn, a pixel may have parts of several squares, so
// those are looked up in the picture of a pixel for each.
std::vector<float> levels_of(const field::Field& field) {
  const field::FieldOptions& o = field.options();
  const field::ImageField picture(field);
  if (!o.squares) return picture.render({kWide, kHigh}, {.supersample = 1}).values<float>();
  const std::vector<float> squares = picture.render({o.columns(), o.rows()}).values<float>();
  std::vector<float> out;
  for (std::int64_t y = 0; y < kHigh; ++y)
    for (std::int64_t x = 0; x < kWide; ++x)
      for (std::int64_t c = 0; c < o.channels; ++c)
        out.push_back(squares[static_cast<std::size_t>(
            ((2 * y + 1) * o.rows() / (2 * kHigh) * o.columns() + (2 * x + 1) * o.columns() / (2 * kWide)) *
                o.channels +
            c)]);
  return out;
}

TEST(Header, GivesTheLevelsOfEveryKindOfField) {
  const TempDir dir;
  auto fields = published_fields();
  // Beyond 20,000 numbers they are text.
  field::FieldOptions large = published_options(field::Activation::relu, 2);
  large.widths = {160, 130};
  large.encodings = {
      GridOptions{.levels = 3, .features = 2, .log2_entries = 12, .coarsest = 4, .finest = 40}};
  large.closing = 2;
  fields.emplace_back("large", published_field(large));
  std::string includes, calls;
  for (const auto& [name, field] : fields) {
    io::write_file(dir / (name + ".h"), publish::header(field, name));
    includes += str("#include \"", name, ".h\"\n");
    const std::string space = publish::cpp_name(name);
    calls +=
        str("  print<", space, "::kChannels>(", space, "::levels);\n  std::printf(\"%.9g\\n\", double(",
            space, "::field(", kAt.width, ".5f / ", kWide, ", ", kAt.height, ".5f / ", kHigh, ").z));\n");
  }
  const std::string out = printed_by(
      dir, includes +
               str("#include <cstdio>\ntemplate <int channels, class F> void print(F levels) {\n"
                   "  for (int y = 0; y < ",
                   kHigh, "; ++y)\n    for (int x = 0; x < ", kWide,
                   "; ++x) {\n"
                   "      float out[channels];\n      levels((float(x) + 0.5f) / ",
                   kWide, ".0f, (float(y) + 0.5f) / ", kHigh,
                   ".0f, out);\n      for (float v : out) std::printf(\"%.9g\\n\", double(v));\n    }\n}\n"
                   "int main() {\n") +
               calls + "}\n");
  const char* at = out.c_str();
  for (const auto& [name, field] : fields) {
    const std::vector<float> levels = levels_of(field);
    const auto next = [&at] {
      char* end = nullptr;
      const double value = std::strtod(at, &end);
      EXPECT_NE(at, end);
      at = end;
      return value;
    };
    std::int64_t wrong = 0;
    for (const float level : levels) wrong += std::abs(next() - static_cast<double>(level)) < 1e-5 ? 0 : 1;
    EXPECT_EQ(wrong, 0) << name;
    const std::int64_t channels = field.options().channels, blue = channels < 3 ? 0 : 2,
                       i = (kAt.height * kWide + kAt.width) * channels + blue;
    EXPECT_NEAR(next(), static_cast<double>(levels[static_cast<std::size_t>(i)]), 1e-5) << name;
  }
}

TEST(Header, ASquareHasTheLevelOfItsMiddle) {
  const TempDir dir;
  field::FieldOptions o = published_options(field::Activation::siren, 3);
  o.squares = true;
  const field::Field field = published_field(o);
  io::write_file(dir / "art.h", publish::header(field, "art"));
  const std::string out = printed_by(dir, R"(#include "art.h"
#include <cstdio>
int main() {
  for (int y = 0; y < 14; ++y)
    for (int x = 0; x < 20; ++x)
      std::printf("%.9g\n", double(art_field::field((float(x) + 0.1f) / 20, (float(y) + 0.9f) / 14).y));
}
)");
  const std::vector<float> levels = field::ImageField(field).render({20, 14}).values<float>();
  const char* at = out.c_str();
  for (std::size_t i = 0; i < 20 * 14; ++i) {
    char* end = nullptr;
    EXPECT_NEAR(std::strtod(at, &end), static_cast<double>(levels[3 * i + 1]), 1e-5);
    at = end;
  }
}

TEST(Header, NamesAreThoseOfCpp) {
  EXPECT_EQ(publish::cpp_name("lion cub.v2"), "lion_cub_v2_field");
  EXPECT_EQ(publish::cpp_name("2nd"), "field_2nd_field");
  EXPECT_EQ(publish::cpp_name("a - b"), "a_b_field");
  EXPECT_EQ(publish::cpp_name("_x"), "field_x_field");
  EXPECT_EQ(publish::cpp_name("class"), "class_field");
  EXPECT_EQ(publish::cpp_name("exp"), "exp_field");
  EXPECT_EQ(publish::cpp_name("my field"), "my_field");
  EXPECT_EQ(publish::cpp_name("field"), "field");
  EXPECT_EQ(publish::cpp_name(""), "field_field");
}

TEST(Header, RefusesAnAnimatedPictureAsAllOfThemDo) {
  field::FieldOptions o = published_options(field::Activation::siren, 3);
  o.dimensions = 3;
  o.frames = 4;
  o.seconds = 1;
  o.time_scale = 0.5;
  const field::Field clip(o, 1);
  EXPECT_THROW(publish::header(clip, "clip"), ConfigError);
  EXPECT_THROW(publish::page(clip, {.title = "clip"}), ConfigError);
  EXPECT_THROW(publish::glsl(clip, "clip"), ConfigError);
  EXPECT_THROW(publish::svg(clip, {.title = "clip"}), ConfigError);
}

TEST(Header, RefusesASound) {
  field::FieldOptions o = published_options(field::Activation::siren, 1);
  o.dimensions = 1;
  o.width = 1;
  o.rate = 8000;
  o.head = field::Head::plain;
  EXPECT_THROW(publish::header(field::Field(o, 1), "sound"), ConfigError);
}

}  // namespace
}  // namespace veldt::test
