// The views of pictures that a network in evaluation is shown.
#include "veldt/recipe/views.h"

#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"

namespace veldt::recipe {
namespace {

Tensor of_both_sides(const nn::Module& network, const Tensor& pictures) {
  return (network(pictures) + network(flip(pictures, {3}))) * 0.5;
}

// The part of the padded pictures that begins there.
Tensor moved_view(const Tensor& padded, std::int64_t begin) {
  return contiguous(
      slice(slice(padded, 2, begin, begin + padded.size(2) - 2), 3, begin, begin + padded.size(3) - 2));
}

}  // namespace

Tensor outputs_of(const Recipe& recipe, const nn::Module& network, const Tensor& pictures) {
  if (recipe.test_time_augment.empty() || network.training()) return network(pictures);
  const Tensor plain = of_both_sides(network, pictures);
  // A picture of one row has nothing to reflect.
  if (recipe.test_time_augment != "multi_crop" || pictures.size(2) < 2 || pictures.size(3) < 2) return plain;
  const Tensor padded = pad(pictures, {1, 1, 1, 1}, PadMode::reflect);
  return plain * 0.5 +
         (of_both_sides(network, moved_view(padded, 0)) + of_both_sides(network, moved_view(padded, 2))) *
             0.25;
}

}  // namespace veldt::recipe
