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

Tensor prepare_planes(const Preprocessing& p, const Tensor& planes) {
  const NoGrad off;
  // The longer side is rounded down, in whole numbers as torchvision does it, and neither falls below the
  // part that is taken.
  const std::int64_t height = planes.size(1), width = planes.size(2), shorter = std::min(height, width);
  const std::int64_t rows = std::max(p.shorter_side * height / shorter, p.height),
                     columns = std::max(p.shorter_side * width / shorter, p.width);
  Tensor resized = planes;
  if (rows != height || columns != width)
    resized = permute(
        data::resample(contiguous(permute(planes, {1, 2, 0})), {columns, rows}, data::Filter::bilinear),
        {2, 0, 1});
  // Half a pixel goes to the even place, as Python rounds.
  const std::int64_t top = std::llrint(static_cast<double>(rows - p.height) / 2),
                     left = std::llrint(static_cast<double>(columns - p.width) / 2);
  data::Example example{contiguous(narrow(narrow(resized, 1, top, p.height), 2, left, p.width))};
  Rng unused(0);
  return data::normalise(p.mean, p.deviation)(std::move(example), unused).at(0);
}

Tensor prepare(const Preprocessing& p, const Tensor& picture) {
  return unsqueeze(prepare_planes(p, data::picture_planes(picture, {.grey = p.mean.size() == 1})), 0);
}

}  // namespace veldt::models
