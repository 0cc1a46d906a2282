// Transforms of pictures as recipes write them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "veldt/data/augment.h"
#include "veldt/data/corrupt.h"
#include "veldt/models/model_file.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/known.h"

namespace veldt::recipe {
namespace {

std::pair<double, double> pair_of(Call& call, const char* name, std::pair<double, double> otherwise) {
  const auto both = call.numbers(name, std::vector<double>{otherwise.first, otherwise.second});
  if (both.size() != 2)
    throw call.refused(fmt::format("{} is a range", name), fmt::format("write {}=[0.9, 1.1]", name));
  return {both[0], both[1]};
}

struct TransformKind {
  const char* name;
  data::Transform (*make)(Call& call);
};

data::Transform make_affine(Call& call) {
  data::AffineOptions o;
  o.degrees = call.number("degrees", 0);
  o.translate = call.number("translate", 0);
  o.scale = pair_of(call, "scale", {1, 1});
  o.shear = call.number("shear", 0);
  o.fill = call.number("fill", 0);
  return data::random_affine(o);
}

data::Transform make_jitter(Call& call) {
  data::JitterOptions o;
  o.brightness = call.number("brightness", 0);
  o.contrast = call.number("contrast", 0);
  o.saturation = call.number("saturation", 0);
  o.hue = call.number("hue", 0);
  return data::colour_jitter(o);
}

data::Transform make_erasing(Call& call) {
  data::ErasingOptions o;
  o.p = call.number("p", o.p);
  o.area = pair_of(call, "area", o.area);
  o.ratio = pair_of(call, "ratio", o.ratio);
  o.value = call.number("value", 0);
  return data::random_erasing(o);
}

const std::vector<TransformKind>& transform_kinds() {
  static const std::vector<TransformKind> all = {
      {"random_crop",
       [](Call& call) {
         const auto width = call.count("width"), height = call.count("height");
         const auto padding = call.count("padding", 0, {.least = 0});
         const std::string mode = call.word("mode", {"zeros", "reflect", "replicate"});
         return data::random_crop({width, height}, padding,
                                  mode == "reflect"     ? PadMode::reflect
                                  : mode == "replicate" ? PadMode::replicate
                                                        : PadMode::zeros);
       }},
      {"random_resized_crop",
       [](Call& call) {
         const auto width = call.count("width"), height = call.count("height");
         data::ResizedCropOptions o;
         o.area = pair_of(call, "area", o.area);
         o.ratio = pair_of(call, "ratio", o.ratio);
         return data::random_resized_crop({width, height}, o);
       }},
      {"horizontal_flip", [](Call& call) { return data::horizontal_flip(call.number("p", 0.5)); }},
      {"vertical_flip", [](Call& call) { return data::vertical_flip(call.number("p", 0.5)); }},
      {"random_affine", make_affine},
      {"random_rotation",
       [](Call& call) {
         const double degrees = call.number("degrees");
         return data::random_rotation(degrees, call.number("fill", 0));
       }},
      {"colour_jitter", make_jitter},
      {"random_erasing", make_erasing},
      {"gaussian_noise", [](Call& call) { return data::gaussian_noise(call.number("deviation")); }},
      {"gaussian_blur", [](Call& call) { return data::gaussian_blur(call.number("deviation")); }},
      {"shift", [](Call& call) { return data::shift(call.count("pixels", {}, {.least = 0})); }},
      {"rotate", [](Call& call) { return data::rotate(call.number("degrees")); }},
      {"erase", [](Call& call) { return data::erase(call.count("side")); }},
      {"brightness", [](Call& call) { return data::brightness(call.number("factor")); }},
      {"contrast", [](Call& call) { return data::contrast(call.number("factor")); }},
      {"jpeg", [](Call& call) { return data::jpeg(call.count("quality", {}, {.least = 1, .most = 100})); }},
      {"resize",
       [](Call& call) {
         const auto width = call.count("width", {}, {.least = 1, .most = 1 << 14}),
                    height = call.count("height", {}, {.least = 1, .most = 1 << 14});
         return data::resize({width, height});
       }},
      {"normalise",
       [](Call& call) {
         const auto mean = call.numbers("mean"), deviation = call.numbers("deviation");
         return data::normalise(mean, deviation);
       }},
  };
  return all;
}

data::Transform transform_of(const io::Source& source, const std::string& text) {
  Call call(source, text);
  std::vector<std::string> known;
  for (const TransformKind& kind : transform_kinds()) {
    known.emplace_back(kind.name);
    if (!same_name(kind.name, call.name())) continue;
    try {
      data::Transform made = kind.make(call);
      call.finish();
      return made;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& e) {
      throw call.refused(fmt::format("{}: {}", e.summary(), e.why()), e.fix());
    }
  }
  throw call.unknown("transform", known);
}

data::Transform prepared_as(models::Preprocessing wanted, bool fits) {
  return [wanted = std::move(wanted), fits](data::Example example, Rng&) {
    Tensor& planes = example.at(0);
    models::Preprocessing p = models::with_channels(wanted, planes.size(0));
    if (!fits) {  // it was read in the size that the recipe says
      p.height = planes.size(1), p.width = planes.size(2);
      p.shorter_side = std::min(p.height, p.width);
    }
    planes = models::prepare_planes(p, planes);
    return example;
  };
}

}  // namespace

data::Transform transforms_of(const Written& written) {
  std::vector<data::Transform> all;
  for (std::size_t i = 0; i < written.texts.size(); ++i)
    all.push_back(transform_of(written.source(i), written.texts[i]));
  return all.empty() ? data::Transform() : data::sequence(std::move(all));
}

data::Transform preparing(const Recipe& recipe) {
  if (!recipe.is_known_network() || recipe.prepare.given()) return transforms_of(recipe.prepare);
  return prepared_as(preprocessing_of(recipe), fits_pictures(recipe));
}

void check_transforms(const Recipe& recipe) {
  preparing(recipe), transforms_of(recipe.augment), transforms_of(recipe.corrupt);
  const std::vector<std::string>& all = recipe.corrupt.texts;
  for (auto one = all.begin(); one != all.end(); ++one)
    if (std::find(all.begin(), one, *one) != one)
      throw UsageError(fmt::format("{} has '{}' twice", recipe.corrupt.where, *one),
                       "each is measured once, and its scores have its name", "leave one out");
}

data::Transform fitting(const Recipe& recipe) {
  if (!fits_pictures(recipe)) return {};
  models::Preprocessing p = preprocessing_of(recipe);
  p.mean = {0}, p.deviation = {1};
  return prepared_as(p, true);
}

}  // namespace veldt::recipe
