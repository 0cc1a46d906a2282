// Spans in a list, and their sums.
#include "veldt/dist/timeline.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/core/escape.h"

namespace veldt::dist {
namespace {

// Of a JSON string: names are Veldt's own, but for those of hosts.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : escape_controls(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string microseconds(double seconds) { return std::to_string(static_cast<std::int64_t>(seconds * 1e6)); }

}  // namespace

void Timeline::restart() {
  const std::lock_guard lock(mutex_);
  start_ = Clock::now();
  step_began_ = -1;
  spans_.clear();
  summary_ = {};
}

double Timeline::now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Timeline::add(Lane lane, std::string name, double begin, double end, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (lane == Lane::waiting) summary_.waiting += end - begin;
  if (lane == Lane::messages && name == "sum") summary_.messages += end - begin, summary_.bytes += bytes;
  if (spans_.size() < kMost) spans_.push_back({lane, std::move(name), begin, end, bytes});
}

void Timeline::begin_step() {
  const double at = now();
  if (step_began_ >= 0) {
    add(Lane::steps, "step", step_began_, at);
    const std::lock_guard lock(mutex_);
    ++summary_.steps;
    summary_.seconds += at - step_began_;
  }
  step_began_ = at;
}

Timeline::Summary Timeline::summary() const {
  const std::lock_guard lock(mutex_);
  return summary_;
}

std::vector<Timeline::Span> Timeline::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

std::string trace_events(const std::vector<Timeline::Span>& spans, int rank, const std::string& name) {
  static constexpr const char* kLanes[] = {"steps", "waiting", "messages"};
  std::string out = str("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":", rank,
                        ",\"args\":{\"name\":", quoted(name), "}}");
  for (int lane = 0; lane < 3; ++lane)
    out += str(",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":", rank, ",\"tid\":", lane,
               ",\"args\":{\"name\":\"", kLanes[lane], "\"}}");
  for (const Timeline::Span& s : spans)
    out += str(",\n{\"name\":", quoted(s.name), ",\"ph\":\"X\",\"pid\":", rank,
               ",\"tid\":", static_cast<int>(s.lane), ",\"ts\":", microseconds(s.begin),
               ",\"dur\":", microseconds(s.end - s.begin), ",\"args\":{\"bytes\":", s.bytes, "}}");
  return out;
}

}  // namespace veldt::dist
