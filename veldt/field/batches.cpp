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

Batches::Batches(const PointSampler& sampler, Device device) : sampler_(sampler), device_(device) {
  const Batch first = sampler_.batch(0);
  current_ = {to(first.coordinates, device),
              to(first.levels, device),
              first.edges,
              first.flats,
              first.ranks,
              first.weights.defined() ? to(first.weights, device) : Tensor()};
  // Points that depend on the errors of the previous step cannot be drawn ahead.
  if (device.kind == DeviceKind::cpu || sampler_.takes_all() || first.weights.defined()) return;
  const std::int64_t bytes = bytes_of(first.coordinates) + bytes_of(first.levels);
  const std::int64_t rows = std::clamp<std::int64_t>(kMostBytes / bytes, 1, kMostSteps);
  const auto ring_of = [&](const Tensor& t) {
    return empty(t.shape().with_inserted(0, rows), t.dtype(), device);
  };
  if (rows == 1) return;
  ring_coordinates_ = ring_of(first.coordinates);
  ring_levels_ = ring_of(first.levels);
}

std::int64_t Batches::ahead() const {
  if (device_.kind == DeviceKind::cpu) return 1;
  if (sampler_.takes_all()) return kNoEnd;
  return runs_ahead() ? ring_levels_.size(0) : 1;
}

void Batches::prepare(std::int64_t step, std::int64_t steps) {
  if (sampler_.takes_all()) return;
  next_row_ = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const Batch drawn = sampler_.batch(step + i);
    Tensor coordinates = runs_ahead() ? select(ring_coordinates_, 0, i) : current_.coordinates;
    Tensor levels = runs_ahead() ? select(ring_levels_, 0, i) : current_.levels;
    coordinates.assign(drawn.coordinates);
    levels.assign(drawn.levels);
    if (drawn.weights.defined()) current_.weights.assign(drawn.weights);
    current_.ranks = drawn.ranks;
  }
}

void Batches::next() {
  if (!runs_ahead()) return;
  host_work(
      "batch", {current_.coordinates.view(), current_.levels.view()},
      [this](std::span<const View> views) {
        copy_row(ring_coordinates_, next_row_, views[0]);
        copy_row(ring_levels_, next_row_, views[1]);
        ++next_row_;
      },
      CallKind::numbers);
}

}  // namespace veldt::field
