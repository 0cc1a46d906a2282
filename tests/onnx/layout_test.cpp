// Blocks of memory as boxes of a common grid.
#include <gtest/gtest.h>

#include "veldt/onnx/trace_layout.h"

namespace veldt::onnx {
namespace {

Sizes begins_of(const Box& box) {
  Sizes begins;
  for (const BoxRange& r : box) begins.push_back(r.begin);
  return begins;
}

TEST(Layout, AWholeAndItsPartShareAGrid) {
  const StridedBlock whole{0, {4, 6}, {6, 1}}, part{8, {3, 2}, {6, 1}};
  const auto frame = Frame::of({whole}, part);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->strides(), (Sizes{6, 1}));
  const auto box = frame->box_of(part);
  ASSERT_TRUE(box);
  EXPECT_EQ(begins_of(*box), (Sizes{1, 2}));
  EXPECT_EQ(counts_of(*box), (Sizes{3, 2}));
  EXPECT_TRUE(contains(*frame->box_of(whole), *box));
}

TEST(Layout, SplitDimensionsSplitTheGrid) {
  const StridedBlock whole{0, {4, 6}, {6, 1}}, heads{0, {4, 2, 3}, {6, 3, 1}};
  const auto frame = Frame::of({whole}, heads);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->strides(), (Sizes{6, 3, 1}));
  EXPECT_EQ(counts_of(*frame->box_of(whole)), (Sizes{4, 2, 3}));
}

TEST(Layout, MergedDimensionsAreABoxOfTheGrid) {
  const StridedBlock whole{0, {2, 3, 4}, {12, 4, 1}}, rows{0, {6, 4}, {4, 1}};
  EXPECT_EQ(counts_of(*Frame::of({whole}, rows)->box_of(rows)), (Sizes{2, 3, 4}));
}

TEST(Layout, StepsStayWithinALine) {
  const StridedBlock whole{0, {4, 7}, {7, 1}}, odd{1, {4, 3}, {7, 2}};
  const auto frame = Frame::of({whole}, odd);
  ASSERT_TRUE(frame);
  const Box box = *frame->box_of(odd);
  EXPECT_EQ(box[1].begin, 1);
  EXPECT_EQ(box[1].step, 2);
  EXPECT_EQ(box[1].end(), 6);
}

TEST(Layout, WindowsAreNoBox) {
  const StridedBlock whole{0, {10}, {1}}, windows{0, {8, 3}, {1, 1}};
  const auto frame = Frame::of({whole}, windows);
  EXPECT_TRUE(!frame || !frame->box_of(windows));
  EXPECT_FALSE(Frame::with_strides({6, 4}));
}

TEST(Layout, BoxesBesideEachOtherDoNotMeet) {
  const Box left = {{0, 2}, {0, 3}}, right = {{0, 2}, {3, 3}}, inside = {{1, 1}, {1, 2}};
  EXPECT_FALSE(intersect(left, right));
  EXPECT_TRUE(intersect(left, inside));
  EXPECT_TRUE(contains(left, inside));
  EXPECT_FALSE(contains(inside, left));
}

}  // namespace
}  // namespace veldt::onnx
