// Memory of others as tensors: what it shares, when it is released, and DLPack with NumPy.
#include "veldt/tensor/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/python.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FromBlob, SharesMemoryBothWays) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  Tensor x = from_blob(memory.data(), {2, 3});
  EXPECT_EQ(x.data<float>(), memory.data());
  EXPECT_EQ(x(1, 2).item(), 6);
  memory[5] = 60;
  EXPECT_EQ(x(1, 2).item(), 60);
  x[0] = 7;
  EXPECT_THAT(memory, ElementsAre(7, 7, 7, 4, 5, 60));
}

// Two tensors of overlapping memory know nothing of each other.
TEST(FromBlob, IsAssignedToWhatOverlapsIt) {
  std::vector<float> memory(1 << 20);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const auto n = static_cast<std::int64_t>(memory.size()) - 1;
  from_blob(memory.data() + 1, {n}).assign(from_blob(memory.data(), {n}));
  std::int64_t wrong = 0;
  for (std::size_t i = 1; i < memory.size(); ++i) wrong += memory[i] != static_cast<float>(i - 1);
  EXPECT_EQ(wrong, 0);
}

TEST(FromBlob, TakesStridesAndDTypes) {
  std::vector<std::int32_t> memory{1, 2, 3, 4, 5, 6};
  const Tensor columns = from_blob(memory.data(), {3, 2}, {1, 3}, DType::i32);
  EXPECT_THAT(columns.values<std::int32_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
  const Tensor every = from_blob(memory.data() + 1, {4}, {0}, DType::i32);
  EXPECT_EQ(sum(every).item(), 8);
}

TEST(FromBlob, ReleasesOnceAndAfterTheLastView) {
  std::vector<float> memory(4);
  int released = 0;
  void* of = nullptr;
  Tensor view;
  {
    const Tensor x = from_blob(memory.data(), {2, 2}, DType::f32, [&](void* p) {
      ++released;
      of = p;
    });
    view = x[1];
  }
  EXPECT_EQ(released, 0);
  view = {};
  EXPECT_EQ(released, 1);
  EXPECT_EQ(of, memory.data());
}

TEST(FromBlob, TakesPartInAGraph) {
  std::vector<float> memory{1, 2};
  Tensor x = from_blob(memory.data(), {2}).set_requires_grad();
  sum(x * x).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(2, 4));
  const Tensor loss = sum(x * x);
  x.detach() += 1;
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

TEST(FromBlob, RefusesWhatIsNoMemoryOfATensor) {
  std::vector<float> memory(6);
  char* const odd = reinterpret_cast<char*>(memory.data()) + 1;
  int released = 0;
  const auto release = [&](void*) { ++released; };
  EXPECT_THAT(error_of<ShapeError>([&] { from_blob(nullptr, {2}); }), HasSubstr("null"));
  EXPECT_THAT(error_of<ShapeError>([&] { from_blob(odd, {2}, DType::f32, release); }), HasSubstr("4 bytes"));
  EXPECT_THAT(error_of<ShapeError>([&] { from_blob(memory.data(), {2, 3}, {3}); }), HasSubstr("1 strides"));
  EXPECT_THAT(error_of<ShapeError>([&] { from_blob(memory.data() + 5, {6}, {-1}, DType::f32, release); }),
              HasSubstr("below 0"));
  EXPECT_EQ(from_blob(nullptr, {0, 3}).numel(), 0);
  EXPECT_EQ(released, 0);
}

TEST(Dlpack, GivesBackWhatItTook) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                            DType::u8, DType::i8, DType::boolean}) {
    const Tensor x = transpose(to(Tensor::of({2, 3}, {0, 1, 0, 1, 1, 0}), dtype));
    const Tensor y = from_dlpack(to_dlpack(x));
    EXPECT_EQ(y.view().data, x.view().data);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.strides(), x.strides());
    EXPECT_EQ(y.bytes(), x.bytes());
  }
  EXPECT_EQ(from_dlpack(to_dlpack(Tensor::of({}, {3}))).item(), 3);
}

TEST(Dlpack, KeepsTheMemoryAsLongAsItIsUsed) {
  Tensor x = ones({2});
  {
    const Tensor y = from_dlpack(to_dlpack(x));
    EXPECT_TRUE(x.is_shared());
  }
  EXPECT_FALSE(x.is_shared());
  Tensor y = from_dlpack(to_dlpack(x));
  x = {};
  EXPECT_THAT(y.values<float>(), ElementsAre(1, 1));
}

TEST(Dlpack, RefusesATensorThatRequiresAGradient) {
  EXPECT_THAT(error_of([] { to_dlpack(ones({2}).set_requires_grad()); }), HasSubstr("detach()"));
}

TEST(SlowDlpack, SharesAddressesWithNumpy) {
  if (!test::python_has("numpy")) GTEST_SKIP() << test::python() << " has no numpy; set VELDT_PYTHON";
  EXPECT_EQ(test::run_python("-B " VELDT_SOURCE "/tests/tensor/dlpack_peer.py " VELDT_DLPACK_PEER), 0);
}

}  // namespace
}  // namespace veldt
