// Draws the dropped elements from a stream of the module, so that a saved run continues exactly.
#include "veldt/nn/dropout.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"
#include "veldt/tensor/recompute.h"

namespace veldt::nn {

RandomDropping::RandomDropping(const char* name, double p, Rng& rng) : name_(name), p_(p) {
  if (!(p >= 0 && p <= 1))
    throw ConfigError(str("dropout cannot have a probability of ", p), "it must be from 0 to 1",
                      "give a share of the numbers, such as 0.1");
  stream_ = empty({2}, DType::i64);
  // A host operation, so that a layer can be created while a plan is recorded, as in step_facts().
  host_work("dropout's stream", {stream_.view()}, [seed = rng.next_u32()](std::span<const View> views) {
    views[0].as<std::int64_t>()[0] = seed;
    views[0].as<std::int64_t>()[1] = 0;
  });
}

std::string RandomDropping::title() const { return str(name_, '(', p_, ')'); }

Tensor RandomDropping::draw(const Shape& shape, const Tensor& like) const {
  const Tensor draws = empty(shape, DType::f32, like.device());
  // A replay of a Plan continues from the stream's current position.
  host_work(
      "dropout", {draws.view(), stream_.view()},
      [device = like.device(), draw = RandomDraw()](std::span<const View> views) {
        std::int64_t* const stream = views[1].as<std::int64_t>();
        // Unsigned, because a loaded position may be any number.
        Rng rng(static_cast<std::uint64_t>(stream[0]));
        rng.seek(static_cast<std::uint64_t>(stream[1]));
        const Rng at = draw.take(rng, static_cast<std::uint64_t>(numel(views[0].shape)));
        backend(device).random(RandomKind::uniform, at.seed(), at.stream(), at.position(), views[0]);
        stream[1] = static_cast<std::int64_t>(rng.position());
      },
      CallKind::numbers);
  return veldt::to(greater_equal(draws, full({}, p_, DType::f32, like.device())), like.dtype());
}

Tensor RandomDropping::drop(const Tensor& x, const Shape& shape) const {
  if (!drops()) return x;
  if (p_ == 1) return where(zeros({}, DType::boolean, x.device()), x, zeros_like(x));
  return x * (draw(shape, x) * (1 / (1 - p_)));
}

Tensor Dropout::forward(const Tensor& x) const { return drop(x, x.shape()); }

namespace {
constexpr const char* kChannelDropouts[] = {"Dropout1d", "Dropout2d", "Dropout3d"};
}

template <int kDims>
ChannelDropout<kDims>::ChannelDropout(double p, Rng& rng)
    : RandomDropping(kChannelDropouts[kDims - 1], p, rng) {}

template <int kDims> Tensor ChannelDropout<kDims>::forward(const Tensor& x) const {
  if (x.rank() != kDims + 1 && x.rank() != kDims + 2)
    throw ShapeError(str("Dropout", kDims, "d cannot take ", x.shape()),
                     str("an input is [n, channels, ..] or [channels, ..], with ", kDims,
                         " dimensions after the channels"),
                     "reshape the input, or use the layer of its dimensions");
  Shape shape = x.shape();
  for (int d = x.rank() - kDims; d < x.rank(); ++d) shape[d] = 1;
  return drop(x, shape);
}

Tensor StochasticDepth::forward(const Tensor& x) const {
  if (x.rank() == 0)
    throw ShapeError("StochasticDepth cannot take a single number", "an input is [n, ..], n examples",
                     "unsqueeze() it");
  Shape shape = Shape::filled(x.rank(), 1);
  shape[0] = x.size(0);
  return drop(x, shape);
}

template class ChannelDropout<1>;
template class ChannelDropout<2>;
template class ChannelDropout<3>;

Tensor AlphaDropout::forward(const Tensor& x) const {
  if (!drops()) return x;
  if (p() == 1) return drop(x, x.shape());
  // -alpha is SELU's lower limit, its scale times its alpha: with keep k, the result a (x k - alpha (1 - k))
  // + a alpha p has mean 0 and variance 1 where x has.
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((1 - p()) * (1 + p() * kAlpha * kAlpha));
  const Tensor keep = draw(x.shape(), x);
  return x * (keep * a) + affine(keep, a * kAlpha, a * kAlpha * (p() - 1));
}

}  // namespace veldt::nn
