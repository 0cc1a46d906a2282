// The tables of optimizers, schedules, losses and metrics that a recipe may name, and the code that builds
// them.
#include "veldt/recipe/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <functional>
#include <utility>

#include "veldt/data/augment.h"
#include "veldt/io/suggest.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/lion.h"
#include "veldt/optim/muon.h"
#include "veldt/optim/rmsprop.h"
#include "veldt/optim/sgd.h"
#include "veldt/optim/group.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/distilling.h"
#include "veldt/recipe/known.h"
#include "veldt/recipe/pruning.h"
#include "veldt/recipe/resizing.h"
#include "veldt/recipe/views.h"

namespace veldt::recipe {
namespace {

// An optimizer with what the recipe sets of its options, and its own defaults for the rest, of what is not
// frozen.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> built(const Recipe& recipe, const NamedTensors& trained) {
  Options o;
  if (recipe.lr) o.lr = *recipe.lr;
  if (recipe.weight_decay) o.weight_decay = *recipe.weight_decay;
  o.clip.norm = recipe.clip;
  if constexpr (requires { o.momentum; })
    if (recipe.momentum) o.momentum = *recipe.momentum;
  if constexpr (std::same_as<Optimizer, optim::SGD>) o.nesterov = recipe.nesterov;
  if constexpr (std::derived_from<Optimizer, optim::GroupedOptimizer<Options>>) {
    std::vector<std::pair<std::string, Options>> named;
    for (const auto& [name, group] : recipe.groups) {
      named.emplace_back(prefix_of(recipe, name), o);
      named.back().second.lr = group.rate;
    }
    return std::make_unique<Optimizer>(optim::groups_by_name<Options>(trained, o, named));
  } else {
    return std::make_unique<Optimizer>(trained, o);
  }
}

struct OptimizerKind {
  const char* name;
  std::unique_ptr<optim::Optimizer> (*build)(const Recipe&, const NamedTensors&);
  bool has_momentum = false, has_groups = true;
};
constexpr OptimizerKind kOptimizers[] = {
    {"sgd", built<optim::SGD, optim::SGDOptions>, true},
    {"adam", built<optim::Adam, optim::AdamOptions>},
    {"adamw", built<optim::AdamW, optim::AdamWOptions>},
    {"radam", built<optim::RAdam, optim::RAdamOptions>},
    {"rmsprop", built<optim::RMSprop, optim::RMSpropOptions>, true},
    {"adagrad", built<optim::Adagrad, optim::AdagradOptions>},
    {"lion", built<optim::Lion, optim::LionOptions>},
    {"adan", built<optim::Adan, optim::AdanOptions>},
    {"muon", built<optim::Muon, optim::MuonOptions>, true, false},
};

const OptimizerKind& optimizer_kind(const Recipe& recipe) {
  for (const OptimizerKind& kind : kOptimizers) {
    if (recipe.optimizer != kind.name) continue;
    if (recipe.momentum && !kind.has_momentum)
      throw UsageError(fmt::format("optimizer.momentum is not for {}", recipe.optimizer), "it has none",
                       "leave it out, or choose sgd, rmsprop or muon");
    if (recipe.nesterov && (recipe.optimizer != "sgd" || recipe.momentum.value_or(0) == 0))
      throw UsageError(fmt::format("optimizer.nesterov is not for {}{}", recipe.optimizer,
                                   recipe.optimizer == "sgd" ? " without a momentum" : ""),
                       "it is a form of momentum, of gradient descent",
                       "leave it out, or choose sgd with optimizer.momentum = 0.9, say");
    if (!recipe.groups.empty() && !kind.has_groups)
      throw UsageError(
          fmt::format("{}: groups are not for {}", recipe.groups.begin()->second.where, recipe.optimizer),
          "it has groups of its own", "leave it out, or choose adamw");
    return kind;
  }
  throw UsageError(fmt::format("there is no optimizer '{}'", recipe.optimizer),
                   "a recipe names one that exists", "give adam");
}

optim::Schedule schedule_without_warmup(Call& call, double lr, std::int64_t steps) {
  const auto done = [&](auto schedule) -> optim::Schedule {
    call.finish();
    return schedule;
  };
  if (call.name() == "constant") return done(optim::Constant{lr});
  if (call.name() == "cosine") {
    const double end = call.number("end", 0, {.least = 0});
    return done(optim::CosineAnnealing{.lr_max = lr, .lr_min = end, .steps = steps});
  }
  if (call.name() == "linear") {
    const double end = call.number("end", 0, {.least = 0});
    return done(optim::Linear{.lr_start = lr, .lr_end = end, .steps = steps});
  }
  if (call.name() == "one_cycle") {
    optim::OneCycle o{.lr_max = lr, .steps = steps};
    o.rise = call.number("rise", o.rise, {.least = 0, .most = 1});
    o.start_divisor = call.number("start_divisor", o.start_divisor, {.above = 0});
    o.end_divisor = call.number("end_divisor", o.end_divisor, {.above = 0});
    return done(o);
  }
  if (call.name() == "step") {
    const std::int64_t every = call.count("every");
    return done(
        optim::StepDecay{.lr = lr, .every = every, .factor = call.number("factor", 0.1, {.above = 0})});
  }
  if (call.name() == "exponential")
    return done(optim::Exponential{.lr = lr, .factor = call.number("factor", {}, {.above = 0})});
  throw call.unknown("schedule", {"constant", "cosine", "linear", "one_cycle", "step", "exponential"});
}

train::Loss loss_of(const Recipe& recipe) {
  const bool is_number = recipe.learns_numbers();
  const bool is_soft = recipe.mix.given();  // then labels are shares of classes
  const train::Loss of_shares = [](const Tensor& y, const data::Batch& b) {
    return cross_entropy(y, b.back());
  };
  if (!recipe.loss.given() && !is_number) return is_soft ? of_shares : train::Loss();
  Call call(recipe.loss.given() ? recipe.loss.source() : io::Source{"train.loss", "", true},
            recipe.loss.given() ? recipe.loss.texts.at(0) : "mse");
  const std::vector<std::string> of_classes{"cross_entropy"}, of_numbers{"mse", "l1", "huber", "smooth_l1"};
  const std::vector<std::string>& known = is_number ? of_numbers : of_classes;
  if (std::find(known.begin(), known.end(), call.name()) == known.end()) throw call.unknown("loss", known);
  const double smoothing =
      call.name() == "cross_entropy" ? call.number("label_smoothing", 0, {.least = 0, .most = 1}) : 0;
  const bool bends = call.name() == "huber" || call.name() == "smooth_l1";
  const double bend = bends ? call.number("delta", 1, {.above = 0}) : 1;
  call.finish();
  if (call.name() == "mse")
    return [](const Tensor& y, const data::Batch& b) { return mse_loss(y, b.back()); };
  if (call.name() == "l1") return [](const Tensor& y, const data::Batch& b) { return l1_loss(y, b.back()); };
  if (call.name() == "huber")
    return [bend](const Tensor& y, const data::Batch& b) { return huber_loss(y, b.back(), {.delta = bend}); };
  if (call.name() == "smooth_l1")
    return
        [bend](const Tensor& y, const data::Batch& b) { return smooth_l1_loss(y, b.back(), {.beta = bend}); };
  if (smoothing == 0) return is_soft ? of_shares : train::Loss();
  return [smoothing](const Tensor& y, const data::Batch& b) {
    return cross_entropy(y, b.back(), {.label_smoothing = smoothing});
  };
}

// `facts` is null before there are data: then only names and arguments are checked.
train::MetricMaker metric_of(const Recipe& recipe, const io::Source& source, const std::string& text,
                             const Facts* facts) {
  Call call(source, text);
  if (recipe.kind == "series")
    throw call.refused(
        "a forecast is measured at the end in any case, in the units of its series: test_mae "
        "and test_rmse",
        "leave out train.metrics");
  using Names = std::vector<std::string>;
  call.must_be("metric", recipe.kind == "pairs" ? Names{"exact_match", "accuracy", "top_k", "perplexity"}
                         : recipe.denoises()    ? Names{"psnr", "noisy_psnr", "mae", "rmse"}
                         : recipe.learns_numbers()
                             ? Names{"mae", "rmse"}
                             : Names{"accuracy", "top_k", "perplexity", "macro_f1", "auroc"});
  const std::int64_t k = call.name() == "top_k" ? call.count("k", 5) : 1;
  call.finish();
  const std::int64_t outputs = facts != nullptr ? facts->model.outputs : 0;
  if (call.name() == "auroc" && (recipe.kind == "text" || (facts != nullptr && outputs != 2)))
    throw call.refused(recipe.kind == "text"
                           ? "it is for two classes, and a text has characters"
                           : fmt::format("it is for two classes, and there are {}", outputs),
                       "choose, for example, accuracy or macro_f1");
  if (facts != nullptr && k > outputs)
    throw call.refused(fmt::format("there are {} classes, so each is among the best {}", outputs, k),
                       "give a smaller k");
  if (call.name() == "macro_f1" && outputs > train::Confusion::kMostClasses)
    throw call.refused(fmt::format("it is for {} classes at most, and there are {}",
                                   train::Confusion::kMostClasses, outputs),
                       "choose, for example, accuracy or top_k");
  const double unit = facts != nullptr ? facts->scaling.deviation : 1;
  const std::vector<std::pair<std::string, std::function<train::MetricMaker()>>> known = {
      {"accuracy", train::accuracy},
      {"top_k", [k] { return train::top_k(k); }},
      {"perplexity", train::perplexity},
      {"macro_f1", [&] { return train::macro_f1(std::max<std::int64_t>(outputs, 1)); }},
      {"auroc", train::auroc},
      {"mae", [&] { return train::mean_absolute_error(unit); }},
      {"exact_match", [&] { return train::exact_match(facts != nullptr ? facts->model.target[0] : 1); }},
      {"psnr", [] { return train::psnr(); }},
      {"noisy_psnr", [] { return train::psnr_of_input(); }},
      {"rmse", [&] { return train::root_mean_squared_error(unit); }},
  };
  for (const auto& [name, make] : known)
    if (call.name() == name) return make();
  throw call.unknown("metric", {});
}

std::vector<train::MetricMaker> metrics_of(const Recipe& recipe, const Facts* facts) {
  std::vector<train::MetricMaker> metrics;
  const auto add = [&](const io::Source& source, const std::string& text) {
    metrics.push_back(metric_of(recipe, source, text, facts));
  };
  for (std::size_t i = 0; i < recipe.metrics.texts.size(); ++i)
    add(recipe.metrics.source(i), recipe.metrics.texts[i]);
  const io::Source unless_given{"train.metrics", "", true};
  if (!recipe.metrics.given() && recipe.kind == "pairs") add(unless_given, "exact_match");
  if (!recipe.metrics.given() && !recipe.learns_numbers()) add(unless_given, "accuracy");
  if (!recipe.metrics.given() && recipe.kind == "table" && !recipe.classes) add(unless_given, "mae");
  if (!recipe.metrics.given() && recipe.denoises())
    add(unless_given, "psnr"), add(unless_given, "noisy_psnr");
  return metrics;
}

void check_watch(const Recipe& recipe, const std::vector<train::MetricMaker>& metrics) {
  std::vector<std::string> known{"loss"};
  for (const train::MetricMaker& make : metrics) known.push_back(make()->name());
  if (recipe.watch.empty() || std::find(known.begin(), known.end(), recipe.watch) != known.end()) return;
  const std::string nearest = io::nearest_of(recipe.watch, known);
  throw UsageError(
      fmt::format("train.watch cannot be '{}'", recipe.watch),
      fmt::format("the measures are {}", fmt::join(known, ", ")),
      nearest.empty() ? "name one of them, or add its metric" : fmt::format("did you mean '{}'?", nearest));
}

// [n, time, outputs] to [n time, outputs], as the targets are.
Tensor by_position(const nn::Module& model, const data::Batch& batch) {
  const bool is_pair = batch.size() > 2;
  const Tensor y = is_pair ? model(TensorList{batch[0], batch[1]})[0] : model(batch.at(0));
  return reshape(y, {-1, y.size(-1)});
}

}  // namespace

std::unique_ptr<optim::Optimizer> optimizer_of(const Recipe& recipe, const nn::Module& model,
                                               const NamedTensors& further) {
  const OptimizerKind& kind = optimizer_kind(recipe);
  // Each by itself first, so that an error has the line of the group.
  std::vector<std::string> prefixes;
  for (const auto& [name, group] : recipe.groups) {
    prefixes.push_back(prefix_of(recipe, name));
    try {
      optim::split_by_prefix(model.trained_parameters(), prefixes);
    } catch (const ConfigError& e) {
      throw UsageError(fmt::format("{}: {}", group.where, e.summary()), e.why(), e.fix());
    }
  }
  NamedTensors trained = model.trained_parameters();
  trained.insert(trained.end(), further.begin(), further.end());
  return kind.build(recipe, trained);
}

std::optional<optim::Schedule> schedule_of(const Recipe& recipe, double lr, std::int64_t steps) {
  if (!recipe.schedule.given() && recipe.warmup == 0) return std::nullopt;
  const bool given = recipe.schedule.given();
  Call call(given ? recipe.schedule.source() : io::Source{"optimizer.schedule", "", true},
            given ? recipe.schedule.texts.at(0) : "constant");
  if (recipe.warmup >= steps && steps > 0)
    throw UsageError(fmt::format("optimizer.warmup cannot be {}", recipe.warmup),
                     fmt::format("the run has {} steps", steps), "give fewer");
  try {
    optim::Schedule schedule =
        schedule_without_warmup(call, lr, std::max<std::int64_t>(steps - recipe.warmup, 1));
    if (recipe.warmup == 0) return schedule;
    return optim::LinearWarmup{.steps = recipe.warmup, .then = std::move(schedule)};
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw call.refused(fmt::format("{}: {}", e.summary(), e.why()), e.fix());
  }
}

void check_training(const Recipe& recipe) {
  constexpr std::int64_t kMany = 1'000'000'000'000;  // the data are checked later
  optimizer_kind(recipe);
  schedule_of(recipe, recipe.lr.value_or(1e-3), recipe.steps > 0 ? recipe.steps : kMany);
  if (recipe.acts()) return;
  loss_of(recipe);
  resizing_of(recipe);
  check_pruning(recipe);
  check_distilling(recipe);
  check_watch(recipe, metrics_of(recipe, nullptr));
}

train::TrainerOptions trainer_options_of(const Recipe& recipe, const Facts& facts) {
  train::TrainerOptions o;
  o.loss = loss_of(recipe);
  if (recipe.learns_tokens()) o.forward = by_position;
  if (!recipe.test_time_augment.empty())
    o.forward = [recipe](const nn::Module& model, const data::Batch& batch) {
      return outputs_of(recipe, model, batch.at(0));
    };
  o.metrics = metrics_of(recipe, &facts);
  o.accumulate = recipe.accumulate;
  o.ema_decay = recipe.ema;
  if (!recipe.autocast.empty()) o.autocast = recipe.autocast == "bf16" ? DType::bf16 : DType::f16;
  return o;
}

Watched watched_of(const Recipe& recipe) { return watched_of(recipe, recipe.watch); }

Watched watched_of(const Recipe& recipe, const std::string& watch) {
  if (recipe.acts()) return {"return", true};
  Watched watched{watch.empty() && recipe.kind == "text" ? "loss" : watch};
  // A series is measured in other ways.
  if (recipe.kind == "series") return {"loss"};
  for (const train::MetricMaker& make : metrics_of(recipe, nullptr)) {
    const auto metric = make();
    if (watched.name.empty()) watched.name = metric->name();
    if (watched.name == metric->name()) watched.larger_is_better = metric->larger_is_better();
  }
  if (watched.name.empty()) watched.name = "loss";
  return watched;
}

data::Loader training_loader(const Recipe& recipe, const Data& data) {
  data::LoaderOptions o;
  o.batch = std::min(recipe.batch, data.train->size());
  o.shuffle = true;
  o.drop_last = true;
  o.seed = static_cast<std::uint64_t>(recipe.seed);
  o.workers = static_cast<int>(recipe.workers);
  std::vector<data::Transform> transforms;
  for (const data::Transform& t : {data.augment, data.prepare})
    if (t) transforms.push_back(t);
  if (!transforms.empty()) o.transform = data::sequence(std::move(transforms));
  o.collate = data.mix ? data.mix : data.collate;
  return {data.train, std::move(o)};
}

data::Loader measuring_loader(const Recipe& recipe, const Data& data, const data::DatasetPtr& set,
                              std::uint64_t seed) {
  data::LoaderOptions o;
  o.seed = seed;
  o.batch =
      recipe.learns_tokens() || recipe.denoises() ? recipe.batch : std::max<std::int64_t>(recipe.batch, 250);
  o.transform = data.prepare;
  o.collate = data.collate;
  return {set, std::move(o)};
}

}  // namespace veldt::recipe
