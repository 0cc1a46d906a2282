// Writes a fit's state as JSON and reads it back, from an untrusted file.
#include "veldt/train/fit_state.h"

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/io/json.h"

namespace veldt::train {
namespace {

using nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMost = 1'000'000'000'000'000;  // steps, evaluations, and seconds

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw IoError(IoError::Kind::corrupt, "the fit's own state cannot be read: " + what, why,
                "start a new run");
}

// The start of a value from a file, which may have any length.
std::string shown(const json& value) {
  const std::string text = io::dump_json(value);
  return text.size() <= 40 ? text : str("of the type ", value.type_name());
}

const json& at(const json& object, const std::string& path, const char* key) {
  if (!object.is_object()) refuse(str(path, " is ", shown(object)), "it has to be an object");
  const auto found = object.find(key);
  if (found == object.end()) refuse(str("it has no ", path, '.', key), "every fit writes one");
  return *found;
}

std::int64_t count_at(const json& object, const std::string& path, const char* key) {
  const json& value = at(object, path, key);
  const std::optional<std::int64_t> count = io::whole_number<std::int64_t>(value);
  if (!count || *count < 0 || *count > kMost)
    refuse(str(path, '.', key, " is ", shown(value)), str("it has to be a whole number from 0 to ", kMost));
  return *count;
}

double seconds_at(const json& object, const std::string& path, const char* key) {
  const json& value = at(object, path, key);
  const double seconds = value.is_number() ? value.get<double>() : -1;
  if (!(seconds >= 0 && seconds <= static_cast<double>(kMost)))
    refuse(str(path, '.', key, " is ", shown(value)), str("it has to be a number from 0 to ", kMost));
  return seconds;
}

// JSON has no infinity, and losses and scores may be infinite.
json number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_at(const json& object, const std::string& path, const char* key) {
  const json& value = at(object, path, key);
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return INFINITY;
  if (value == "-inf") return -INFINITY;
  refuse(str(path, '.', key, " is ", shown(value)), R"(it has to be a number, "inf" or "-inf")");
}

}  // namespace

std::string to_json(const FitState& state) {
  json best;
  if (state.best) best = {{"step", state.best->step}, {"score", number(state.best->score)}};
  json all{{"version", kVersion},   {"train_loss", number(state.train_loss)}, {"steps", state.steps},
           {"best", best},          {"without_better", state.without_better}, {"seconds", state.seconds},
           {"waited", state.waited}};
  for (const auto& [player, sum] : state.train_losses) all["train_losses"][player] = number(sum);
  if (state.stream) all["stream"] = {{"epoch", state.stream->epoch}, {"batch", state.stream->batch}};
  return io::dump_json(all);
}

FitState fit_state_from(const std::string& text) {
  if (text.empty())
    refuse("the checkpoint has none", "a Veldt before 0.1.0 wrote it, which kept the state in a tensor");
  const json saved = io::parse_json<json>(text);
  if (const std::int64_t version = count_at(saved, "task", "version"); version != kVersion)
    refuse(str("task.version is ", version), str("this Veldt reads version ", kVersion));
  FitState state;
  state.train_loss = number_at(saved, "task", "train_loss");
  state.steps = count_at(saved, "task", "steps");
  if (const json& best = at(saved, "task", "best"); !best.is_null())
    state.best = {count_at(best, "task.best", "step"), number_at(best, "task.best", "score")};
  state.without_better = count_at(saved, "task", "without_better");
  state.seconds = seconds_at(saved, "task", "seconds");
  state.waited = seconds_at(saved, "task", "waited");
  if (saved.contains("train_losses")) {
    const json& sums = saved["train_losses"];
    if (!sums.is_object()) refuse("task.train_losses is " + shown(sums), "it has to be an object");
    for (const auto& [player, sum] : sums.items())
      state.train_losses[player] = number_at(sums, "task.train_losses", player.c_str());
  }
  if (saved.contains("stream"))
    state.stream = {count_at(saved["stream"], "task.stream", "epoch"),
                    count_at(saved["stream"], "task.stream", "batch")};
  return state;
}

}  // namespace veldt::train
