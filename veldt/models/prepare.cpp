// Makes a picture a network's input, as torchvision's ImageClassification does.
#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/data/augment.h"
#include "veldt/data/pictures.h"
#include "veldt/data/resample.h"
#include "veldt/models/model_file.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::models {

Preprocessing with_channels(Preprocessing p, std::int64_t channels) {
  if (std::ssize(p.mean) == channels || p.mean.empty()) return p;
  for (std::vector<double>* list : {&p.mean, &p.deviation}) {
    double sum = 0;
    for (const double number : *list) sum += number;
    *list = std::vector<double>(static_cast<std::size_t>(channels), sum / static_cast<double>(list->size()));
  }
  return p;
}

Tensor prepare(const Preprocessing& p, const Tensor& picture) {
  const NoGrad off;
  const Tensor planes = data::picture_planes(picture, {.grey = p.mean.size() == 1});
  const auto height = static_cast<double>(planes.size(1)), width = static_cast<double>(planes.size(2));
  const double scale = static_cast<double>(p.shorter_side) / std::min(height, width);
  // The longer side is rounded down, and neither falls below the part that is taken.
  const std::int64_t rows = std::max(static_cast<std::int64_t>(height * scale), p.height),
                     columns = std::max(static_cast<std::int64_t>(width * scale), p.width);
  const Tensor resized =
      data::resample(contiguous(permute(planes, {1, 2, 0})), {columns, rows}, data::Filter::bilinear);
  // Half a pixel goes to the even place, as Python rounds.
  const std::int64_t top = std::llrint(static_cast<double>(rows - p.height) / 2),
                     left = std::llrint(static_cast<double>(columns - p.width) / 2);
  const Tensor middle = permute(narrow(narrow(resized, 0, top, p.height), 1, left, p.width), {2, 0, 1});
  data::Example example{contiguous(middle)};
  Rng unused(0);
  return unsqueeze(data::normalise(p.mean, p.deviation)(std::move(example), unused).at(0), 0);
}

}  // namespace veldt::models
