// Transparent pictures are redrawn by their appearance: no fringe, and no line around half-transparent areas.
#include "veldt/field/transparency.h"

#include <gtest/gtest.h>

#include "tests/field/pictures.h"
#include "veldt/core/rng.h"
#include "veldt/data/resample.h"
#include "veldt/field/fit.h"
#include "veldt/field/teacher.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

TEST(Transparency, IsKnownFromTwoGrounds) {
  Rng rng(1);
  for (const std::int64_t channels : {2, 4}) {
    const Tensor picture = rand({5, 7, channels}, rng);
    EXPECT_TRUE(has_alpha(picture));
    const Tensor seen = on_two_grounds(picture);
    EXPECT_EQ(seen.shape(), Shape({5, 7, 2 * (channels - 1)}));
    EXPECT_LT(test::largest_difference(alpha_of(seen), slice(picture, 2, channels - 1, channels)), 1e-6);
  }
  EXPECT_FALSE(has_alpha(rand({2, 2, 3}, rng)));
}

// White paper with a border of one pixel of black shadow, through which one sees: its alpha is no edge of the
// paper.
TEST(Transparency, OfAShadowStaysThatOfAllThePixel) {
  const Tensor picture = test::draw(24, 24, 4, [](double x, double y, int c) {
    const bool is_paper = x >= 6 && x < 18 && y >= 6 && y < 18,
               is_near = x >= 5 && x < 19 && y >= 5 && y < 19;
    if (c < 3) return is_paper ? 1.0 : 0.0;
    return is_paper ? 1.0 : is_near ? 0.3 : 0.0;
  });
  const Tensor drawn = fit(picture, {}).render({96, 96});
  // Along the middle of the left border's pixel, at half the height.
  for (const std::int64_t column : {20, 21, 22, 23}) {
    const float alpha = drawn.data<float>()[(48 * 96 + column) * 4 + 3];
    EXPECT_NEAR(alpha, 0.3, 0.1) << column;
  }
}

// A pixel of what is made smaller shows on any ground the mean of what its pixels show.
TEST(Transparency, OfWhatIsMadeSmallerShowsNoFringe) {
  const Tensor picture = test::draw(24, 24, 4, [](double x, double, int c) {
    const bool is_paper = static_cast<int>(x) % 8 < 4;
    return c == 3 ? (is_paper ? 1.0 : 0.2) : is_paper ? 1.0 : 0.0;
  });
  const Tensor wanted = data::resample(on_two_grounds(picture), {3, 3}, data::Filter::area);
  for (const Style style : {Style::drawing, Style::pixel}) {
    FitOptions wishes;
    wishes.style = style;
    const ImageField field = fit(picture, wishes);
    EXPECT_LT(test::largest_difference(on_two_grounds(field.render({3, 3})), wanted), 2.0 / 255);
    EXPECT_LT(test::largest_difference(field.render({24, 24}), picture), 0.5 / 255);
  }
}

TEST(Transparency, LeavesWhatIsClearClear) {
  const Tensor picture = test::draw(20, 20, 4, [](double x, double y, int c) {
    if (c == 3) return x + y < 16 ? 0.0 : 1.0;
    return x < 10 ? 0.2 * c : 0.9;
  });
  const Tensor alpha = slice(fit(picture, {}).render({80, 80}), 2, 3, 4);
  EXPECT_EQ(test::largest(slice(slice(alpha, 0, 0, 16), 1, 0, 16)), 0);
}

}  // namespace
}  // namespace veldt::field
