#include "veldt/nn/dropout.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

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
  const std::vector<std::int64_t> at = stream_.values<std::int64_t>();
  Rng rng(static_cast<std::uint64_t>(at[0]));
  rng.seek(static_cast<std::uint64_t>(at[1]));
  const Tensor keep =
      greater_equal(rand(x.shape(), rng, 0, 1, DType::f32, x.device()), full({}, p_, DType::f32, x.device()));
  const std::int64_t now[] = {at[0], static_cast<std::int64_t>(rng.position())};
  Tensor(stream_).assign(Tensor::from<std::int64_t>({2}, now));
  return x * (veldt::to(keep, x.dtype()) * (1 / (1 - p_)));
}

std::string Dropout::title() const { return str("Dropout(", p_, ")"); }

}  // namespace veldt::nn
