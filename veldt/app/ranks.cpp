// Processes of one training, as the command sees them.
#include "veldt/app/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/cli/exit.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/dist/mpi.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/tensor/device_library.h"

namespace veldt::app {
namespace {

constexpr std::array<std::string_view, 3> kOfSeveral{"train", "fit", "render"};

std::optional<dist::Launch> launch_of_this() {
  return dist::find_launch([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

// Ends this process if the object is still there after so many seconds, which is how MPI's own begin and end
// fail if a process hangs: they wait for all, without end. The launcher then ends the others.
class Deadline {
 public:
  Deadline(int seconds, Failure failure)
      : thread_([seconds, failure = std::move(failure)](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any over;
          std::unique_lock lock(mutex);
          over.wait_for(lock, stop, std::chrono::seconds(seconds), [] { return false; });
          if (stop.stop_requested()) return;
          write_stderr(in_three_lines(failure, stderr_terminal().color));
          std::_Exit(failure.code);
        }) {}

 private:
  std::jthread thread_;
};

constexpr int kToBegin = 60, kToEnd = 8;  // seconds; hundreds of processes may begin slowly

}  // namespace

void check_launch(const std::string& verb) {
  const std::optional<dist::Launch> launch = launch_of_this();
  if (!launch || launch->size == 1) return;
  if (std::find(kOfSeveral.begin(), kOfSeveral.end(), verb) != kOfSeveral.end()) return;
  if (launch->rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));  // rank 0 says it
  throw UsageError(fmt::format("'veldt {}' is for one process, and {} has started {}", verb,
                               dist::name_of(launch->kind), launch->size),
                   fmt::format("those that share their work are: {}", fmt::join(kOfSeveral, ", ")),
                   fmt::format("run 'veldt {}' without a launcher", verb));
}

Ranks::Ranks(Context& context, bool profiled) : context_(context) {
  const std::optional<dist::Launch> launch = launch_of_this();
  if (!launch || launch->size == 1) return;
  if (profiled) timeline_ = std::make_unique<dist::Timeline>();
  try {
    const Deadline deadline(
        kToBegin, {kLost, fmt::format("rank {}: the processes do not come together", launch->rank),
                   fmt::format("one of the {} that the launcher has started has not answered for {} seconds",
                               launch->size, kToBegin),
                   "look for a machine that hangs, and launch again"});
    communicator_ = std::make_unique<dist::Communicator>(
        dist::mpi(launch->kind),
        dist::CommunicatorOptions{.on_failure = [this](const Error&) { report_and_end(); },
                                  .timeline = timeline_.get()});
  } catch (const DeviceError&) {
    if (launch->rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));  // rank 0 says it
    throw;
  }
  if (communicator_->size() != launch->size)
    throw DeviceError(fmt::format("the launcher has started {} processes, and this MPI sees {}", launch->size,
                                  communicator_->size()),
                      fmt::format("Veldt was built for {}, but the launcher belongs to another one",
                                  dist::name_of(launch->kind)),
                      "start Veldt by the launcher of the MPI that it was built with (veldt doctor)");
  if (communicator_->rank() > 0) context.quiet = true;
  communicator_->barrier();
  if (timeline_) timeline_->restart();
}

std::string Ranks::in_words() const {
  return alone() ? "" : fmt::format(" on {} processes", communicator_->size());
}

void Ranks::must_agree(const nlohmann::json& facts) const {
  if (alone()) return;
  const std::vector<std::string> all = communicator_->all_gather(io::dump_json(facts));
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    const auto first = io::parse_json<nlohmann::json>(all[0]), other = io::parse_json<nlohmann::json>(all[r]);
    const nlohmann::json changes = nlohmann::json::diff(first, other);
    const std::string path = changes.at(0).at("path");
    const auto shown = [&](const nlohmann::json& facts_of) {
      const nlohmann::json::json_pointer at(path);
      return facts_of.contains(at) ? io::dump_json(facts_of.at(at)) : std::string("nothing");
    };
    // A key of a recipe by its own name, whichever of its values it is.
    constexpr std::string_view kOfRecipe = "/recipe/";
    std::string name =
        path.starts_with(kOfRecipe)
            ? path.substr(kOfRecipe.size(), path.find('/', kOfRecipe.size()) - kOfRecipe.size())
            : path.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    throw UsageError(
        fmt::format("the processes of this run differ in '{}'", name),
        fmt::format("{} has {}, {} has {}", communicator_->name_of(0), shown(first),
                    communicator_->name_of(static_cast<int>(r)), shown(other)),
        "start the same Veldt everywhere, with the same files, flags and number of threads (--threads)");
  }
}

std::string Ranks::as_first(const std::string& text) const {
  return alone() ? text : communicator_->broadcast(text);
}

void Ranks::must_be_alone(const std::string& what) const {
  if (alone()) return;
  throw UsageError(fmt::format("{} is for one process", what),
                   fmt::format("a launcher has started {}", communicator_->size()), "run it without one");
}

void Ranks::barrier() const {
  if (!alone()) communicator_->barrier();
}

DeviceChoice Ranks::choose_device(const std::string& name) const {
  if (!alone() && name == veldt::name_of(DeviceKind::cuda))
    if (const std::size_t count = look_for_devices(DeviceKind::cuda).devices.size(); count > 0)
      return veldt::choose_device(
          fmt::format("{}:{}", name, static_cast<std::size_t>(communicator_->local_rank()) % count));
  return veldt::choose_device(name);
}

void Ranks::note_way_between(Device device) const {
  if (alone() || device == Device{}) return;
  if (!communicator_->has_links(device) && is_first() && !context_.quiet)
    print_warning(fmt::format("gradients go to other GPUs through {}", communicator_->way_between(device)));
}

void Ranks::report_timeline(const std::string& folder) {
  if (!timeline_) return;
  const std::vector<std::string> all = communicator_->all_gather(dist::trace_events(
      timeline_->spans(), communicator_->rank(), communicator_->name_of(communicator_->rank())));
  if (!is_first()) return;
  const std::string path = (std::filesystem::path(folder) / "trace.json").string();
  io::write_file(path, fmt::format("[{}]\n", fmt::join(all, ",\n")));
  const dist::Timeline::Summary s = timeline_->summary();
  if (s.steps == 0) return;
  const double steps = static_cast<double>(s.steps);
  write_stderr(fmt::format(
      "{} steps{}, of rank 0: a step takes {:.3g} ms; sums of {:.3g} MB are under way for {:.3g} "
      "ms of it, {:.0f} % "
      "of that while gradients are still computed, and they, or slower ranks, are waited for during {:.3g} "
      "ms\n{}\n",
      s.steps, in_words(), 1e3 * s.seconds / steps, static_cast<double>(s.bytes) / 1e6 / steps,
      1e3 * s.messages / steps, 100 * s.hidden(), 1e3 * s.waiting / steps, on_one_line(path)));
}

std::string Ranks::launched(const std::string& command) const {
  return alone() ? command : fmt::format("mpirun -n {} {}", communicator_->size(), command);
}

void Ranks::resume_with(const std::string& command) {
  const std::lock_guard lock(mutex_);
  resume_ = command;
}

void Ranks::saved(const std::string& checkpoint) {
  const std::lock_guard lock(mutex_);
  saved_ = checkpoint;
}

std::string Ranks::what_is_left() {
  const std::lock_guard lock(mutex_);
  if (saved_.empty()) return resume_.empty() ? "nothing was saved" : "no checkpoint was saved";
  const std::string left = "the last checkpoint is " + saved_;
  return resume_.empty() ? left : left + "; launch again: " + resume_;
}

// By rank 0, and by rank 1 in case rank 0 is the one that is gone.
std::jthread Ranks::tell_when(std::function<bool()> asked) {
  if (alone() || communicator_->rank() > 1) return {};
  return std::jthread([this, asked = std::move(asked)](const std::stop_token& stop) {
    const auto wait = [&stop](int times) {
      for (; times > 0 && !stop.stop_requested(); --times)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    while (!stop.stop_requested() && !asked()) wait(1);
    wait(10);
    if (stop.stop_requested()) return;
    print_warning(
        fmt::format("{}: told to end by a signal, as a launcher does too when another process has ended; not "
                    "all have stopped yet; "
                    "{}",
                    communicator_->name_of(communicator_->rank()), what_is_left()));
  });
}

// For the exception that is handled: of this thread's work, or of the communicator's while others work.
void Ranks::report_and_end() {
  Failure failure = current_failure();
  if (!communicator_) {  // it failed while it began
    write_stderr(in_three_lines(failure, stderr_terminal().color));
    std::_Exit(failure.code);
  }
  const bool is_lost = failure.code == kLost;
  if (is_lost) failure.fix += "; " + what_is_left();
  // What all ranks have met is said once, by the first.
  if (!is_first()) std::this_thread::sleep_for(std::chrono::milliseconds(is_lost ? 300 : 1000));
  failure.what = fmt::format("{}: {}", communicator_->name_of(communicator_->rank()), failure.what);
  write_stderr(in_three_lines(failure, stderr_terminal().color));
  if (is_first() && context_.json && !context_.out.has_json())
    context_.out.json({{"error", in_json(failure)}});
  // The launcher has the text before it ends all of them: MPICH's may lose what comes together with an abort.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  communicator_->abort(failure.code);
  std::_Exit(failure.code);  // where MPI could not
}

int Ranks::run(const std::function<int()>& work) {
  if (alone()) return work();
  int status = kInternal;
  try {
    const int own = work();
    // A signal to a rank whose part is done is rank 0's to obey, which may still write.
    std::optional<StopOnSignal> ignored;
    if (!is_first()) ignored.emplace();
    status = std::stoi(communicator_->broadcast(std::to_string(own)));
  } catch (...) {
    report_and_end();
  }
  const Deadline deadline(
      kToEnd,
      {kLost, fmt::format("{}: another process does not end", communicator_->name_of(communicator_->rank())),
       fmt::format("the work is done, but MPI waits for it since {} seconds", kToEnd),
       "nothing is lost; look for a machine that hangs"});
  communicator_.reset();
  return status;
}

}  // namespace veldt::app
