// The parts of a run that a checkpoint holds, those that must agree on resumption, and the order in which
// they are restored.
#include "veldt/train/run_checkpoints.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/io/json.h"
#include "veldt/train/warn.h"

namespace veldt::train {
namespace {

using nlohmann::json;

constexpr const char* kOwnPrefix = "task.";

// Every value by its path: "field.omega". Lists are values.
void flatten(const json& object, const std::string& path, std::map<std::string, json>& into) {
  if (!object.is_object()) {
    into[path] = object;
    return;
  }
  for (const auto& [key, value] : object.items()) flatten(value, path.empty() ? key : path + "." + key, into);
}

// The keys in which two configurations differ, with both values.
std::string differences(const json& before, const json& now) {
  std::map<std::string, json> was, is;
  flatten(before, "", was);
  flatten(now, "", is);
  std::map<std::string, json> keys = was;
  keys.insert(is.begin(), is.end());
  const auto shown = [](const std::map<std::string, json>& values, const std::string& key) {
    const auto at = values.find(key);
    return at == values.end() ? std::string("not set") : io::dump_json(at->second);
  };
  std::string out;
  for (const auto& [key, value] : keys) {
    const std::string from = shown(was, key), to = shown(is, key);
    if (from != to) out += str(out.empty() ? "" : ", ", key, " was ", from, " and is ", to);
  }
  return out;
}

int ranks_of(const RunOptions& options) { return options.ranks != nullptr ? options.ranks->size() : 1; }

// state.json of a checkpoint.
std::string state_of(const Task& task, const RunOptions& options, const RunState& at) {
  json state{{"step", at.step},
             {"seconds", at.seconds()},
             {"loss", at.loss},
             {"threads", num_threads()},
             {"ranks", ranks_of(options)},
             {"config", io::parse_json<json>(options.config)}};
  if (const std::string own = task.own_json(); !own.empty()) state["task"] = io::parse_json<json>(own);
  return io::dump_json(state);
}

}  // namespace

RunCheckpoints::RunCheckpoints(Task& task, const RunOptions& options, const Events& events)
    : task_(task), options_(options), events_(events), directory_(options.checkpoint_dir, options.keep) {
  if (const std::vector<std::int64_t> steps = directory_.steps(); !options.resume && !steps.empty())
    throw ConfigError(str(options.checkpoint_dir, " already holds a run"),
                      str("it has a checkpoint of step ", steps.back()),
                      "resume it (.resume = true, --resume on the command line), or name another directory");
}

std::optional<IoError> RunCheckpoints::save(const RunState& at) {
  task_.saving();
  CheckpointData data;
  data.step = at.step;
  data.model = task_.model().state_dict();
  data.optim = task_.optimizer().state_dict();
  for (const auto& [name, tensor] : task_.own_state()) data.optim.push_back({kOwnPrefix + name, tensor});
  data.model_metadata = task_.metadata();
  data.state_json = state_of(task_, options_, at);
  std::vector<std::string> warnings;
  std::optional<IoError> failure;
  try {
    directory_.save(data, &warnings);
    saved_step_ = at.step;
  } catch (const IoError& error) {
    failure = error;
  }
  for (const std::string& text : warnings) warn(events_, text);
  if (failure)
    warn(events_, *failure);
  else if (events_.on_checkpoint)
    events_.on_checkpoint(at.step, path_of(at.step));
  return failure;
}

RunState RunCheckpoints::resume() {
  std::vector<std::string> warnings;
  const std::optional<CheckpointData> found = directory_.load_newest(&warnings);
  for (const std::string& text : warnings) warn(events_, text);
  if (!found) return {};  // so that one command line starts a run and continues it
  try {
    return apply(*found);
  } catch (const ConfigError&) {
    throw;
  } catch (const json::exception&) {
    throw IoError(IoError::Kind::corrupt, str("cannot resume ", directory_.path_of(found->step)),
                  "its state.json lacks a value or has one of the wrong type", "start a new run");
  } catch (const Error& error) {
    throw IoError(IoError::Kind::corrupt, str("cannot resume ", directory_.path_of(found->step)),
                  str(error.summary(), " (", error.why(), ")"), str(error.fix(), "; or start a new run"));
  }
}

RunState RunCheckpoints::apply(const CheckpointData& found) {
  const json state = io::parse_json<json>(found.state_json);
  json before = state.at("config"), now = io::parse_json<json>(options_.config);
  for (const std::string& key : options_.may_change) before.erase(key), now.erase(key);
  if (io::whole_number<std::int64_t>(state.at("step")) != found.step)
    throw IoError(IoError::Kind::corrupt, "its state.json belongs to another checkpoint",
                  str("its step is ", io::dump_json(state.at("step")), ", and the manifest's ", found.step),
                  "start a new run");
  if (before != now)
    throw ConfigError(str("this run is not the one in ", options_.checkpoint_dir), differences(before, now),
                      "give the same data and options as before, or name another directory");
  if (state.at("threads") != num_threads())
    warn(events_,
         str("the run was started with ", io::dump_json(state.at("threads")), " threads and continues with ",
             num_threads(), ": the last bits may differ from an uninterrupted run"));
  if (const json& ranks = state.value("ranks", json(1)); ranks != ranks_of(options_) && !options_.any_ranks)
    warn(events_, str("the run was started on ", io::dump_json(ranks), " processes and continues on ",
                      ranks_of(options_), ": the last bits may differ from an uninterrupted run"));
  task_.load_own_json(state.contains("task") ? io::dump_json(state.at("task")) : std::string());
  task_.model().load_state_dict(found.model);
  NamedTensors optim, own;
  for (const auto& [name, tensor] : found.optim)
    if (name.starts_with(kOwnPrefix))
      own.push_back({name.substr(std::char_traits<char>::length(kOwnPrefix)), tensor});
    else
      optim.push_back({name, tensor});
  task_.optimizer().load_state_dict(optim);
  task_.load_own_state(optim::matched("task", task_.own_state(), own));
  saved_step_ = found.step;
  return {.step = found.step,
          .loss = state.at("loss").get<double>(),
          .seconds_before = state.at("seconds").get<double>()};
}

}  // namespace veldt::train
