// A picture and its multiples: enlarged, averaged and repeated, beyond the border too.
#include "veldt/field/areas.h"

#include <gtest/gtest.h>

#include "tests/field/pictures.h"
#include "veldt/core/rng.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

// Away from the border, beyond which they differ.
Tensor inside(const Tensor& t, std::int64_t border) {
  return slice(slice(t, 0, border, t.size(0) - border), 1, border, t.size(1) - border);
}

TEST(Areas, EnlargeAsResampleDoes) {
  Rng rng(1);
  const Tensor picture = rand({9, 12, 3}, rng);
  for (const data::Filter filter : {data::Filter::bicubic, data::Filter::lanczos3})
    for (const std::int64_t factor : {1, 2, 3, 4}) {
      const Tensor expected = data::resample(picture, {12 * factor, 9 * factor}, filter);
      EXPECT_LT(test::largest(inside(enlarged(picture, factor, filter) - expected, 3 * factor)), 1e-6)
          << factor;
    }
}

TEST(Areas, GoOnBeyondTheBorder) {
  EXPECT_LT(test::largest(enlarged(full({1, 1, 2}, 0.7), 4, data::Filter::lanczos3) - 0.7), 1e-6);
}

TEST(Areas, AreAveraged) {
  Rng rng(2);
  const Tensor redraw = rand({12, 20, 3}, rng);
  const Tensor expected = data::resample(redraw, {5, 3}, data::Filter::area);
  EXPECT_LT(test::largest(means_of_squares(redraw, 4) - expected), 1e-6);
  EXPECT_LT(test::largest(means_of_squares(repeated(expected, 4), 4) - expected), 1e-6);
  EXPECT_EQ(repeated(expected, 2).values<float>(),
            data::resample(expected, {10, 6}, data::Filter::nearest).values<float>());
}

}  // namespace
}  // namespace veldt::field
