// Attention, its positions and its caches.
#include "veldt/ops/attention.h"

#include <cmath>
#include <limits>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/softmax.h"

namespace veldt::onnx {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// [n, time, heads size] -> [n, heads, time, size].
Tensor by_heads(const Call& c, const Tensor& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  if (x.rank() != 3) c.fail(str("an input is ", x.shape(), "; it takes three or four dimensions"));
  if (heads < 1 || x.size(2) % heads != 0) c.fail(str(heads, " heads do not divide the size ", x.size(2)));
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
Tensor side_by_side(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// Each head of keys and values for several heads of queries.
Tensor for_heads(const Call& c, const Tensor& x, std::int64_t heads) {
  if (x.size(1) == heads) return x;
  if (x.size(1) < 1 || heads % x.size(1) != 0)
    c.fail(str(heads, " heads of queries are no multiple of ", x.size(1), " of keys"));
  return repeat_interleave(x, heads / x.size(1), 1);
}

// Which keys each query may read, by causality, window and length, as a boolean that broadcasts to
// [n, heads, queries, keys]; undefined if it may read all.
Tensor allowed_keys(const Call& c, std::int64_t queries, std::int64_t keys, std::int64_t before) {
  const bool causal = c.integer("is_causal", 0) != 0;
  const std::int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  if (left < -1 || right < -1) c.fail("a window is smaller than -1");
  Tensor lengths;
  if (c.has(6)) lengths = reshape(to(c.tensor(6), DType::i64), {c.tensor(6).numel(), 1, 1, 1});
  const Tensor key = ramp(c, keys);
  Tensor allowed;
  const auto also = [&](const Tensor& more) {
    allowed = allowed.defined() ? logical_and(allowed, more) : more;
  };
  if (causal || left >= 0 || right >= 0) {
    Tensor query = reshape(ramp(c, queries), {queries, 1});
    // The last query is at the last key that counts.
    query = lengths.defined() ? add(query, sub(lengths, queries)) : add(query, before);
    const Tensor distance = sub(query, key);
    if (causal) also(greater_equal(distance, 0));
    if (left >= 0) also(less_equal(distance, left));
    if (right >= 0) also(greater_equal(distance, -right));
  }
  if (lengths.defined()) also(less(reshape(key, {1, 1, 1, keys}), lengths));
  return allowed;
}

// The mask, as wide as there are keys: what it lacks may not be read.
Tensor wide_mask(const Call& c, std::int64_t keys) {
  const Tensor& mask = c.tensor(3);
  const bool boolean = mask.dtype() == DType::boolean;
  if (mask.rank() < 1 || mask.size(-1) > keys)
    c.fail(str("its mask ", mask.shape(), " has more than ", keys, " keys"));
  if (mask.size(-1) == keys) return mask;
  const Tensor wide =
      pad(boolean ? to(mask, DType::u8) : mask, {0, keys - mask.size(-1)}, boolean ? 0.0 : kNothing);
  return boolean ? to(wide, DType::boolean) : wide;
}

// What the softmax is computed in.
DType softmax_dtype(const Call& c, DType otherwise) {
  if (!c.has("softmax_precision")) return otherwise;
  const DType dtype = held_as(element_of(c, c.integer("softmax_precision")));
  if (!is_float(dtype)) c.fail("its softmax_precision is no float type");
  return dtype;
}

Values attention(const Call& c) {
  const std::int64_t q_heads = c.integer("q_num_heads", 0), kv_heads = c.integer("kv_num_heads", 0);
  const bool flat = c.tensor(0).rank() == 3;
  const Tensor q = by_heads(c, c.tensor(0), q_heads);
  Tensor k = by_heads(c, c.tensor(1), kv_heads), v = by_heads(c, c.tensor(2), kv_heads);
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) c.fail("its inputs differ in dimensions");
  std::int64_t before = 0;
  if (c.has(4) != c.has(5)) c.fail("it has past keys without past values, or the other way round");
  if (c.has(4)) {
    before = c.tensor(4).size(2);
    k = cat({c.tensor(4), k}, 2);
    v = cat({c.tensor(5), v}, 2);
  }
  const Tensor present_key = k, present_value = v;
  const std::int64_t queries = q.size(2), keys = k.size(2);
  k = for_heads(c, k, q.size(1));
  v = for_heads(c, v, q.size(1));
  Tensor allowed = allowed_keys(c, queries, keys, before), added;
  if (c.has(3)) {
    const Tensor mask = wide_mask(c, keys);
    if (mask.dtype() != DType::boolean)
      added = mask;
    else
      allowed = allowed.defined() ? logical_and(allowed, mask) : mask;
  }
  double scale = c.real("scale", 1 / std::sqrt(static_cast<double>(q.size(3))));
  const double softcap = c.real("softcap", 0);
  Tensor y, scores;
  if (!c.wants(3) && softcap == 0 && !c.has("softmax_precision") && !added.defined() && !is_half(q.dtype())) {
    AttentionOptions options;
    options.mask = allowed;
    options.scale = scale;
    y = scaled_dot_product_attention(q, k, v, options);
  } else {
    const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
    Tensor bias = added;
    if (allowed.defined()) {
      const Tensor nothing = full({}, kNothing, q.dtype(), q.device());
      bias = where(allowed, bias.defined() ? bias : zeros({}, q.dtype(), q.device()), nothing);
    }
    const double root = std::sqrt(scale);
    Tensor s = matmul(mul(q, root), mul(transpose(k), root));
    if (mode == 0) scores = s;
    if (softcap > 0) s = mul(tanh(div(s, softcap)), softcap);
    if (mode == 1) scores = s;
    if (bias.defined()) s = add(s, to(bias, s.dtype()));
    if (mode == 2) scores = s;
    s = to(s, softmax_dtype(c, s.dtype()));
    Tensor p = softmax(s, -1);
    if (bias.defined()) {  // a query that may read nothing gets 0
      const Tensor none = equal(max(bias, {-1}, true), kNothing);
      p = where(none, zeros({}, p.dtype(), p.device()), p);
    }
    p = to(p, q.dtype());
    if (mode == 3) scores = p;
    y = matmul(p, v);
  }
  return {flat ? side_by_side(y) : y, present_key, present_value, scores.defined() ? Value(scores) : Value()};
}

// Attention whose scores and probabilities go through graphs (ai.onnx.preview).
Values flex_attention(const Call& c) {
  const Tensor& q = c.tensor(0);
  if (q.rank() != 4 || c.tensor(1).rank() != 4 || c.tensor(2).rank() != 4)
    c.fail("its inputs have not four dimensions");
  const Tensor k = for_heads(c, c.tensor(1), q.size(1)), v = for_heads(c, c.tensor(2), q.size(1));
  const DType dtype = softmax_dtype(c, is_half(q.dtype()) ? DType::f32 : q.dtype());
  const double root = std::sqrt(c.real("scale", 1 / std::sqrt(static_cast<double>(q.size(3)))));
  const auto through = [&](const char* graph, const Tensor& x) {
    if (!c.has(graph)) return x;
    const Values out = c.run(graph, {Value(x)});
    if (out.size() != 1) c.fail(str("its ", graph, " has not one result"));
    return to(out[0].tensor(), dtype);
  };
  const Tensor s = through("score_mod", to(matmul(mul(q, root), mul(transpose(k), root)), dtype));
  const Tensor p = through("prob_mod", softmax(s, -1));
  return {to(matmul(p, to(v, dtype)), c.tensor(2).dtype())};
}

// Pairs of features turned by angles that are given as cosines and sines (Su et al. 2021).
Values rotary(const Call& c) {
  const bool flat = c.tensor(0).rank() == 3;
  const Tensor x = by_heads(c, c.tensor(0), c.integer("num_heads", 0));  // [n, heads, time, size]
  const std::int64_t turned = c.integer("rotary_embedding_dim", 0);
  const std::int64_t size = turned == 0 ? x.size(3) : turned;
  if (size < 0 || size % 2 != 0 || size > x.size(3))
    c.fail(str(size, " features of ", x.size(3), " cannot be turned in pairs"));
  const auto angles = [&](std::size_t i) {
    Tensor list = c.tensor(i);
    if (c.has(3)) {
      const Tensor at = to(c.tensor(3), DType::i64);
      if (list.rank() != 2) c.fail("its cosines or sines are no matrix");
      Shape shape = at.shape();
      shape.push_back(list.size(1));
      list = reshape(index_select(list, 0, reshape(at, {at.numel()})), shape);
    }
    if (list.rank() != 3 || list.size(2) != size / 2)
      c.fail(str("its cosines or sines are ", list.shape(), ", not half of ", size, " for each step"));
    return unsqueeze(list, 1);
  };
  const Tensor cosine = angles(1), sine_part = angles(2);
  const bool interleaved = c.integer("interleaved", 0) != 0;
  const Tensor part = narrow(x, 3, 0, size);
  const Tensor a = interleaved ? slice(part, 3, 0, size, 2) : narrow(part, 3, 0, size / 2);
  const Tensor b = interleaved ? slice(part, 3, 1, size, 2) : narrow(part, 3, size / 2, size / 2);
  const Tensor first = sub(mul(cosine, a), mul(sine_part, b)),
               second = add(mul(sine_part, a), mul(cosine, b));
  Tensor y = interleaved ? reshape(stack({first, second}, 4), part.shape()) : cat({first, second}, 3);
  if (size < x.size(3)) y = cat({y, narrow(x, 3, size, x.size(3) - size)}, 3);
  return {flat ? side_by_side(y) : y};
}

// Writes new steps into a cache, from a place on that each example has for itself.
Values tensor_scatter(const Call& c) {
  const Tensor &cache = c.tensor(0), &update = c.tensor(1);
  const int axis = c.axis(c.integer("axis", -2), cache.rank());
  if (axis == 0 || update.rank() != cache.rank()) c.fail("its update does not fit its cache");
  for (int d = 0; d < cache.rank(); ++d)
    if (d == axis ? update.size(d) > cache.size(d) : update.size(d) != cache.size(d))
      c.fail(str("its update is ", update.shape(), ", its cache ", cache.shape()));
  Shape steps = Shape::filled(cache.rank(), 1), examples = steps;
  steps[axis] = update.size(axis);
  examples[0] = cache.size(0);
  Tensor place = reshape(ramp(c, update.size(axis)), steps);
  if (c.has(2)) place = add(place, reshape(to(c.tensor(2), DType::i64), examples));
  const std::string mode = c.text("mode", "linear");
  if (mode == "circular")
    place = remainder(place, cache.size(axis));
  else if (mode != "linear")
    c.fail("its mode is \"" + mode + "\", which ONNX does not have");
  return {{scatter(cache, axis, contiguous(expand(place, update.shape())), update), c.type(0)}};
}

// A state of outer products of keys and values, read by queries (Katharopoulos et al. 2020; with decay and
// correction: Yang et al. 2024).
Values linear_attention(const Call& c) {
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    c.fail("its update_rule is \"" + rule + "\", which ONNX does not have");
  if (c.has(4) != gated || c.has(5) != delta) c.fail("its decay or its beta does not fit its update_rule");
  const std::int64_t q_heads = c.integer("q_num_heads"), heads = c.integer("kv_num_heads");
  if (heads < 1 || q_heads < 1 || q_heads % heads != 0)
    c.fail(str(q_heads, " heads of queries are no multiple of ", heads, " of keys"));
  const auto wide = [](const Tensor& x) { return is_half(x.dtype()) ? to(x, DType::f32) : x; };
  const Tensor q = wide(by_heads(c, c.tensor(0), q_heads)), k = wide(by_heads(c, c.tensor(1), heads)),
               v = wide(by_heads(c, c.tensor(2), heads));
  const std::int64_t batch = q.size(0), time = q.size(2), keys = k.size(3), width = v.size(3);
  if (k.size(0) != batch || v.size(0) != batch || k.size(2) != time || v.size(2) != time || q.size(3) != keys)
    c.fail("its queries, keys and values do not fit each other");
  Tensor decay, beta;
  if (gated) decay = wide(by_heads(c, c.tensor(4), heads));  // [n, heads, time, 1 or size of a key]
  if (delta) beta = wide(by_heads(c, c.tensor(5), c.tensor(5).size(-1) == 1 ? 1 : heads));
  Tensor state = c.has(3) ? wide(c.tensor(3)) : zeros({batch, heads, keys, width}, q.dtype(), q.device());
  const double given = c.real("scale", 0);
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(keys)) : given;
  std::vector<Tensor> out;
  for (std::int64_t t = 0; t < time; ++t) {
    const auto at = [&](const Tensor& x) { return select(x, 2, t); };
    if (gated) state = mul(state, unsqueeze(exp(at(decay)), 3));
    const Tensor key = unsqueeze(at(k), 3);  // [n, heads, keys, 1]
    Tensor value = unsqueeze(at(v), 2);      // [n, heads, 1, width]
    if (delta) value = mul(unsqueeze(at(beta), 3), sub(value, matmul(transpose(key), state)));
    state = add(state, matmul(key, value));
    const Tensor read = matmul(unsqueeze(at(q), 2), for_heads(c, state, q_heads));
    out.push_back(mul(squeeze(read, 2), scale));
  }
  const Tensor y = out.empty() ? zeros({batch, q_heads, 0, width}, q.dtype(), q.device()) : stack(out, 2);
  return {to(side_by_side(y), c.tensor(0).dtype()), to(state, c.tensor(c.has(3) ? 3 : 0).dtype())};
}

}  // namespace

void add_attention(OperatorTable& t) {
  t.add("Attention", attention);
  t.add("FlexAttention", flex_attention, 0, "ai.onnx.preview");
  t.add("RotaryEmbedding", rotary);
  t.add("TensorScatter", tensor_scatter);
  t.add("LinearAttention", linear_attention);
}

}  // namespace veldt::onnx
