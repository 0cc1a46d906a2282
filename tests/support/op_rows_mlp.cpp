// Rows of veldt/ops/mlp.h.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/mlp.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

double value_of(MlpActivation f, double omega, double z) {
  switch (f) {
    case MlpActivation::identity: return z;
    case MlpActivation::relu: return std::max(z, 0.0);
    case MlpActivation::tanh: return std::tanh(z);
    case MlpActivation::sigmoid: return 1 / (1 + std::exp(-z));
    case MlpActivation::sine: return std::sin(omega * z);
    case MlpActivation::finer: return std::sin(omega * (std::fabs(z) + 1) * z);
    case MlpActivation::gauss: return std::exp(-omega * omega * z * z);
    case MlpActivation::wire: return std::cos(omega * z) * std::exp(-z * z);
  }
  return 0;
}

// One layer of an oracle's rows: the values, and the sum of the sizes of what each was added up from.
Expected layer(const Expected& x, const Values& w, const Values& b, MlpActivation f, double omega) {
  const std::int64_t in = w.shape[1], out = w.shape[0];
  const std::int64_t rows = in == 0 ? 0 : static_cast<std::int64_t>(x.values.v.size()) / in;
  Expected y;
  y.values.shape = {rows, out};
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < out; ++n) {
      double z = b.v[static_cast<std::size_t>(n)], size = std::fabs(z);
      for (std::int64_t k = 0; k < in; ++k) {
        const auto at = static_cast<std::size_t>(r * in + k);
        const double weight = w.v[static_cast<std::size_t>(n * in + k)];
        z += weight * x.values.v[at];
        size += std::fabs(weight) * x.magnitude[at];
      }
      y.values.v.push_back(value_of(f, omega, z));
      // No slope below is above omega (2 |z| + 1).
      y.magnitude.push_back(1 + std::fabs(omega) * (2 * std::fabs(z) + 1) * size);
    }
  return y;
}

// x, and a weight and a bias for each of two layers.
OpRow mlp_row() {
  OpRow row{.name = "mlp",
            .inputs = {{}, {.low = -1, .high = 1}, {}, {.low = -1, .high = 1}, {}},
            .cases = {},
            .order = 2,
            .ulps = 16,
            .half_ulps = 1};
  const auto add = [&](Shape x, std::int64_t hidden, std::int64_t out, MlpActivation f) {
    constexpr double kOmega = 1.5;
    row.cases.push_back({str(x, " to ", hidden, " to ", out, ", ", static_cast<int>(f)),
                         {x, {hidden, x.back()}, {hidden}, {out, hidden}, {out}},
                         [f](In in) {
                           const DenseLayer layers[] = {{in[1], in[2], f, kOmega}, {in[3], in[4]}};
                           return mlp(in[0], layers);
                         },
                         [f](const std::vector<Values>& in) {
                           const Expected x_in{in[0], [&] {
                                                 std::vector<double> sizes;
                                                 for (double v : in[0].v) sizes.push_back(std::fabs(v));
                                                 return sizes;
                                               }()};
                           Expected y = layer(layer(x_in, in[1], in[2], f, kOmega), in[3], in[4],
                                              MlpActivation::identity, 1);
                           Shape shape = in[0].shape;
                           shape[shape.rank() - 1] = in[3].shape[0];
                           y.values.shape = shape;
                           return y;
                         }});
  };
  add({2, 3}, 2, 1, MlpActivation::tanh);
  add({1, 1}, 1, 1, MlpActivation::sine);
  add({2, 2, 2}, 3, 5, MlpActivation::sigmoid);
  add({3}, 2, 2, MlpActivation::gauss);
  add({0, 2}, 3, 1, MlpActivation::finer);
  add({33, 9}, 65, 5, MlpActivation::sine);
  add({5, 2}, 17, 3, MlpActivation::identity);
  add({4, 2}, 5, 2, MlpActivation::wire);
  return row;
}

}  // namespace

std::vector<OpRow> mlp_rows() { return {mlp_row()}; }

}  // namespace veldt::test
