// Mixes a batch's pictures in pairs: blended (mixup) or pasted (cutmix), by shares from a beta distribution.
#include "veldt/data/mixing.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/index.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using Index = std::int64_t;

// A draw of Gamma(shape) of deviation 1 (Marsaglia & Tsang 2000).
double gamma(Rng& rng, double shape) {
  if (shape < 1) {
    const double u = 1 - static_cast<double>(rng.next_uniform());
    return gamma(rng, shape + 1) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double u1 = 1 - static_cast<double>(rng.next_uniform()),
                 u2 = static_cast<double>(rng.next_uniform());
    const double x = std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2),
                 v = std::pow(1 + c * x, 3);
    const double u = 1 - static_cast<double>(rng.next_uniform());
    if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double beta(Rng& rng, double alpha) {
  const double a = gamma(rng, alpha), b = gamma(rng, alpha);
  return a + b > 0 ? a / (a + b) : 0.5;
}

// The input of mixing: each example has a partner by a random permutation.
struct Mixing {
  Batch batch;
  Tensor order;  // i64 [n]
  Tensor targets;
};

Mixing begin_mixing(std::vector<Example> examples, Rng& rng, Index classes) {
  Mixing m{stacked(std::move(examples), rng), {}, {}};
  if (m.batch.size() != 2 || m.batch[1].rank() != 1)
    throw ShapeError("mixup and cutmix need examples of a picture and a label",
                     "a label is a whole number, of rank 0",
                     "collate other examples by a function of your own");
  m.order = randperm(m.batch[0].size(0), rng);
  m.targets = to(one_hot(to(m.batch[1], DType::i64), classes), DType::f32);
  return m;
}

Batch end_mixing(const Mixing& m, Tensor inputs, double kept) {
  return {std::move(inputs), m.targets * kept + index_select(m.targets, 0, m.order) * (1 - kept)};
}

void check_mixing(double alpha, Index classes) {
  // Below, both draws of a share are often too small to differ from 0.
  if (!(alpha >= 0.05) || !std::isfinite(alpha) || classes < 1)
    throw ConfigError(str("cannot mix with an alpha of ", alpha, " and ", classes, " classes"),
                      "alpha is 0.05 or more, and there is a class", "an alpha of 0.2 or 1 is usual");
}

}  // namespace

Collate mixup(double alpha, Index classes) {
  check_mixing(alpha, classes);
  return [=](std::vector<Example> examples, Rng& rng) {
    const Mixing m = begin_mixing(std::move(examples), rng, classes);
    const double kept = beta(rng, alpha);
    return end_mixing(m, m.batch[0] * kept + index_select(m.batch[0], 0, m.order) * (1 - kept), kept);
  };
}

Collate cutmix(double alpha, Index classes) {
  check_mixing(alpha, classes);
  return [=](std::vector<Example> examples, Rng& rng) {
    const Mixing m = begin_mixing(std::move(examples), rng, classes);
    const Index height = m.batch[0].size(2), width = m.batch[0].size(3);
    const double share = std::sqrt(1 - beta(rng, alpha));
    // A box around a random point, cut off at the border.
    const auto side = [&](Index length) {
      const Index middle = static_cast<Index>(rng.next_below(static_cast<std::uint64_t>(length)));
      const Index half = std::llround(share * static_cast<double>(length) / 2);
      return std::pair(std::max<Index>(0, middle - half), std::min(length, middle + half));
    };
    const auto [top, bottom] = side(height);
    const auto [left, right] = side(width);
    const Tensor inputs = m.batch[0] + 0.0;
    Tensor part = slice(slice(inputs, 2, top, bottom), 3, left, right);
    part.assign(slice(slice(index_select(m.batch[0], 0, m.order), 2, top, bottom), 3, left, right));
    const double kept =
        1 - static_cast<double>((bottom - top) * (right - left)) / static_cast<double>(height * width);
    return end_mixing(m, inputs, kept);
  };
}

}  // namespace veldt::data
