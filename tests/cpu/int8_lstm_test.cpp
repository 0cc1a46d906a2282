// The steps of an LSTM of integers, by every kernel: sums are exact, and the numbers around them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/cpu/int8_kernels.h"
#include "tests/support/threads_scope.h"
#include "tests/support/views.h"
#include "veldt/core/quantized.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/cpu/int8_weights.h"

namespace veldt {
namespace {
using test::Array;

struct Int8LstmCase {
  std::int64_t time, n, hidden;
  bool reverse = false, bias = true;
};

class Int8Lstm {
 public:
  explicit Int8Lstm(const Int8LstmCase& c)
      : c_(c),
        inputs_(Array<float>::random({c.time, c.n, 4 * c.hidden}, 1)),
        bias_(Array<float>::random({4 * c.hidden}, 2)),
        h_(Array<float>::random({c.n, c.hidden}, 3, -1, 1)),
        cell_(Array<float>::random({c.n, c.hidden}, 4)),
        w_(Array<std::int8_t>::random({4 * c.hidden, c.hidden}, 5, -128, 128)),
        scale_(Array<float>::random({4 * c.hidden}, 6, 0.001, 0.002)),
        input_({2}, {2.0F / 255, 128}),
        out_({c.time, c.n, c.hidden}),
        last_({c.n, c.hidden}, -7) {
    for (std::int64_t i = 0; i < c.hidden; ++i) w_[i] = -128, w_[c.hidden + i] = 127;  // the ends
    for (std::int64_t i = 0; i < c.hidden; ++i) h_[i] = i % 2 == 0 ? -1.01F : 1.0F;    // bytes 0 and 255
  }

  std::vector<float> run() {
    const View bias = bias_.view();
    const QuantizedConv call;
    cpu::backend().lstm_quantized(call, c_.reverse, inputs_.view(), w_.view(), scale_.view(),
                                  c_.bias ? &bias : nullptr, input_.view(), h_.view(), cell_.view(),
                                  out_.view(), last_.view());
    std::vector<float> all(out_.values().begin(), out_.values().end());
    all.insert(all.end(), last_.values().begin(), last_.values().end());
    return all;
  }

  // The cell that it begins with.
  std::vector<float> before() { return {cell_.values().begin(), cell_.values().end()}; }

  // The largest difference from plain sums in double, where each step begins with the state that run() gave.
  double error() {
    const std::int64_t hidden = c_.hidden;
    double worst = 0;
    for (std::int64_t r = 0; r < c_.n; ++r) {
      std::vector<float> h(static_cast<std::size_t>(hidden));
      std::vector<double> cell(h.size());
      for (std::int64_t j = 0; j < hidden; ++j) {
        h[static_cast<std::size_t>(j)] = h_[r * hidden + j];
        cell[static_cast<std::size_t>(j)] = cell_[r * hidden + j];
      }
      for (std::int64_t i = 0; i < c_.time; ++i) {
        const std::int64_t row = (c_.reverse ? c_.time - 1 - i : i) * c_.n + r;
        std::vector<float> after(h.size());
        for (std::int64_t j = 0; j < hidden; ++j) {
          double sums[4];
          for (std::int64_t gate = 0; gate < 4; ++gate) sums[gate] = sum_of(gate * hidden + j, row, h);
          double& c = cell[static_cast<std::size_t>(j)];
          c = logistic(sums[1]) * c + logistic(sums[0]) * std::tanh(sums[2]);
          const float found = out_[row * hidden + j];
          worst = std::max(worst, std::abs(logistic(sums[3]) * std::tanh(c) - found));
          after[static_cast<std::size_t>(j)] = found;
        }
        h = after;
      }
      for (std::int64_t j = 0; j < hidden; ++j)
        worst = std::max(worst, std::abs(cell[static_cast<std::size_t>(j)] - last_[r * hidden + j]));
    }
    return worst;
  }

 private:
  static double logistic(double x) { return 1 / (1 + std::exp(-x)); }

  double sum_of(std::int64_t column, std::int64_t row, const std::vector<float>& h) {
    const float scale = input_[0], zero = input_[1];
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < c_.hidden; ++k) {
      const float near = std::nearbyint(h[static_cast<std::size_t>(k)] * (1 / scale)) + zero;
      const auto byte = static_cast<std::int64_t>(std::clamp(near, 0.0F, 255.0F));
      sum += (byte - static_cast<std::int64_t>(zero)) * w_[column * c_.hidden + k];
    }
    return inputs_[row * 4 * c_.hidden + column] + static_cast<double>(sum) * scale * scale_[column] +
           (c_.bias ? bias_[column] : 0.0F);
  }

  Int8LstmCase c_;
  Array<float> inputs_, bias_, h_, cell_;
  Array<std::int8_t> w_;
  Array<float> scale_, input_, out_, last_;
};

TEST(Int8Lstm, IsThePlainFormulaWithExactSums) {
  // One element, parts of a register, whole ones; few rows that threads share, in one block and in two, and
  // many.
  const Int8LstmCase cases[] = {{3, 1, 1},         {4, 5, 7, true},          {2, 33, 16},
                                {3, 40, 37, true}, {2, 2, 64, false, false}, {2, 3, 210},
                                {2, 33, 96}};
  for (const Int8LstmCase& c : cases)
    test::for_each_int8_kernels([&](const std::string& name) {
      std::vector<float> once;
      for (const int threads : {1, 3, 9}) {
        const test::ThreadsScope scope(threads);
        Int8Lstm lstm(c);
        const std::vector<float> found = lstm.run();
        if (once.empty()) once = found;
        EXPECT_EQ(found, once) << name << " of " << c.hidden << " on " << threads << " threads";
        EXPECT_LT(threads == 1 ? lstm.error() : 0, 2e-6) << name << " of " << c.hidden;
      }
    });
}

TEST(Int8Lstm, OfNoStepsLeavesTheCellAsItWas) {
  Int8Lstm lstm({0, 5, 7});
  EXPECT_EQ(lstm.run(), lstm.before());
}

// Steps with lengths, or that are learned, multiply each by itself, by weights in another order.
TEST(Int8Weights, AreKeptInEachOrder) {
  const std::int64_t hidden = 5;
  Array<std::int8_t> w = Array<std::int8_t>::random({4 * hidden, hidden}, 1, -127, 128);
  Array<float> scale({4 * hidden}, 0.5F);
  const View rows{nullptr, DType::u8, {3, hidden}, {hidden, 1}},
      sums{nullptr, DType::f32, {3, 4 * hidden}, {4 * hidden, 1}};
  const ConvSizes sizes({.dims = 0}, ConvViews(ConvPart::output, rows, w.view(), sums));
  const cpu::Int8Kernels& kernels = cpu::int8_kernels(hidden);
  QuantizedConv layer;
  const auto kept = [&](bool by_gates) {
    return cpu::kept_weights(layer, sizes, {&kernels, 1, by_gates}, w.view(), scale.view(), nullptr);
  };
  const auto plain = kept(false), by_gates = kept(true);
  EXPECT_TRUE(plain != by_gates);
  EXPECT_TRUE(kept(false) == plain);
  EXPECT_TRUE(kept(true) == by_gates);
  ++layer.state;
  EXPECT_TRUE(kept(true) != by_gates);
  EXPECT_TRUE(kept(false) != plain);
}

}  // namespace
}  // namespace veldt
