// veldt report RUN..: runs as one page in a file, which needs no server and no network.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "veldt/app/inputs.h"
#include "veldt/app/run_records.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/file.h"
#include "veldt/live/page.h"
#include "veldt/live/record.h"

namespace veldt::app {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string output;
};

int write_report(ReportFlags flags, Context& context) {
  if (flags.output.empty()) {  // also where some of them cannot be read
    const auto folders = run_folders(flags.runs);
    if (folders.size() > 1)
      throw UsageError("a report of several runs needs a name", fmt::format("there are {}", folders.size()),
                       "say where it goes: -o compared.html");
    flags.output = folders[0].second + "/report.html";
  }
  const std::vector<RunRecord> runs = read_runs(flags.runs);
  if (!flags.output.ends_with(".html"))
    throw UsageError(fmt::format("cannot write {}", flags.output), "a report is a page", "name it .html");
  check_output(flags.output, "--output", {}, context);
  std::vector<std::pair<std::string, live::Record>> records;
  for (const RunRecord& run : runs) records.emplace_back(run.name, run.record);
  const std::string page = live::report_page(records);
  io::write_file(flags.output, page);
  if (context.json)
    context.out.json({{"output", flags.output}, {"runs", records.size()}, {"bytes", page.size()}});
  else
    context.out.text(fmt::format("{}: {} run{}, {:.0f} kB\n", on_one_line(flags.output), records.size(),
                                 records.size() == 1 ? "" : "s", static_cast<double>(page.size()) / 1e3));
  return kOk;
}

}  // namespace

Run add_report(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<ReportFlags>();
  add_paths(verb, "RUN", flags->runs, "folders of runs, or a folder that holds several, such as runs/")
      .required();
  add_path(verb, "-o,--output", flags->output, "the page to write (.html); of one run its report.html");
  verb.examples(
      "  veldt report runs/mnist runs/mnist-2 -o compared.html\n"
      "  veldt report runs/mnist                   again, where its report.html was lost\n");
  return [flags, &context] { return write_report(*flags, context); };
}

}  // namespace veldt::app
