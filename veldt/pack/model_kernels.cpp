// The rounding of latents, and the models of their probabilities with their gradients: two blocks of
// positions at a time, so that all that a position needs stays in registers and the first cache. Loops over
// arrays of vectors are told to unroll: else g++ keeps the arrays in memory, and packing takes 1.7 times as
// long.
#include <cmath>
#include <cstring>

#include "veldt/pack/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/pack/model_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/pack/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::pack::HWY_NAMESPACE {
namespace {

using codec::ContextModel;
using codec::kContexts;

constexpr int kBlocks = 2;
constexpr float kLog2e = 1.44269504f;
// No latent counts for more bits than it would cost to say it in full, and beyond it there is no gradient.
constexpr float kLeastProbability = 1.0f / 65536;

// Uniform bits from a state; Marsaglia's xorshift.
HWY_INLINE hn::Vec<U> next_bits(hn::Vec<U> s) {
  s = hn::Xor(s, hn::ShiftLeft<13>(s));
  s = hn::Xor(s, hn::ShiftRight<17>(s));
  return hn::Xor(s, hn::ShiftLeft<5>(s));
}

// The sum of four uniform numbers, with mean 0 and variance 1.
HWY_INLINE V nearly_normal(hn::Vec<U> s) {
  const hn::Vec<U> t = hn::Mul(s, hn::Set(U(), 0x9E3779B1u)), low = hn::Set(U(), 0xffff);
  const auto number = [](hn::Vec<U> v) { return hn::ConvertTo(D(), hn::BitCast(I(), v)); };
  const V sum = hn::Add(hn::Add(number(hn::And(s, low)), number(hn::ShiftRight<16>(s))),
                        hn::Add(number(hn::ShiftRight<16>(t)), number(hn::And(hn::ShiftRight<1>(t), low))));
  return hn::Mul(hn::Sub(sum, set(131070)), set(1 / (65535 * 0.57735027f)));
}

void round_row(const float* latents, float* rounded, float* slopes, std::int64_t count, const Rounding& how,
               std::uint32_t row) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const float inverse = 1 / how.temperature, scale = 0.5f / std::tanh(0.5f * inverse);
  for (std::int64_t x = 0; x < count; x += lanes) {
    const V y = load(latents + x);
    if (!how.soft) {
      store(hn::Round(y), rounded + x);
      store(set(0), slopes + x);
      continue;
    }
    // The state is a hash of the place, so that the noise does not depend on the lanes of a vector.
    hn::Vec<U> s = hn::Add(hn::Iota(U(), static_cast<std::uint32_t>(x)),
                           hn::Set(U(), how.seed * 2654435761u + row * 40503u));
    s = hn::Xor(s, hn::ShiftRight<16>(s));
    s = hn::Mul(s, hn::Set(U(), 0x2c1b3c6du));
    s = hn::Xor(s, hn::ShiftRight<12>(s));
    s = hn::Mul(s, hn::Set(U(), 0x297a2d39u));
    s = next_bits(hn::Xor(s, hn::ShiftRight<15>(s)));
    const auto soft = [&](V v, V& slope) {
      const V below = hn::Floor(v);
      const V t = tanh(hn::Mul(hn::Sub(hn::Sub(v, below), set(0.5f)), set(inverse)));
      slope = hn::Mul(hn::NegMulAdd(t, t, set(1)), set(inverse * scale));
      return hn::MulAdd(t, set(scale), hn::Add(below, set(0.5f)));
    };
    V first, second;
    const V noisy = hn::MulAdd(nearly_normal(s), set(how.noise), soft(y, first));
    store(soft(noisy, second), rounded + x);
    store(hn::Mul(first, second), slopes + x);
  }
}

// All numbers of a model, one a lane.
struct Sums {
  float at[sizeof(ContextModel<float>) / sizeof(float)][Plane::kBlock];
};

struct Blocks {
  V of[kContexts][kBlocks];
};

// Only addressed, never a class member: SVE-like vectors would not allow Blocks, and Veldt is not built for
// them.
HWY_INLINE void layer(const Blocks& x, const float (&weights)[kContexts][kContexts],
                      const float (&bias)[kContexts], Blocks& out) {
  constexpr int kTogether = 4;
  for (int o = 0; o < kContexts; o += kTogether) {
    V sums[kTogether][kBlocks];
#pragma GCC unroll 4
    for (int k = 0; k < kTogether; ++k)
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) sums[k][b] = hn::Add(x.of[o + k][b], set(bias[o + k]));
    for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 4
      for (int k = 0; k < kTogether; ++k) {
        const V w = set(weights[o + k][i]);
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) sums[k][b] = hn::MulAdd(x.of[i][b], w, sums[k][b]);
      }
#pragma GCC unroll 4
    for (int k = 0; k < kTogether; ++k)
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) out.of[o + k][b] = hn::Max(sums[k][b], set(0));
  }
}

// The gradients of a layer before its rectifier, d_out; those of its inputs are added to d_x, and those of
// its numbers to d_weights and d_bias, if there are any.
HWY_INLINE void layer_gradient(const Blocks& d_out, const Blocks& x,
                               const float (&weights)[kContexts][kContexts],
                               float (*d_weights)[Plane::kBlock], float (*d_bias)[Plane::kBlock],
                               Blocks& d_x) {
  constexpr int kTogether = 4;
  for (int o = 0; d_weights != nullptr && o < kContexts; o += kTogether) {
#pragma GCC unroll 4
    for (int k = 0; k < kTogether; ++k) {
      V s = load(d_bias[o + k]);
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) s = hn::Add(s, d_out.of[o + k][b]);
      store(s, d_bias[o + k]);
    }
    for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 4
      for (int k = 0; k < kTogether; ++k) {
        float* sum = d_weights[(o + k) * kContexts + i];
        V s = load(sum);
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) s = hn::MulAdd(d_out.of[o + k][b], x.of[i][b], s);
        store(s, sum);
      }
  }
  for (int i = 0; i < kContexts; i += kTogether) {
    V sums[kTogether][kBlocks];
#pragma GCC unroll 4
    for (int k = 0; k < kTogether; ++k)
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) sums[k][b] = hn::Add(d_x.of[i + k][b], d_out.of[i + k][b]);
    for (int o = 0; o < kContexts; ++o)
#pragma GCC unroll 4
      for (int k = 0; k < kTogether; ++k) {
        const V w = set(weights[o][i + k]);
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) sums[k][b] = hn::MulAdd(d_out.of[o][b], w, sums[k][b]);
      }
#pragma GCC unroll 4
    for (int k = 0; k < kTogether; ++k)
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) d_x.of[i + k][b] = sums[k][b];
  }
}

// Of the numbers of the two outputs; in their layout, d_last and d_skip [2][kContexts].
HWY_INLINE void output_gradient(const Blocks& in, const Blocks& g, const V (&d_mean)[kBlocks],
                                const V (&d_width)[kBlocks], float (*d_last)[Plane::kBlock],
                                float (*d_skip)[Plane::kBlock], float (*d_bias)[Plane::kBlock]) {
#pragma GCC unroll 2
  for (int b = 0; b < kBlocks; ++b) {
    store(hn::Add(load(d_bias[0]), d_mean[b]), d_bias[0]);
    store(hn::Add(load(d_bias[1]), d_width[b]), d_bias[1]);
  }
  for (int i = 0; i < kContexts; ++i) {
    V l0 = load(d_last[i]), l1 = load(d_last[kContexts + i]), s0 = load(d_skip[i]),
      s1 = load(d_skip[kContexts + i]);
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) {
      l0 = hn::MulAdd(d_mean[b], g.of[i][b], l0);
      l1 = hn::MulAdd(d_width[b], g.of[i][b], l1);
      s0 = hn::MulAdd(d_mean[b], in.of[i][b], s0);
      s1 = hn::MulAdd(d_width[b], in.of[i][b], s1);
    }
    store(l0, d_last[i]);
    store(l1, d_last[kContexts + i]);
    store(s0, d_skip[i]);
    store(s1, d_skip[kContexts + i]);
  }
}

// The bits of rounded latents, and their gradients times `scale` in d_value, d_mean and d_log_width.
HWY_INLINE V bits_of(V value, V mean, V out, V inside, float scale, V& d_value, V& d_log_width) {
  const V wanted = hn::Sub(out, set(4));
  constexpr float kWidest = 4.158883f;  // log 64: the ends of laplace.h
  const V log_width = hn::Min(hn::Max(wanted, set(-kWidest)), set(kWidest));
  const V inverse = exp(hn::Neg(log_width));
  const V away = hn::Sub(value, mean);
  const V upper = hn::Mul(hn::Add(away, set(0.5f)), inverse),
          lower = hn::Mul(hn::Sub(away, set(0.5f)), inverse);
  const V e1 = exp(hn::Neg(hn::Abs(upper))), e0 = exp(hn::Neg(hn::Abs(lower)));
  // Both borders on one side of the mean: a difference of tails, not of numbers near 1.
  const V tails = hn::Mul(set(0.5f), hn::Abs(hn::Sub(e1, e0)));
  const V around = hn::NegMulAdd(set(0.5f), hn::Add(e1, e0), set(1));
  const V p = hn::IfThenElse(hn::And(hn::Gt(upper, set(0)), hn::Lt(lower, set(0))), around, tails);
  const V clipped = hn::Max(p, set(kLeastProbability));
  const V factor = hn::IfThenElseZero(hn::Gt(p, set(kLeastProbability)),
                                      hn::Mul(inside, hn::Div(set(-kLog2e * scale), clipped)));
  d_value = hn::Mul(hn::Mul(hn::Mul(set(0.5f), hn::Sub(e1, e0)), inverse), factor);
  const V d = hn::Mul(hn::Mul(set(0.5f), hn::Sub(hn::Mul(lower, e0), hn::Mul(upper, e1))), factor);
  d_log_width = hn::IfThenElseZero(hn::Eq(wanted, log_width), d);
  return hn::Mul(inside, hn::Neg(log2(clipped)));
}

// Where the contexts of a row lie, and their gradients.
struct Row {
  const float* values[kContexts];
  float* gradients[kContexts];
};

constexpr int kOwn = static_cast<int>(codec::kOwnContext.size()),
              kParents = static_cast<int>(codec::kParentContext.size());

Row row_of(const LevelRows& rows, std::int64_t y, std::int64_t y0, std::int64_t y1, BandGradients* beside) {
  Row row{};
  for (int i = 0; i < kOwn; ++i) {
    const codec::Offset o = codec::kOwnContext[static_cast<std::size_t>(i)];
    row.values[i] = rows.own->row(y + o.y) + o.x;
    if (beside != nullptr)
      row.gradients[i] = (y + o.y >= y0 ? rows.d_own->row(y + o.y) : beside->own.row(y + o.y - y0 + 3)) + o.x;
  }
  for (int i = 0; i < kParents; ++i) {
    const codec::Offset o = codec::kParentContext[static_cast<std::size_t>(i)];
    row.values[kOwn + i] = rows.parent->row(y + o.y) + o.x;
    if (beside != nullptr)
      row.gradients[kOwn + i] = (y + o.y < y0    ? beside->above.row(0)
                                 : y + o.y >= y1 ? beside->below.row(0)
                                                 : rows.d_parent->row(y + o.y)) +
                                o.x;
  }
  row.values[kContexts - 1] = rows.grandparent->row(y);
  if (beside != nullptr) row.gradients[kContexts - 1] = rows.d_grandparent->row(y);
  return row;
}

double rows_of_model(const LevelRows& rows, std::int64_t y0, std::int64_t y1, const ContextModel<float>& m,
                     float scale, ContextModel<float>* gradient, BandGradients* beside) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  std::vector<Sums> kept(gradient != nullptr ? 1 : 0);
  if (gradient != nullptr) std::memset(kept.data(), 0, sizeof(Sums));
  // A member's first number among all of the model.
  const auto at = [&](const float* member) {
    return gradient != nullptr ? kept[0].at + (member - reinterpret_cast<const float*>(&m)) : nullptr;
  };
  const std::int64_t width = rows.own->width();
  V bits = set(0);
  double total = 0;
  for (std::int64_t y = y0; y < y1; ++y) {
    const Row row = row_of(rows, y, y0, y1, beside);
    const float* values = rows.own->row(y);
    for (std::int64_t x = 0; x < width; x += kBlocks * lanes) {
      Blocks in, h, g;
      for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) in.of[i][b] = load(row.values[i] + x + b * lanes);
      layer(in, m.first, m.first_bias, h);
      layer(h, m.second, m.second_bias, g);
      V d_mean[kBlocks], d_width[kBlocks];
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) {
        V out[2] = {set(m.last_bias[0]), set(m.last_bias[1])}, skipped[2] = {set(0), set(0)};
        for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 2
          for (int o = 0; o < 2; ++o) {
            out[o] = hn::MulAdd(g.of[i][b], set(m.last[o][i]), out[o]);
            skipped[o] = hn::MulAdd(in.of[i][b], set(m.skip[o][i]), skipped[o]);
          }
        out[0] = hn::Add(out[0], skipped[0]);
        out[1] = hn::Add(out[1], skipped[1]);
        const std::int64_t left = width - x - b * lanes;
        const V inside =
            hn::IfThenElseZero(hn::FirstN(D(), static_cast<std::size_t>(left > 0 ? left : 0)), set(1));
        V d_value;
        bits = hn::Add(
            bits, bits_of(load(values + x + b * lanes), out[0], out[1], inside, scale, d_value, d_width[b]));
        d_mean[b] = hn::Neg(d_value);
        if (beside != nullptr) {
          float* own = rows.d_own->row(y) + x + b * lanes;
          store(hn::Add(load(own), d_value), own);
        }
      }
      if (beside == nullptr) continue;
      Blocks d_in, d_h, d_g;
      if (gradient != nullptr)
        output_gradient(in, g, d_mean, d_width, at(m.last[0]), at(m.skip[0]), at(m.last_bias));
      for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) {
          const V d = hn::MulAdd(d_mean[b], set(m.last[0][i]), hn::Mul(d_width[b], set(m.last[1][i])));
          d_g.of[i][b] = hn::IfThenElseZero(hn::Gt(g.of[i][b], set(0)), d);
          d_in.of[i][b] = hn::MulAdd(d_mean[b], set(m.skip[0][i]), hn::Mul(d_width[b], set(m.skip[1][i])));
          d_h.of[i][b] = set(0);
        }
      layer_gradient(d_g, h, m.second, at(m.second[0]), at(m.second_bias), d_h);
      for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b)
          d_h.of[i][b] = hn::IfThenElseZero(hn::Gt(h.of[i][b], set(0)), d_h.of[i][b]);
      layer_gradient(d_h, in, m.first, at(m.first[0]), at(m.first_bias), d_in);
      for (int i = 0; i < kContexts; ++i)
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) {
          float* to = row.gradients[i] + x + b * lanes;
          store(hn::Add(load(to), d_in.of[i][b]), to);
        }
    }
    total += static_cast<double>(total_of(bits));
    bits = set(0);
  }
  if (gradient != nullptr) {
    auto* to = reinterpret_cast<float*>(gradient);
    for (std::size_t i = 0; i < sizeof(ContextModel<float>) / sizeof(float); ++i)
      to[i] += total_of(load(kept[0].at[i]));
  }
  return total;
}

void step_of_adam(float* latents, float* mean, float* square, const float* d_rounded, const float* slopes,
                  std::int64_t count, const AdamStep& s) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t x = 0; x < count; x += lanes) {
    const V g = hn::Mul(load(d_rounded + x), load(slopes + x));
    const V m = hn::MulAdd(load(mean + x), set(s.beta1), hn::Mul(g, set(1 - s.beta1)));
    const V v = hn::MulAdd(load(square + x), set(s.beta2), hn::Mul(hn::Mul(g, g), set(1 - s.beta2)));
    store(m, mean + x);
    store(v, square + x);
    const V root = hn::Add(hn::Sqrt(hn::Mul(v, set(s.correction2))), set(s.epsilon));
    store(hn::NegMulAdd(set(s.rate * s.correction1), hn::Div(m, root), load(latents + x)), latents + x);
  }
}

}  // namespace
}  // namespace veldt::pack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::pack {
namespace {
VELDT_EXPORT(round_row);
VELDT_EXPORT(rows_of_model);
VELDT_EXPORT(step_of_adam);
}  // namespace

void round_latents(const float* latents, float* rounded, float* slopes, std::int64_t count,
                   const Rounding& how, std::uint32_t row) {
  VELDT_DISPATCH(round_row)(latents, rounded, slopes, count, how, row);
}

double model_rows(const LevelRows& rows, std::int64_t y0, std::int64_t y1,
                  const codec::ContextModel<float>& model, float scale, codec::ContextModel<float>* gradient,
                  BandGradients* beside) {
  return VELDT_DISPATCH(rows_of_model)(rows, y0, y1, model, scale, gradient, beside);
}

void adam_row(float* latents, float* mean, float* square, const float* d_rounded, const float* slopes,
              std::int64_t count, const AdamStep& step) {
  VELDT_DISPATCH(step_of_adam)(latents, mean, square, d_rounded, slopes, count, step);
}

}  // namespace veldt::pack
#endif
