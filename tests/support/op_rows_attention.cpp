// Rows of veldt/ops/attention.h, in double.
#include <cmath>
#include <limits>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/attention.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

// The weights of [.., queries, size] and [.., keys, size], of the same leading sizes.
Values weights_of(const Values& q, const Values& k, bool causal) {
  const int rank = q.shape.rank();
  const std::int64_t keys = k.shape[rank - 2], size = q.shape[rank - 1];
  Shape shape = q.shape;
  shape[rank - 1] = keys;
  const auto score = [&](Shape at, std::int64_t key) {
    double sum = 0;
    Shape other = at;
    other[rank - 2] = key;
    for (std::int64_t i = 0; i < size; ++i) {
      at[rank - 1] = other[rank - 1] = i;
      sum += q.v[static_cast<std::size_t>(position_of(q.shape, at))] *
             k.v[static_cast<std::size_t>(position_of(k.shape, other))];
    }
    return sum / std::sqrt(static_cast<double>(size));
  };
  return build(shape, [&](const Shape& at) {
    const std::int64_t seen = causal ? std::min(keys, at[rank - 2] + 1) : keys;
    if (at[rank - 1] >= seen) return 0.0;
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t j = 0; j < seen; ++j) most = std::max(most, score(at, j));
    for (std::int64_t j = 0; j < seen; ++j) sum += std::exp(score(at, j) - most);
    return std::exp(score(at, at[rank - 1]) - most) / sum;
  });
}

Expected attended(const Values& weights, const Values& v) {
  const int rank = v.shape.rank();
  Shape shape = weights.shape;
  shape[rank - 1] = v.shape[rank - 1];
  const auto sum = [&](const Shape& at, bool sizes) {
    double total = 0;
    Shape w = at, x = at;
    for (std::int64_t j = 0; j < v.shape[rank - 2]; ++j) {
      w[rank - 1] = x[rank - 2] = j;
      const double term = weights.v[static_cast<std::size_t>(position_of(weights.shape, w))] *
                          v.v[static_cast<std::size_t>(position_of(v.shape, x))];
      total += sizes ? std::abs(term) : term;
    }
    return total;
  };
  return {build(shape, [&](const Shape& at) { return sum(at, false); }),
          build(shape, [&](const Shape& at) { return 1 + sum(at, true); }).v};
}

OpRow attention_row() {
  OpRow row{
      .name = "scaled_dot_product_attention", .inputs = {{}, {}, {}}, .cases = {}, .order = 2, .ulps = 64};
  const auto with = [&](const char* label, const Shape& q, const Shape& k, const Shape& v, bool causal) {
    row.cases.push_back(
        {label,
         {q, k, v},
         [=](In in) { return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = causal}); },
         [=](const std::vector<Values>& in) { return attended(weights_of(in[0], in[1], causal), in[2]); }});
  };
  with("one of one", {1, 1}, {1, 1}, {1, 1}, false);
  with("queries and keys", {2, 3}, {3, 3}, {3, 1}, false);
  with("causal", {3, 2}, {3, 2}, {3, 2}, true);
  with("heads", {2, 2, 2, 3}, {2, 2, 4, 3}, {2, 2, 4, 2}, false);
  with("no examples", {0, 2, 3}, {0, 2, 3}, {0, 2, 3}, true);
  with("many, causal", {3, 20, 16}, {3, 20, 16}, {3, 20, 24}, true);
  return row;
}

OpRow weights_row() {
  OpRow row{.name = "attention_weights", .inputs = {{}, {}}, .cases = {}, .order = 2, .ulps = 64};
  const auto with = [&](const char* label, const Shape& q, const Shape& k, bool causal) {
    row.cases.push_back({label,
                         {q, k},
                         [=](In in) { return attention_weights(in[0], in[1], {.causal = causal}); },
                         [=](const std::vector<Values>& in) {
                           Expected out{weights_of(in[0], in[1], causal)};
                           out.magnitude.assign(out.values.v.size(), 1);
                           return out;
                         }});
  };
  with("queries and keys", {2, 3}, {4, 3}, false);
  with("causal", {2, 3, 2}, {2, 3, 2}, true);
  return row;
}

// Step t, pair (i, i + size / 2).
OpRow rotary_row() {
  OpRow row{.name = "rotary_embedding", .inputs = {{}}, .cases = {}, .order = 2, .ulps = 1024};
  const auto with = [&](const Shape& shape, std::int64_t first) {
    row.cases.push_back({str(shape, " from ", first),
                         {shape},
                         [=](In in) { return rotary_embedding(in[0], first, 100); },
                         [=](const std::vector<Values>& in) {
                           const Values& x = in[0];
                           const int rank = x.shape.rank();
                           const std::int64_t size = x.shape[rank - 1], half = size / 2;
                           Expected out{build(x.shape, [&](const Shape& at) {
                             const std::int64_t pair = at[rank - 1] % half;
                             const double turn =
                                 static_cast<double>(first + at[rank - 2]) *
                                 std::pow(100, -2.0 * static_cast<double>(pair) / static_cast<double>(size));
                             Shape low = at, high = at;
                             low[rank - 1] = pair, high[rank - 1] = pair + half;
                             const double a = x.at(low), b = x.at(high);
                             return at[rank - 1] < half ? a * std::cos(turn) - b * std::sin(turn)
                                                        : b * std::cos(turn) + a * std::sin(turn);
                           })};
                           out.magnitude.assign(out.values.v.size(), 2 + static_cast<double>(first));
                           return out;
                         }});
  };
  with({1, 2}, 0);
  with({3, 4}, 0);
  with({2, 2, 6}, 5);
  with({2, 0, 6}, 5);
  return row;
}

// The input, of shape [0], is there for its device alone.
OpRow positions_row() {
  OpRow row{.name = "sinusoidal_positions",
            .inputs = {{}},
            .cases = {},
            .order = 0,
            .ulps = 64,
            .result = DType::f32};
  row.cases.push_back({"[5, 6]",
                       {{0}},
                       [](In in) { return sinusoidal_positions(5, 6, 10000, in[0].device()); },
                       [](const std::vector<Values>&) {
                         Expected out{build({5, 6}, [](const Shape& at) {
                           const double pair = static_cast<double>(at[1] / 2);
                           const double turn = static_cast<double>(at[0]) * std::pow(10000, -2 * pair / 6);
                           return at[1] % 2 == 0 ? std::sin(turn) : std::cos(turn);
                         })};
                         out.magnitude.assign(out.values.v.size(), 4);
                         return out;
                       }});
  return row;
}

}  // namespace

std::vector<OpRow> attention_rows() {
  return {attention_row(), weights_row(), rotary_row(), positions_row()};
}

}  // namespace veldt::test
