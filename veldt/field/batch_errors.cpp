// Errors of pixels, whose samples are averaged first, and their means.
#include "veldt/field/batch_errors.h"

#include "veldt/field/coordinates.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

// The mean of each edge pixel's samples, then the flat pixels as they are: [edges + flats, channels].
Tensor pixels_from(const Tensor& samples, const Batch& batch, std::int64_t footprint) {
  const std::int64_t of_pixel = footprint * footprint, n = batch.edges * of_pixel;
  if (of_pixel == 1 || n == 0) return samples;
  const Tensor edges = mean(reshape(slice(samples, 0, 0, n), {batch.edges, of_pixel, samples.size(1)}), {1});
  if (batch.flats == 0) return edges;
  return cat({edges, slice(samples, 0, n, samples.size(0))});
}

}  // namespace

std::vector<Tensor> errors_of(const Batches& batches, const std::vector<Tensor>& outputs,
                              const FieldOptions& field) {
  const NoGrad off;
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < batches.count(); ++i) {
    const Batch& batch = batches.current(i);
    const Tensor drawn = pixels_from(levels_from(outputs[i], field.head), batch, field.footprint);
    all.push_back(mean(square(drawn - batch.levels), {1}));
  }
  return all;
}

double mean_error(const PointSampler& sampler, const Batches& batches, const std::vector<Tensor>& errors,
                  const data::Parts& parts, dist::Communicator* ranks) {
  const NoGrad off;
  const Tensor sums = zeros({parts.of, 2}, DType::f64);  // over edges and flat pixels of each part
  auto* sum_of = sums.data<double>() + 2 * parts.first;
  double edges = 0, flats = 0;
  for (std::size_t i = 0; i < batches.count(); ++i, sum_of += 2) {
    const Batch& batch = batches.current(i);
    const Tensor error = batch.weights.defined() ? errors[i] * batch.weights : errors[i];
    if (batch.edges > 0) sum_of[0] = sum(slice(error, 0, 0, batch.edges)).item();
    if (batch.flats > 0) sum_of[1] = sum(slice(error, 0, batch.edges, error.size(0))).item();
    edges += static_cast<double>(batch.edges);
    flats += static_cast<double>(batch.flats);
  }
  if (ranks != nullptr) {
    ranks->all_reduce(sums);  // exact: each number is 0 on all ranks but one
    edges = static_cast<double>(sampler.edges()), flats = static_cast<double>(sampler.flats());
  }
  const std::vector<double> all = sum(sums, {0}).values<double>();
  if (flats == 0 || edges == 0) return (all[0] + all[1]) / (edges + flats);
  // Edges are a larger share of a batch than of the picture, so both are weighted by their shares of the
  // picture.
  return all[0] / edges * sampler.edge_share() + all[1] / flats * (1 - sampler.edge_share());
}

}  // namespace veldt::field
