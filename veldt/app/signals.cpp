#include "veldt/app/signals.h"

#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>

#include "veldt/app/exit.h"

namespace veldt::app {
namespace {

// A handler may touch nothing else.
volatile std::sig_atomic_t received = 0;

struct sigaction old_interrupt, old_terminate;

// The handler gets a stack of its own. oneDNN's generated matrix kernels do not survive one on theirs: a
// signal in the midst of a product corrupted the heap, once in some fifty. 64 KB hold the largest register
// file (AMX) many times.
alignas(64) char handler_stack[std::size_t{1} << 16];
stack_t old_stack;

void on_signal(int signal_number) {
  if (received != 0) {
    constexpr char newline = '\n';  // leaves the progress line behind
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, &newline, 1);
    ::_exit(kInterrupted + signal_number);
  }
  received = signal_number;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  received = 0;
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  ::sigaltstack(&stack, &old_stack);
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(SIGINT, nullptr, &old_interrupt);
  ::sigaction(SIGTERM, nullptr, &old_terminate);
  // What the caller had ignored (nohup, a background job) stays ignored.
  if (old_interrupt.sa_handler != SIG_IGN) ::sigaction(SIGINT, &action, nullptr);
  if (old_terminate.sa_handler != SIG_IGN) ::sigaction(SIGTERM, &action, nullptr);
}

StopOnSignal::~StopOnSignal() {
  ::sigaction(SIGINT, &old_interrupt, nullptr);
  ::sigaction(SIGTERM, &old_terminate, nullptr);
  ::sigaltstack(&old_stack, nullptr);
}

bool StopOnSignal::requested() const { return received != 0; }

int StopOnSignal::exit_code() const { return received == 0 ? 0 : kInterrupted + received; }

}  // namespace veldt::app
