// Copies between views of every kind of strides against one element at a time: blocks, their edges, and the
// order in which dimensions are walked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/threads_scope.h"
#include "veldt/core/rng.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {

// A view of `shape` whose dimension order[i] is the i-th slowest in memory; `steps` are the elements between
// neighbours along each (0 repeats, below 0 runs backwards), and `memory` is given as much as it needs.
View laid_out(DType dtype, const Shape& shape, const std::vector<int>& order, const Shape& steps,
              std::vector<unsigned char>& memory) {
  View v{nullptr, dtype, shape, Shape::filled(shape.rank(), 0)};
  std::int64_t next = 1, first = 0;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    v.strides[*d] = next * steps[*d];
    if (steps[*d] < 0) first -= (shape[*d] - 1) * v.strides[*d];
    if (steps[*d] != 0) next *= shape[*d] * std::abs(steps[*d]);
  }
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  memory.resize(static_cast<std::size_t>(next * bytes));
  v.data = memory.data() + first * bytes;
  return v;
}

void copy_by_element(const View& from, const View& to) {
  const std::size_t bytes = size_of(from.dtype);
  for (std::int64_t i = 0; i < numel(from.shape); ++i) {
    std::int64_t rest = i, f = 0, t = 0;
    for (int d = from.shape.rank() - 1; d >= 0; rest /= from.shape[d--]) {
      f += rest % from.shape[d] * from.strides[d];
      t += rest % from.shape[d] * to.strides[d];
    }
    std::memcpy(to.as<char>() + t * static_cast<std::int64_t>(bytes),
                from.as<char>() + f * static_cast<std::int64_t>(bytes), bytes);
  }
}

// Every order of the memory of both, with the steps given.
void expect_copies(const Shape& shape, const Shape& from_steps, const Shape& to_steps) {
  std::vector<int> straight(static_cast<std::size_t>(shape.rank()));
  std::iota(straight.begin(), straight.end(), 0);
  Rng rng(5);
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64})
    for (std::vector<int> order = straight;;) {
      for (const bool out_turned : {false, true}) {
        std::vector<unsigned char> from_memory, memory, expected;
        const View from = laid_out(dtype, shape, order, from_steps, from_memory);
        const std::vector<int> back(straight.rbegin(), straight.rend());
        const View to = laid_out(dtype, shape, out_turned ? back : straight, to_steps, memory);
        const View wanted = laid_out(dtype, shape, out_turned ? back : straight, to_steps, expected);
        for (unsigned char& byte : from_memory) byte = static_cast<unsigned char>(rng.next_u32());
        std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(7));
        expected = memory;
        cpu::backend().copy(from, to);
        copy_by_element(from, wanted);
        ASSERT_EQ(memory, expected) << dtype << ' ' << shape << " from strides " << from.strides << " to "
                                    << to.strides;
      }
      if (!std::next_permutation(order.begin(), order.end())) break;
    }
}

TEST(Copy, TransposesMatricesOfAnySize) {
  for (const std::int64_t rows : {1, 3, 16, 33, 64, 150})
    for (const std::int64_t columns : {1, 2, 15, 16, 65, 128, 300})
      expect_copies({rows, columns}, {1, 1}, {1, 1});
}

TEST(Copy, TakesDimensionsInAnyOrder) {
  expect_copies({5, 33, 18}, {1, 1, 1}, {1, 1, 1});
  expect_copies({40, 3, 50}, {1, 1, 1}, {1, 1, 1});
  expect_copies({2, 9, 4, 21}, {1, 1, 1, 1}, {1, 1, 1, 1});
}

TEST(Copy, TakesRowsOfAFewElements) {
  expect_copies({700, 3}, {1, 1}, {1, 1});
  expect_copies({3, 2, 600, 2}, {1, 1, 1, 1}, {1, 1, 1, 1});
  expect_copies({2, 3, 5, 7}, {1, 2, 1, 1}, {1, 1, 1, 2});
}

TEST(Copy, TakesStepsRepetitionsAndReversals) {
  expect_copies({20, 70}, {1, -1}, {1, 1});
  expect_copies({20, 70}, {-1, -1}, {1, 1});
  expect_copies({20, 70}, {1, 2}, {1, 1});
  expect_copies({20, 70}, {3, 1}, {1, 2});
  expect_copies({20, 600}, {1, 0}, {1, 1});
  expect_copies({20, 70}, {0, 1}, {2, 3});
  expect_copies({300, 2, 8}, {1, 1, 0}, {1, 1, 1});
  expect_copies({30, 17, 2}, {0, 1, 0}, {1, 1, 1});
}

TEST(Copy, IsTheSameOnAnyNumberOfThreads) {
  const test::ThreadsScope scope(3);
  expect_copies({300, 500}, {1, 1}, {1, 1});
  expect_copies({3, 70000}, {1, 1}, {1, 1});
}

}  // namespace
}  // namespace veldt
