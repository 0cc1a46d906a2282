// The row of veldt/ops/recurrent.h. The oracle takes the steps one number at a time, in double.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/recurrent.h"

namespace veldt::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Expected lstm_of(const std::vector<Values>& in, bool backward) {
  const Values &x = in[0], &w = in[1];
  const std::int64_t time = x.shape[0], n = x.shape[1], hidden = w.shape[1];
  Values out{{time, n, 2 * hidden}, std::vector<double>(static_cast<std::size_t>(time * n * 2 * hidden))};
  for (std::int64_t row = 0; row < n; ++row) {
    std::vector<double> h, c;
    for (std::int64_t j = 0; j < hidden; ++j) {
      h.push_back(in[2].at({row, j}));
      c.push_back(in[3].at({row, j}));
    }
    for (std::int64_t step = 0; step < time; ++step) {
      const std::int64_t t = backward ? time - 1 - step : step;
      std::vector<double> gates;
      for (std::int64_t k = 0; k < 4 * hidden; ++k) {
        double sum = x.at({t, row, k});
        for (std::int64_t j = 0; j < hidden; ++j) sum += w.at({k, j}) * h[static_cast<std::size_t>(j)];
        gates.push_back(sum);
      }
      for (std::int64_t j = 0; j < hidden; ++j) {
        const auto at = [&](std::int64_t gate) { return gates[static_cast<std::size_t>(gate * hidden + j)]; };
        const auto i = static_cast<std::size_t>(j);
        c[i] = logistic(at(1)) * c[i] + logistic(at(0)) * std::tanh(at(2));
        h[i] = logistic(at(3)) * std::tanh(c[i]);
        out.v[static_cast<std::size_t>(position_of(out.shape, {t, row, j}))] = h[i];
        out.v[static_cast<std::size_t>(position_of(out.shape, {t, row, hidden + j}))] = c[i];
      }
    }
  }
  return {out, std::vector<double>(out.v.size(), 1 + static_cast<double>(time))};
}

}  // namespace

std::vector<OpRow> recurrent_rows() {
  OpRow row{.name = "lstm_steps", .inputs = {{}, {}, {}, {}}, .cases = {}, .order = 2, .ulps = 64};
  const auto with = [&](std::int64_t time, std::int64_t n, std::int64_t hidden, bool backward) {
    row.cases.push_back(
        {str(time, " steps of ", n, ", ", hidden, backward ? " hidden, backward" : " hidden"),
         {{time, n, 4 * hidden}, {4 * hidden, hidden}, {n, hidden}, {n, hidden}},
         [=](const std::vector<Tensor>& in) { return lstm_steps(in[0], in[1], in[2], in[3], backward); },
         [=](const std::vector<Values>& in) { return lstm_of(in, backward); }});
  };
  with(1, 1, 1, false);
  with(2, 1, 1, true);
  with(3, 2, 1, false);
  with(2, 1, 2, true);
  with(2, 0, 2, false);
  with(5, 3, 17, false);
  with(4, 9, 20, true);
  with(1, 6, 5, false);
  with(2, 17, 33, true);
  with(3, 70, 3, false);
  with(2, 9, 70, false);
  return {row};
}

}  // namespace veldt::test
