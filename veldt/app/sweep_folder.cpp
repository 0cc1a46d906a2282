// Reads and writes what a sweep keeps of itself. All of it is written whole or not at all.
#include "veldt/app/frame.h"
#include "veldt/app/sweep_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/recipe/sweep_table.h"
#include "veldt/recipe/trained.h"

namespace veldt::app {
namespace {

using nlohmann::json;
using recipe::Outcome;
using recipe::Trial;

constexpr int kSweepVersion = 1;
constexpr const char* kOtherFolder = "name another folder, --out DIR";
constexpr double kPatience = 5;  // seconds, for the children of a sweep that was killed

IoError damaged(const std::string& path, const std::string& why, const std::string& fix) {
  return {IoError::Kind::corrupt, fmt::format("{} is damaged", path), why, fix};
}

json read_json(const std::string& path, const std::string& fix) {
  try {
    json read = io::parse_json<json>(io::read_file(path, io::kMaxJsonBytes));
    if (!read.is_object()) throw damaged(path, "it holds no object", fix);
    return read;
  } catch (const IoError& e) {
    if (e.kind() == IoError::Kind::malformed) throw damaged(path, e.why(), fix);
    throw;
  }
}

Outcome::End end_named(const std::string& name) {
  for (const Outcome::End end : {Outcome::End::done, Outcome::End::diverged, Outcome::End::refused})
    if (name == recipe::name_of(end)) return end;
  return Outcome::End::failed;
}

bool is_same_share(double a, double b) { return std::abs(a - b) < 1e-9; }

// An ordered_json, because scores have an order.
Outcome outcome_from(const nlohmann::ordered_json& j) {
  Outcome outcome{.end = end_named(j.at("end").get<std::string>()),
                  .reason = j.at("reason").get<std::string>()};
  for (const auto& [name, value] : j.at("scores").items())
    outcome.scores.emplace_back(name, value.is_null() ? std::nan("") : value.get<double>());
  outcome.share = j.value("share", j.at("until").get<double>());
  outcome.seconds = j.at("seconds").get<double>();
  outcome.parameters = io::whole_number<std::int64_t>(j.at("parameters")).value_or(0);
  outcome.memory = io::whole_number<std::int64_t>(j.at("memory_bytes")).value_or(0);
  return outcome;
}

// {"rounds": [..]}, or an empty list.
nlohmann::ordered_json recorded(const std::string& path) {
  const std::string fix = "remove the file; its run is then looked at again";
  if (!io::exists(path)) return nlohmann::ordered_json::array();
  nlohmann::ordered_json read;
  try {
    read = io::parse_json<nlohmann::ordered_json>(io::read_file(path, io::kMaxJsonBytes));
  } catch (const IoError& e) {
    throw damaged(path, e.why(), fix);
  }
  if (!read.is_object() || !read.contains("rounds") || !read["rounds"].is_array())
    throw damaged(path, "it has no list of rounds", fix);
  return read["rounds"];
}

// "3 files of 120 bytes"
std::string data_in_words(const json& data) {
  const auto count = [&](const char* key) {
    return io::whole_number<std::int64_t>(data.value(key, json())).value_or(0);
  };
  return fmt::format("{} file{} of {} bytes", count("files"), count("files") == 1 ? "" : "s", count("bytes"));
}

// Data that were missing when the sweep began have trained nothing.
void check_same_data(const std::string& path, const json& was, const json& now) {
  for (const auto& [name, one] : now.items()) {
    if (!was.is_object() || !was.contains(name) || was[name] == one) continue;
    const std::string before = data_in_words(was[name]), after = data_in_words(one);
    throw UsageError(
        fmt::format("{} holds a sweep over other data", path),
        fmt::format("{} were {} when it was begun, and are {}", on_one_line(name), before,
                    before == after ? std::string("now as many of other names or contents") : after),
        "give the data as they were, or begin another sweep, --out DIR");
  }
}

}  // namespace

SweepFolder::SweepFolder(std::string path, const recipe::Sweep& sweep, bool resume, std::int64_t& threads,
                         const std::string& device, const DataDigests& data)
    : path_(std::move(path)) {
  const std::string file = in("sweep.json");
  if (!resume) check_new();
  if (!io::exists(file)) check_empty();
  io::make_directories(path_);
  lock_ = locked();
  if (!resume) check_new();  // another may have begun while this one waited for the lock
  const recipe::SweepOptions& o = sweep.options();
  json now = {{"format", "veldt-sweep"},
              {"version", kSweepVersion},
              {"recipe", io::parse_json<json>(recipe::in_json(sweep.recipe()))},
              {"keys", sweep.keys()},
              {"over", o.over},
              {"seeds", o.seeds},
              {"random", o.random},
              {"halving", o.halving},
              {"device", device}};
  json& of_data = now["data"] = json::object();
  for (const auto& [name, one] : data)
    of_data[name] = {{"files", one.files}, {"bytes", one.bytes}, {"digest", one.digest}};
  if (io::exists(file)) {
    const json before = written();
    check_same(sweep, before, now, threads);
    // Data that are gone now, or not read by this one, may be other ones when they come back.
    if (const json was = before.value("data", json()); was.is_object())
      for (const auto& [name, one] : was.items())
        if (!of_data.contains(name)) of_data[name] = one;
  }
  now["threads"] = threads;
  io::write_file(file, io::dump_json(now, 2) + '\n');
}

void SweepFolder::check_new() const {
  if (io::exists(in("sweep.json")))
    throw UsageError(fmt::format("{} already holds a sweep", path_),
                     "its runs would be mixed with those of this one",
                     "continue it with --resume, or name another folder, --out DIR");
}

// Names that begin with a dot may be the lock of a sweep that was killed, and what systems leave.
void SweepFolder::check_empty() const {
  if (!io::is_directory(path_)) return;
  std::vector<std::string> names = io::list_directory(path_);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  if (names.empty()) return;
  const bool is_run = std::find(names.begin(), names.end(), "checkpoints") != names.end();
  throw UsageError(is_run ? fmt::format("{} is the folder of a run", path_)
                          : fmt::format("{} already holds {}", path_, on_one_line(names[0])),
                   is_run ? "a sweep has a folder of its own, with one in it for each of its runs"
                          : "no sweep wrote that (there is no sweep.json beside it)",
                   "name another folder, --out DIR");
}

// Without O_CLOEXEC: children go on to hold it.
Descriptor SweepFolder::locked() const {
  const std::string file = in(".lock");
  Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT, 0666));
  if (lock.get() < 0) io::throw_unwritable(file, "open", errno);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatience);
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EWOULDBLOCK && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    if (error != EWOULDBLOCK) io::throw_unwritable(file, "lock", error);
    throw UsageError(fmt::format("the sweep in {} is in use", path_), "another process holds its lock",
                     "wait for it to end, or name another folder, --out DIR");
  }
  return lock;
}

json SweepFolder::written() const {
  const std::string file = in("sweep.json");
  json before = read_json(file, kOtherFolder);
  if (before.value("format", json()) != json("veldt-sweep"))
    throw damaged(file, "it is not of a sweep", kOtherFolder);
  if (before.value("version", json()) != json(kSweepVersion))
    throw IoError(IoError::Kind::corrupt, fmt::format("{} is of another version", file),
                  fmt::format("this Veldt reads version {}", kSweepVersion), "use the Veldt that wrote it");
  return before;
}

recipe::Sweep SweepFolder::sweep() const {
  const std::string file = in("sweep.json");
  const json j = written();
  try {
    std::vector<std::pair<std::string, std::vector<std::string>>> given;
    for (const auto& [key, texts] : j.at("recipe").items())
      given.emplace_back(key, texts.get<std::vector<std::string>>());
    const auto count = [&](const char* key) {
      const auto found = io::whole_number<std::int64_t>(j.at(key));
      if (!found) throw damaged(file, fmt::format("'{}' is no whole number", key), kOtherFolder);
      return *found;
    };
    return {recipe::recipe_of(given, file),
            {.over = j.at("over").get<std::vector<std::string>>(),
             .seeds = count("seeds"),
             .random = count("random"),
             .halving = count("halving")}};
  } catch (const json::exception& e) {
    throw damaged(file, e.what(), kOtherFolder);
  } catch (const UsageError& e) {
    throw damaged(file, fmt::format("{}: {}", e.summary(), e.why()), kOtherFolder);
  }
}

void SweepFolder::check_same(const recipe::Sweep& sweep, const json& before, const json& now,
                             std::int64_t& threads) const {
  std::vector<std::string> keys{"recipe", "device"};
  // Runs are named by the last parts of their keys and by their values, so that more of the same keys can
  // join.
  if (before.value("keys", json()) != now.at("keys"))
    throw UsageError(fmt::format("{} holds a sweep over other keys", path_),
                     fmt::format("this one is over {}, in this order",
                                 fmt::join(now.at("keys").get<std::vector<std::string>>(), ", ")),
                     "give the same keys as before, or another folder, --out DIR");
  // Rounds depend on all values.
  if (sweep.options().halving > 0 || before.value("halving", json()) != json(0))
    for (const char* key : {"halving", "over", "seeds", "random"}) keys.emplace_back(key);
  for (const std::string& key : keys) {
    const json was = before.value(key, json());
    if (was == now.at(key)) continue;
    std::string what = key;
    if (key == "recipe" && was.is_object())
      for (const auto& [name, value] : now.at(key).items())
        if (was.value(name, json()) != value) what = name;
    throw UsageError(fmt::format("{} holds another sweep", path_), fmt::format("'{}' was different", what),
                     "give the same recipe and flags as before, or another folder, --out DIR");
  }
  check_same_data(path_, before.value("data", json()), now.at("data"));
  const auto was = io::whole_number<std::int64_t>(before.value("threads", json()));
  if (!was || *was < 1 || *was > 1024)
    throw damaged(in("sweep.json"), "it does not say how many threads a run has", kOtherFolder);
  threads = *was;
}

std::string SweepFolder::in(const std::string& name) const {
  return (std::filesystem::path(path_) / name).string();
}

std::string SweepFolder::in_run(const Trial& trial, const char* name) const {
  return (std::filesystem::path(path_) / trial.name / name).string();
}

std::optional<Outcome> SweepFolder::known(const Trial& trial) const {
  const std::string file = in_run(trial, "outcome.json");
  try {
    for (const auto& round : recorded(file)) {
      if (!is_same_share(round.at("until").get<double>(), trial.until)) continue;
      const Outcome outcome = outcome_from(round);
      if (outcome.end == Outcome::End::done || outcome.end == Outcome::End::diverged) return outcome;
    }
  } catch (const json::exception& e) {
    throw damaged(file, e.what(), "remove the file; its run is then looked at again");
  }
  return result(trial);
}

void SweepFolder::record(const Trial& trial, const Outcome& outcome) const {
  const std::string file = in_run(trial, "outcome.json");
  nlohmann::ordered_json rounds = nlohmann::ordered_json::array(), scores = nlohmann::ordered_json::object();
  for (const auto& round : recorded(file))
    if (!is_same_share(round.value("until", -1.0), trial.until)) rounds.push_back(round);
  for (const auto& [name, value] : outcome.scores) scores[name] = value;
  rounds.push_back({{"until", trial.until},
                    {"end", recipe::name_of(outcome.end)},
                    {"reason", outcome.reason},
                    {"scores", scores},
                    {"share", outcome.share},
                    {"seconds", outcome.seconds},
                    {"parameters", outcome.parameters},
                    {"memory_bytes", outcome.memory}});
  io::make_directories(io::parent_of(file));
  io::write_file(file, io::dump_json(nlohmann::ordered_json{{"rounds", rounds}}, 2) + '\n');
}

// A process writes its result at once and at its end; what was cut off by a kill is no JSON.
std::optional<Outcome> SweepFolder::result(const Trial& trial) const {
  const std::string file = in_run(trial, "result.json");
  if (!io::exists(file)) return std::nullopt;
  try {
    const auto j = io::parse_json<nlohmann::ordered_json>(io::read_file(file, io::kMaxJsonBytes));
    const std::string stopped_by = j.at("stopped_by").get<std::string>();
    if (stopped_by == "until" && !is_same_share(j.at("until").get<double>(), trial.until))
      return std::nullopt;
    if (stopped_by == "signal") return std::nullopt;
    Outcome outcome{.share = stopped_by == "until" ? j.at("share").get<double>() : 1,
                    .seconds = j.at("seconds").get<double>(),
                    .parameters = io::whole_number<std::int64_t>(j.at("parameters")).value_or(0),
                    .memory = io::whole_number<std::int64_t>(j.at("memory_bytes")).value_or(0)};
    for (const auto& [name, value] : j.items())
      for (const char* of : {"train_", "val_", "test_", "naive_", "better_", "sample_", "waiting"})
        if (name.starts_with(of))
          outcome.scores.emplace_back(name, value.is_number() ? value.get<double>() : std::nan(""));
    return outcome;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const IoError&) {
    return std::nullopt;
  }
}

}  // namespace veldt::app
