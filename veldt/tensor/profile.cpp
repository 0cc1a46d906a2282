// Times each call, and looks for the first NaN.
#include "veldt/tensor/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/core/pool.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/fallback.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

double bytes_of(const View& v) {
  double n = v.data ? static_cast<double>(size_of(v.dtype)) : 0;
  for (int d = 0; d < v.shape.rank(); ++d)
    if (v.strides[d] != 0) n *= static_cast<double>(v.shape[d]);  // a repeated element is one element
  return n;
}

// The index of the first NaN of a view, in row-major order.
std::optional<std::int64_t> first_nan(const View& v, const Backend& backend) {
  if (v.data == nullptr || !is_float(v.dtype)) return std::nullopt;
  const Tensor wide = empty(v.shape, DType::f64, backend.device);
  backend.copy(v, wide.view());
  const std::vector<double> values = wide.values<double>();
  const auto at = std::find_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  if (at == values.end()) return std::nullopt;
  return at - values.begin();
}

// "[2, 0]" for element 8 of [3, 4].
std::string position_of(std::int64_t i, const Shape& shape) {
  Shape at = Shape::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  return str(at);
}

// Whether the cpu does it because the backend cannot.
bool is_lent(const KernelCall& call, const Backend& backend) {
  if (!lacks_any(backend) || call.kind() != CallKind::kernel) return false;
  return lacks(backend, static_cast<Entry>(&call.facts() - kEntryFacts));
}

}  // namespace

void Profile::on_call(const KernelCall& call, const Backend& backend) {
  // On a device a call only starts the work.
  backend.synchronize();
  const auto start = std::chrono::steady_clock::now();
  call.run(backend);
  backend.synchronize();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const std::string name = call.name(backend) + (is_lent(call, backend) ? " (on the cpu)" : "");
  double bytes = 0;
  for (const View& view : call.views()) bytes += bytes_of(view);
  Line& line = lines_[name];
  ++line.calls;
  line.seconds += spent.count();
  line.flops += call.flops();
  line.bytes += bytes;
  if (spans_.size() >= most_spans_) return;
  const std::chrono::duration<double> since = start - begin_;
  spans_.push_back({name, backward_of(), since.count(), spent.count(), bytes, call.flops(), backend.device});
}

std::vector<Profile::Line> Profile::lines() const {
  std::vector<Line> sorted;
  for (const auto& [name, line] : lines_) {
    sorted.push_back(line);
    sorted.back().name = name;
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Line& a, const Line& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::string Profile::trace() const {
  std::string out =
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"Veldt\"}}";
  const auto lane = [](Device device) { return 1 + static_cast<int>(device.kind); };
  std::map<int, std::string> lanes;
  for (const Span& s : spans_) lanes.emplace(lane(s.device), name_of(s.device.kind));
  for (const auto& [number, name] : lanes)
    out += str(",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":", number,
               ",\"args\":{\"name\":\"", name, "\"}}");
  char times[96];
  for (const Span& s : spans_) {
    std::snprintf(times, sizeof times, ",\"ts\":%.3f,\"dur\":%.3f", 1e6 * s.begin, 1e6 * s.seconds);
    out += str(",\n{\"name\":\"", s.name, "\",\"cat\":\"", s.gradient_of == nullptr ? "forward" : "backward",
               "\",\"ph\":\"X\",\"pid\":1,\"tid\":", lane(s.device), static_cast<const char*>(times),
               ",\"args\":{\"bytes\":", static_cast<std::int64_t>(s.bytes),
               ",\"flops\":", static_cast<std::int64_t>(s.flops));
    if (s.gradient_of != nullptr) out += str(",\"gradient of\":\"", s.gradient_of, "\"");
    out += "}}";
  }
  return out + "\n]}\n";
}

std::string Profile::table() const {
  const std::vector<Line> sorted = lines();
  double total = 0;
  for (const Line& line : sorted) total += line.seconds;
  const auto row = [](const char* name, const char* calls, const char* seconds, const char* share,
                      const char* bytes, const char* speed, const char* flops) {
    char text[160];
    std::snprintf(text, sizeof text, "%-24s %9s %10s %7s %9s %7s %8s\n", name, calls, seconds, share, bytes,
                  speed, flops);
    return std::string(text);
  };
  const auto number = [](const char* format, double value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return std::string(text);
  };
  std::string out = row("kernel", "calls", "seconds", "share", "MB", "GB/s", "GFLOP/s");
  for (const Line& line : sorted) {
    const double s = std::max(line.seconds, 1e-12);
    out += row(line.name.c_str(), std::to_string(line.calls).c_str(), number("%.4f", line.seconds).c_str(),
               number("%.1f %%", 100 * line.seconds / std::max(total, 1e-12)).c_str(),
               number("%.1f", line.bytes * 1e-6).c_str(), number("%.1f", line.bytes / s * 1e-9).c_str(),
               number("%.1f", line.flops / s * 1e-9).c_str());
  }
  return out;
}

void DetectAnomaly::on_call(const KernelCall& call, const Backend& backend) {
  // Before the call, because an operand may be overwritten.
  const std::span<const View> views = call.views();
  for (std::size_t i = 0; i < views.size(); ++i)
    if ((call.facts().updates || !call.writes(i)) && first_nan(views[i], backend)) return call.run(backend);
  call.run(backend);
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!call.writes(i)) continue;
    const std::optional<std::int64_t> at = first_nan(views[i], backend);
    if (!at) continue;
    const char* op = backward_of();
    const std::string name = call.name(backend);
    throw DivergedError(
        str(name, " made the first NaN", op ? str(", in the gradient of ", op) : std::string()),
        str("its operands hold none, its result ", views[i].shape, " does at ",
            position_of(*at, views[i].shape)),
        "check that op's inputs: a zero divisor, a negative number under a root or logarithm");
  }
}

}  // namespace veldt
