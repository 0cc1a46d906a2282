// Reads sounds: WAV, FLAC, Ogg and everything else that libsndfile reads. Writes WAV.
//
// libsndfile depends on the libraries of seven codecs, which would double the start-up time of every program
// with Veldt. So it is not linked, but opened when the first sound is read. A build without its header reads
// no sounds, and says so.
// Tests: tests/io/sound_test.cpp, tests/app/sound_test.cpp, tests/fuzz/sounds.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

// The same for help and errors.
inline constexpr const char* kSoundFormats = "WAV, FLAC or Ogg";

struct Sound {
  Tensor samples;         // f32 [frames, channels]; full scale is 1, floats are as they were stored
  std::int64_t rate = 0;  // frames a second
};

struct SoundInfo {
  std::string format;  // "WAV (Microsoft), Signed 16 bit PCM"
  std::int64_t frames = 0, channels = 0, rate = 0;
};

// The facts in the file's header; the samples are not read. Throws as read_sound().
SoundInfo sound_info(const std::string& path);

struct ReadSoundOptions {
  std::int64_t max_samples = std::int64_t{1} << 28;  // more are refused before memory is allocated
};

// Throws IoError missing, or malformed for anything except one complete sound of at least one frame and at
// most max_samples, all finite; Error if this build or this machine has no libsndfile.
Sound read_sound(const std::string& path, const ReadSoundOptions& options = {});

struct WriteSoundOptions {
  int bits = 32;  // 32: floats, as they are. 16: clamped to -1..1, in steps of 1 / 32768, rounded half up
};

// Writes f32 [frames, channels] as a WAV, whole or not at all. Throws ShapeError for another shape or dtype,
// ConfigError for other bits or a name that ends in anything but .wav, Error for a NaN, IoError unwritable.
void write_sound(const std::string& path, const Tensor& samples, std::int64_t rate,
                 const WriteSoundOptions& options = {});

// Writes a WAV of any length; memory holds only the samples of one call.
class SoundWriter {
 public:
  // Throws as the constructor does, but creates no file.
  static void check(const std::string& path, std::int64_t frames, std::int64_t channels, std::int64_t rate,
                    const WriteSoundOptions& options = {});

  SoundWriter(const std::string& path, std::int64_t frames, std::int64_t channels, std::int64_t rate,
              const WriteSoundOptions& options = {});
  // Without finish() no file remains.
  ~SoundWriter();
  SoundWriter(const SoundWriter&) = delete;
  SoundWriter& operator=(const SoundWriter&) = delete;

  // The next `count` frames: count * channels samples.
  void write(const float* samples, std::int64_t count);
  // Makes the file durable and gives it its name. Throws ShapeError if frames are missing.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veldt::io
