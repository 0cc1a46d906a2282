// What is drawn of a field, picture or sound, and the file it goes into.
// Tests: tests/app/render_test.cpp, tests/app/pictures_test.cpp, tests/app/sound_test.cpp
#pragma once

#include <future>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "veldt/app/colour.h"
#include "veldt/field/field.h"
#include "veldt/field/image_field.h"
#include "veldt/field/sound_field.h"
#include "veldt/io/image.h"
#include "veldt/io/sound.h"

namespace veldt::app {

// A picture of some size, or a part of a sound at some rate. Shares the field's weights.
class Drawing {
 public:
  // All that the field was fitted to, as it was.
  explicit Drawing(const field::Field& field);
  // Each throws ConfigError for what cannot be drawn.
  Drawing(const field::ImageField& field, std::int64_t width, std::int64_t height,
          const field::RenderOptions& how = {});
  Drawing(const field::SoundField& field, const field::SoundPart& part);

  const field::Field& field() const { return field_; }
  bool is_sound() const { return field_.options().is_sound(); }
  std::int64_t width() const { return width_; }    // of a sound 1
  std::int64_t height() const { return height_; }  // of a sound its frames
  std::int64_t rate() const;                       // frames a second; 0 of a picture
  const char* row_name() const { return is_sound() ? "frame" : "row"; }
  // The channels that are written: those of the field, without an alpha that lies over a colour.
  std::int64_t channels() const;
  bool has_alpha() const { return !is_sound() && channels() % 2 == 0; }
  // A picture with alpha is drawn over this from now on.
  void lay_over(const Colour& colour) { background_ = colour; }
  // Points of the network that each pixel or frame takes, on average.
  double points_each() const;
  // Numbers that are written.
  double values() const;
  std::string in_words() const;  // "1024x768", "3.00 s at 44100 Hz"
  void describe_in(nlohmann::ordered_json& out) const;

  // [rows, width, channels] in 0..1, or [frames, channels].
  void bands(const field::Field::Band& band) const;

 private:
  field::Field field_;
  std::int64_t width_ = 1, height_ = 1;
  field::RenderOptions how_;
  field::SoundPart part_;
  std::optional<Colour> background_;
};

// Takes the bands of a drawing into a file. They are encoded in a thread of their own, while the next one is
// drawn.
class DrawnFile {
 public:
  // `bits` a sample; 0: see bits_for().
  // Throws ConfigError or ShapeError for what a file of this name cannot hold, and touches none.
  static void check(const std::string& path, const Drawing& drawing, int bits = 0);
  DrawnFile(const std::string& path, const Drawing& drawing, int bits = 0);
  // Without finish() nothing is left behind.
  ~DrawnFile();
  DrawnFile(const DrawnFile&) = delete;
  DrawnFile& operator=(const DrawnFile&) = delete;

  void write(const Tensor& band);
  void finish();

 private:
  std::unique_ptr<io::ImageWriter> picture_;
  std::unique_ptr<io::SoundWriter> sound_;
  Tensor band_;  // that is being encoded
  std::future<void> encoding_;
};

// Whether width x height has another form than a part of a picture of these sides, beyond rounding to pixels.
bool is_stretched(double part_width, double part_height, std::int64_t width, std::int64_t height);

// Levels as a file with this many bits per sample holds them.
Tensor rounded(const Tensor& levels, int bits);

// Bits a sample that a file of this name has: those that are asked for; 0: of a sound 32, of a picture those
// that it was fitted to, if a file of this kind can have them.
int bits_for(const Drawing& drawing, int wished, const std::string& path);

}  // namespace veldt::app
