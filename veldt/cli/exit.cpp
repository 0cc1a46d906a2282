// From exceptions to exit codes.
#include "veldt/cli/exit.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <new>

#include "veldt/cli/terminal.h"

namespace veldt::cli {
namespace {

int code_of(const Error& error) {
  if (const auto* io = dynamic_cast<const IoError*>(&error)) {
    switch (io->kind()) {
      case IoError::Kind::missing: return kMissing;
      case IoError::Kind::malformed: return kMalformed;
      case IoError::Kind::unwritable: return kUnwritable;
      case IoError::Kind::corrupt: return kCorrupt;
    }
  }
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return kUsage;
  // Sizes come from the user's input, so the user can correct them.
  if (dynamic_cast<const ShapeError*>(&error) != nullptr) return kUsage;
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return kDevice;
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return kDevice;
  if (dynamic_cast<const DivergedError*>(&error) != nullptr) return kDiverged;
  if (dynamic_cast<const ThresholdError*>(&error) != nullptr) return kBelowThreshold;
  if (dynamic_cast<const LostError*>(&error) != nullptr) return kLost;
  if (const auto* stopped = dynamic_cast<const StoppedError*>(&error)) return stopped->exit_code();
  return kInternal;
}

Failure out_of_memory() {
  return {kDevice, "out of memory", "the system gave no more memory to this process",
          "use a smaller picture, size or batch, or close other programs"};
}

// Allocated in advance, while there is memory.
std::string last_words;
std::terminate_handler g_otherwise = nullptr;

// No destructor runs, because threads may still be working.
[[noreturn]] void end_without_memory() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    write_stderr(last_words);
    std::_Exit(kDevice);
  } catch (...) {
  }
  g_otherwise();
  std::abort();
}

}  // namespace

void explain_memory_that_ends_the_program() {
  last_words = in_three_lines(out_of_memory(), false);
  const std::terminate_handler before = std::set_terminate(end_without_memory);
  if (before != end_without_memory) g_otherwise = before;
}

IoError without_last_checkpoint(const IoError& cause, const std::string& kept) {
  return {IoError::Kind::unwritable, "the last checkpoint could not be written",
          fmt::format("{} ({})", cause.summary(), cause.why()),
          fmt::format("{}; {} holds what was learned", cause.fix(), kept)};
}

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {code_of(error), error.summary(), error.why(), error.fix()};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return {kInternal, "veldt stopped because of a fault of its own", error.what(),
            "please report it, with this command line and its input"};
  } catch (...) {
    return {kInternal, "veldt stopped because of a fault of its own", "an unknown exception was thrown",
            "please report it, with this command line and its input"};
  }
}

nlohmann::ordered_json in_json(const Failure& failure) {
  return {{"what", failure.what}, {"why", failure.why}, {"fix", failure.fix}, {"exit_code", failure.code}};
}

std::string in_three_lines(const Failure& failure, bool color) {
  const char* red = color ? "\x1b[1;31m" : "";
  const char* plain = color ? "\x1b[0m" : "";
  return fmt::format("{}veldt: error:{} {}\n  why: {}\n  fix: {}\n", red, plain, on_one_line(failure.what),
                     on_one_line(failure.why), on_one_line(failure.fix));
}

}  // namespace veldt::cli
