// Rows of veldt/ops/attention.h, in double.
#include <cmath>
#include <limits>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

constexpr double kInf = std::numeric_limits<double>::infinity();

// What is added to the scores, [queries, keys] or [1, keys]. Nothing where a boolean mask lets a query look.
struct Masking {
  Shape shape = {};
  bool boolean = false;
  double at(std::int64_t query, std::int64_t key) const {
    if (shape.rank() == 0) return 0;
    const std::int64_t i = shape[0] == 1 ? 0 : query;
    if ((2 * i + key) % 3 == 2) return -kInf;
    return boolean ? 0 : 0.25 * static_cast<double>((i + 3 * key) % 5);
  }
  Tensor tensor(DType dtype, Device device) const {
    if (shape.rank() == 0) return {};
    const Values all = build(shape, [&](const Shape& place) { return at(place[0], place[1]); });
    const Tensor added = to(Tensor::from<double>(shape, all.v), device);
    return boolean ? equal(added, 0.0) : to(added, dtype);
  }
};

// The weights of [.., queries, size] and [.., keys, size], of the same leading sizes; a scale of 0 is the
// usual one.
Values weights_of(const Values& q, const Values& k, bool causal, double scale = 0,
                  const Masking& masking = {}) {
  const int rank = q.shape.rank();
  const std::int64_t keys = k.shape[rank - 2], size = q.shape[rank - 1];
  Shape shape = q.shape;
  shape[rank - 1] = keys;
  const double by = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(size));
  const Values scores = build(shape, [&](const Shape& place) {
    double sum = 0;
    Shape at = place, other = place;
    other[rank - 2] = place[rank - 1];
    for (std::int64_t i = 0; i < size; ++i) {
      at[rank - 1] = other[rank - 1] = i;
      sum += q.v[static_cast<std::size_t>(position_of(q.shape, at))] *
             k.v[static_cast<std::size_t>(position_of(k.shape, other))];
    }
    return sum * by + masking.at(place[rank - 2], place[rank - 1]);
  });
  return build(shape, [&](const Shape& at) {
    const std::int64_t seen = causal ? std::min(keys, at[rank - 2] + 1) : keys, own = at[rank - 1];
    if (own >= seen) return 0.0;
    const double* const line = &scores.v[static_cast<std::size_t>(position_of(shape, at) - own)];
    double most = -kInf, sum = 0;
    for (std::int64_t j = 0; j < seen; ++j) most = std::max(most, line[j]);
    if (most == -kInf) return 0.0;  // it sees nothing
    for (std::int64_t j = 0; j < seen; ++j) sum += std::exp(line[j] - most);
    return std::exp(line[own] - most) / sum;
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
  const auto with = [&](const char* label, const Shape& q, const Shape& k, const Shape& v, bool causal,
                        double scale = 0, const Masking& masking = {}) {
    row.cases.push_back({label,
                         {q, k, v},
                         [=](In in) {
                           const AttentionOptions options{
                               .mask = masking.tensor(in[0].dtype(), in[0].device()),
                               .causal = causal,
                               .scale = scale == 0 ? std::nullopt : std::optional(scale)};
                           return scaled_dot_product_attention(in[0], in[1], in[2], options);
                         },
                         [=](const std::vector<Values>& in) {
                           return attended(weights_of(in[0], in[1], causal, scale, masking), in[2]);
                         }});
  };
  with("one of one", {1, 1}, {1, 1}, {1, 1}, false);
  with("queries and keys", {2, 3}, {3, 3}, {3, 1}, false);
  with("causal", {3, 2}, {3, 2}, {3, 2}, true);
  with("heads", {2, 2, 2, 3}, {2, 2, 4, 3}, {2, 2, 4, 2}, false);
  with("no examples", {0, 2, 3}, {0, 2, 3}, {0, 2, 3}, true);
  with("causal, more keys", {1, 2, 3, 2}, {1, 2, 5, 2}, {1, 2, 5, 3}, true);
  with("causal, more queries", {1, 5, 2}, {1, 3, 2}, {1, 3, 1}, true);
  with("many, causal", {3, 20, 16}, {3, 20, 16}, {3, 20, 24}, true);
  with("several blocks", {1, 2, 29, 19}, {1, 2, 45, 19}, {1, 2, 45, 37}, false);
  with("several blocks, causal", {1, 1, 29, 8}, {1, 1, 45, 8}, {1, 1, 45, 5}, true);
  with("a boolean mask", {2, 4, 3}, {2, 5, 3}, {2, 5, 2}, false, 0, {{4, 5}, true});
  with("an added mask", {2, 4, 3}, {2, 5, 3}, {2, 5, 2}, false, 0, {{4, 5}});
  with("a boolean mask of keys, causal", {2, 5, 3}, {2, 5, 3}, {2, 5, 2}, true, 0, {{1, 5}, true});
  with("a boolean mask, causal", {2, 5, 3}, {2, 5, 3}, {2, 5, 2}, true, 0, {{5, 5}, true});
  with("an added mask, causal", {2, 5, 3}, {2, 5, 3}, {2, 5, 2}, true, 0, {{5, 5}});
  with("a boolean mask, several blocks", {1, 2, 29, 8}, {1, 2, 45, 8}, {1, 2, 45, 5}, false, 0,
       {{29, 45}, true});
  with("wide heads", {1, 1, 6, 150}, {1, 1, 9, 150}, {1, 1, 9, 260}, false, 0.01);
  return row;
}

// Part `which` of three side by side in x [n, time, 3 size], as [n, heads, time, size of a head]; and back.
Values part_of_heads(const Values& x, std::int64_t which, std::int64_t heads) {
  const std::int64_t size = x.shape[2] / 3, each = size / heads;
  return build({x.shape[0], heads, x.shape[1], each}, [&](const Shape& at) {
    return x.at({at[0], at[2], which * size + at[1] * each + at[3]});
  });
}
Values joined_heads(const Values& x) {
  const std::int64_t each = x.shape[3];
  return build({x.shape[0], x.shape[2], x.shape[1] * each}, [&](const Shape& at) {
    return x.at({at[0], at[2] / each, at[1], at[2] % each});
  });
}

OpRow self_row() {
  OpRow row{.name = "self_attention", .inputs = {{}}, .cases = {}, .order = 2, .ulps = 64};
  const auto with = [&](const Shape& shape, std::int64_t heads, bool causal) {
    row.cases.push_back(
        {str(shape, ", ", heads, causal ? " heads, causal" : " heads"),
         {shape},
         [=](In in) { return self_attention(in[0], heads, {.causal = causal}); },
         [=](const std::vector<Values>& in) {
           const auto part = [&](std::int64_t i) { return part_of_heads(in[0], i, heads); };
           const Expected e = attended(weights_of(part(0), part(1), causal), part(2));
           return Expected{joined_heads(e.values), joined_heads({e.values.shape, e.magnitude}).v};
         }});
  };
  with({1, 1, 3}, 1, true);
  with({1, 3, 12}, 2, false);
  with({2, 3, 6}, 1, true);
  with({2, 0, 6}, 1, true);
  with({0, 2, 6}, 1, false);
  with({1, 45, 60}, 4, true);
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
  return {attention_row(), self_row(), weights_row(), rotary_row(), positions_row()};
}

}  // namespace veldt::test
