// Opens the teacher of a recipe, and holds it against the student.
#include "veldt/recipe/distilling.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/compress/distil.h"
#include "veldt/core/error.h"
#include "veldt/io/digest.h"
#include "veldt/io/json.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/item.h"
#include "veldt/recipe/known.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trained.h"

namespace veldt::recipe {
namespace {

// Keys that change what a network is shown of the same file.
constexpr const char* kPreparing[] = {"data.kind",   "data.prepare", "data.height",    "data.width",
                                      "data.grey",   "data.column",  "data.logarithm", "data.difference",
                                      "data.season", "data.tokens"};

std::string value_of(const Recipe& recipe, const char* key) {
  for (const auto& [name, texts] : recipe.given)
    if (name == key) return fmt::format("{}", fmt::join(texts, ", "));
  return {};
}

UsageError unfit(const Recipe& student, const std::string& why, const std::string& fix) {
  return {fmt::format("train.teacher: {} cannot teach this network", student.teacher), why, fix};
}

compress::Hint hint_of(const Recipe& recipe, std::size_t i) {
  const std::string& text = recipe.hints.texts[i];
  const auto equals = text.find('=');
  compress::Hint hint;
  if (equals != std::string::npos) hint = {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
  if (hint.student.empty() || hint.teacher.empty())
    throw UsageError(fmt::format("{} cannot be '{}'", recipe.hints.source(i).name, text),
                     "a hint names a layer of the network, and one of its teacher's that it is to be like",
                     "write them as in \"3 = 6\"; veldt info names the layers");
  return hint;
}

}  // namespace

void check_distilling(const Recipe& recipe) {
  for (const auto& [name, texts] : recipe.given) {
    const bool of_hints = name == "train.hint_loss" || name == "train.hint_weight";
    const bool of_teacher =
        of_hints || name == "train.temperature" || name == "train.teacher_weight" || name == "train.hints";
    if (of_teacher && recipe.teacher.empty())
      throw UsageError(fmt::format("{} changes nothing", name), "the recipe has no teacher",
                       "add teacher = \"runs/large/model.safetensors\" below [train], or leave it out");
    if (of_hints && recipe.hints.texts.empty())
      throw UsageError(fmt::format("{} changes nothing", name), "the recipe has no hints",
                       "add hints = [\"3 = 6\"] below [train], or leave it out");
  }
  for (std::size_t i = 0; i < recipe.hints.texts.size(); ++i) hint_of(recipe, i);
}

void check_teacher(const Recipe& student, const Facts& facts, const Recipe& teacher, const Facts& its) {
  for (const char* key : kPreparing) {
    const std::string own = value_of(student, key), other = value_of(teacher, key);
    if (own == other) continue;
    throw unfit(student,
                fmt::format("{} is {} here, and was {} for the teacher", key, own.empty() ? "not given" : own,
                            other.empty() ? "not given" : other),
                "prepare the data in the same way, or teach a teacher on such data");
  }
  if (student.is_known_network() != teacher.is_known_network() && !student.prepare.given())
    throw unfit(student, "one of them is a known network, which wants its pictures prepared in its own way",
                "set data.prepare, alike for both");
  if (student.is_known_network() && !student.prepare.given()) {
    const models::Preprocessing own = preprocessing_of(student), other = preprocessing_of(teacher);
    if (own.mean != other.mean || own.deviation != other.deviation)
      throw unfit(student, "the two architectures want their pictures prepared in different ways",
                  "set data.prepare, alike for both");
  }
  nlohmann::json own = io::parse_json<nlohmann::json>(in_json(facts)),
                 other = io::parse_json<nlohmann::json>(in_json(its));
  own.erase("examples"), other.erase("examples");
  for (const auto& [key, value] : own.items()) {
    if (other.contains(key) && other.at(key) == value) continue;
    const auto shown = [&, &key = key](const nlohmann::json& all) {
      std::string text = all.contains(key) ? io::dump_json(all.at(key)) : "missing";
      return text.size() > 60 ? text.substr(0, 57) + "..." : text;
    };
    throw unfit(student,
                fmt::format("its data were others: {} is {} here, and was {} for the teacher", key,
                            shown(own), shown(other)),
                "give a teacher of the same classes, sizes and data");
  }
}

std::string teacher_digest(const Recipe& recipe) {
  return recipe.teacher.empty() ? "" : io::digest_file(model_file(recipe.teacher)).xxh3;
}

NamedTensors add_teacher(const Recipe& recipe, const Facts& facts, const nn::Module& student, Device device,
                         train::TrainerOptions& options) {
  if (recipe.teacher.empty()) return {};
  std::shared_ptr<Trained> teacher;
  try {
    teacher = std::make_shared<Trained>(load(recipe.teacher));
  } catch (const IoError& e) {
    throw IoError(e.kind(), "train.teacher: " + e.summary(), e.why(), e.fix());
  } catch (const ConfigError& e) {
    throw UsageError("train.teacher: " + e.summary(), e.why(), e.fix());
  }
  check_teacher(recipe, facts, teacher->recipe, teacher->facts);
  teacher->to(device);
  compress::DistilOptions o{.temperature = recipe.temperature,
                            .weight = recipe.teacher_weight,
                            .numbers = recipe.learns_numbers(),
                            .hint_weight = recipe.hint_weight};
  if (recipe.hint_loss == "features") o.hint_loss = compress::HintLoss::features;
  if (recipe.hint_loss == "attention") o.hint_loss = compress::HintLoss::attention;
  for (std::size_t i = 0; i < recipe.hints.texts.size(); ++i) o.hints.push_back(hint_of(recipe, i));
  if (recipe.learns_tokens()) o.forward = options.forward;
  if (!o.hints.empty()) {
    o.seed = static_cast<std::uint64_t>(recipe.seed);
    for (const Tensor& input : example_for(facts.model)) o.example.push_back(to(input, device));
    if (o.example.size() > 1) o.example.push_back(o.example.back());  // of pairs, what is to be said
  }
  const auto refusal = [&](const Error& e) {
    return UsageError(
        fmt::format("{}: {}", recipe.hints.given() ? recipe.hints.where : "train.teacher", e.summary()),
        e.why(), e.fix());
  };
  try {
    const compress::Distiller distiller(student, std::shared_ptr<nn::Module>(teacher, &teacher->model),
                                        std::move(o));
    options.instead = distiller;
    return distiller.named_parameters();
  } catch (const ConfigError& e) {
    throw refusal(e);
  } catch (const ShapeError& e) {
    throw refusal(e);
  }
}

}  // namespace veldt::recipe
