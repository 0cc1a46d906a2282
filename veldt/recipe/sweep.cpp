// The trials of a sweep, round by round, and their order.
#include "veldt/recipe/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "veldt/io/digest.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/known.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trainer.h"

namespace veldt::recipe {
namespace {

// "lr" of "optimizer.lr", or the whole key where two end like this.
std::string short_key(const std::vector<SweepAxis>& axes, const std::string& key) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  const auto same = [&](const SweepAxis& axis) { return last(axis.key) == last(key); };
  return std::count_if(axes.begin(), axes.end(), same) == 1 ? last(key) : key;
}

// A name that any file system takes and no shell wants in quotes. What had to be changed is in a digest.
std::string file_name(const std::string& text) {
  constexpr std::size_t kMost = 100;
  std::string name;
  for (const char c : text) {
    const bool kept =
        (static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) != 0) ||
        std::string_view("=_.+-,").find(c) != std::string_view::npos;
    name += kept ? c : '_';
  }
  if (name == text && name.size() <= kMost) return name;
  return name.substr(0, kMost) + '-' + io::digest_of(text.data(), text.size()).substr(0, 12);
}

std::int64_t product_of(const std::vector<SweepAxis>& axes) {
  std::int64_t product = 1;
  for (const SweepAxis& axis : axes)
    if (__builtin_mul_overflow(product, std::ssize(axis.values), &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}

// Also of corrupted pictures: "test_loss shift(4)".
bool is_loss(const std::string& score) { return score.substr(0, score.find(' ')).ends_with("_loss"); }

// The first metric that was measured, of the validation set if there is one, else of the test set: scores are
// in the order of train.metrics.
std::optional<Watched> first_metric(const Recipe& recipe, const train::Scores& scores) {
  for (const std::string_view of : {"val_", "test_"})
    for (const auto& [name, value] : scores) {
      if (!name.starts_with(of) || is_loss(name)) continue;
      return Watched{name, watched_of(recipe, name.substr(of.size())).larger_is_better};
    }
  return std::nullopt;
}

}  // namespace

Sweep::Sweep(Recipe recipe, SweepOptions options) : recipe_(std::move(recipe)), options_(std::move(options)) {
  if (options_.over.empty())
    throw UsageError("there is nothing to sweep over", "no key has several values",
                     "give one, as in --over optimizer.lr=1e-3,3e-3");
  if (options_.seeds < 1)
    throw UsageError(fmt::format("--seeds cannot be {}", options_.seeds),
                     "each combination is trained at least once", "give 1 or more");
  for (const std::string& over : options_.over) {
    axes_.push_back(sweep_axis(recipe_, over, options_.random > 0));
    for (std::size_t i = 0; i + 1 < axes_.size(); ++i)
      if (axes_[i].key == axes_.back().key)
        throw UsageError(fmt::format("--over {} is given twice", axes_[i].key),
                         "each key has one list of values",
                         "put all its values into one, with commas between them");
  }
  configurations_ = options_.random > 0 ? options_.random : product_of(axes_);
  if (std::int64_t all = 0; __builtin_mul_overflow(configurations_, options_.seeds, &all) || all > kMostRuns)
    throw UsageError(
        fmt::format("the sweep has {} runs", all > kMostRuns ? std::to_string(all) : "countless"),
        fmt::format("it can have {} at most", kMostRuns), "give fewer values, or --random 100");
  if (options_.random > 0) draw();
  plan_rounds();
  check_values();
}

// The draws of a longer sweep begin with those of a shorter one.
void Sweep::draw() {
  const bool is_finite =
      std::none_of(axes_.begin(), axes_.end(), [](const SweepAxis& a) { return a.range.has_value(); });
  const std::int64_t all = is_finite ? product_of(axes_) : std::numeric_limits<std::int64_t>::max();
  Rng rng(static_cast<std::uint64_t>(recipe_.seed), 0x7377656570);  // "sweep"
  std::set<std::vector<std::string>> seen;
  std::int64_t in_vain = 0;
  while (std::ssize(drawn_) < options_.random) {
    std::vector<std::string> values;
    for (const SweepAxis& axis : axes_) values.push_back(drawn_value(axis, rng));
    if (seen.insert(values).second) {
      drawn_.push_back(std::move(values));
      in_vain = 0;
    } else if (std::ssize(drawn_) == all || ++in_vain > 100'000) {
      throw UsageError(fmt::format("--random cannot be {}", options_.random),
                       fmt::format("there are {} combinations", std::ssize(drawn_)),
                       "give fewer, or more values");
    }
  }
}

void Sweep::plan_rounds() {
  const std::int64_t eta = options_.halving;
  rounds_ = {{.share = 1, .size = configurations_}};
  if (eta == 0) return;
  if (eta < 2)
    throw UsageError(fmt::format("--halving cannot be {}", eta), "the best of so many go on",
                     "give 2 or more");
  if (recipe_.validation <= 0 && !recipe_.acts())
    throw UsageError("--halving has nothing to judge by", "the recipe holds nothing back for validation",
                     "set data.validation, as in --set data.validation=0.1");
  if (recipe_.epochs == 0 && recipe_.steps == 0)
    throw UsageError("--halving is for runs that end after a number of steps",
                     "the recipe gives a time alone", "set train.epochs or train.steps");
  if (compares_losses())
    throw UsageError("--halving has nothing to judge by",
                     "losses of different kinds cannot be compared, and train.watch is the loss",
                     recipe_.kind == "series" ? "leave --halving out" : "set train.watch to a metric");
  if (configurations_ < eta)
    throw UsageError(
        fmt::format("--halving cannot be {}", eta),
        fmt::format("there are {} combinations, too few for the best of {} to go on", configurations_, eta),
        "give more values, or leave it out");
  // An epoch is the least that is judged.
  const auto parts = static_cast<double>(recipe_.steps > 0 ? recipe_.steps : recipe_.epochs);
  for (std::int64_t size = configurations_ / eta; size >= 1; size /= eta) {
    if (rounds_[0].share / static_cast<double>(eta) * parts < 1 - 1e-9) break;
    for (Round& round : rounds_) round.share /= static_cast<double>(eta);
    rounds_.push_back({.share = 1, .size = size});
  }
  if (rounds_.size() == 1)
    throw UsageError(
        fmt::format("--halving cannot be {}", eta),
        fmt::format("a run of {} {} cannot be divided so", parts, recipe_.steps > 0 ? "steps" : "epochs"),
        "train for longer, or leave it out");
}

// Each value has to be part of a combination that is a recipe; other combinations are rows that say why they
// are not. Of very many only the first are looked at.
void Sweep::check_values() const {
  constexpr std::int64_t kLookedAt = 1000;
  const std::int64_t count = std::min(configurations_, kLookedAt);
  const auto fault_of = [this](const std::vector<std::string>& values) -> std::optional<UsageError> {
    try {
      static_cast<void>(recipe_with(values, recipe_.seed));
      return std::nullopt;
    } catch (const UsageError& e) {
      return e;
    }
  };
  std::vector<std::string> good;
  std::optional<UsageError> first;
  for (std::int64_t i = 0; i < count && good.empty(); ++i)
    if (std::optional<UsageError> fault = fault_of(settings(i)); !fault)
      good = settings(i);
    else if (!first)
      first = std::move(fault);
  if (good.empty() && count == configurations_) throw UsageError(*first);
  for (std::size_t a = 0; a < axes_.size() && !good.empty(); ++a)
    for (const std::string& value : axes_[a].values) {
      std::vector<std::string> values = good;
      values[a] = value;
      const std::optional<UsageError> fault = fault_of(values);
      bool fits = !fault;
      for (std::int64_t i = 0; i < count && !fits; ++i)
        fits = settings(i)[a] == value && !fault_of(settings(i));
      if (!fits && count == configurations_) throw UsageError(*fault);
    }
}

std::vector<std::string> Sweep::keys() const {
  std::vector<std::string> all;
  for (const SweepAxis& axis : axes_) all.push_back(axis.key);
  return all;
}

std::vector<std::string> Sweep::settings(std::int64_t configuration) const {
  if (options_.random > 0) return drawn_.at(static_cast<std::size_t>(configuration));
  std::vector<std::string> values(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const std::int64_t count = std::ssize(axes_[i].values);
    values[i] = axes_[i].values[static_cast<std::size_t>(configuration % count)];
    configuration /= count;
  }
  return values;
}

std::string Sweep::name_of_run(std::int64_t configuration, std::int64_t seed_number) const {
  const std::vector<std::string> values = settings(configuration);
  std::string text;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    text += fmt::format("{}={}_", short_key(axes_, axes_[i].key), values[i]);
  return file_name(text + fmt::format("seed={}", recipe_.seed + seed_number));
}

Recipe Sweep::recipe_of(const Trial& trial) const {
  return recipe_with(settings(trial.configuration), trial.seed);
}

Recipe Sweep::recipe_with(const std::vector<std::string>& values, std::int64_t seed) const {
  std::vector<std::string> sets{fmt::format("train.seed={}", seed)};
  for (std::size_t i = 0; i < axes_.size(); ++i) sets.push_back(axes_[i].key + '=' + values[i]);
  Recipe recipe = changed(recipe_, sets, "--over");
  check_model(recipe);
  check_training(recipe);
  check_transforms(recipe);
  return recipe;
}

std::int64_t Sweep::member(std::int64_t place) const {
  return round_ == 0 ? place : rounds_[round_].members.at(static_cast<std::size_t>(place));
}

std::int64_t Sweep::run_number(std::int64_t configuration, std::int64_t seed_number) const {
  return configuration * options_.seeds + seed_number;
}

std::optional<Trial> Sweep::take() {
  while (!over() && taken_ < rounds_[round_].size * options_.seeds) {
    // All combinations with one seed, then with the next: the first rows are there early.
    const Round& round = rounds_[round_];
    const std::int64_t configuration = member(taken_ % round.size), seed_number = taken_ / round.size;
    ++taken_;
    const Outcome* before = outcome(configuration, seed_number);
    if (round_ > 0 && before != nullptr && before->end != Outcome::End::done) {  // it stays what it was
      ++told_;
      next_round();
      continue;
    }
    return Trial{.configuration = configuration,
                 .seed = recipe_.seed + seed_number,
                 .from = round_ == 0 ? 0 : rounds_[round_ - 1].share,
                 .until = round.share,
                 .name = name_of_run(configuration, seed_number)};
  }
  return std::nullopt;
}

void Sweep::tell(const Trial& trial, Outcome outcome) {
  if (outcome.share <= 0) outcome.share = trial.until;
  outcomes_[run_number(trial.configuration, trial.seed - recipe_.seed)] = std::move(outcome);
  if (round_ > 0) shares_[trial.configuration] = trial.until;
  done_ += trial.until - trial.from;
  ++told_;
  next_round();
}

void Sweep::next_round() {
  if (told_ < rounds_[round_].size * options_.seeds) return;
  taken_ = told_ = 0;
  if (++round_ == rounds_.size()) return;
  Round& round = rounds_[round_];
  std::vector<std::int64_t> best = order();
  const std::string name = score().name;
  std::erase_if(best, [&](std::int64_t i) {  // not those of earlier rounds, nor without a score
    return share(i) < rounds_[round_ - 1].share || !mean_score(i, name);
  });
  if (std::ssize(best) > round.size) best.resize(static_cast<std::size_t>(round.size));
  std::sort(best.begin(), best.end());
  round.size = std::ssize(best);
  round.members = std::move(best);
  if (round.size == 0) round_ = rounds_.size();  // none is left to go on
}

std::int64_t Sweep::trials() const {
  std::int64_t all = 0;
  for (const Round& round : rounds_) all += round.size * options_.seeds;
  return all;
}

double Sweep::work() const {
  double all = 0, before = 0;
  for (const Round& round : rounds_) {
    all += (round.share - before) * static_cast<double>(round.size * options_.seeds);
    before = round.share;
  }
  return all;
}

const Outcome* Sweep::outcome(std::int64_t configuration, std::int64_t seed_number) const {
  const auto at = outcomes_.find(run_number(configuration, seed_number));
  return at == outcomes_.end() ? nullptr : &at->second;
}

double Sweep::share(std::int64_t configuration) const {
  const auto at = shares_.find(configuration);
  return at == shares_.end() ? rounds_[0].share : at->second;
}

bool Sweep::compares_losses() const {
  const auto names_loss = [](const SweepAxis& axis) { return axis.key == "train.loss"; };
  return std::any_of(axes_.begin(), axes_.end(), names_loss) && watched_of(recipe_).name == "loss";
}

Watched Sweep::score() const {
  const Watched watched = watched_of(recipe_);
  const std::vector<Watched> wanted = {{"val_" + watched.name, watched.larger_is_better},
                                       {"test_" + watched.name, watched.larger_is_better},
                                       {"test_mae", false},
                                       {"train_loss", false}};
  const bool by_loss = compares_losses();
  for (const auto& [run, outcome] : outcomes_) {
    if (outcome.end != Outcome::End::done) continue;
    if (by_loss)
      if (const std::optional<Watched> metric = first_metric(recipe_, outcome.scores)) return *metric;
    for (const Watched& one : wanted)
      for (const auto& [name, value] : outcome.scores)
        if (name == one.name) return one;
    for (const auto& [name, value] : outcome.scores)  // of a program that has names of its own
      if (name != "waiting" && !name.starts_with("train_")) return {name, watched.larger_is_better};
  }
  return {};
}

std::optional<double> Sweep::mean_score(std::int64_t configuration, const std::string& name) const {
  double sum = 0;
  int count = 0;
  for (std::int64_t i = 0; i < options_.seeds; ++i)
    if (const Outcome* one = outcome(configuration, i); one != nullptr && one->end == Outcome::End::done)
      for (const auto& [other, value] : one->scores)
        if (other == name && std::isfinite(value)) sum += value, ++count;
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::vector<std::int64_t> Sweep::order() const {
  struct Key {
    double share = 0;
    std::int64_t failures = 0;
    bool has_score = false;
    double badness = 0;
    bool operator==(const Key&) const = default;
  };
  const Watched watched = score();
  std::vector<Key> keys;
  for (std::int64_t c = 0; c < configurations_; ++c) {
    Key key{.share = share(c)};
    for (std::int64_t i = 0; i < options_.seeds; ++i)
      if (const Outcome* one = outcome(c, i); one != nullptr) key.failures += one->end != Outcome::End::done;
    if (const std::optional<double> mean = mean_score(c, watched.name)) {
      key.has_score = true;
      key.badness = watched.larger_is_better ? -*mean : *mean;
    }
    keys.push_back(key);
  }
  std::vector<std::int64_t> all(keys.size());
  std::iota(all.begin(), all.end(), 0);
  std::stable_sort(all.begin(), all.end(), [&keys](std::int64_t a, std::int64_t b) {
    const Key &x = keys[static_cast<std::size_t>(a)], &y = keys[static_cast<std::size_t>(b)];
    if (x.has_score != y.has_score) return x.has_score;
    if (x.share != y.share) return x.share > y.share;
    if ((x.failures == 0) != (y.failures == 0)) return x.failures == 0;
    return x.badness < y.badness;
  });
  return all;
}

Outcome outcome_of(const Error& error) {
  Outcome outcome{.end = Outcome::End::failed, .reason = fmt::format("{}: {}", error.summary(), error.why())};
  if (dynamic_cast<const DivergedError*>(&error) != nullptr) outcome.end = Outcome::End::diverged;
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) outcome.end = Outcome::End::refused;
  return outcome;
}

void run(Sweep& sweep, const std::function<Outcome(const Trial&, const Recipe&)>& train) {
  while (const std::optional<Trial> trial = sweep.take()) {
    Outcome outcome;
    try {
      outcome = train(*trial, sweep.recipe_of(*trial));
    } catch (const Error& error) {
      outcome = outcome_of(error);
    }
    sweep.tell(*trial, std::move(outcome));
  }
}

}  // namespace veldt::recipe
