// Convolutions of the CPU beyond what the op table sees: bits, threads, and what oneDNN does not take.
#include "veldt/core/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {
using test::Array;

// The three parts of a convolution of random numbers, one after the other.
template <class T>
std::vector<T> parts_of(const ConvLayout& layout, const Shape& x_shape, const Shape& w_shape) {
  Shape y_shape = {x_shape[0], w_shape[0]};
  for (int d = 0; d < layout.dims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    y_shape.push_back(layout.output_size(d, x_shape[at + 2] + 2 * layout.padding[at], w_shape[at + 2]));
  }
  Array<T> x = Array<T>::random(x_shape, 1), w = Array<T>::random(w_shape, 2),
           y = Array<T>::random(y_shape, 3);
  Array<T> bias = Array<T>::random({w_shape[0]}, 4), x_out(x_shape, T(7)), w_out(w_shape, T(7)),
           y_out(y_shape, T(7));
  const auto convolve = cpu::backend().convolve;
  const View added = bias.view();
  convolve(layout, ConvPart::output, x.view(), w.view(), &added, y_out.view());
  convolve(layout, ConvPart::input_gradient, w.view(), y.view(), nullptr, x_out.view());
  convolve(layout, ConvPart::weight_gradient, x.view(), y.view(), nullptr, w_out.view());
  std::vector<T> all = y_out.values();
  all.insert(all.end(), x_out.values().begin(), x_out.values().end());
  all.insert(all.end(), w_out.values().begin(), w_out.values().end());
  return all;
}

// All parts for 40 examples of 6 channels, 12 x 11, and 8 filters of 3 x 3 in 2 groups.
template <class T> std::vector<T> all_parts() {
  return parts_of<T>({.dims = 2, .stride = {2, 1, 1}, .padding = {1, 1, 0}, .groups = 2}, {40, 6, 12, 11},
                     {8, 3, 3, 3});
}

TEST(CpuConvolution, GivesTheSameBitsInEveryRun) {
  EXPECT_EQ(all_parts<float>(), all_parts<float>());
  EXPECT_EQ(all_parts<double>(), all_parts<double>());
}

TEST(CpuConvolution, OfDoublesGivesTheSameBitsOnAnyNumberOfThreads) {
  const test::ThreadsScope scope(1);
  const std::vector<double> one = all_parts<double>();
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(all_parts<double>(), one) << threads << " threads";
  }
}

TEST(CpuConvolution, OfSinglesIsThatOfDoublesOnAnyNumberOfThreads) {
  const test::ThreadsScope scope;
  const std::vector<double> exact = all_parts<double>();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const std::vector<float> got = all_parts<float>();
    for (std::size_t i = 0; i < exact.size(); ++i)
      ASSERT_NEAR(got[i], exact[i], 2e-4) << threads << " threads";
  }
}

// One example, or a few with heavy weights, are shared out by channels, groups or rows.
TEST(CpuConvolution, OfFewExamplesIsSharedOutAndStaysTheSame) {
  struct Case {
    std::string name;
    ConvLayout layout;
    Shape x, w;
  };
  const Case cases[] = {
      {"channels", {.dims = 2, .padding = {1, 1, 0}}, {1, 48, 20, 20}, {64, 48, 3, 3}},
      {"odd channels", {.dims = 2, .stride = {2, 1, 1}}, {1, 37, 21, 20}, {53, 37, 3, 3}},
      {"heavy weights", {.dims = 2, .padding = {1, 1, 0}}, {5, 128, 3, 3}, {96, 128, 3, 3}},
      {"groups", {.dims = 2, .groups = 8}, {1, 64, 20, 20}, {48, 8, 3, 3}},
      {"rows", {.dims = 2, .padding = {2, 2, 0}}, {1, 3, 90, 70}, {8, 3, 5, 5}},
      {"rows and steps",
       {.dims = 2, .stride = {3, 2, 1}, .padding = {1, 0, 0}},
       {1, 3, 131, 75},
       {8, 3, 5, 4}},
      {"rows far apart",
       {.dims = 2, .padding = {6, 6, 0}, .dilation = {4, 4, 1}},
       {1, 3, 80, 80},
       {8, 3, 4, 4}},
      {"steps beyond the kernel", {.dims = 2, .stride = {4, 4, 1}}, {1, 4, 202, 202}, {8, 4, 3, 3}},
      {"one dimension", {.dims = 1, .padding = {3, 0, 0}}, {1, 4, 9000}, {6, 4, 7}},
      {"three dimensions", {.dims = 3, .padding = {1, 1, 1}}, {1, 2, 20, 15, 15}, {4, 2, 3, 3, 3}},
  };
  const test::ThreadsScope scope;
  for (const Case& c : cases) {
    const std::vector<double> exact = parts_of<double>(c.layout, c.x, c.w);
    for (const int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      const std::vector<float> got = parts_of<float>(c.layout, c.x, c.w);
      ASSERT_EQ(got.size(), exact.size());
      for (std::size_t i = 0; i < exact.size(); ++i)
        ASSERT_NEAR(got[i], exact[i], 3e-5 * (10 + std::abs(exact[i])))
            << c.name << ", " << threads << " threads";
    }
  }
}

// A loop of the program's own that convolves in each turn: oneDNN must not wait for threads that it will
// not get.
TEST(CpuConvolution, RunsWithinAParallelLoop) {
  const test::ThreadsScope scope(2);
  const std::vector<float> outside = all_parts<float>();
  std::vector<std::vector<float>> inside(4);
  parallel_for(
      4, 1, [&](std::int64_t i, std::int64_t) { inside[static_cast<std::size_t>(i)] = all_parts<float>(); });
  for (const std::vector<float>& found : inside)
    for (std::size_t i = 0; i < outside.size(); ++i) ASSERT_NEAR(found[i], outside[i], 1e-4);
}

// oneDNN counts in ints: a dilation beyond them goes to Veldt's own kernel, and so does an empty sum.
TEST(CpuConvolution, TakesWhatOneDnnDoesNot) {
  const ConvLayout layout{.dims = 1, .dilation = {ConvLayout::kMost, 1, 1}};
  Array<float> x({1, 2, 3}, {1, 2, 3, 4, 5, 6}), w({2, 2, 1}, {1, 10, 100, 1000}), y({1, 2, 3});
  Array<float> bias({2}, {0.5f, 0.25f});
  const View added = bias.view();
  cpu::backend().convolve(layout, ConvPart::output, x.view(), w.view(), &added, y.view());
  EXPECT_EQ(y.values(), (std::vector<float>{41.5f, 52.5f, 63.5f, 4100.25f, 5200.25f, 6300.25f}));
  Array<float> no_x({1, 0, 3}), no_w({2, 0, 1});
  cpu::backend().convolve(layout, ConvPart::output, no_x.view(), no_w.view(), &added, y.view());
  EXPECT_EQ(y.values(), (std::vector<float>{0.5f, 0.5f, 0.5f, 0.25f, 0.25f, 0.25f}));
  Array<float> none({0, 2, 3}), no_y({0, 2, 3}), w_out({2, 2, 1}, 9.0f);
  cpu::backend().convolve(layout, ConvPart::weight_gradient, none.view(), no_y.view(), nullptr, w_out.view());
  EXPECT_EQ(w_out.values(), std::vector<float>(4, 0.0f));
}

TEST(CpuConvolution, RefusesIntegers) {
  Array<std::int64_t> x({1, 1, 1});
  EXPECT_THROW(cpu::backend().convolve({.dims = 1}, ConvPart::output, x.view(), x.view(), nullptr, x.view()),
               DeviceError);
}

// Channels last; both what oneDNN has and, for a stride beyond its numbers, what it refuses.
TEST(CpuConvolution, OfFrozenWeightsIsTheSameWithWhatFollows) {
  for (const std::int64_t stride : {std::int64_t{1}, std::int64_t{1} << 30}) {
    const Shape x_shape = {3, 6, 8, 5}, w_shape = {4, 3, 3, 3};
    FrozenConv frozen{.layout = {.dims = 2, .stride = {stride, 1, 1}, .padding = {1, 1, 0}, .groups = 2},
                      .low = -0.5,
                      .high = 1.0};
    const Shape y_shape = {3, 4, frozen.layout.output_size(0, 10, 3), 5};
    Array<float> x = Array<float>::random(x_shape, 1), w = Array<float>::random(w_shape, 2),
                 bias = Array<float>::random({4}, 3), added = Array<float>::random(y_shape, 4),
                 want(y_shape, 7.0F), x_last({3, 8, 5, 6}, 7.0F), added_last({3, y_shape[2], 5, 4}, 7.0F),
                 out_last({3, y_shape[2], 5, 4}, 7.0F), out(y_shape, 7.0F);
    // [n, height, width, channels] as [n, channels, height, width].
    const auto channels_last = [](Array<float>& a) {
      const View v = a.view();
      return View{v.data,
                  v.dtype,
                  {v.shape[0], v.shape[3], v.shape[1], v.shape[2]},
                  {v.strides[0], v.strides[3], v.strides[1], v.strides[2]}};
    };
    const Backend& cpu = cpu::backend();
    cpu.copy(x.view(), channels_last(x_last));
    cpu.copy(added.view(), channels_last(added_last));
    const View bias_view = bias.view(), more = channels_last(added_last);
    cpu.convolve(frozen.layout, ConvPart::output, x.view(), w.view(), &bias_view, want.view());
    cpu.convolve_frozen(frozen, channels_last(x_last), w.view(), &bias_view, &more, channels_last(out_last));
    cpu.copy(channels_last(out_last), out.view());
    for (std::size_t i = 0; i < want.values().size(); ++i)
      EXPECT_NEAR(out.values()[i], std::clamp(want.values()[i] + added.values()[i], -0.5F, 1.0F), 1e-5);
  }
}

}  // namespace
}  // namespace veldt
