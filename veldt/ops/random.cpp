// Fills tensors from a stream of random numbers, and draws indices and orders.
#include "veldt/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/kernels/draws.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/sort.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"
#include "veldt/tensor/recompute.h"

namespace veldt {
namespace {

Tensor draw(RandomKind kind, const Shape& shape, Rng& rng, DType dtype, Device device) {
  const Tensor out = empty(shape, dtype, device);
  // A replay of a Plan continues from the Rng's current position.
  host_work(
      "random", {out.view()},
      [kind, &rng, device, draw = RandomDraw()](std::span<const View> views) {
        const auto count = static_cast<std::uint64_t>(numel(views[0].shape));
        const Rng at = draw.take(rng, count * scalar::draws_of(kind, views[0].dtype));
        backend(device).random(kind, at.seed(), at.stream(), at.position(), views[0]);
      },
      CallKind::numbers);
  return out;
}

// Half floats are drawn as f32 and rounded.
Tensor draw_float(RandomKind kind, const Shape& shape, Rng& rng, DType dtype, Device device) {
  if (!is_float(dtype))
    throw DeviceError(str("cannot draw random numbers of ", dtype), "they are made as floats",
                      "draw f32 and convert it with to(), or use randint");
  return draw(kind, shape, rng, is_half(dtype) ? DType::f32 : dtype, device);
}

// 32 random bits as an i64.
Tensor words(const Shape& shape, Rng& rng, Device device) {
  return draw(RandomKind::word, shape, rng, DType::i64, device);
}

// The largest number of `dtype` below `high`.
double below(double high, DType dtype) {
  if (dtype == DType::f64) return std::nextafter(high, -INFINITY);
  const auto near = static_cast<float>(high);
  return static_cast<double>(static_cast<double>(near) < high ? near : std::nextafter(near, -INFINITY));
}

// The smallest sum of weights for which a draw has full precision.
constexpr double kLeastTotal = std::numeric_limits<double>::min();

[[noreturn]] void refuse_weights(std::span<const double> weights, double total, std::int64_t row) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] >= 0 && weights[i] < INFINITY))
      throw Error(str("multinomial cannot draw by the weight ", weights[i], " of class ", i, " of row ", row),
                  "a weight is a finite number, 0 or more",
                  "check what the weights were computed from, such as logits that overflowed");
  if (total == 0)
    throw Error(str("multinomial cannot draw from row ", row, ": all ", weights.size(), " weights are 0"),
                "some class must be possible", "give at least one class a weight above 0");
  throw Error(str("multinomial cannot draw from row ", row, ": its weights sum to ", total),
              "the sum must be a normal f64, from 2.3e-308 to 1.7e308",
              "scale the weights, for example by softmax");
}

// each [rows, n], least and total [rows, 1], all f64.
void check_weights(const Tensor& each, const Tensor& least, const Tensor& total) {
  host_work("check of weights", {each.view(), least.view(), total.view()},
            [device = each.device()](std::span<const View> views) {
              const auto read = [&](const View& v, std::int64_t first, std::int64_t count) {
                std::vector<double> numbers(static_cast<std::size_t>(count));
                if (count > 0)
                  backend(device).download(numbers.data(), v.as<double>() + first,
                                           numbers.size() * sizeof(double));
                return numbers;
              };
              const std::int64_t rows = views[0].shape[0], n = views[0].shape[1];
              const std::vector<double> lows = read(views[1], 0, rows), sums = read(views[2], 0, rows);
              for (std::size_t r = 0; r < sums.size(); ++r) {
                const auto row = static_cast<std::int64_t>(r);
                if (!(lows[r] >= 0 && sums[r] >= kLeastTotal && sums[r] < INFINITY))
                  refuse_weights(read(views[0], row * n, n), sums[r], row);
              }
            });
}

}  // namespace

Rng& default_rng() {
  static Rng rng(0);
  return rng;
}

void seed(std::uint64_t value) { default_rng() = Rng(value); }

Tensor rand(const Shape& shape, DType dtype, Device device) {
  return rand(shape, default_rng(), 0, 1, dtype, device);
}

Tensor randn(const Shape& shape, DType dtype, Device device) {
  return randn(shape, default_rng(), 0, 1, dtype, device);
}

Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype, Device device) {
  return randint(shape, default_rng(), low, high, dtype, device);
}

Tensor randperm(std::int64_t n, Device device) { return randperm(n, default_rng(), device); }

Tensor rand(const Shape& shape, Rng& rng, double low, double high, DType dtype, Device device) {
  NoGrad off;
  Tensor out = draw_float(RandomKind::uniform, shape, rng, dtype, device);
  if (low != 0 || high != 1) {
    out = out * (high - low) + low;
    // The sum may round up to `high`.
    if (low < high) out = clamp(out, low, std::max(low, below(high, out.dtype())));
  }
  return to(out, dtype);
}

Tensor randn(const Shape& shape, Rng& rng, double mean, double deviation, DType dtype, Device device) {
  NoGrad off;
  const Tensor out = draw_float(RandomKind::normal, shape, rng, dtype, device);
  return to(mean == 0 && deviation == 1 ? out : out * deviation + mean, dtype);
}

Tensor randint(const Shape& shape, Rng& rng, std::int64_t low, std::int64_t high, DType dtype,
               Device device) {
  const std::uint64_t n = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (low >= high || n > std::uint64_t{1} << 31)
    throw ConfigError(str("randint cannot draw from ", low, " to below ", high),
                      "there must be 1 to 2^31 numbers to choose from", "check the bounds");
  NoGrad off;
  // The upper bits of word n, as Lemire 2019: no division.
  const Tensor scaled = words(shape, rng, device) * static_cast<std::int64_t>(n);
  return to(floor_divide(scaled, std::int64_t{1} << 32) + low, dtype);
}

Tensor randperm(std::int64_t n, Rng& rng, Device device) {
  NoGrad off;
  return draw(RandomKind::permutation, {n}, rng, DType::i64, device);
}

Tensor bernoulli(const Tensor& p, Rng& rng) {
  NoGrad off;
  // 53 bits: with the 24 of f32 rarer events would be as likely as 2^-24.
  const Tensor u = rand(p.shape(), rng, 0, 1, DType::f64, p.device());
  return to(less(u, to(p.detach(), DType::f64)), p.dtype());
}

Tensor multinomial(const Tensor& weights, std::int64_t count, Rng& rng) {
  if (weights.rank() < 1 || weights.size(-1) == 0)
    throw ShapeError(str("multinomial cannot choose from ", weights.shape()), "there is no class",
                     "give a weight for each class along the last dimension");
  if (count < 0)
    throw ShapeError(str("multinomial cannot draw ", count, " times"), "a count is 0 or more",
                     "check the number of draws");
  NoGrad off;
  const std::int64_t n = weights.size(-1);
  Shape shape = weights.shape();
  shape[shape.rank() - 1] = count;
  const std::int64_t rows = weights.numel() / n;
  const Tensor each = contiguous(reshape(to(weights.detach(), DType::f64), {rows, n}));
  const Tensor reached = cumsum(each, 1);
  const Tensor total = contiguous(slice(reached, 1, n - 1, n));
  check_weights(each, min(each, {1}), total);
  // A draw is below 1, and 1 - 2^-52 times a normal number is below that number whichever way it is rounded:
  // so the product is below the total, and the first class that ends after it has a weight above 0.
  const Tensor u = rand({rows, count}, rng, 0, 1, DType::f64, weights.device()) * (total * (1 - 0x1p-52));
  const Tensor out = empty({rows, count}, DType::i64, weights.device());
  kernels(reached).search(reached.view(), u.view(), out.view());
  return reshape(out, shape);
}

}  // namespace veldt
