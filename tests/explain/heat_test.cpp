// Heat over pictures and texts.
#include "veldt/explain/heat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/explain/letters.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"

namespace veldt::explain {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ExplainHeat, RedSpeaksForAndBlueAgainst) {
  const Tensor heat = Tensor::of({1, 2}, {2, -2});
  const Tensor sheet = heat_picture(full({1, 2, 1}, 0.5), heat, {.is_signed = true, .longer_side = 40});
  ASSERT_EQ(sheet.size(2), 3);
  const std::int64_t row = 12 + 5, left = 2 * 12 + 40 + 5, right = left + 20;
  EXPECT_GT(sheet(row, left, 0).item(), sheet(row, left, 2).item() + 0.3);
  EXPECT_GT(sheet(row, right, 2).item(), sheet(row, right, 0).item() + 0.3);
  EXPECT_NEAR(sheet(row, 17, 0).item(), 0.5, 1e-6);  // the picture itself
  EXPECT_GE(min(sheet).item(), 0);
  EXPECT_LE(max(sheet).item(), 1);
}

TEST(ExplainHeat, AColourPictureKeepsItsSizeIfItIsLarge) {
  const Tensor sheet =
      heat_picture(zeros({30, 500, 3}), zeros({3, 5}), {.smooth = true, .lines = {"GRAD-CAM"}});
  EXPECT_EQ(sheet.size(1), 2 * 500 + 3 * 12);
  EXPECT_TRUE(all(isfinite(sheet)).item<bool>());
  // A name out of a model file may be of any length.
  const Tensor named = heat_picture(zeros({3, 3, 1}), zeros({3, 3}), {.lines = {std::string(100000, 'A')}});
  EXPECT_EQ(named.size(1), 2 * 336 + 3 * 12);
  EXPECT_NE(letter('g'), letter('\x01'));
  EXPECT_EQ(letter('g'), letter('G'));
}

// A name out of a model file may have any length; what it is worth is read all the same.
TEST(ExplainHeat, ALongNameDoesNotHideItsNumber) {
  const auto drawn = [](const std::string& percent) {
    return heat_picture(zeros({3, 3, 1}), zeros({3, 3}), {.lines = {std::string(200, 'A') + ": " + percent}})
        .values<float>();
  };
  EXPECT_NE(drawn("53.8 %"), drawn("99.1 %"));
}

TEST(ExplainHeat, RefusesOtherForms) {
  EXPECT_THROW(heat_picture(zeros({3, 3, 4}), zeros({3, 3})), ShapeError);
  EXPECT_THROW(heat_picture(zeros({3, 3, 1}), zeros({3, 3, 1})), ShapeError);
  EXPECT_THROW(heat_picture(zeros({3, 3, 1}), full({3, 3}, NAN)), ConfigError);
  EXPECT_THROW(pixel_heat(zeros({2, 3, 3, 3}), true), ShapeError);
  const Tensor two = Tensor::of({1, 2, 1, 1}, {3, -5});
  EXPECT_EQ(pixel_heat(two, true).item(), -2);
  EXPECT_EQ(pixel_heat(two, false).item(), 5);
}

TEST(ExplainHeat, TokensAreEscaped) {
  const TokenHeat tokens{{"<b>", 1}, {"\x1b[2J", -1}, {"\n", 0}};
  const std::string page = tokens_html(tokens, "a & b");
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("a &amp; b"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("background:rgb(255,51,51)"));
  const std::string shown = tokens_for_terminal(tokens);
  EXPECT_THAT(shown, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(shown, HasSubstr("\x1b[48;5;196;38;5;231m<b>"));  // pure red of the cube
  EXPECT_TRUE(shown.ends_with("\x1b[0m"));
}

}  // namespace
}  // namespace veldt::explain
