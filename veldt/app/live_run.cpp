// Tells a board what a run does, within a share of the run's time.
#include "veldt/app/live_run.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cmath>
#include <ctime>
#include <thread>
#include <utility>

#include "veldt/app/machine.h"
#include "veldt/app/train_flags.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/threads.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/png_bytes.h"
#include "veldt/live/looks.h"
#include "veldt/live/page.h"

namespace veldt::app {
namespace {

// "8080", "0.0.0.0:8080", "[::1]:8080"; "true": no value was given.
live::ServerOptions address_in(const io::Source& source, const std::string& text) {
  live::ServerOptions at;
  if (text == "true" || text.empty()) return at;
  std::string port = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    at.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (at.host == "localhost") at.host = "127.0.0.1";
    if (at.host.starts_with('[') && at.host.ends_with(']')) at.host = at.host.substr(1, at.host.size() - 2);
  }
  try {
    at.port = static_cast<int>(io::count_from(source, port, {.least = 0, .most = 65535}));
  } catch (const UsageError&) {
    throw io::bad_value(source, text, "it is a port, 0 to 65535, or HOST:PORT",
                        fmt::format("use {} 8080 or {} 0.0.0.0:8080{}", source.name, source.name,
                                    source.name == "--live"
                                        ? "; what follows it is taken for its value, so name pictures before"
                                        : ""));
  }
  return at;
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.3g} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

void add_live(VerbOptions& verb, LiveFlags& flags) {
  Setting& setting =
      add_text(verb, "--live", "[HOST:]PORT",
               "show the run on a page while it learns, and print its address; without a PORT any that is "
               "free. Only this machine reaches it, unless HOST is 0.0.0.0",
               [&flags](const io::Source& source, const std::string& text) {
                 flags.at = address_in(source, text);
                 flags.live = true;
               });
  setting.option->expected(0, 1);
  setting.command_line_only();
  add_path(verb, "--tensorboard", flags.tensorboard,
           "write curves, histograms, pictures and texts for TensorBoard into this folder");
}

void add_page_address(VerbOptions& verb, const std::string& name, const std::string& help, LiveFlags& flags) {
  flags.live = true;
  add_text(verb, name, "[HOST:]PORT", help, [&flags](const io::Source& source, const std::string& text) {
    flags.at = address_in(source, text);
  }).command_line_only();
}

std::unique_ptr<live::HttpServer> open_page(const live::Site& site, const LiveFlags& flags) {
  auto server = std::make_unique<live::HttpServer>(
      [&site](const live::Request& request) { return site.answer(request); }, flags.at);
  // Also for --quiet: whoever asks for a page has to know where it is.
  write_stderr(fmt::format("veldt: live page: {}\n", site.url(*server)));
  if (!server->is_local())
    print_warning(
        fmt::format("{} is reached from other machines: whoever knows the address with its token can "
                    "watch the run and stop it, and what is sent can be read on the way",
                    server->address()));
  return server;
}

void refuse_looks(const char* mode, const LiveFlags& live, const ProfileFlags& profile) {
  const char* const given = live.live                   ? "--live"
                            : !live.tensorboard.empty() ? "--tensorboard"
                            : !profile.trace.empty()    ? "--trace"
                                                        : nullptr;
  if (given != nullptr)
    throw UsageError(fmt::format("{} cannot be used with {}", given, mode),
                     fmt::format("it shows a run, and {} is none", mode),
                     fmt::format("leave out {} or {}", given, mode));
}

Budget::Budget(double share, double at_start, double least_seconds, std::function<double()> clock)
    : share_(share), at_start_(at_start), least_(least_seconds), clock_(std::move(clock)) {
  if (!clock_)
    clock_ = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
}

void Budget::leave_out(std::chrono::duration<double> pause) {
  if (first_) *first_ += pause.count();
  if (done_) *done_ += pause.count();
}

void Budget::spend(const std::function<void()>& work) {
  const double before = clock_();
  if (!first_) first_ = before;
  if (done_ && (before - *done_ < least_ || cost_ > at_start_ + share_ * (before - *first_))) return;
  work();
  done_ = clock_();
  cost_ += *done_ - before;
}

LiveRun::LiveRun(const Options& options, const Context& context)
    : options_(options), site_(live::is_loopback(options.flags.at.host)) {
  if (!options.flags.live && options.folder.empty() && options.flags.tensorboard.empty()) return;
  live::Record record;
  if (options.resumes && !options.folder.empty() && io::exists(options.folder + "/" + live::kRecordFile))
    try {
      record = live::load_record(options.folder);
    } catch (const Error& e) {
      print_warning(fmt::format("{} ({}); a new one begins", e.summary(), e.why()));
    }
  record.title = options.title;
  record.state = "beginning";
  board_ = std::make_shared<live::Board>(std::move(record));
  const Machine machine = this_machine();
  set_facts("run", {{"command", quoted_for_shell(context.arguments)}, {"begun", time_of_day()}});
  set_facts("machine", {{"processor", machine.processor},
                        {"cores", std::to_string(machine.cores)},
                        {"memory", gigabytes(machine.memory)},
                        {"threads", std::to_string(num_threads())}});
  std::vector<std::pair<std::string, std::string>> versions{{"Veldt", VELDT_VERSION}};
  for (const Version& v : library_versions()) versions.emplace_back(v.library, v.version);
  set_facts("versions", versions);
  if (!options.flags.live) return;
  site_.add(options.title, board_, &control_);
  server_ = open_page(site_, options.flags);
}

LiveRun::~LiveRun() {
  if (board_ == nullptr || is_finished_) return;
  board_->set_state("failed");
  if (keeper_) keeper_->write();
}

void LiveRun::set_facts(const std::string& group,
                        const std::vector<std::pair<std::string, std::string>>& facts) {
  if (!is_on()) return;
  for (const auto& [name, value] : facts)
    if (!value.empty()) board_->set_fact(group, name, value);
}

void LiveRun::note(const std::string& text, bool is_warning) {
  board_->add_note({.step = step_, .seconds = seconds_, .text = text, .is_warning = is_warning});
}

// Markdown, as TensorBoard shows texts.
std::string LiveRun::facts_as_table() const {
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("|\n`", at)) != std::string::npos;)
      text[at] = text[at] == '|' ? '/' : ' ';
    return text;
  };
  std::string table = "| | | |\n|---|---|---|\n";
  for (const live::Fact& f : board_->record().facts)
    table += fmt::format("| {} | {} | `{}` |\n", cell(f.group), cell(f.name), cell(f.value));
  return table;
}

train::Events LiveRun::listening(train::Events events, const nn::Module& model) {
  if (!is_on()) return events;
  train::Events both = events;
  warn_ = events.on_warning;
  both.on_start = [this, events](std::int64_t step) {
    board_->cut_after(step);
    for (const live::Snapshot& p : board_->record().pictures)
      if (p.name == "picture") drawn_step_ = p.step;
    if (!options_.folder.empty()) keeper_ = std::make_unique<live::Keeper>(board_, options_.folder);
    board_->set_state("running");
    if (!options_.flags.tensorboard.empty()) events_.emplace(options_.flags.tensorboard, step);
    tell_tensorboard([&](live::EventFile& to) { to.add_text("run", step, facts_as_table()); });
    step_ = step;
    if (step > 0) note(fmt::format("resumed at step {}", step));
    if (events.on_start) events.on_start(step);
    draw(step);
  };
  both.on_progress = [this, events, &model](const train::Progress& progress) {
    if (events.on_progress) events.on_progress(progress);
    on_progress(progress, model);
  };
  both.on_warning = [this, events](const std::string& text) {
    note(text, true);
    if (events.on_warning) events.on_warning(text);
  };
  both.on_checkpoint = [this, events](std::int64_t step, const std::string& path) {
    step_ = step;
    note("checkpoint " + path);
    if (events.on_checkpoint) events.on_checkpoint(step, path);
  };
  if (!options_.flags.live) return both;
  both.should_stop = [this, events] {
    return control_.should_stop() || (events.should_stop && events.should_stop());
  };
  both.should_save = [this] { return should_save(); };
  both.hold = [this, stop = both.should_stop] { hold(stop); };
  return both;
}

// A run with checkpoints asks each time whether one is due, any other only has this.
bool LiveRun::should_save() {
  if (!control_.take_save()) return false;
  if (!save_) return true;
  try {
    save_();
    note("saved, as was asked");
  } catch (const IoError& e) {
    note(e.what(), true);
  }
  return false;
}

void LiveRun::hold(const std::function<bool()>& should_stop) {
  if (!control_.is_paused()) return;
  board_->set_state("paused");
  if (!std::exchange(says_paused_, true) && options_.say)
    options_.say("paused from the page, which can let it go on");
  const auto begun = std::chrono::steady_clock::now();
  while (control_.is_paused() && !should_stop()) {
    if (control_.wants_save()) break;  // it is saved after a step, and then pauses again
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  says_paused_ = control_.is_paused();  // else it was only left to save
  for (Budget* budget : {&pictures_, &norms_, &histograms_, &samples_})
    budget->leave_out(std::chrono::steady_clock::now() - begun);
  board_->set_state("running");
}

// A file that cannot be written ends nothing but itself.
void LiveRun::tell_tensorboard(const std::function<void(live::EventFile&)>& what) {
  if (!events_) return;
  try {
    what(*events_);
  } catch (const IoError& e) {
    events_.reset();
    if (warn_) warn_(fmt::format("{} ({}); the run goes on without TensorBoard", e.summary(), e.why()));
  }
}

void LiveRun::on_progress(const train::Progress& progress, const nn::Module& model) {
  seconds_ = progress.seconds;
  step_ = progress.step;
  board_->add(progress);
  tell_tensorboard([&](live::EventFile& events) {
    events.add_scalar("loss", step_, progress.loss);
    for (const auto& [name, loss] : progress.losses) events.add_scalar("losses/" + name, step_, loss);
    if (progress.measure) events.add_scalar(progress.measure->name, step_, progress.measure->value);
    events.add_scalar("rate", step_, progress.learning_rate);
    events.add_scalar("steps a second", step_, progress.steps_per_second);
    histograms_.spend([&] {
      for (const auto& [name, tensor] : model.named_parameters()) {
        events.add_histogram("parameters/" + name, step_, tensor);
        if (tensor.grad().defined()) events.add_histogram("gradients/" + name, step_, tensor.grad());
      }
      events.flush();
    });
  });
  norms_.spend([&] {
    board_->set_memory(peak_bytes());
    look(no_norms_, [&] {
      for (const auto& [layer, norm] : live::gradient_norms(model))
        board_->add_value("gradient of " + layer, progress.step, progress.seconds, norm, "", "gradients");
    });
  });
  pictures_.spend([&] { draw(progress.step); });
  if (!keeper_) return;
  if (const std::string failure = keeper_->take_failure(); !failure.empty() && warn_)
    warn_(fmt::format("the run's record is not kept: {}; the run goes on, and tries again", failure));
}

void LiveRun::draw(std::int64_t step, bool is_last) {
  if (picture_ && (is_last || step != drawn_step_))
    look(no_pictures_, [&] { add_picture("picture", drawn_step_ = step, picture_(is_last)); });
}

void LiveRun::look(bool& is_off, const std::function<void()>& work) {
  if (is_off) return;
  try {
    work();
  } catch (const Error& e) {
    is_off = true;
    note(fmt::format("{} ({}); it is not shown any more", e.summary(), e.why()), true);
  }
}

void LiveRun::add_picture(const std::string& name, std::int64_t step, const Tensor& levels) {
  std::string png = io::png_bytes(levels);
  tell_tensorboard([&](live::EventFile& events) {
    events.add_picture(name, step, png, {levels.size(1), levels.size(0)}, static_cast<int>(levels.size(2)));
  });
  board_->add_picture({.name = name, .step = step, .seconds = seconds_, .png = std::move(png)});
}

void LiveRun::add(const train::Evaluation& evaluation) {
  if (!is_on()) return;
  board_->add(evaluation);
  tell_tensorboard([&](live::EventFile& events) {
    if (std::isfinite(evaluation.train_loss))
      events.add_scalar("train/loss", evaluation.step, evaluation.train_loss);
    for (const auto& [name, value] : evaluation.scores)
      events.add_scalar("val/" + name, evaluation.step, value);
    events.flush();
  });
  if (sample_ && (options_.flags.live || events_))
    samples_.spend([&] { look(no_samples_, [&] { add_text("sample", evaluation.step, sample_()); }); });
}

void LiveRun::add_text(const std::string& name, std::int64_t step, const std::string& text) {
  if (!is_on()) return;
  board_->add_text({name, step, text});
  tell_tensorboard([&](live::EventFile& events) { events.add_text(name, step, text); });
}

void LiveRun::finish(const std::string& state, std::int64_t step) {
  if (!is_on() || is_finished_) return;
  draw(step, true);
  tell_tensorboard([](live::EventFile& events) { events.flush(); });
  const std::int64_t memory = peak_bytes();
  board_->change([&](live::Record& record) {
    record.memory_bytes = memory;
    record.state = state;
    record.seconds_left = -1;
  });
  is_finished_ = true;
  keeper_.reset();  // it may be writing an earlier state
  write_files();
}

void LiveRun::set_scores(const train::Scores& scores) {
  if (!is_on()) return;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : scores) texts.emplace_back(name, fmt::format("{:.5g}", value));
  set_facts("scores", texts);
  tell_tensorboard([&](live::EventFile& events) {
    for (const auto& [name, value] : scores) events.add_scalar("final/" + name, step_, value);
    events.flush();
  });
  if (is_finished_) write_files();
}

void LiveRun::write_files() {
  if (options_.folder.empty()) return;
  try {
    live::save_record(board_->record(), options_.folder);
    io::write_file(options_.folder + "/report.html", live::report_page({{options_.title, board_->record()}}));
  } catch (const IoError& e) {
    if (!std::exchange(has_no_files_, true)) print_warning(fmt::format("{} ({})", e.summary(), e.why()));
  }
}

}  // namespace veldt::app
