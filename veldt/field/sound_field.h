// A sound as a function of time: played from any moment to any other, at any rate.
// Tests: tests/field/sound_field_test.cpp, tests/field/golden_fields_test.cpp
#pragma once

#include <optional>
#include <string>

#include "veldt/field/field.h"

namespace veldt::field {

// The requested part of a sound. Frame i is the sound at from + i / rate seconds; at a lower rate than its
// own it is the mean around that moment, which reduces aliasing.
struct SoundPart {
  double from = 0;                // seconds
  std::optional<double> to = {};  // seconds; none: the end
  std::int64_t rate = 0;          // frames a second; 0: the sound's own
  BandShare share = {};           // of the bands
};

class SoundField : public Field {
 public:
  using Field::Field;
  // The same field; both share its weights. Throws ConfigError if it is of a picture.
  explicit SoundField(const Field& field);
  // Throws as Field::load(), and IoError malformed for the field of a picture.
  static SoundField load(const std::string& path);

  std::int64_t rate() const { return options().rate; }
  double seconds() const;
  // The number of frames of a part. Throws ConfigError if it is not within the sound or holds no frame.
  std::int64_t frames(const SoundPart& part = {}) const;
  // The number of samples of the field in each frame's mean.
  double samples_a_frame(const SoundPart& part = {}) const;
  // [frames, channels], f32, at the original volume.
  Tensor render(const SoundPart& part = {}) const;
  // The same in bands [frames, channels], in memory that does not depend on the length.
  void render_bands(const SoundPart& part, const Band& band) const;

 private:
  RenderOptions placed(const SoundPart& part) const;
};

}  // namespace veldt::field
