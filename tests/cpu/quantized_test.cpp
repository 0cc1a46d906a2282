// Layers of integers: exact sums, whatever the instruction set and the number of threads; the numbers around
// them.
#include "veldt/core/quantized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/cpu/int8_kernels.h"
#include "tests/support/threads_scope.h"
#include "tests/support/views.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/cpu/instruction_set.h"
#include "veldt/cpu/int8_product.h"

namespace veldt {
namespace {
using test::Array;

// w [32][depth], a [32][depth] -> c [32][32], by panels of the kernels' form.
std::vector<std::int32_t> product_by(const cpu::Int8Kernels& kernels, std::int64_t rows, std::int64_t columns,
                                     std::int64_t depth, Array<std::uint8_t>& a, Array<std::int8_t>& w) {
  constexpr std::int64_t kBlock = cpu::kInt8Block;
  std::vector<std::int32_t> c(kBlock * kBlock, -1);
  std::vector<std::int8_t> panel(static_cast<std::size_t>(kBlock * depth));
  std::vector<std::int16_t> wide(panel.size()), wide_a(panel.size());
  for (std::int64_t j = 0; j < kBlock; ++j)
    for (std::int64_t k = 0; k < depth; ++k) {
      panel[static_cast<std::size_t>((k / 4 * kBlock + j) * 4 + k % 4)] = w[j * depth + k];
      wide[static_cast<std::size_t>(((j / 16 * depth / 2 + k / 2) * 16 + j % 16) * 2 + k % 2)] =
          w[j * depth + k];
    }
  kernels.begin();
  if (kernels.wide_product) {
    cpu::widen_bytes(a.values().data(), a.size(), wide_a.data());
    kernels.wide_product(wide_a.data(), depth, rows, columns, depth, wide.data(), depth, c.data());
  } else {
    kernels.product(a.values().data(), depth, rows, depth, panel.data(), c.data());
  }
  kernels.end();
  return c;
}

TEST(Int8Product, EachKernelSumsExactly) {
  constexpr std::int64_t kBlock = cpu::kInt8Block;
  for (const std::int64_t depth : {64, 640}) {
    // The ends of the ranges, whose sums of pairs do not fit into 16 bits.
    Array<std::uint8_t> a = Array<std::uint8_t>::random({kBlock, depth}, 1, 0, 256);
    Array<std::int8_t> w = Array<std::int8_t>::random({kBlock, depth}, 2, -128, 128);
    for (std::int64_t i = 0; i < depth; ++i) a[i] = 255, w[i] = -128, w[depth + i] = 127;
    std::vector<std::int32_t> sums(kBlock * kBlock);
    for (std::int64_t r = 0; r < kBlock; ++r)
      for (std::int64_t j = 0; j < kBlock; ++j)
        for (std::int64_t k = 0; k < depth; ++k)
          sums[static_cast<std::size_t>(r * kBlock + j)] += a[r * depth + k] * w[j * depth + k];
    test::for_each_int8_kernels([&](const std::string& name) {
      for (std::int64_t rows = 1; rows <= kBlock; ++rows)
        for (const std::int64_t columns : {1, 15, 16, 17, 32}) {
          const std::vector<std::int32_t> c =
              product_by(cpu::int8_kernels(depth), rows, columns, depth, a, w);
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t j = 0; j < columns; ++j) {
              const auto at = static_cast<std::size_t>(r * kBlock + j);
              ASSERT_EQ(c[at], sums[at]) << name << " depth " << depth << " row " << r << " of " << rows
                                         << " column " << j << " of " << columns;
            }
          // Nothing beyond the columns that it computes at a time.
          const std::int64_t step = cpu::int8_kernels(depth).columns;
          for (std::int64_t r = 0; cpu::int8_kernels(depth).wide_product && r < kBlock; ++r)
            for (std::int64_t j = r < rows ? (columns + step - 1) / step * step : 0; j < kBlock; ++j)
              ASSERT_EQ(c[static_cast<std::size_t>(r * kBlock + j)], -1)
                  << name << " row " << r << " of " << rows << " column " << j << " of " << columns;
        }
    });
  }
}

TEST(Int8Numbers, RoundHalvesToEvenAndKeepWithinABytesRange) {
  const std::vector<float> x = {0.5F, 1.5F, -0.5F, 2.5F, 1e9F, -1e9F, NAN, 3,   4,
                                5,    6,    7,     8,    9,    10,    11,  300, -300};
  const std::vector<std::uint8_t> wanted = {10, 12, 10, 12, 255, 0,  0,  13,  14,
                                            15, 16, 17, 18, 19,  20, 21, 255, 0};
  const auto best = cpu::instruction_set_in_use();
  for (const auto set : cpu::instruction_sets()) {
    cpu::use_instruction_set(set);
    std::vector<std::uint8_t> q(x.size());
    cpu::to_bytes(x.data(), static_cast<std::int64_t>(x.size()), {1, 10}, q.data());
    EXPECT_EQ(q, wanted) << cpu::name_of(set);
    float low, high;
    cpu::range_of_numbers(x.data(), static_cast<std::int64_t>(x.size()), &low, &high);
    EXPECT_EQ(low, -1e9F) << cpu::name_of(set);
    EXPECT_EQ(high, 1e9F) << cpu::name_of(set);
  }
  cpu::use_instruction_set(best);
  const cpu::Affine8 as = cpu::affine8_of(-1, 2);
  EXPECT_EQ(as.zero, 85);
  EXPECT_FLOAT_EQ(as.scale, 3.0F / 255);
  EXPECT_EQ(cpu::affine8_of(0, 0).scale, 1);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [low, high] : {std::pair(-kInfinity, 0.0F), {0.0F, kInfinity}, {-3e38F, 3e38F}}) {
    EXPECT_EQ(cpu::affine8_of(low, high).scale, kInfinity) << low << ' ' << high;
    EXPECT_EQ(cpu::affine8_of(low, high).zero, 0) << low << ' ' << high;
  }
}

struct QuantizedCase {
  std::int64_t batch, groups, c_in, c_out;
  std::vector<std::int64_t> in, kernel;
  std::int64_t stride = 1, padding = 0, dilation = 1;
  ConvLayout layout() const {
    ConvLayout l{.dims = static_cast<int>(in.size()), .groups = groups};
    l.stride.fill(stride), l.padding.fill(padding), l.dilation.fill(dilation);
    return l;
  }
};

// Matrices; convolutions of 1 to 3 dimensions; groups, each channel by itself; sizes that fill no block; few
// channels, of which several outputs fill one.
const QuantizedCase kQuantizedCases[] = {
    {1, 1, 70, 33, {}, {}},
    {37, 1, 64, 40, {}, {}},
    {2, 1, 5, 9, {11}, {3}, 2, 1},
    {2, 1, 64, 33, {6, 7}, {1, 1}},
    {3, 1, 3, 40, {9, 10}, {3, 3}, 1, 1},
    {1, 1, 16, 8, {8, 9}, {3, 2}, 2, 2, 2},
    {2, 3, 4, 5, {7, 7}, {3, 3}, 1, 1},
    {2, 37, 1, 1, {9, 8}, {3, 3}, 2, 1},
    {1, 1, 3, 4, {4, 5, 6}, {2, 3, 2}, 1, 1},
    {2, 1, 1, 6, {9, 12}, {5, 5}, 1, 2},
    {2, 1, 6, 16, {5, 9}, {3, 2}, 1, 0},
};

// Numbers are bytes times a power of two, so that all of this is exact in floats.
std::vector<float> quantized_by(const QuantizedCase& c, bool dynamic, bool bytes_in, bool bytes_out) {
  const ConvLayout layout = c.layout();
  Shape x_shape{c.batch}, w_shape{c.groups * c.c_out, c.c_in}, y_shape{c.batch};
  for (std::size_t d = 0; d < c.in.size(); ++d) {
    x_shape.push_back(c.in[d]);
    w_shape.push_back(c.kernel[d]);
    y_shape.push_back(layout.output_size(static_cast<int>(d), c.in[d] + 2 * c.padding, c.kernel[d]));
  }
  x_shape.push_back(c.groups * c.c_in), y_shape.push_back(c.groups * c.c_out);
  Array<std::int8_t> w = Array<std::int8_t>::random(w_shape, 2, -128, 128);
  Array<std::uint8_t> q = Array<std::uint8_t>::random(x_shape, 3, 0, 256);
  Array<float> scale = Array<float>({c.groups * c.c_out}, 0.5F),
               bias = Array<float>::random({c.groups * c.c_out}, 5);
  for (std::int64_t i = 0; i < bias.size(); ++i) bias[i] = std::round(bias[i] * 64);
  const std::int64_t of_example = q.size() / c.batch;
  for (std::int64_t e = 0; e < c.batch; ++e) q[e * of_example] = 0, q[(e + 1) * of_example - 1] = 255;
  Array<float> x(x_shape), input({2}, {0.25F, 100}), output({2}, {256, 90});
  for (std::int64_t i = 0; i < x.size(); ++i) x[i] = 0.25F * (static_cast<float>(q[i]) - 100);
  // The shape of a convolution's views has the channels second.
  const auto channels_second = [](View v) {
    Shape shape{v.shape[0], v.shape[v.shape.rank() - 1]};
    for (int d = 1; d + 1 < v.shape.rank(); ++d) shape.push_back(v.shape[d]);
    return View{v.data, v.dtype, shape, contiguous_strides(shape)};
  };
  Array<float> y(y_shape, -1.0F);
  Array<std::uint8_t> y_bytes(y_shape, 7);
  QuantizedConv call{.layout = layout};
  const View bias_view = bias.view(), input_view = input.view(), output_view = output.view();
  cpu::backend().convolve_quantized(call, channels_second(bytes_in ? q.view() : x.view()), w.view(),
                                    scale.view(), &bias_view, dynamic ? nullptr : &input_view,
                                    bytes_out ? &output_view : nullptr,
                                    channels_second(bytes_out ? y_bytes.view() : y.view()));
  if (!bytes_out) return {y.values().begin(), y.values().end()};
  return {y_bytes.values().begin(), y_bytes.values().end()};
}

// The same by plain sums, of the dequantised numbers, in double.
std::vector<float> plainly(const QuantizedCase& c, bool bytes_out) {
  const ConvLayout layout = c.layout();
  std::int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  const std::size_t missing = 3 - c.in.size();
  Shape x_shape{c.batch}, w_shape{c.groups * c.c_out, c.c_in};
  for (std::size_t d = 0; d < c.in.size(); ++d) {
    in[missing + d] = c.in[d], kernel[missing + d] = c.kernel[d];
    out[missing + d] = layout.output_size(static_cast<int>(d), c.in[d] + 2 * c.padding, c.kernel[d]);
    x_shape.push_back(c.in[d]), w_shape.push_back(c.kernel[d]);
  }
  x_shape.push_back(c.groups * c.c_in);
  Array<std::int8_t> w = Array<std::int8_t>::random(w_shape, 2, -128, 128);
  Array<std::uint8_t> q = Array<std::uint8_t>::random(x_shape, 3, 0, 256);
  Array<float> bias = Array<float>::random({c.groups * c.c_out}, 5);
  for (std::int64_t i = 0; i < bias.size(); ++i) bias[i] = std::round(bias[i] * 64);
  const std::int64_t of_example = q.size() / c.batch, channels = c.groups * c.c_in;
  for (std::int64_t e = 0; e < c.batch; ++e) q[e * of_example] = 0, q[(e + 1) * of_example - 1] = 255;
  std::vector<float> y;
  const auto at = [&](std::size_t d, std::int64_t o, std::int64_t k) {
    return d < missing ? 0 : o * c.stride - c.padding + k * c.dilation;
  };
  for (std::int64_t e = 0; e < c.batch; ++e)
    for (std::int64_t o = 0; o < out[0] * out[1] * out[2]; ++o)
      for (std::int64_t j = 0; j < c.groups * c.c_out; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < c.c_in; ++i)
          for (std::int64_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; ++k) {
            const std::int64_t z = at(0, o / (out[1] * out[2]), k / (kernel[1] * kernel[2])),
                               r = at(1, o / out[2] % out[1], k / kernel[2] % kernel[1]),
                               s = at(2, o % out[2], k % kernel[2]);
            if (z < 0 || z >= in[0] || r < 0 || r >= in[1] || s < 0 || s >= in[2]) continue;
            const std::int64_t from = ((e * in[0] + z) * in[1] + r) * in[2] + s;
            sum += (q[from * channels + j / c.c_out * c.c_in + i] - 100) *
                   w[(j * c.c_in + i) * kernel[0] * kernel[1] * kernel[2] + k];
          }
        const float value = 0.125F * static_cast<float>(sum) + bias[j];
        y.push_back(bytes_out ? std::clamp(std::nearbyint(value / 256) + 90.0F, 0.0F, 255.0F) : value);
      }
  return y;
}

TEST(ConvolveQuantized, IsThePlainSumOfWhatTheIntegersStandFor) {
  for (const QuantizedCase& c : kQuantizedCases) {
    const std::vector<float> numbers = plainly(c, false), bytes = plainly(c, true);
    test::for_each_int8_kernels([&](const std::string& name) {
      for (const int threads : {1, 3}) {
        const test::ThreadsScope scope(threads);
        const std::string what =
            str(name, ", ", c.c_in, " to ", c.c_out, " of ", c.groups, ", ", c.in.size(), " dimensions");
        EXPECT_EQ(quantized_by(c, false, false, false), numbers) << what;
        EXPECT_EQ(quantized_by(c, false, true, false), numbers) << what;
        EXPECT_EQ(quantized_by(c, false, true, true), bytes) << what;
        if (c.in.empty() || c.batch == 1) continue;  // the ends of an example's range are 0 and 255 here
        EXPECT_EQ(quantized_by(c, true, false, false), numbers) << what;
      }
    });
  }
}

// A row that is not finite has no range, and gives NaN through the bounds of a ReLU, too; others stay as they
// are.
TEST(ConvolveQuantized, ARowWithInfinityGivesNaN) {
  constexpr std::int64_t rows = 4, depth = 70, columns = 33;
  Array<float> x = Array<float>::random({rows, depth}, 1), scale({columns}, 0.5F), y({rows, columns});
  Array<std::int8_t> w = Array<std::int8_t>::random({columns, depth}, 2, -128, 128);
  const QuantizedConv call{.layout = {.dims = 0}, .low = 0};
  const auto run = [&] {
    cpu::backend().convolve_quantized(call, x.view(), w.view(), scale.view(), nullptr, nullptr, nullptr,
                                      y.view());
    return std::vector<float>(y.values().begin(), y.values().end());
  };
  test::for_each_int8_kernels([&](const std::string& name) {
    x[depth + 3] = x[2 * depth + 5] = x[3 * depth] = 1;
    const std::vector<float> finite = run();
    x[depth + 3] = -INFINITY, x[2 * depth + 5] = INFINITY, x[3 * depth] = NAN;
    const std::vector<float> found = run();
    for (std::size_t i = 0; i < columns; ++i) {
      EXPECT_EQ(found[i], finite[i]) << name;
      EXPECT_TRUE(std::isnan(found[columns + i])) << name << ' ' << i;
      EXPECT_TRUE(std::isnan(found[2 * columns + i])) << name << ' ' << i;
      EXPECT_TRUE(std::isfinite(found[3 * columns + i])) << name << ' ' << i;
    }
  });
}

TEST(MultiplyNarrow, IsTheProductWithWhatTheIntegersStandFor) {
  const auto best = cpu::instruction_set_in_use();
  for (const auto set : cpu::instruction_sets()) {
    cpu::use_instruction_set(set);
    for (const std::int64_t m : {1, 5, 11}) {
      constexpr std::int64_t n = 37, k = 96, odd = 51;
      Array<std::uint8_t> w4 = Array<std::uint8_t>::random({n, k / 2}, 1, 0, 256);
      Array<std::int8_t> w8 = Array<std::int8_t>::random({n, odd}, 2, -128, 128);
      Array<float> s4 = Array<float>::random({n, k / 32}, 3), s8 = Array<float>::random({n}, 4),
                   bias = Array<float>::random({n}, 5);
      Array<float> x4 = Array<float>::random({m, k}, 6), x8 = Array<float>::random({m, odd}, 7), y4({m, n}),
                   y8({m, n});
      const View added = bias.view();
      cpu::backend().multiply_narrow(x4.view(), w4.view(), s4.view(), &added, y4.view());
      cpu::backend().multiply_narrow(x8.view(), w8.view(), s8.view(), nullptr, y8.view());
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
          double of4 = bias[j], of8 = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            const int byte = w4[j * k / 2 + i / 32 * 16 + i % 16];
            of4 += static_cast<double>(x4[r * k + i]) * s4[j * (k / 32) + i / 32] *
                   ((i % 32 < 16 ? byte % 16 : byte / 16) - 8);
          }
          for (std::int64_t i = 0; i < odd; ++i)
            of8 += static_cast<double>(x8[r * odd + i]) * s8[j] * w8[j * odd + i];
          EXPECT_NEAR(y4[r * n + j], of4, 1e-4) << m << ' ' << j << ' ' << cpu::name_of(set);
          EXPECT_NEAR(y8[r * n + j], of8, 2e-3) << m << ' ' << j << ' ' << cpu::name_of(set);
        }
    }
  }
  cpu::use_instruction_set(best);
}

}  // namespace
}  // namespace veldt
