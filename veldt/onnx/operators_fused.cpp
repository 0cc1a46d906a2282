// Several operators as one: com.microsoft's, and newer ones of ONNX's own that are of this kind.
#include <cmath>
#include <limits>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/norm.h"

namespace veldt::onnx {

namespace {

Tensor with_bias(const Call& c, std::size_t i, const Tensor& x) { return c.has(i) ? add(x, c.tensor(i)) : x; }

// alpha A B, each transposed as asked, within its matrices or with its first batch dimension.
Values fused_matmul(const Call& c) {
  const auto factor = [&](std::size_t i, const char* within, const char* batch) {
    Tensor x = c.tensor(i);
    if (c.integer(batch, 0) != 0 && x.rank() > 2) x = movedim(x, 0, x.rank() - 2);
    return c.integer(within, 0) != 0 && x.rank() > 1 ? transpose(x) : x;
  };
  const Tensor y = matmul(factor(0, "transA", "transBatchA"), factor(1, "transB", "transBatchB"));
  const double alpha = c.real("alpha", 1);
  return {alpha == 1 ? y : mul(y, alpha)};
}

// The activation that a fused operator names.
Tensor fused_activation(const Call& c, const Tensor& x, const std::string& name) {
  const std::vector<double> params = c.reals("activation_params");
  const auto param = [&](std::size_t i, double otherwise) {
    return i < params.size() ? params[i] : otherwise;
  };
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Tanh") return tanh(x);
  if (name == "LeakyRelu") return leaky_relu(x, c.real("activation_alpha", param(0, 0.01)));
  if (name == "HardSigmoid") return clamp(affine(x, param(0, 0.2), param(1, 0.5)), 0.0, 1.0);
  if (name == "Clip") {
    const double low = param(0, -std::numeric_limits<double>::infinity()),
                 high = param(1, std::numeric_limits<double>::infinity());
    if (!(low <= high)) c.fail("the bounds of its Clip are the wrong way round");
    return clamp(x, low, high);
  }
  c.fail("its activation \"" + name + "\" is not supported");
}

Values fused_conv(const Call& c) {
  const Tensor y = convolution(c, c.tensor(0), c.tensor(1), c.has(2) ? c.tensor(2) : Tensor(), 0);
  return {fused_activation(c, with_bias(c, 3, y), c.text("activation"))};
}

Values fused_gemm(const Call& c) {
  Tensor a = c.tensor(0), b = c.tensor(1);
  if (a.rank() != 2 || b.rank() != 2) c.fail("its factors are no matrices");
  if (c.integer("transA", 0) != 0) a = transpose(a);
  if (c.integer("transB", 0) != 0) b = transpose(b);
  Tensor y = mul(matmul(a, b), c.real("alpha", 1));
  if (c.has(2)) y = add(y, mul(c.tensor(2), c.real("beta", 1)));
  return {fused_activation(c, y, c.text("activation"))};
}

Values gelu_with_bias(const Call& c) { return {gelu(with_bias(c, 1, c.tensor(0)))}; }
Values fast_gelu(const Call& c) { return {gelu_tanh(with_bias(c, 1, c.tensor(0)))}; }
Values quick_gelu(const Call& c) {
  return {mul(c.tensor(0), sigmoid(mul(c.tensor(0), c.real("alpha", 1.702))))};
}

// A norm of the sum of input, skip and bias, and that sum.
template <bool centred> Values skip_norm(const Call& c) {
  const Tensor total = with_bias(c, centred ? 4 : 3, add(c.tensor(0), c.tensor(1)));
  const Shape last{total.size(-1)};
  if (centred) {
    const double eps = c.real("epsilon", 1e-12);
    return {layer_norm(total, last, c.tensor(2), c.has(3) ? c.tensor(3) : Tensor(), eps), Value(), Value(),
            total};
  }
  return {rms_norm(total, last, c.tensor(2), c.real("epsilon", 1e-5)), Value(), Value(), total};
}

// The sum of embeddings of words, positions and segments, normalised.
Values embed_norm(const Call& c) {
  const Tensor ids = to(c.tensor(0), DType::i64);
  if (ids.rank() != 2) c.fail(str("its ids are ", ids.shape()));
  const std::int64_t size = c.tensor(2).size(-1);
  const auto rows = [&](std::size_t table, const Tensor& at) {
    Shape shape = at.shape();
    shape.push_back(size);
    return reshape(index_select(c.tensor(table), 0, reshape(at, {at.numel()})), shape);
  };
  Tensor total = add(rows(2, ids), rows(3, c.has(8) ? to(c.tensor(8), DType::i64) : ramp(c, ids.size(1))));
  if (c.has(1) && c.has(4)) total = add(total, rows(4, to(c.tensor(1), DType::i64)));
  const Tensor y = layer_norm(total, {size}, c.tensor(5), c.tensor(6), c.real("epsilon", 1e-12));
  const Tensor lengths =
      c.has(7) ? to(sum(c.tensor(7), {1}), DType::i32) : zeros({ids.size(0)}, DType::i32, c.device());
  return {y, lengths, total};
}

// [n, time, heads size] -> [n, heads, time, size], and back.
Tensor in_heads(const Call& c, const Tensor& x, std::int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.size(2) % heads != 0)
    c.fail(str("an input is ", x.shape(), " for ", heads, " heads"));
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
Tensor from_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// Which keys count: a list of lengths [n], or 1 and 0 for each key [n, keys], or for each pair [n, queries,
// keys].
Tensor key_mask(const Call& c, std::size_t i, std::int64_t keys, std::int64_t batch) {
  if (!c.has(i)) return {};
  const Tensor& mask = c.tensor(i);
  if (mask.rank() == 1 && mask.size(0) == batch)
    return less(reshape(ramp(c, keys), {1, 1, 1, keys}), reshape(to(mask, DType::i64), {batch, 1, 1, 1}));
  if (mask.rank() == 2 && mask.size(1) == keys)
    return reshape(not_equal(mask, 0), {mask.size(0), 1, 1, keys});
  if (mask.rank() == 3 && mask.size(2) == keys) return unsqueeze(not_equal(mask, 0), 1);
  c.fail(str("its mask is ", mask.shape(), " for ", keys, " keys"));
}

// Scores with a bias, or a mask, or both.
Tensor attended(const Call& c, const Tensor& q, const Tensor& k, const Tensor& v, Tensor mask,
                const Tensor& bias, bool causal) {
  AttentionOptions options;
  if (c.has("scale") && c.real("scale", 0) != 0) options.scale = c.real("scale", 0);
  const std::int64_t queries = q.size(2), keys = k.size(2);
  if (causal) {
    const Tensor seen = tril(ones({queries, keys}, DType::i32, c.device()), keys - queries);
    mask = mask.defined() ? logical_and(mask, seen) : to(seen, DType::boolean);
  }
  options.mask = mask;
  if (bias.defined())
    options.mask =
        mask.defined()
            ? where(mask, bias,
                    full({}, -std::numeric_limits<double>::infinity(), bias.dtype(), bias.device()))
            : bias;
  return from_heads(scaled_dot_product_attention(q, k, v, options));
}

// com.microsoft's Attention: queries, keys and values come from one product with x.
Values packed_attention(const Call& c) {
  const std::int64_t heads = c.integer("num_heads");
  const Tensor all = with_bias(c, 2, matmul(c.tensor(0), c.tensor(1)));
  if (c.has(4) || c.integer("do_rotary", 0) != 0) c.fail("past keys and rotary positions are not supported");
  const std::vector<std::int64_t> sizes =
      c.integers("qkv_hidden_sizes", std::vector<std::int64_t>(3, all.size(-1) / 3));
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != all.size(-1)) c.fail("its sizes do not add up");
  const auto part = [&](std::int64_t from, std::int64_t size) {
    return in_heads(c, narrow(all, -1, from, size), heads);
  };
  const Tensor k = part(sizes[0], sizes[1]);
  const Tensor mask = key_mask(c, 3, k.size(2), all.size(0));
  return {attended(c, part(0, sizes[0]), k, part(sizes[0] + sizes[1], sizes[2]), mask,
                   c.has(5) ? c.tensor(5) : Tensor(), c.integer("unidirectional", 0) != 0)};
}

// Queries, keys and values [n, time, size]; keys and values may be in heads already, and follow past ones.
Values multi_head_attention(const Call& c) {
  const std::int64_t heads = c.integer("num_heads");
  if (!c.has(1) || !c.has(2)) c.fail("packed keys and values are not supported");
  std::int64_t before = 0;
  const auto input = [&](std::size_t i) {
    Tensor x = c.tensor(i);
    const std::int64_t size = x.rank() == 3 ? x.size(2) : 0;
    if (c.has(3) && size > 0) x = add(x, narrow(c.tensor(3), 0, before, size));
    before += size;
    return x.rank() == 4 ? x : in_heads(c, x, heads);
  };
  const Tensor q = input(0);
  Tensor k = input(1), v = input(2);
  if (c.has(6) && c.has(7)) {
    k = cat({c.tensor(6), k}, 2);
    v = cat({c.tensor(7), v}, 2);
  }
  const Tensor mask = key_mask(c, 4, k.size(2), q.size(0));
  return {attended(c, q, k, v, mask, c.has(5) ? c.tensor(5) : Tensor(), c.integer("unidirectional", 0) != 0),
          k, v};
}

// x sigmoid(alpha x) gate (Shazeer 2020).
Values swiglu(const Call& c) {
  const Tensor &x = c.tensor(0), &gate = c.tensor(1);
  if (!(x.shape() == gate.shape())) c.fail(str("its inputs are ", x.shape(), " and ", gate.shape()));
  return {mul(mul(x, sigmoid(mul(x, c.real("alpha", 1)))), gate)};
}

// Each channel with a filter of its own over its past, which comes from the call before.
Values causal_conv(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  if (x.rank() != 3 || w.rank() != 3 || w.size(0) != x.size(1) || w.size(1) != 1 || w.size(2) < 1)
    c.fail(str("its input is ", x.shape(), ", its weight ", w.shape()));
  const std::int64_t kept = w.size(2) - 1;
  const Tensor past = c.has(3) ? c.tensor(3) : zeros({x.size(0), x.size(1), kept}, x.dtype(), x.device());
  if (!(past.shape() == Shape{x.size(0), x.size(1), kept})) c.fail(str("its past is ", past.shape()));
  const Tensor all = cat({past, x}, 2);
  ConvOptions options;
  options.groups = x.size(1);
  Tensor y = conv1d(all, w, c.has(2) ? c.tensor(2) : Tensor(), options);
  const std::string activation = c.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = in_f32(y, [](const Tensor& t) { return mul(t, sigmoid(t)); });
  else if (activation != "none")
    c.fail("its activation is \"" + activation + "\", which ONNX does not have");
  return {y, narrow(all, 2, all.size(2) - kept, kept)};
}

}  // namespace

void add_fused(OperatorTable& t) {
  t.add("SwiGLU", swiglu, 3);
  t.add("CausalConvWithState", causal_conv, 6);
  constexpr std::string_view kMicrosoft = "com.microsoft";
  t.add("FusedMatMul", fused_matmul, 3, kMicrosoft);
  t.add("FusedConv", fused_conv, 15, kMicrosoft);
  t.add("FusedGemm", fused_gemm, 7, kMicrosoft);
  t.add("Gelu", gelu_with_bias, 1, kMicrosoft);
  t.add("BiasGelu", gelu_with_bias, 3, kMicrosoft);
  t.add("FastGelu", fast_gelu, 3, kMicrosoft);
  t.add("QuickGelu", quick_gelu, 1, kMicrosoft);
  t.add("SkipLayerNormalization", skip_norm<true>, 31, kMicrosoft);
  t.add("SkipSimplifiedLayerNormalization", skip_norm<false>, 15, kMicrosoft);
  t.add("EmbedLayerNormalization", embed_norm, 4 + 8 + 16 + 32 + 64, kMicrosoft);
  t.add("Attention", packed_attention, 6, kMicrosoft);
  t.add("MultiHeadAttention", multi_head_attention, 8, kMicrosoft);
}

}  // namespace veldt::onnx
