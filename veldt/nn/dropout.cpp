#include "veldt/nn/dropout.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {

Dropout::Dropout(double p, Rng& rng) : p_(p) {
  if (!(p >= 0 && p <= 1))
    throw ConfigError(str("dropout cannot have a probability of ", p), "it must be from 0 to 1",
                      "give a share of the numbers, such as 0.1");
  const std::int64_t start[] = {static_cast<std::int64_t>(rng.next_u32()), 0};
  stream_ = Tensor::from<std::int64_t>({2}, start);
}

Tensor Dropout::forward(const Tensor& x) const {
  if (!training() || p_ == 0) return x;
  if (p_ == 1) return where(zeros({}, DType::boolean, x.device()), x, zeros_like(x));
  const Tensor draws = empty(x.shape(), DType::f32, x.device());
  // A replay of a Plan draws on from where the stream then is.
  host_work(
      "dropout", {draws.view(), stream_.view()},
      [device = x.device()](std::span<const View> views) {
        std::int64_t* const stream = views[1].as<std::int64_t>();
        backend(device).random(RandomKind::uniform, static_cast<std::uint64_t>(stream[0]), 0,
                               static_cast<std::uint64_t>(stream[1]), views[0], nullptr);
        // Unsigned: a position that was loaded may be any number.
        stream[1] = static_cast<std::int64_t>(static_cast<std::uint64_t>(stream[1]) +
                                              static_cast<std::uint64_t>(numel(views[0].shape)));
      },
      CallKind::numbers);
  const Tensor keep = greater_equal(draws, full({}, p_, DType::f32, x.device()));
  return x * (veldt::to(keep, x.dtype()) * (1 / (1 - p_)));
}

std::string Dropout::title() const { return str("Dropout(", p_, ")"); }

}  // namespace veldt::nn
