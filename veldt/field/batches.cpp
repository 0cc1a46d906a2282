// Draws the points of the next steps, and brings them to the device in one upload.
#include "veldt/field/batches.h"

#include <algorithm>

#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kNoEnd = std::int64_t{1} << 40;

std::int64_t bytes_of(const Tensor& t) { return t.numel() * static_cast<std::int64_t>(size_of(t.dtype())); }

void copy_row(const Tensor& ring, std::int64_t row, const View& to) {
  backend(ring.device()).copy(select(ring, 0, row).view(), to);
}

}  // namespace

Batches::Batches(const PointSampler& sampler, Device device, const data::Parts& parts)
    : sampler_(sampler), device_(device), which_(parts) {
  std::int64_t bytes = 0;
  bool has_weights = false;
  for (const Batch& first : sampler_.parts(0, which_)) {
    has_weights = first.weights.defined();
    bytes += bytes_of(first.coordinates) + bytes_of(first.levels);
    parts_.push_back({{to(first.coordinates, device), to(first.levels, device), first.edges, first.flats,
                       first.ranks, has_weights ? to(first.weights, device) : Tensor()},
                      {},
                      {}});
  }
  // Points that depend on the errors of the previous step cannot be drawn ahead.
  if (device.kind == DeviceKind::cpu || sampler_.takes_all() || has_weights) return;
  const std::int64_t rows = std::clamp<std::int64_t>(kMostBytes / bytes, 1, kMostSteps);
  const auto ring_of = [&](const Tensor& t) {
    return empty(t.shape().with_inserted(0, rows), t.dtype(), device);
  };
  if (rows == 1) return;
  for (Part& part : parts_) {
    part.ring_coordinates = ring_of(part.current.coordinates);
    part.ring_levels = ring_of(part.current.levels);
  }
}

std::int64_t Batches::ahead() const {
  if (device_.kind == DeviceKind::cpu) return 1;
  if (sampler_.takes_all()) return kNoEnd;
  return runs_ahead() ? parts_.front().ring_levels.size(0) : 1;
}

void Batches::prepare(std::int64_t step, std::int64_t steps) {
  if (sampler_.takes_all()) return;
  next_row_ = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::vector<Batch> drawn = sampler_.parts(step + i, which_);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      Part& part = parts_[p];
      Batch& current = part.current;
      Tensor coordinates = runs_ahead() ? select(part.ring_coordinates, 0, i) : current.coordinates;
      Tensor levels = runs_ahead() ? select(part.ring_levels, 0, i) : current.levels;
      coordinates.assign(drawn[p].coordinates);
      levels.assign(drawn[p].levels);
      if (drawn[p].weights.defined()) current.weights.assign(drawn[p].weights);
      current.ranks = drawn[p].ranks;
    }
  }
}

void Batches::next() {
  if (!runs_ahead()) return;
  for (const Part& part : parts_)
    host_work(
        "batch", {part.current.coordinates.view(), part.current.levels.view()},
        [this, &part](std::span<const View> views) {
          copy_row(part.ring_coordinates, next_row_, views[0]);
          copy_row(part.ring_levels, next_row_, views[1]);
          if (&part == &parts_.back()) ++next_row_;
        },
        CallKind::numbers);
}

}  // namespace veldt::field
