// What a page is made of: rounded numbers that draw the same, nothing from elsewhere, titles that are text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/publish/fields.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/glsl.h"
#include "veldt/publish/packed.h"
#include "veldt/publish/html.h"
#include "veldt/publish/page.h"
#include "veldt/publish/texts.h"
#include "veldt/publish/touched.h"

namespace veldt::test {
namespace {

TEST(Packed, DrawsTheSameWithFewerBits) {
  for (const auto& [name, field] : published_fields()) {
    const publish::Packed packed = publish::packed(field);
    EXPECT_LE(packed.worst, publish::kMostChanged) << name;
    const field::ImageField rounded(publish::field_of(packed.parts)), whole(field);
    const std::vector<float> a = rounded.render({60, 42}).values<float>(),
                             b = whole.render({60, 42}).values<float>();
    std::size_t changed = 0;
    for (std::size_t i = 0; i < a.size(); ++i) changed += std::abs(a[i] - b[i]) > 1.0f / 255 ? 1 : 0;
    EXPECT_LE(changed, a.size() / 1000) << name;
    std::int64_t count = 0, bits = 0;
    for (const publish::Run& run : packed.runs) count += run.count, bits += run.count * run.bits;
    EXPECT_EQ(count, packed.parts.numbers()) << name;
    EXPECT_LT(bits, 28 * count) << name;
  }
}

TEST(Packed, NothingIsLostOfASound) {
  field::FieldOptions o = published_options(field::Activation::siren, 1);
  o.dimensions = 1;
  o.width = 1;
  o.height = 3000;
  o.rate = 8000;
  o.peak = 0.5;
  o.head = field::Head::plain;
  EXPECT_LE(publish::packed(field::Field(o, 1)).worst, publish::kLargestSoundChange);
}

TEST(Touched, WhatNoPlaceReadsIsClearedAndDrawingStays) {
  field::FieldOptions o = published_options(field::Activation::relu, 1);
  o.encodings = {GridOptions{.levels = 2, .features = 2, .log2_entries = 12, .coarsest = 8, .finest = 40}};
  o.height = 4;  // of a square grid only a strip is seen
  const field::Field field = published_field(o);
  publish::Parts parts = publish::parts_of(field);
  publish::clear_untouched(parts);
  std::size_t zeros = 0;
  for (const float x : parts.encodings[0].numbers) zeros += x == 0 ? 1 : 0;
  EXPECT_GT(zeros, parts.encodings[0].numbers.size() / 2);
  EXPECT_EQ(field::ImageField(publish::field_of(parts)).render({100, 20}).values<float>(),
            field::ImageField(field).render({100, 20}).values<float>());
}

TEST(Touched, AFineGridOfASmallPictureIsLeft) {
  field::FieldOptions o = published_options(field::Activation::relu, 1);
  o.width = o.height = 1;
  o.encodings = {
      GridOptions{.levels = 2, .features = 2, .log2_entries = 4, .coarsest = 4, .finest = 1 << 24}};
  publish::Parts parts = publish::parts_of(published_field(o));
  publish::clear_untouched(parts);  // would take days
  EXPECT_NE(parts.encodings[0].numbers.back(), 0);
}

TEST(Page, NeedsNothingFromElsewhere) {
  for (const std::string_view text : {publish::page_html, publish::pyramid_html}) {
    EXPECT_THAT(std::string(text), testing::HasSubstr("default-src 'none'"));
    EXPECT_THAT(std::string(text), testing::Not(testing::HasSubstr("://")));
  }
  const std::string html = publish::page(published_fields()[0].second).html;
  EXPECT_THAT(html, testing::Not(testing::HasSubstr("://")));
  EXPECT_THAT(html, testing::Not(testing::HasSubstr("{{")));
}

TEST(Page, ATitleIsUtf8OfOneLine) {
  EXPECT_EQ(publish::in_html("a\n\xff \xc3\xa9<"), "a\\x0a\\xff \xc3\xa9&lt;");
  const std::string text = publish::glsl(published_fields()[0].second, "a\nb");
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\nb")));
  EXPECT_NO_THROW(publish::page(published_fields()[0].second, {.title = "\xff"}));
}

TEST(Page, ATitleIsText) {
  const std::string html =
      publish::page(published_fields()[0].second, {.title = "</script><script>alert(1)</script> & {{core}}"})
          .html;
  EXPECT_THAT(html, testing::Not(testing::HasSubstr("<script>alert")));
  EXPECT_THAT(html, testing::HasSubstr("&lt;/script&gt;"));
}

}  // namespace
}  // namespace veldt::test
