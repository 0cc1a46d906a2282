// Catches the signals that ask to stop, and remembers which one came first.
#include "veldt/cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>

#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"

namespace veldt::cli {
namespace {

// A handler may access nothing else.
volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t was_urgent = 0;  // there was a SIGINT or SIGTERM
volatile std::sig_atomic_t continued = 0;   // how often
const char* volatile note_of_first = nullptr;
std::string text_of_note;  // which that is

constexpr std::array kSignals{SIGHUP, SIGINT, SIGTERM, SIGCONT};
std::array<struct sigaction, kSignals.size()> old_actions;

// The handler gets a stack of its own. oneDNN's generated matrix kernels break if a handler runs on their
// stack: in about one of fifty runs a signal during a product corrupted the heap. 64 KB is many times the
// largest register file (AMX).
alignas(64) char handler_stack[std::size_t{1} << 16];
stack_t old_stack;

void on_signal(int signal_number) {
  if (signal_number == SIGCONT) {
    continued = continued + 1;
    return;
  }
  const bool is_urgent = signal_number != SIGHUP;
  if (is_urgent && was_urgent != 0) {
    leave_stderr();
    ::_exit(kInterrupted + signal_number);
  }
  if (received == 0) received = signal_number;
  hurry_stderr();
  if (!is_urgent) return;
  was_urgent = 1;
  if (note_of_first == nullptr) return;
  say_from_handler(note_of_first);
  continued = continued + 1;
}

}  // namespace

StopOnSignal::StopOnSignal(const char* note) {
  received = 0;
  was_urgent = 0;
  prepare_for_handlers();
  if (note != nullptr) {
    // A terminal's live line has no end.
    text_of_note = (::isatty(STDERR_FILENO) == 1 ? "\n" : "") + std::string(note) + "\n";
    note_of_first = text_of_note.c_str();
  }
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  ::sigaltstack(&stack, &old_stack);
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &old_actions[i]);
    // Signals that the caller ignores (nohup, a background job) stay ignored.
    if (old_actions[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &old_actions[i], nullptr);
  ::sigaltstack(&old_stack, nullptr);
  note_of_first = nullptr;
  prepare_for_handlers();
}

bool StopOnSignal::requested() const { return received != 0; }

const char* note_of_stop(bool quiet) {
  return quiet ? nullptr : "veldt: note: stopping, and saving what there is; a second Ctrl-C ends it at once";
}

int times_continued() { return continued; }

int StopOnSignal::exit_code(bool was_asked) const {
  if (received != 0) return kInterrupted + received;
  return was_asked ? kInterrupted + SIGINT : kOk;
}

}  // namespace veldt::cli
