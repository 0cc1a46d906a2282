// Writes Event messages by protozero.
#include "veldt/live/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <span>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/ops/shape.h"

#if VELDT_HAVE_PROTOZERO
#include <protozero/pbf_writer.hpp>
#endif

namespace veldt::live {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0x82f63b78U : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrc = crc_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t c = ~0U;
  for (const char byte : bytes) c = kCrc[(c ^ static_cast<unsigned char>(byte)) & 255] ^ c >> 8;
  return ~c;
}

#if VELDT_HAVE_PROTOZERO

namespace {

using protozero::pbf_writer;

// The fields of event.proto, summary.proto, tensor.proto and tensor_shape.proto that are written.
namespace event_field {
enum : unsigned { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
}
namespace value_field {
enum : unsigned { tag = 1, simple_value = 2, image = 4, histo = 5, tensor = 8, metadata = 9 };
}
constexpr int kSessionStart = 1, kString = 7;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class Write> std::string event_with(std::int64_t step, const Write& write) {
  std::string bytes;
  pbf_writer event(bytes);
  event.add_double(event_field::wall_time, wall_time());
  event.add_int64(event_field::step, step);
  write(event);
  return bytes;
}

// An event of one value of a summary.
template <class Write> std::string value_with(std::string_view tag, std::int64_t step, const Write& write) {
  return event_with(step, [&](pbf_writer& event) {
    pbf_writer summary(event, event_field::summary);
    pbf_writer value(summary, 1);
    value.add_string(value_field::tag, tag.data(), tag.size());
    write(value);
  });
}

template <class Number> void append_bytes(std::string& to, Number number) {  // little endian
  for (std::size_t i = 0; i < sizeof number; ++i) to += static_cast<char>(number >> (8 * i) & 255);
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t c = crc32c(bytes);
  return (c >> 15 | c << 17) + 0xa282ead8U;
}

}  // namespace

EventFile::EventFile(const std::string& directory, std::int64_t step) {
  io::make_directories(directory);
  char host[64] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const auto seconds = static_cast<std::int64_t>(wall_time());
  for (int number = 0; file_ == nullptr; ++number) {
    path_ = str(directory, "/events.out.tfevents.", seconds, '.', static_cast<const char*>(host), '.',
                ::getpid(), '.', number, ".veldt");
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST && number < 1000) continue;
    if (fd < 0) io::throw_unwritable(path_, "create", errno);
    file_.reset(::fdopen(fd, "wb"));
    if (file_ != nullptr) break;
    const int why = errno;
    ::close(fd);
    io::throw_unwritable(path_, "open", why);
  }
  write(event_with(step,
                   [](pbf_writer& event) { event.add_string(event_field::file_version, "brain.Event:2"); }));
  write(event_with(step, [](pbf_writer& event) {
    pbf_writer session(event, event_field::session_log);
    session.add_enum(1, kSessionStart);
  }));
  flush();
}

void EventFile::write(const std::string& event) {
  std::string record;
  append_bytes(record, static_cast<std::uint64_t>(event.size()));
  append_bytes(record, masked_crc(record));
  record += event;
  append_bytes(record, masked_crc(event));
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size())
    io::throw_unwritable(path_, "write", errno);
}

void EventFile::flush() {
  if (std::fflush(file_.get()) != 0) io::throw_unwritable(path_, "write", errno);
}

void EventFile::add_scalar(std::string_view tag, std::int64_t step, double number) {
  write(value_with(tag, step, [&](pbf_writer& value) {
    value.add_float(value_field::simple_value, static_cast<float>(number));
  }));
}

void EventFile::add_histogram(std::string_view tag, std::int64_t step, const Tensor& given) {
  const Tensor all = contiguous(to(to(given, Device{}), DType::f32));
  const std::span<const float> values(all.data<float>(), static_cast<std::size_t>(all.numel()));
  double least = INFINITY, most = -INFINITY, count = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
    ++count;
  }
  if (count == 0) return;
  constexpr std::size_t kBuckets = 64;
  const double width = std::max(most - least, 1e-12 * std::max(1.0, std::fabs(least)));
  std::vector<double> limits, counts(kBuckets, 0);
  for (std::size_t i = 1; i <= kBuckets; ++i)
    limits.push_back(i == kBuckets ? std::max(most, least + width)
                                   : least + width * static_cast<double>(i) / kBuckets);
  double sum = 0, squares = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    sum += v;
    squares += v * v;
    counts[std::min(kBuckets - 1, static_cast<std::size_t>((v - least) / width * kBuckets))] += 1;
  }
  write(value_with(tag, step, [&](pbf_writer& value) {
    pbf_writer histogram(value, value_field::histo);
    histogram.add_double(1, least);
    histogram.add_double(2, most);
    histogram.add_double(3, count);
    histogram.add_double(4, sum);
    histogram.add_double(5, squares);
    histogram.add_packed_double(6, limits.begin(), limits.end());
    histogram.add_packed_double(7, counts.begin(), counts.end());
  }));
}

void EventFile::add_picture(std::string_view tag, std::int64_t step, std::string_view png, Size size,
                            int channels) {
  write(value_with(tag, step, [&](pbf_writer& value) {
    pbf_writer image(value, value_field::image);
    image.add_int32(1, static_cast<std::int32_t>(size.height));
    image.add_int32(2, static_cast<std::int32_t>(size.width));
    image.add_int32(3, channels);
    image.add_bytes(4, png.data(), png.size());
  }));
}

void EventFile::add_text(std::string_view tag, std::int64_t step, std::string_view text) {
  write(value_with(tag, step, [&](pbf_writer& value) {
    {
      pbf_writer tensor(value, value_field::tensor);
      tensor.add_enum(1, kString);
      {
        pbf_writer shape(tensor, 2);
        pbf_writer dimension(shape, 2);
        dimension.add_int64(1, 1);
      }
      tensor.add_bytes(8, text.data(), text.size());
    }
    pbf_writer metadata(value, value_field::metadata);
    pbf_writer plugin(metadata, 1);
    plugin.add_string(1, "text");
  }));
}

#else

namespace {

[[noreturn]] void refuse_events() {
  throw Error("cannot write files for TensorBoard", "Veldt was built without protozero",
              "install libprotozero-dev and build Veldt again");
}

}  // namespace

EventFile::EventFile(const std::string&, std::int64_t) { refuse_events(); }
void EventFile::write(const std::string&) { refuse_events(); }
void EventFile::flush() { refuse_events(); }
void EventFile::add_scalar(std::string_view, std::int64_t, double) { refuse_events(); }
void EventFile::add_histogram(std::string_view, std::int64_t, const Tensor&) { refuse_events(); }
void EventFile::add_picture(std::string_view, std::int64_t, std::string_view, Size, int) { refuse_events(); }
void EventFile::add_text(std::string_view, std::int64_t, std::string_view) { refuse_events(); }

#endif

}  // namespace veldt::live
