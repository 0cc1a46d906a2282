// Keys by the members of a recipe that they set.
#include "veldt/recipe/keys.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "veldt/rl/environments.h"

namespace veldt::recipe {
namespace {

using Take = RecipeKey::Take;

// The part of a recipe that a member belongs to.
template <class Part> Part& member_part(Recipe& r) {
  if constexpr (std::is_same_v<Part, Acting>)
    return r.acting;
  else if constexpr (std::is_same_v<Part, Pruning>)
    return r.pruning;
  else if constexpr (std::is_same_v<Part, rl::PolicyOptions>)
    return r.acting.policy;
  else if constexpr (std::is_same_v<Part, rl::PpoOptions>)
    return r.acting.ppo;
  else if constexpr (std::is_same_v<Part, rl::DqnOptions>)
    return r.acting.dqn;
  else if constexpr (std::is_same_v<Part, rl::ReplayOptions>)
    return r.acting.dqn.replay;
  else
    return r;
}

template <class Part> Take text_into(std::string Part::*member, std::vector<std::string> choices = {}) {
  return [member, choices = std::move(choices)](Recipe& r, const io::Source& source, const Written& w) {
    member_part<Part>(r).*member =
        choices.empty() ? w.texts.at(0) : io::choice_from(source, w.texts.at(0), choices);
  };
}

template <class Part> Take count_into(std::int64_t Part::*member, io::CountRange range) {
  return [member, range](Recipe& r, const io::Source& source, const Written& w) {
    member_part<Part>(r).*member = io::count_from(source, w.texts.at(0), range);
  };
}

template <class Part, class T> Take number_into(T Part::*member, io::NumberRange range) {
  return [member, range](Recipe& r, const io::Source& source, const Written& w) {
    member_part<Part>(r).*member = io::number_from(source, w.texts.at(0), range);
  };
}

template <class Part> Take switch_into(bool Part::*member) {
  return [member](Recipe& r, const io::Source& source, const Written& w) {
    member_part<Part>(r).*member = io::switch_from(source, w.texts.at(0));
  };
}

template <class Part> Take written_into(Written Part::*member) {
  return [member](Recipe& r, const io::Source&, const Written& w) { member_part<Part>(r).*member = w; };
}

// What both kinds of agents have.
Take into_both(Take ppo, Take dqn) {
  return [ppo = std::move(ppo), dqn = std::move(dqn)](Recipe& r, const io::Source& s, const Written& w) {
    ppo(r, s, w), dqn(r, s, w);
  };
}

constexpr std::size_t kMostBlocks = 256;  // and values: each is compared with all others

template <Written Block::*kMember>
void into_block(Recipe& recipe, const std::string& name, const Written& written) {
  for (Block& block : recipe.blocks)
    if (block.name == name) {
      block.*kMember = written;
      return;
    }
  if (recipe.blocks.size() == kMostBlocks)
    throw UsageError(fmt::format("{}: there cannot be a block '{}'", written.where, name),
                     fmt::format("a recipe has at most {} blocks", kMostBlocks), "put several into one");
  recipe.blocks.emplace_back().name = name;
  recipe.blocks.back().*kMember = written;
}

void into_values(Recipe& recipe, const std::string& name, const Written& written) {
  if (recipe.values.size() == kMostBlocks && !recipe.values.contains(name))
    throw UsageError(fmt::format("{}: there cannot be a value '{}'", written.where, name),
                     fmt::format("a recipe has at most {}", kMostBlocks), "leave some out");
  recipe.values[name] = written.texts.at(0);
}

void into_groups(Recipe& recipe, const std::string& name, const Written& written) {
  if (recipe.groups.size() == kMostBlocks && !recipe.groups.contains(name))
    throw UsageError(fmt::format("{}: there cannot be a group '{}'", written.where, name),
                     fmt::format("a recipe has at most {}", kMostBlocks), "leave some out");
  recipe.groups[name] = {
      io::number_from({written.where, name + " = ", true}, written.texts.at(0), {.above = 0}), written.where};
}

}  // namespace

const std::vector<RecipeKey>& recipe_keys() {
  const std::vector<std::string> kOfPictures{"mnist", "cifar10", "cifar100", "pictures"}, denoised{"denoise"};
  std::vector<std::string> augmented = kOfPictures;
  augmented.emplace_back("denoise");
  constexpr io::CountRange kSize{.least = 1, .most = 1 << 20}, kAny{.least = 0},
      kBatch{.least = 2, .most = 1 << 20};
  constexpr io::NumberRange kShare{.least = 0, .most = 1};
  static const std::vector<RecipeKey> all = {
      {"data.kind", io::TomlType::text, text_into(&Recipe::kind, data_kinds())},
      {"data.path", io::TomlType::text, text_into(&Recipe::path)},
      {"data.files", io::TomlType::list, written_into(&Recipe::files)},
      {"data.column", io::TomlType::text, text_into(&Recipe::column), {"series"}},
      {"data.inputs", io::TomlType::list, written_into(&Recipe::inputs), {"table"}},
      {"data.target", io::TomlType::text, text_into(&Recipe::target), {"table"}},
      {"data.classes", io::TomlType::on_off, switch_into(&Recipe::classes), {"table"}},
      {"data.validation", io::TomlType::number, number_into(&Recipe::validation, {.least = 0, .most = 0.9})},
      {"data.test",
       io::TomlType::number,
       number_into(&Recipe::test, {.least = 0, .most = 0.9}),
       {"pictures", "denoise", "text", "pairs", "series", "table"}},
      {"data.batch", io::TomlType::whole, count_into(&Recipe::batch, kSize)},
      {"data.workers", io::TomlType::whole, count_into(&Recipe::workers, {.least = 0, .most = 256})},
      {"data.context", io::TomlType::whole, count_into(&Recipe::context, kSize), {"text", "series"}},
      {"data.horizon", io::TomlType::whole, count_into(&Recipe::horizon, kSize), {"series"}},
      {"data.season", io::TomlType::whole, count_into(&Recipe::season, kSize), {"series"}},
      {"data.logarithm", io::TomlType::on_off, switch_into(&Recipe::logarithm), {"series"}},
      {"data.difference", io::TomlType::on_off, switch_into(&Recipe::difference), {"series"}},
      {"data.height", io::TomlType::whole, count_into(&Recipe::height, kSize), {"pictures"}},
      {"data.width", io::TomlType::whole, count_into(&Recipe::width, kSize), {"pictures"}},
      {"data.grey", io::TomlType::on_off, switch_into(&Recipe::grey), {"pictures", "denoise"}},
      {"data.crop", io::TomlType::whole, count_into(&Recipe::crop, {.least = 4, .most = 1 << 12}), denoised},
      {"data.noise", io::TomlType::number, number_into(&Recipe::noise, {.most = 100, .above = 0}), denoised},
      {"data.prepare", io::TomlType::list, written_into(&Recipe::prepare), kOfPictures},
      {"data.augment", io::TomlType::list, written_into(&Recipe::augment), augmented},
      {"data.corrupt", io::TomlType::list, written_into(&Recipe::corrupt), kOfPictures},
      {"data.test_time_augment", io::TomlType::text,
       text_into(&Recipe::test_time_augment, {"horizontal_flip", "multi_crop"}), kOfPictures},
      {"data.mix", io::TomlType::text, written_into(&Recipe::mix), kOfPictures},
      {"data.tokens", io::TomlType::text, written_into(&Recipe::tokens), {"text"}},
      {"model.layers", io::TomlType::list, written_into(&Recipe::layers)},
      {"model.init", io::TomlType::text, written_into(&Recipe::init)},
      {"model.architecture", io::TomlType::text, written_into(&Recipe::architecture), kOfPictures},
      {"model.from", io::TomlType::text, text_into(&Recipe::from), kOfPictures},
      {"model.head", io::TomlType::text, text_into(&Recipe::head, {"new", "kept"}), kOfPictures},
      {"model.freeze", io::TomlType::list, written_into(&Recipe::freeze), kOfPictures},
      {"block.NAME.parameters", io::TomlType::list, {}, {}, into_block<&Block::parameters>},
      {"block.NAME.layers", io::TomlType::list, {}, {}, into_block<&Block::layers>},
      {"block.NAME.shortcut", io::TomlType::list, {}, {}, into_block<&Block::shortcut>},
      {"block.NAME.then", io::TomlType::list, {}, {}, into_block<&Block::then>},
      {"values.NAME", io::TomlType::other, {}, {}, into_values},
      {"environment.name", io::TomlType::text, text_into(&Acting::environment, rl::environment_names())},
      {"environment.copies", io::TomlType::whole, count_into(&Acting::copies, {.least = 1, .most = 4096})},
      {"environment.map", io::TomlType::list, written_into(&Acting::map)},
      {"environment.slip", io::TomlType::number, number_into(&Acting::slip, kShare)},
      {"agent.kind", io::TomlType::text, text_into(&Acting::agent, {"ppo", "dqn"})},
      {"agent.width", io::TomlType::whole, count_into(&rl::PolicyOptions::width, {.least = 1, .most = 1024})},
      {"agent.depth", io::TomlType::whole, count_into(&rl::PolicyOptions::depth, {.least = 1, .most = 8})},
      {"agent.activation", io::TomlType::text,
       [](Recipe& r, const io::Source& s, const Written& w) {
         const bool is_relu = io::choice_from(s, w.texts.at(0), {"tanh", "relu"}) == "relu";
         r.acting.policy.activation = is_relu ? MlpActivation::relu : MlpActivation::tanh;
       }},
      {"agent.normalize", io::TomlType::on_off, switch_into(&rl::PolicyOptions::normalize)},
      {"agent.gamma", io::TomlType::number,
       into_both(number_into(&rl::PpoOptions::gamma, kShare), number_into(&rl::DqnOptions::gamma, kShare))},
      {"agent.rollout", io::TomlType::whole,
       into_both(count_into(&rl::PpoOptions::rollout, kSize), count_into(&rl::DqnOptions::rollout, kSize))},
      {"agent.batch", io::TomlType::whole,
       into_both(count_into(&rl::PpoOptions::batch, kBatch), count_into(&rl::DqnOptions::batch, kBatch))},
      {"agent.epochs", io::TomlType::whole, count_into(&rl::PpoOptions::epochs, kSize), {"ppo"}},
      {"agent.lambda", io::TomlType::number, number_into(&rl::PpoOptions::lambda, kShare), {"ppo"}},
      {"agent.clip", io::TomlType::number, number_into(&rl::PpoOptions::clip, {.above = 0}), {"ppo"}},
      {"agent.entropy", io::TomlType::number, number_into(&rl::PpoOptions::entropy, {.least = 0}), {"ppo"}},
      {"agent.value", io::TomlType::number, number_into(&rl::PpoOptions::value, {.least = 0}), {"ppo"}},
      {"agent.scale_rewards", io::TomlType::on_off, switch_into(&rl::PpoOptions::scale_rewards), {"ppo"}},
      {"agent.capacity",
       io::TomlType::whole,
       count_into(&rl::ReplayOptions::capacity, {.least = 1, .most = 1 << 24}),
       {"dqn"}},
      {"agent.start", io::TomlType::whole, count_into(&rl::DqnOptions::start, {.least = 1}), {"dqn"}},
      {"agent.updates", io::TomlType::whole, count_into(&rl::DqnOptions::updates, kSize), {"dqn"}},
      {"agent.target_every",
       io::TomlType::whole,
       count_into(&rl::DqnOptions::target_every, {.least = 1}),
       {"dqn"}},
      {"agent.epsilon", io::TomlType::number, number_into(&rl::DqnOptions::epsilon, kShare), {"dqn"}},
      {"agent.explore",
       io::TomlType::number,
       number_into(&Acting::explore, {.most = 1, .above = 0}),
       {"dqn"}},
      {"agent.double", io::TomlType::on_off, switch_into(&rl::DqnOptions::double_q), {"dqn"}},
      {"agent.dueling", io::TomlType::on_off, switch_into(&Acting::dueling), {"dqn"}},
      {"agent.prioritized", io::TomlType::on_off, switch_into(&rl::ReplayOptions::prioritized), {"dqn"}},
      {"optimizer.kind", io::TomlType::text,
       text_into(&Recipe::optimizer,
                 {"sgd", "adam", "adamw", "radam", "rmsprop", "adagrad", "lion", "adan", "muon"})},
      {"optimizer.lr", io::TomlType::number, number_into(&Recipe::lr, {.above = 0})},
      {"optimizer.weight_decay", io::TomlType::number, number_into(&Recipe::weight_decay, {.least = 0})},
      {"optimizer.momentum", io::TomlType::number, number_into(&Recipe::momentum, kShare)},
      {"optimizer.nesterov", io::TomlType::on_off, switch_into(&Recipe::nesterov)},
      {"optimizer.clip", io::TomlType::number, number_into(&Recipe::clip, {.least = 0})},
      {"optimizer.ema", io::TomlType::number, number_into(&Recipe::ema, kShare)},
      {"optimizer.accumulate", io::TomlType::whole, count_into(&Recipe::accumulate, kSize)},
      {"optimizer.warmup", io::TomlType::whole, count_into(&Recipe::warmup, kAny)},
      {"optimizer.schedule", io::TomlType::text, written_into(&Recipe::schedule)},
      {"optimizer.groups.NAME", io::TomlType::number, {}, {}, into_groups, true},
      {"prune.share", io::TomlType::number, number_into(&Pruning::share, kShare)},
      {"prune.pattern", io::TomlType::text, written_into(&Pruning::pattern)},
      {"prune.scope", io::TomlType::text, text_into(&Pruning::scope, {"network", "layer"})},
      {"prune.method", io::TomlType::text, text_into(&Pruning::method, {"magnitude", "movement"})},
      {"prune.begin", io::TomlType::number, number_into(&Pruning::begin, kShare)},
      {"prune.end", io::TomlType::number, number_into(&Pruning::end, kShare)},
      {"prune.every", io::TomlType::whole, count_into(&Pruning::every, {.least = 1})},
      {"prune.keep_zeros", io::TomlType::on_off, switch_into(&Pruning::keep_zeros)},
      {"prune.except", io::TomlType::list, written_into(&Pruning::except)},
      {"train.seed", io::TomlType::whole, count_into(&Recipe::seed, kAny)},
      {"train.epochs", io::TomlType::whole, count_into(&Recipe::epochs, {.least = 0, .most = 1'000'000'000})},
      {"train.steps", io::TomlType::whole,
       count_into(&Recipe::steps, {.least = 0, .most = 1'000'000'000'000})},
      {"train.time", io::TomlType::text,
       [](Recipe& r, const io::Source& s,
          const Written& w) { r.seconds = io::seconds_from(s, w.texts.at(0)); }},
      {"train.patience", io::TomlType::whole, count_into(&Recipe::patience, kAny)},
      {"train.evaluate_every", io::TomlType::whole, count_into(&Recipe::evaluate_every, kAny)},
      {"train.goal", io::TomlType::number, number_into(&Recipe::goal, {})},
      {"train.episodes", io::TomlType::whole, count_into(&Recipe::episodes, {.least = 1, .most = 100'000})},
      {"train.watch", io::TomlType::text, text_into(&Recipe::watch)},
      {"train.autocast", io::TomlType::text, text_into(&Recipe::autocast, {"bf16", "f16"})},
      {"train.quantize", io::TomlType::text,
       text_into(&Recipe::quantize, {"static", "dynamic", "weights", "4-bit"})},
      {"train.loss", io::TomlType::text, written_into(&Recipe::loss)},
      {"train.metrics", io::TomlType::list, written_into(&Recipe::metrics)},
      {"train.teacher", io::TomlType::text, text_into(&Recipe::teacher)},
      {"train.temperature", io::TomlType::number, number_into(&Recipe::temperature, {.above = 0})},
      {"train.teacher_weight", io::TomlType::number, number_into(&Recipe::teacher_weight, kShare)},
      {"train.hints", io::TomlType::list, written_into(&Recipe::hints)},
      {"train.hint_loss", io::TomlType::text,
       text_into(&Recipe::hint_loss, {"features", "attention", "similarity"})},
      {"train.hint_weight", io::TomlType::number, number_into(&Recipe::hint_weight, {.least = 0})},
      {"train.progressive_resizing", io::TomlType::text, written_into(&Recipe::resizing), kOfPictures},
  };
  return all;
}

std::string name_in(const RecipeKey& key, const std::string& text) {
  const std::string_view form = key.name;
  const std::size_t at = form.find("NAME");
  if (key.take_named == nullptr || text.size() <= form.size() - 4) return {};
  const std::string_view before = form.substr(0, at), after = form.substr(at + 4);
  if (!text.starts_with(before) || !text.ends_with(after)) return {};
  std::string name = text.substr(at, text.size() - before.size() - after.size());
  return key.has_dots || name.find('.') == std::string::npos ? name : "";
}

const RecipeKey* find_recipe_key(const std::string& name) {
  for (const RecipeKey& key : recipe_keys())
    if (name == key.name || !name_in(key, name).empty()) return &key;
  return nullptr;
}

}  // namespace veldt::recipe
