// Winograd's convolutions: against plain sums in double, on any number of threads and any instruction set.
#include "veldt/cpu/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/threads_scope.h"
#include "tests/support/views.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/cpu/instruction_set.h"

namespace veldt {
namespace {
using test::Array;

struct WinogradCase {
  std::int64_t batch, in, out, height, width, padding_y, padding_x;
  ConvLayout layout() const { return {.dims = 2, .padding = {padding_y, padding_x, 0}, .coarse = true}; }
  Shape x() const { return {batch, in, height, width}; }
  Shape w() const { return {out, in, 3, 3}; }
  Shape y() const { return {batch, out, height + 2 * padding_y - 2, width + 2 * padding_x - 2}; }
};

// Edges of every remainder by 4, channels that fill no register, blocks of one example, of several, and of a
// part of one, rows longer than a block.
const WinogradCase kWinogradCases[] = {
    {3, 24, 40, 31, 31, 1, 1}, {20, 64, 32, 7, 7, 1, 1},   {70, 33, 17, 3, 3, 1, 1},
    {9, 16, 16, 12, 13, 0, 2}, {2, 17, 70, 20, 275, 1, 0}, {7, 48, 16, 16, 16, 2, 1},
    {9, 16, 20, 15, 14, 0, 0}, {64, 16, 16, 1, 1, 1, 1},   {40, 16, 19, 6, 2, 1, 1},
};

// The three parts, one after the other: the output with a bias, the gradient by x, that by w.
template <class T> std::vector<std::vector<T>> winograd_parts(const WinogradCase& c) {
  Array<T> x = Array<T>::random(c.x(), 1), w = Array<T>::random(c.w(), 2), y = Array<T>::random(c.y(), 3);
  Array<T> bias = Array<T>::random({c.out}, 4), x_out(c.x(), T(7)), w_out(c.w(), T(7)), y_out(c.y(), T(7));
  const View added = bias.view();
  const auto convolve = cpu::backend().convolve;
  convolve(c.layout(), ConvPart::output, x.view(), w.view(), &added, y_out.view());
  convolve(c.layout(), ConvPart::input_gradient, w.view(), y.view(), nullptr, x_out.view());
  convolve(c.layout(), ConvPart::weight_gradient, x.view(), y.view(), nullptr, w_out.view());
  return {y_out.values(), x_out.values(), w_out.values()};
}

double size_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

void expect_near(const WinogradCase& c, const char* what) {
  const auto exact = winograd_parts<double>(c);
  const auto found = winograd_parts<float>(c);
  for (std::size_t part = 0; part < exact.size(); ++part) {
    const double size = size_of(exact[part]);
    double worst = 0;
    for (std::size_t i = 0; i < exact[part].size(); ++i)
      worst = std::max(worst, std::abs(exact[part][i] - static_cast<double>(found[part][i])));
    EXPECT_LT(worst / size, 1e-4) << what << ", part " << part << " of " << c.y();
  }
}

TEST(Winograd, IsTheSumOfProductsOfEveryShape) {
  for (const WinogradCase& c : kWinogradCases) expect_near(c, "default");
}

TEST(Winograd, ServesTheseShapes) {
  for (const WinogradCase& c : kWinogradCases) {
    Array<float> x(c.x()), w(c.w()), y(c.y());
    for (const ConvPart part : {ConvPart::output, ConvPart::input_gradient, ConvPart::weight_gradient}) {
      const View a = part == ConvPart::input_gradient ? w.view() : x.view(),
                 b = part == ConvPart::output ? w.view() : y.view(),
                 out = part == ConvPart::output           ? y.view()
                       : part == ConvPart::input_gradient ? x.view()
                                                          : w.view();
      const ConvSizes sizes(c.layout(), ConvViews(part, a, b, out));
      EXPECT_TRUE(cpu::winograd_convolve(sizes, part, x.view().as<float>(), w.view().as<float>(), nullptr,
                                         y.view().as<float>()))
          << c.y();
    }
  }
}

// A network that only runs is computed by plain sums: what one pixel holds stays within its windows.
TEST(Winograd, IsForWeightsThatAreLearned) {
  const WinogradCase& c = kWinogradCases[5];
  Array<float> x = Array<float>::random(c.x(), 1), w = Array<float>::random(c.w(), 2);
  x.view().as<float>()[8 * 16 + 8] = std::numeric_limits<float>::quiet_NaN();
  const auto spoiled = [&](bool coarse) {
    ConvLayout layout = c.layout();
    layout.coarse = coarse;
    Array<float> y(c.y());
    cpu::backend().convolve(layout, ConvPart::output, x.view(), w.view(), nullptr, y.view());
    return std::count_if(y.values().begin(), y.values().end(), [](float v) { return std::isnan(v); });
  };
  EXPECT_EQ(spoiled(false), 9 * c.out);
  EXPECT_GT(spoiled(true), 9 * c.out);
}

TEST(Winograd, GivesTheSameBitsOnAnyNumberOfThreads) {
  const test::ThreadsScope scope(1);
  for (const WinogradCase& c : {kWinogradCases[0], kWinogradCases[2]}) {
    set_num_threads(1);
    const auto one = winograd_parts<float>(c);
    for (const int threads : {2, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(winograd_parts<float>(c), one) << threads << " threads";
    }
  }
}

TEST(Winograd, IsTheSameWithEveryInstructionSet) {
  const cpu::InstructionSet best = cpu::instruction_set_in_use();
  for (const cpu::InstructionSet set : cpu::instruction_sets()) {
    cpu::use_instruction_set(set);
    for (const WinogradCase& c : kWinogradCases) expect_near(c, cpu::name_of(set));
  }
  cpu::use_instruction_set(best);
}

}  // namespace
}  // namespace veldt
