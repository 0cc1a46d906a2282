// Elementwise entries of the CUDA backend against the CPU's, for what the op table does not have: halves,
// whole numbers, bit patterns, unaligned memory.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/twins.h"
#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/cuda/elementwise.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                          DType::i32, DType::u8,  DType::i8,   DType::boolean};
constexpr DType kFloats[] = {DType::f32, DType::f64, DType::bf16, DType::f16};
constexpr DType kWhole[] = {DType::i64, DType::i32, DType::u8, DType::i8};
const Shape kShape = {5, 3, 8};

// Layouts of two operands and of the result, such that both ways of walking are met with each.
struct Layouts {
  Layout a, b, out;
};
constexpr Layouts kLayouts[] = {
    {Layout::contiguous, Layout::contiguous, Layout::contiguous},
    {Layout::offset, Layout::contiguous, Layout::contiguous},
    {Layout::contiguous, Layout::repeated_last, Layout::padded},
    {Layout::repeated_first, Layout::padded, Layout::contiguous},
    {Layout::transposed, Layout::contiguous, Layout::offset},
    {Layout::repeated_last, Layout::transposed, Layout::transposed},
    {Layout::stepped, Layout::repeated_first, Layout::stepped},
};

std::string label(DType dtype, const Layouts& l) {
  return str(dtype, ", ", name_of(l.a), ", ", name_of(l.b), ", ", name_of(l.out));
}

TEST(CudaCopy, HasTheBitsOfTheCpuForEveryPairOfDtypes) {
  for (const DType from : kAll)
    for (const DType to : kAll)
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{from, kShape, l.a, some_bits(from, 1)},
                                               {to, kShape, l.out, some_bits(to, 2)}};
        const Twins twins =
            run_on_both(operands, [](const Backend& b, auto views) { b.copy(views[0], views[1]); });
        ASSERT_EQ(difference(twins), "") << from << " to " << label(to, l);
      }
}

TEST(CudaCopy, ConvertsEveryHalf) {
  for (const DType from : {DType::bf16, DType::f16})
    for (const DType to : kAll) {
      const std::vector<Operand> operands = {
          {from, {65536}, Layout::contiguous, [](std::int64_t i) { return static_cast<std::uint64_t>(i); }},
          {to, {65536}, Layout::contiguous, some_bits(to, 2)}};
      const Twins twins =
          run_on_both(operands, [](const Backend& b, auto views) { b.copy(views[0], views[1]); });
      ASSERT_EQ(difference(twins), "") << from << " to " << to;
    }
}

TEST(CudaFill, FillsAllAndNothingElse) {
  for (const DType dtype : kAll)
    for (const Layout layout : own_memory_layouts())
      for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 16, 1001})
        for (const double value : {0.0, -2.5, 1e300, static_cast<double>(NAN)}) {
          const std::vector<Operand> operands = {{dtype, {n, 3}, layout, some_bits(dtype, 1)}};
          const Twins twins =
              run_on_both(operands, [&](const Backend& b, auto views) { b.fill(views[0], value); });
          ASSERT_EQ(difference(twins), "") << dtype << ", " << name_of(layout) << ", " << n << ", " << value;
        }
}

template <class Op>
concept HasWhole = requires(std::int64_t x) {
  Op::whole(x, x);
};
template <class... Op> std::vector<bool> whole_ones(TypeList<Op...>) { return {HasWhole<Op>...}; }
using Binary = scalar::BinaryOps;

TEST(CudaBinary, HasTheBitsOfTheCpuForWholeNumbers) {
  const std::vector<bool> whole = whole_ones(Binary());
  for (int op = 0; op < Binary::size; ++op)
    for (const DType dtype : kWhole)
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{dtype, kShape, l.a, some_bits(dtype, 1)},
                                               {dtype, kShape, l.b, some_bits(dtype, 2)},
                                               {dtype, kShape, l.out, some_bits(dtype, 3)}};
        const auto call = [&](const Backend& b, auto views) { b.binary(op, views[0], views[1], views[2]); };
        if (!whole[static_cast<std::size_t>(op)]) {
          use_emulated_device();
          const View v{nullptr, dtype, {0}, {1}};
          EXPECT_THROW(call(backend(kEmulated), std::vector<View>{v, v, v}), DeviceError);
          continue;
        }
        ASSERT_EQ(difference(run_on_both(operands, call)), "") << "op " << op << ", " << label(dtype, l);
      }
}

template <class Op>
concept HasWholeOfOne = requires(Op op, std::int64_t x) {
  op.whole(x);
};
template <class... Op> std::vector<bool> whole_ones_of_one(TypeList<Op...>) { return {HasWholeOfOne<Op>...}; }

TEST(CudaUnary, HasTheBitsOfTheCpuForWholeNumbers) {
  using Unary = scalar::UnaryOps;
  const std::vector<bool> whole = whole_ones_of_one(Unary());
  for (int op = 0; op < Unary::size; ++op)
    for (const DType dtype : kWhole)
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{dtype, kShape, l.a, some_bits(dtype, 1)},
                                               {dtype, kShape, l.out, some_bits(dtype, 3)}};
        const auto call = [&](const Backend& b, auto views) { b.unary(op, {3, 90}, views[0], views[1]); };
        if (!whole[static_cast<std::size_t>(op)]) {
          use_emulated_device();
          const View v{nullptr, dtype, {0}, {1}};
          EXPECT_THROW(call(backend(kEmulated), std::vector<View>{v, v}), DeviceError);
          continue;
        }
        ASSERT_EQ(difference(run_on_both(operands, call)), "") << "op " << op << ", " << label(dtype, l);
      }
}

TEST(CudaBinary, IsWithinAFewDigitsOfTheCpuForFloats) {
  for (int op = 0; op < Binary::size; ++op)
    for (const DType dtype : kFloats)
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{dtype, kShape, l.a, some_bits(dtype, 1)},
                                               {dtype, kShape, l.b, some_bits(dtype, 2)},
                                               {dtype, kShape, l.out, some_bits(dtype, 0)}};
        const Twins twins = run_on_both(
            operands, [&](const Backend& b, auto views) { b.binary(op, views[0], views[1], views[2]); });
        // Where the two terms of logaddexp cancel, their last digits are the result's higher ones.
        const bool cancels = backend(Device{}).formula_name(Entry::binary, op) == std::string("logaddexp");
        ASSERT_EQ(difference(twins, cancels ? 64 : 2), "") << "op " << op << ", " << label(dtype, l);
      }
}

TEST(CudaBinary, AccumulatesInPlace) {
  for (const DType dtype : kAll)
    for (const Layouts& l : kLayouts) {
      const std::vector<Operand> operands = {{dtype, kShape, l.a, some_bits(dtype, 0)},
                                             {dtype, kShape, l.out, some_bits(dtype, 0)}};
      const Twins twins =
          run_on_both(operands, [](const Backend& b, auto views) { b.accumulate(views[0], views[1]); });
      ASSERT_EQ(difference(twins), "") << label(dtype, l);
    }
}

TEST(CudaCompare, HasTheBitsOfTheCpu) {
  for (int op = 0; op < CompareOps::size; ++op)
    for (const DType dtype : kAll)
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{dtype, kShape, l.a, some_bits(dtype, 1)},
                                               {dtype, kShape, l.b, some_bits(dtype, 1)},
                                               {DType::boolean, kShape, l.out, some_bits(DType::boolean, 3)}};
        const Twins twins = run_on_both(
            operands, [&](const Backend& b, auto views) { b.compare(op, views[0], views[1], views[2]); });
        ASSERT_EQ(difference(twins), "") << "op " << op << ", " << label(dtype, l);
      }
}

TEST(CudaWhere, HasTheBitsOfTheCpu) {
  for (const DType dtype : kAll)
    for (const Layouts& l : kLayouts)
      for (const Layout of_condition : {Layout::contiguous, Layout::offset, Layout::repeated_last}) {
        const std::vector<Operand> operands = {
            {DType::boolean, kShape, of_condition, some_bits(DType::boolean, 1)},
            {dtype, kShape, l.a, some_bits(dtype, 1)},
            {dtype, kShape, l.b, some_bits(dtype, 2)},
            {dtype, kShape, l.out, some_bits(dtype, 3)}};
        const Twins twins = run_on_both(
            operands, [](const Backend& b, auto views) { b.where(views[0], views[1], views[2], views[3]); });
        ASSERT_EQ(difference(twins), "") << label(dtype, l) << ", " << name_of(of_condition);
      }
}

using Unary = scalar::UnaryOps;
constexpr Scalars kScalars = {0.75, 1.25};

// Ordinary numbers and special ones, but no large ones: CUDA rounds the argument of finer's sine to an f32.
std::function<std::uint64_t(std::int64_t)> moderate_bits(DType dtype) {
  return [dtype](std::int64_t i) {
    constexpr double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1};
    return i % 5 == 0 ? bits_of(dtype, special[i / 5 % 7]) : some_bits(dtype, 0)(i);
  };
}

TEST(CudaUnary, IsWithinAFewDigitsOfTheCpuForHalves) {
  for (int op = 0; op < Unary::size; ++op)
    for (const DType dtype : {DType::bf16, DType::f16})
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{dtype, kShape, l.a, moderate_bits(dtype)},
                                               {dtype, kShape, l.out, some_bits(dtype, 0)}};
        const Twins twins = run_on_both(
            operands, [&](const Backend& b, auto views) { b.unary(op, kScalars, views[0], views[1]); });
        ASSERT_EQ(difference(twins, 1), "") << "op " << op << ", " << label(dtype, l);
      }
}

TEST(CudaUnary, HasTheSlopesOfTheCpuForHalves) {
  for (int op = 0; op < Unary::size; ++op)
    for (const DType dtype : {DType::bf16, DType::f16})
      for (const Layouts& l : kLayouts) {
        const std::vector<Operand> operands = {{dtype, kShape, l.a, some_bits(dtype, 0)},
                                               {dtype, kShape, Layout::contiguous, some_bits(dtype, 0)},
                                               {dtype, kShape, l.b, some_bits(dtype, 0)},
                                               {dtype, kShape, l.out, some_bits(dtype, 0)}};
        const Twins twins = run_on_both(operands, [&](const Backend& b, auto views) {
          b.unary_slope(op, kScalars, views[0], views[1], views[2], views[3]);
        });
        ASSERT_EQ(difference(twins, 1), "") << "op " << op << ", " << label(dtype, l);
      }
}

TEST(CudaUnary, TakesEveryLength) {
  const int op = IndexOf<scalar::Exp, scalar::UnaryOps>::value;
  for (const DType dtype : kFloats)
    for (std::int64_t n = 0; n < 12; ++n)
      for (const Layout layout : {Layout::contiguous, Layout::offset}) {
        const std::vector<Operand> operands = {{dtype, {n}, layout, some_bits(dtype, 1)},
                                               {dtype, {n}, layout, some_bits(dtype, 0)}};
        const Twins twins =
            run_on_both(operands, [&](const Backend& b, auto views) { b.unary(op, {}, views[0], views[1]); });
        ASSERT_EQ(difference(twins, 2), "") << dtype << ", " << n << ", " << name_of(layout);
      }
}

TEST(CudaUnary, RefusesWholeNumbers) {
  use_emulated_device();
  const View v{nullptr, DType::i32, {0}, {1}};
  EXPECT_THROW(backend(kEmulated).unary(0, {}, v, v), DeviceError);
  EXPECT_THROW(backend(kEmulated).unary_slope(0, {}, v, v, v, v), DeviceError);
}

// A device faults where the memory of an access is not aligned to its size; a CPU does not.
TEST(CudaWalk, TakesFoursWhereTheyAreAligned) {
  alignas(16) static float memory[64];
  const auto fours = [](const float* from, std::int64_t stride, std::int64_t inner, const Shape& shape) {
    const View out{memory, DType::f32, shape, contiguous_strides(shape)};
    const View v{const_cast<float*>(from), DType::f32, shape, {stride, inner}};
    return cuda::walk_of({&v, &out}).fours;
  };
  EXPECT_EQ(fours(memory, 8, 1, {3, 8}), 6);
  EXPECT_EQ(fours(memory, 12, 1, {3, 8}), 6);
  EXPECT_EQ(fours(memory, 13, 1, {3, 8}), 0) << "the second row is not aligned";
  EXPECT_EQ(fours(memory + 1, 8, 1, {3, 8}), 0) << "the first is not";
  EXPECT_EQ(fours(memory + 1, 1, 0, {3, 8}), 6) << "one element for a row";
  EXPECT_EQ(fours(memory, 12, 1, {3, 7}), 0) << "fours would reach into the next row";
  EXPECT_EQ(fours(memory, 7, 1, {3, 7}), 5) << "contiguous";
  EXPECT_EQ(fours(memory, 1, 3, {3, 8}), 0);
  const View repeated{memory, DType::f32, {3, 8}, {1, 0}};
  EXPECT_EQ(cuda::walk_of({&repeated}).fours, 0) << "written";
}

// The walk of views that no memory here would hold.
TEST(CudaWalk, FindsElementsOfSmallAndLargeViews) {
  const Shape shapes[] = {
      {7, 3, 5}, {2, 1 << 14, 65535}, {3, 715827882}, {5, 1 << 20, 1023}, {1 << 16, 3, 1 << 16}};
  for (const Shape& shape : shapes) {
    View v{nullptr, DType::f32, shape, contiguous_strides(shape)};
    View turned = v;
    std::int64_t next = 1;
    for (int d = 0; d < shape.rank(); next *= shape[d++]) turned.strides[d] = next;
    const cuda::ElementWalk w = cuda::walk_of({&v, &turned});
    EXPECT_EQ(w.small, numel(shape) < std::int64_t{1} << 31);
    const Rng rng(1);
    for (std::uint64_t draw = 0; draw < 1000; ++draw) {
      const auto n = static_cast<std::uint64_t>(numel(shape));
      const std::uint64_t far = n - 1 - draw / 2 % n, any = (std::uint64_t{rng.at(2 * draw)} << 20) % n;
      const auto i = static_cast<std::int64_t>(draw % 2 == 0 ? far : any);
      std::int64_t at[2], expected = 0;
      cuda::offsets_of(w, i, at);
      const Shape index = index_of(shape, i);
      for (int d = 0; d < shape.rank(); ++d) expected += index[d] * turned.strides[d];
      ASSERT_EQ(at[0], i) << shape;
      ASSERT_EQ(at[1], expected) << shape << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace veldt::test
