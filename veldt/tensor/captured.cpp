// Splits a plan at its host functions, and makes the device record the parts between them.
#include "veldt/tensor/captured.h"

#include <algorithm>

#include "veldt/core/error.h"

namespace veldt {
namespace {

// Steps that are captured together if there are enough: one launch instead of sixteen.
constexpr std::int64_t kUnrolled = 16;

}  // namespace

CapturedCalls::CapturedCalls(const std::vector<std::unique_ptr<KernelCall>>& calls, const Backend& backend,
                             const View* result)
    : calls_(calls), backend_(backend), device_(*backend.steps), result_(result ? *result : View()) {
  std::size_t first = 0;
  const bool alone = std::none_of(calls.begin(), calls.end(),
                                  [](const auto& call) { return call->kind() == CallKind::host; });
  const auto keep = [&](std::size_t last) {
    if (last > first) parts_.push_back({first, last, device_.make(alone ? result : nullptr)});
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i]->kind() != CallKind::host) continue;
    keep(i);
    parts_.push_back({i, i + 1});
    first = i + 1;
  }
  keep(calls.size());
}

CapturedCalls::~CapturedCalls() {
  for (const Part& part : parts_)
    if (part.kept) device_.destroy(part.kept);
}

void CapturedCalls::go_through(Part& part, StepMode mode, std::int64_t steps) {
  device_.begin(part.kept, mode);
  try {
    for (std::int64_t s = 0; s < steps; ++s) {
      for (std::size_t i = part.first; i < part.last; ++i) {
        const bool changes = calls_[i]->kind() == CallKind::numbers;
        if (!changes && mode == StepMode::numbers) continue;
        if (changes) device_.changing(part.kept, true);
        calls_[i]->run(backend_);
        if (changes) device_.changing(part.kept, false);
      }
      device_.step_done(part.kept);
    }
  } catch (...) {
    try {
      device_.end(part.kept, false);  // the stream must continue to work
    } catch (const Error&) {          // what failed first is the error to tell
    }
    throw;
  }
  device_.end(part.kept, true);
}

void CapturedCalls::replay_part(Part& part, std::int64_t steps, const View* results) {
  std::int64_t ready = 0;  // steps whose numbers the device has
  const auto prepare = [&](StepMode mode, std::int64_t count) {
    go_through(part, mode, count);
    ready += count;
  };
  try {
    if (!part.one) prepare(StepMode::capture, 1);
    part.one = true;
    if (!part.many && steps - ready >= kUnrolled) {
      prepare(StepMode::capture, kUnrolled);
      part.many = true;
    }
    while (ready < steps) prepare(StepMode::numbers, 1);
  } catch (...) {
    try {
      if (part.one) device_.launch(part.kept, nullptr);  // the host has gone through these
    } catch (const Error&) {                             // what failed first is the error to tell
    }
    throw;
  }
  device_.launch(part.kept, results);
}

void CapturedCalls::replay(std::int64_t steps, const View* results) {
  const bool alone = parts_.size() == 1 && parts_[0].kept;
  for (std::int64_t done = 0; done < steps;) {
    std::int64_t count = 1;
    if (alone && parts_[0].warm) {
      count = std::min(steps - done, kMostSteps);
      const View of_these = results ? part_of(*results, done, count) : View();
      replay_part(parts_[0], count, results ? &of_these : nullptr);
    } else {
      for (Part& part : parts_) {
        if (!part.kept)
          calls_[part.first]->run(backend_);
        else if (part.warm)
          replay_part(part, 1, nullptr);
        else
          go_through(part, StepMode::run, 1);
        part.warm = true;
      }
      if (results) backend_.copy(result_, part_of(*results, done, 1));
    }
    done += count;
  }
}

}  // namespace veldt
