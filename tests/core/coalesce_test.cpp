// Dimensions that views walk as one, in the order of the shape and of memory.
#include "veldt/core/coalesce.h"

#include <gtest/gtest.h>

namespace veldt {
namespace {

View view(const Shape& shape, const Strides& strides) { return {nullptr, DType::f32, shape, strides}; }

TEST(Coalesce, JoinsWhatEveryViewWalksAsOne) {
  const View dense = view({2, 3, 4}, {12, 4, 1}), padded = view({2, 3, 4}, {24, 4, 1});
  Coalesced<2> dims;
  for (int d = 0; d < 3; ++d)
    dims.push(dense.shape[d], 2, [&](int k) { return (k == 0 ? dense : padded).strides[d]; });
  ASSERT_EQ(dims.rank, 2);
  EXPECT_EQ(dims.sizes[0], 2);
  EXPECT_EQ(dims.sizes[1], 12);
  EXPECT_EQ(dims.strides[0][0], 12);
  EXPECT_EQ(dims.strides[1][0], 24);
  EXPECT_EQ(dims.strides[0][1], 1);
}

TEST(Coalesce, BroadcastDimensionsJoinEachOther) {
  const View row = view({5, 6, 7}, {0, 0, 1});
  const Coalesced<1> dims = widest_first<1>({&row}, ~0u);
  ASSERT_EQ(dims.rank, 2);
  EXPECT_EQ(dims.sizes[0], 30);
  EXPECT_EQ(dims.strides[0][0], 0);
}

TEST(Coalesce, TakesTheChosenDimensionsInTheOrderOfMemory) {
  const View turned = view({3, 1, 4, 2}, {1, 9, 3, 12}), out = view({3, 1, 1, 2}, {2, 2, 2, 1});
  const Coalesced<2> kept = widest_first<2>({&turned, &out}, 0b1011),
                     along = widest_first<2>({&turned, &out}, 0b0100);
  ASSERT_EQ(kept.rank, 2);  // 1 is of size 1
  EXPECT_EQ(kept.sizes[0], 2);
  EXPECT_EQ(kept.strides[0][0], 12);
  EXPECT_EQ(kept.strides[1][0], 1);
  EXPECT_EQ(kept.sizes[1], 3);
  ASSERT_EQ(along.rank, 1);
  EXPECT_EQ(along.strides[0][0], 3);
  EXPECT_EQ(along.strides[1][0], 0);  // the second view has one of them, which repeats
}

TEST(Coalesce, NothingIsLeftOfOneElement) {
  const View one = view({1, 1}, {5, 3});
  EXPECT_EQ(widest_first<1>({&one}, ~0u).rank, 0);
}

}  // namespace
}  // namespace veldt
