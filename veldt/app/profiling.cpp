// A table on stderr, and a file for viewers of traces.
#include "veldt/app/profiling.h"

#include <fmt/format.h>

#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::app {

namespace {

constexpr std::size_t kMostTraced = 200'000;  // calls: a file of some 30 MB

}  // namespace

void add_profile(VerbOptions& verb, ProfileFlags& flags, const std::string& help) {
  add_switch(verb, "--profile", flags.table, help).command_line_only();
  add_path(verb, "--trace", flags.trace,
           "write the first 200,000 kernel calls with their times, for ui.perfetto.dev (.json)");
}

void check_profile(const ProfileFlags& flags) {
  const std::string ending = io::ending_of(flags.trace);
  if (ending != ".json" && !ending.empty())
    throw UsageError(fmt::format("--trace cannot be {}", on_one_line(flags.trace)),
                     "a trace is JSON, and viewers go by the name", "name it .json");
}

Profiling::Profiling(const ProfileFlags& flags) : flags_(flags) {
  if (!flags.trace.empty()) io::check_writable(flags.trace);
  if (flags.table || !flags.trace.empty()) profile_.emplace(flags.trace.empty() ? 0 : kMostTraced);
}

void Profiling::finish() {
  if (!profile_) return;
  const std::string table = flags_.table ? profile_->table() : "";
  const std::string trace = flags_.trace.empty() ? "" : profile_->trace();
  profile_.reset();
  if (!table.empty()) write_stderr(table);
  if (!trace.empty()) io::write_file(flags_.trace, trace);
}

}  // namespace veldt::app
