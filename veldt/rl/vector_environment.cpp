// Steps copies of an environment, checks what they give, and restarts them.
#include "veldt/rl/vector_environment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::rl {
namespace {

// Networks learn in 32 bits, where the square of a sum of rewards has to fit too.
constexpr double kMostNumber = 1e15;
constexpr std::int64_t kOwn = 3;  // steps, return and draws, behind the state

Error strange(const EnvironmentSpec& spec, const std::string& what, const std::string& why) {
  return Error(str("the environment ", spec.name, ' ', what), why, "correct the environment");
}

// Of a number that is not finite, or too large to learn from.
[[noreturn]] void refuse_number(const EnvironmentSpec& spec, double x, const std::string& what,
                                const std::string& where) {
  if (std::isfinite(x))
    throw Error(str("the environment ", spec.name, " gave ", what, " of ", x),
                str(where, "; a network learns in 32 bits, from numbers up to ", kMostNumber),
                "scale it in the environment");
  throw strange(spec, str("gave ", what, std::isnan(x) ? " of nan" : " of infinity"), where);
}

}  // namespace

VectorEnvironment::VectorEnvironment(EnvironmentPtr environment, std::int64_t copies, std::uint64_t seed)
    : environment_(std::move(environment)), copies_(copies) {
  if (environment_ == nullptr)
    throw ConfigError("there is no environment", "the pointer is null", "make one");
  if (copies < 1 || copies > (std::int64_t{1} << 20))
    throw ConfigError(str("there cannot be ", copies, " copies of ", spec().name), "there are 1 to 2^20",
                      "give another number");
  const auto n = static_cast<std::size_t>(copies);
  const auto width = static_cast<std::size_t>(spec().observation_size());
  observations_.resize(n * width);
  final_observations_.resize(n * width);
  rewards_.resize(n);
  terminated_.resize(n);
  truncated_.resize(n);
  all_.reserve(n);
  for (std::int64_t i = 0; i < copies; ++i) {
    all_.push_back({.state = {}, .last = {}, .rng = Rng(seed, static_cast<std::uint64_t>(i))});
    begin(all_.back());
    look(i, observations_);
  }
  final_observations_ = observations_;
}

void VectorEnvironment::begin(Copy& copy) {
  environment_->reset(copy.state, copy.rng);
  if (state_size_ == 0) state_size_ = copy.state.size();
  if (copy.state.empty())
    throw strange(spec(), "has an empty state", "reset() has to put a number there at least");
  if (copy.state.size() != state_size_)
    throw strange(spec(), "has a state of another length",
                  str("reset() made ", copy.state.size(), " numbers, and there were ", state_size_));
  copy.steps = 0;
  copy.total = 0;
}

void VectorEnvironment::look(std::int64_t i, std::vector<float>& into) {
  const Copy& copy = all_[static_cast<std::size_t>(i)];
  const auto width = static_cast<std::size_t>(spec().observation_size());
  environment_->observe(copy.state, seen_);
  if (seen_.size() != width)
    throw strange(spec(), "gave an observation of another length",
                  str("after step ", copy.steps, " of an episode it has ", seen_.size(),
                      " numbers, and the spec has bounds for ", width));
  for (std::size_t k = 0; k < width; ++k)
    if (!(std::abs(seen_[k]) <= kMostNumber))
      refuse_number(spec(), seen_[k], "an observation",
                    str("number ", k + 1, " of ", width, ", after step ", copy.steps, " of an episode"));
  std::copy(seen_.begin(), seen_.end(), into.begin() + i * spec().observation_size());
}

bool VectorEnvironment::ended(std::int64_t copy) const {
  const auto i = static_cast<std::size_t>(copy);
  return terminated_[i] != 0 || truncated_[i] != 0;
}

void VectorEnvironment::step(std::span<const std::int64_t> choices) {
  if (!spec().is_discrete() || std::ssize(choices) != copies_)
    throw ShapeError(str(spec().name, " cannot take ", choices.size(), " choices"),
                     spec().is_discrete() ? str("it has ", copies_, " copies") : "its action is continuous",
                     spec().is_discrete() ? "give one for each" : "give numbers");
  episodes_.clear();
  for (std::int64_t i = 0; i < copies_; ++i) {
    const std::int64_t choice = choices[static_cast<std::size_t>(i)];
    if (choice < 0 || choice >= spec().choices)
      throw Error(str(spec().name, " has no choice ", choice), str("there are 0 to ", spec().choices - 1),
                  "give one of these");
    step_copy(i, {.choice = choice});
  }
}

void VectorEnvironment::step(std::span<const float> actions) {
  if (spec().is_discrete() || std::ssize(actions) != copies_ * spec().action_size())
    throw ShapeError(str(spec().name, " cannot take an action of ", actions.size(), " numbers"),
                     spec().is_discrete() ? str("it has ", spec().choices, " choices")
                                          : str(copies_, " copies take ", copies_ * spec().action_size()),
                     spec().is_discrete() ? "give the number of one for each copy" : "give as many");
  episodes_.clear();
  const auto width = static_cast<std::size_t>(spec().action_size());
  for (std::int64_t i = 0; i < copies_; ++i)
    step_copy(i, {.values = actions.subspan(static_cast<std::size_t>(i) * width, width)});
}

void VectorEnvironment::step_copy(std::int64_t i, const Action& action) {
  const auto at = static_cast<std::size_t>(i);
  Copy& copy = all_[at];
  const StepResult result = environment_->step(copy.state, action);
  ++copy.steps;
  if (copy.state.size() != state_size_)
    throw strange(
        spec(), "has a state of another length",
        str("step ", copy.steps, " of an episode left ", copy.state.size(), " numbers of ", state_size_));
  if (!(std::abs(result.reward) <= kMostNumber))
    refuse_number(spec(), result.reward, "a reward", str("in step ", copy.steps, " of an episode"));
  copy.total += result.reward;
  rewards_[at] = static_cast<float>(result.reward);
  terminated_[at] = result.terminated;
  truncated_[at] = spec().time_limit > 0 && copy.steps >= spec().time_limit;
  look(i, final_observations_);
  if (!ended(i)) {
    const std::int64_t width = spec().observation_size();
    std::copy_n(final_observations_.begin() + i * width, width, observations_.begin() + i * width);
    return;
  }
  episodes_.push_back({i, copy.steps, copy.total});
  copy.last = copy.state;
  begin(copy);
  look(i, observations_);
}

const std::vector<double>& VectorEnvironment::state(std::int64_t copy) const {
  return all_.at(static_cast<std::size_t>(copy)).state;
}

const std::vector<double>& VectorEnvironment::last_state(std::int64_t copy) const {
  return all_.at(static_cast<std::size_t>(copy)).last;
}

double VectorEnvironment::total(std::int64_t copy) const {
  return all_.at(static_cast<std::size_t>(copy)).total;
}

void VectorEnvironment::set_state(std::int64_t copy, const std::vector<double>& state) {
  Copy& one = all_.at(static_cast<std::size_t>(copy));
  if (state.size() != state_size_)
    throw ShapeError(str(spec().name, " cannot go on from ", state.size(), " numbers"),
                     str("its state has ", state_size_), "give as many");
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(state.begin(), state.end(), is_finite) || !environment_->is_state(state))
    throw ShapeError(str(spec().name, " cannot go on from these numbers"),
                     "no episode has them for its state", "give those of state() or last_state()");
  one.state = state;
  one.steps = 0;
  one.total = 0;
  look(copy, observations_);
}

NamedTensors VectorEnvironment::saved() const {
  std::vector<double> all;
  for (const Copy& copy : all_) {
    all.insert(all.end(), copy.state.begin(), copy.state.end());
    all.insert(all.end(),
               {static_cast<double>(copy.steps), copy.total, static_cast<double>(copy.rng.position())});
  }
  const Shape shape{copies_, static_cast<std::int64_t>(state_size_) + kOwn};
  return {{"state", Tensor::from<double>(shape, all)}};
}

void VectorEnvironment::load(const Tensor& state) {
  const std::int64_t width = static_cast<std::int64_t>(state_size_) + kOwn;
  if (state.shape() != Shape{copies_, width} || state.dtype() != DType::f64)
    throw ShapeError("the saved environments are of another form",
                     str("they are ", state.shape(), ", and ", Shape{copies_, width}, " in f64 is needed"),
                     "resume the run that saved them");
  const std::vector<double> all = state.values<double>();
  const auto is_count = [](double x) { return x >= 0 && x < 0x1p53 && x == std::floor(x); };
  for (std::int64_t i = 0; i < copies_; ++i) {
    const auto first = all.begin() + i * width, own = first + static_cast<std::ptrdiff_t>(state_size_);
    if (!std::all_of(first, first + width, [](double x) { return std::isfinite(x); }) || !is_count(own[0]) ||
        !is_count(own[2]))
      throw IoError(IoError::Kind::corrupt, "the saved environments hold numbers that no run has",
                    str("those of copy ", i, " are not finite, or no counts"), "start a new run");
    Copy& copy = all_[static_cast<std::size_t>(i)];
    const std::vector<double> loaded(first, own);
    if (!environment_->is_state(loaded))
      throw IoError(IoError::Kind::corrupt, "the saved environments hold numbers that no run has",
                    str("those of copy ", i, " are no state of ", spec().name), "start a new run");
    copy.state = loaded;
    copy.steps = static_cast<std::int64_t>(own[0]);
    copy.total = own[1];
    copy.rng.seek(static_cast<std::uint64_t>(own[2]));
    look(i, observations_);
  }
}

}  // namespace veldt::rl
