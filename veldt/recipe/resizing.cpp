// Reads train.progressive_resizing, and makes pictures smaller by it.
#include "veldt/recipe/resizing.h"

#include <fmt/format.h>

#include "veldt/nn/evaluating.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/call.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {

std::optional<data::ProgressiveResizing> resizing_of(const Recipe& recipe) {
  if (!recipe.resizing.given()) return std::nullopt;
  Call call(recipe.resizing.source(), recipe.resizing.texts.at(0));
  call.must_be("resizing", {"linear"});
  data::ProgressiveResizing r;
  r.initial_scale = call.number("initial_scale", r.initial_scale, {.most = 1, .above = 0});
  r.finetune_fraction = call.number("finetune_fraction", r.finetune_fraction, {.least = 0, .most = 1});
  r.size_increment = call.count("size_increment", r.size_increment);
  call.finish();
  if (recipe.steps == 0 && recipe.epochs == 0)
    throw call.refused("it goes by the share of the steps, and the recipe gives a time alone",
                       "give train.epochs or train.steps too");
  return r;
}

std::optional<train::Adaptation> adapt_of(const Recipe& recipe, const Facts& facts, const nn::Module& network,
                                          std::int64_t steps) {
  const std::optional<data::ProgressiveResizing> resizing = resizing_of(recipe);
  if (!resizing) return std::nullopt;
  const Shape& whole = facts.model.input;  // [channels, height, width]
  const Device device = network.parameters().at(0).device();
  const auto size_at = [&](std::int64_t step) {
    const double share = static_cast<double>(step) / static_cast<double>(steps);
    return Shape{1, whole[0], resizing->side(whole[1], share), resizing->side(whole[2], share)};
  };
  for (std::int64_t step = 0; step < steps;) {
    const Shape size = size_at(step);
    try {
      const nn::Evaluating now(network);
      const NoGrad off;
      network(zeros(size, DType::f32, device));
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& e) {
      throw UsageError(
          fmt::format("{}: the network cannot compute pictures of {} x {}, from step {} on",
                      recipe.resizing.where, size[3], size[2], step),
          fmt::format("{}: {}", e.summary(), e.why()),
          "put AdaptiveAvgPool2d or AdaptiveMaxPool2d before a Flatten, which makes one size of all, "
          "and give a size_increment that all halvings divide");
    }
    // The first step of the next size: pictures only grow.
    std::int64_t end = steps;
    for (std::int64_t same = step; end - same > 1;) {
      const std::int64_t middle = same + (end - same) / 2;
      (size_at(middle) == size ? same : end) = middle;
    }
    step = end;
  }
  const auto change = [resizing = *resizing, steps](std::int64_t step, data::Batch& batch) {
    batch.at(0) = resizing(batch[0], static_cast<double>(step) / static_cast<double>(steps));
  };
  return train::Adaptation{change, fmt::format("{} over {} steps", resizing->text(), steps)};
}

}  // namespace veldt::recipe
