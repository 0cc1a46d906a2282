// The writing half of sound.h. libsndfile could write too, but it seeks back to the header at the end, which
// an AtomicFile cannot, and puts the time of day into float WAVs. The format is a header of 44 bytes and the
// samples (Microsoft, "Multimedia Programming Interface and Data Specifications 1.0", 1991).
#include <algorithm>
#include <bit>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/sound.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

constexpr std::int64_t kMaxWavBytes = 0xffffffff - 1024;  // sizes in the file have 32 bits
constexpr std::uint16_t kIntegers = 1, kFloats = 3;       // the format's tags

void put(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
}

std::int64_t sixteen_bits(float v) {
  return static_cast<std::int64_t>(
      std::clamp(std::floor(static_cast<double>(v) * 32768 + 0.5), -32768.0, 32767.0));
}

std::string header(std::int64_t frames, std::int64_t channels, std::int64_t rate, int bits) {
  const bool floats = bits == 32;
  const auto frame_bytes = static_cast<std::uint64_t>(channels * bits / 8);
  const std::uint64_t data_bytes = static_cast<std::uint64_t>(frames) * frame_bytes;
  std::string format, bytes;
  put(format, floats ? kFloats : kIntegers, 2);
  put(format, static_cast<std::uint64_t>(channels), 2);
  put(format, static_cast<std::uint64_t>(rate), 4);
  put(format, static_cast<std::uint64_t>(rate) * frame_bytes, 4);
  put(format, frame_bytes, 2);
  put(format, static_cast<std::uint64_t>(bits), 2);
  if (floats) put(format, 0, 2);  // no extension
  bytes += "fmt ";
  put(bytes, format.size(), 4);
  bytes += format;
  if (floats) {  // required for all formats except integers
    bytes += "fact";
    put(bytes, 4, 4);
    put(bytes, static_cast<std::uint64_t>(frames), 4);
  }
  bytes += "data";
  put(bytes, data_bytes, 4);
  std::string all = "RIFF";
  put(all, 4 + bytes.size() + data_bytes + data_bytes % 2, 4);
  return all + "WAVE" + bytes;
}

}  // namespace

struct SoundWriter::State {
  explicit State(const std::string& path) : file(path) {}

  AtomicFile file;
  std::int64_t frames = 0, channels = 0, done = 0;
  int bits = 0;
  std::string bytes;
};

void SoundWriter::check(const std::string& path, std::int64_t frames, std::int64_t channels,
                        std::int64_t rate, const WriteSoundOptions& options) {
  const int bits = options.bits;
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  std::string ending = dot == std::string::npos || dot == 0 ? "" : name.substr(dot);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!ending.empty() && ending != ".wav")
    throw ConfigError("cannot write a sound as " + path,
                      str("Veldt cannot write sounds whose name ends in ", ending),
                      "let the name end in .wav");
  if (bits != 16 && bits != 32)
    throw ConfigError(str("cannot write a sound of ", bits, " bits"), "a sample has 16, or 32 as a float",
                      "choose one of these");
  if (rate < 1 || rate > 0x7fffffff)
    throw ConfigError(str("a sound cannot have ", rate, " frames a second"), "there are 1 to 2^31 - 1",
                      "choose a rate such as 44100");
  constexpr std::int64_t kMaxChannels = 1024;  // as many as libsndfile reads
  if (frames < 1 || channels < 1 || channels > kMaxChannels)
    throw ShapeError(str("cannot write a sound of ", frames, " frames and ", channels, " channels"),
                     str("there is 1 frame or more, and 1 to ", kMaxChannels, " channels"),
                     "give a sound with samples in it");
  if (rate > 0xffffffff / (channels * bits / 8))
    throw ConfigError(str("cannot write a WAV of ", channels, " channels at ", rate, " frames a second"),
                      "its bytes per second must fit in 32 bits", "choose a lower rate");
  if (frames > kMaxWavBytes / (channels * bits / 8))
    throw ShapeError(str("cannot write a WAV of ", frames, " frames and ", channels, " channels"),
                     str("it holds at most ", kMaxWavBytes, " bytes"), "write it in parts");
}

SoundWriter::SoundWriter(const std::string& path, std::int64_t frames, std::int64_t channels,
                         std::int64_t rate, const WriteSoundOptions& options) {
  check(path, frames, channels, rate, options);
  state_ = std::make_unique<State>(path);
  state_->frames = frames;
  state_->channels = channels;
  state_->bits = options.bits;
  const std::string head = header(frames, channels, rate, options.bits);
  state_->file.write(head.data(), head.size());
}

SoundWriter::~SoundWriter() = default;

void SoundWriter::write(const float* samples, std::int64_t count) {
  State& s = *state_;
  if (count > s.frames - s.done)
    throw ShapeError(str("cannot write ", count, " more frames"),
                     str(s.done, " of ", s.frames, " are written"), "give as many frames as the header says");
  s.bytes.clear();
  for (std::int64_t i = 0; i < count * s.channels; ++i) {
    const float v = samples[i];
    if (!std::isfinite(v))
      throw Error("cannot write a sound with a sample that is not a number",
                  str("the sample of frame ", s.done + i / s.channels, " is ", v),
                  "check the source of the sound; training may have diverged");
    if (s.bits == 32)
      put(s.bytes, std::bit_cast<std::uint32_t>(v), 4);
    else
      put(s.bytes, static_cast<std::uint64_t>(sixteen_bits(v)), 2);
  }
  s.file.write(s.bytes.data(), s.bytes.size());
  s.done += count;
}

void SoundWriter::finish() {
  State& s = *state_;
  if (s.done != s.frames)
    throw ShapeError("cannot finish a sound early", str(s.done, " of ", s.frames, " frames are written"),
                     "write the other frames first");
  s.file.commit();
}

void write_sound(const std::string& path, const Tensor& samples, std::int64_t rate,
                 const WriteSoundOptions& options) {
  if (samples.rank() != 2 || samples.dtype() != DType::f32)
    throw ShapeError(str("cannot write ", samples.dtype(), ' ', samples.shape(), " as a sound"),
                     "a sound is f32 [frames, channels]", "convert it to this form");
  const Tensor rows = contiguous(samples.detach());
  SoundWriter writer(path, rows.size(0), rows.size(1), rate, options);
  constexpr std::int64_t kFrames = 1 << 14;
  for (std::int64_t at = 0; at < rows.size(0); at += kFrames)
    writer.write(rows.data<float>() + at * rows.size(1), std::min(kFrames, rows.size(0) - at));
  writer.finish();
}

}  // namespace veldt::io
