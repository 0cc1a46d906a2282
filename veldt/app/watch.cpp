// veldt watch RUN..: a page of runs that are over, or that another program trains.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <thread>

#include "veldt/app/live_run.h"
#include "veldt/app/run_records.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/live/record.h"

namespace veldt::app {
namespace {

struct WatchFlags {
  std::vector<std::string> runs;
  LiveFlags page;
};

// A run's folder, and the board that shows it.
class WatchedRun {
 public:
  explicit WatchedRun(RunRecord run)
      : board(std::make_shared<live::Board>(std::move(run.record))), folder_(std::move(run.folder)) {}
  // A record that is gone, or that cannot be read, is not shown; the one before stays.
  void look_again() {
    const auto now = when();
    if (now == seen_) return;
    seen_ = now;  // a record is replaced as a whole, so one that is mended later is another file
    try {
      board->replace(live::load_record(folder_));
    } catch (const Error&) {
    }
  }

  std::shared_ptr<live::Board> board;

 private:
  std::pair<std::int64_t, std::int64_t> when() const {
    struct stat facts {};
    if (::stat((folder_ + "/" + live::kRecordFile).c_str(), &facts) != 0) return {0, 0};
    return {facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec, facts.st_ino};
  }

  std::string folder_;
  std::pair<std::int64_t, std::int64_t> seen_{};  // it is read again, as it may have changed meanwhile
};

int watch(const WatchFlags& flags, Context& context) {
  const StopOnSignal signal;
  std::vector<WatchedRun> watched;
  live::Site site(live::is_loopback(flags.page.at.host));
  for (RunRecord& run : read_runs(flags.runs)) {
    const std::string name = run.name;
    watched.emplace_back(std::move(run));
    site.add(name, watched.back().board);
  }
  const auto server = open_page(site, flags.page);
  if (!context.quiet)
    print_note(
        fmt::format("watching {} run{}; Ctrl-C ends it", watched.size(), watched.size() == 1 ? "" : "s"));
  while (!signal.requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (WatchedRun& run : watched) run.look_again();
  }
  return signal.exit_code();
}

}  // namespace

Run add_watch(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<WatchFlags>();
  add_paths(verb, "RUN", flags->runs, "folders of runs, or a folder that holds several, such as runs/")
      .required();
  add_page_address(verb, "--at", "where the page is, as of fit --live", flags->page);
  verb.examples(
      "  veldt watch runs/mnist                    while it trains, or afterwards\n"
      "  veldt watch runs/mnist runs/mnist-2       side by side\n"
      "  veldt watch runs --at 8080\n");
  return [flags, &context] { return watch(*flags, context); };
}

}  // namespace veldt::app
