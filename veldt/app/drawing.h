// A drawing of a field (a picture or a sound), and the file it is written to.
// Tests: tests/app/render_test.cpp, tests/app/pictures_test.cpp, tests/app/sound_test.cpp
#pragma once

#include <future>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/colour.h"
#include "veldt/field/field.h"
#include "veldt/field/image_field.h"
#include "veldt/field/sound_field.h"
#include "veldt/io/image.h"
#include "veldt/io/sound.h"

namespace veldt::app {

// A picture of some size, or a part of a sound at some rate. Shares the field's weights.
class Drawing {
 public:
  // The whole, at the size or rate that the field was fitted to; of a clip the moment in its middle.
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
  // The channels that are written: the field's, without alpha if a background colour is set.
  std::int64_t channels() const;
  bool has_alpha() const { return !is_sound() && channels() % 2 == 0; }
  // From now on a clip is drawn at this moment, a share of its time.
  void set_time(double time) { how_.time = time; }
  // From now on a picture with alpha is drawn over this colour.
  void lay_over(const Colour& colour) { background_ = colour; }
  // Evaluations of the network per pixel or frame, on average.
  double points_each() const;
  // Numbers that are written.
  double values() const;
  std::string in_words() const;  // "1024x768", "3.00 s at 44100 Hz"
  void describe_in(nlohmann::ordered_json& out) const;

  // [rows, width, channels] in 0..1, or [frames, channels].
  void bands(const field::Field::Band& band, const field::BandShare& share = {}) const;

 private:
  field::Field field_;
  std::int64_t width_ = 1, height_ = 1;
  field::RenderOptions how_;
  field::SoundPart part_;
  std::optional<Colour> background_;
};

// Writes the bands of a drawing into a file. A thread of its own encodes each one while the next is drawn.
class DrawnFile {
 public:
  // `bits` a sample; 0: see bits_for().
  // Throws ConfigError or ShapeError for a drawing that a file of this name cannot hold, and creates no file.
  static void check(const std::string& path, const Drawing& drawing, int bits = 0);
  DrawnFile(const std::string& path, const Drawing& drawing, int bits = 0);
  // Without finish() no file remains.
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

// Whether the aspect ratio of width x height differs, beyond rounding to pixels, from that of a part with
// these sides.
bool is_stretched(double part_width, double part_height, std::int64_t width, std::int64_t height);

// [rows, width, 2 or 4] -> [rows, width, channels] of 1 or 3, with the values that a file would hold.
Tensor laid_over(const Tensor& picture, const Colour& colour, std::int64_t channels);

// Values rounded to the levels of a file with this many bits per sample.
Tensor rounded(const Tensor& levels, int bits);

// Bits per sample of a file of this name: those asked for; if 0, 32 for a sound, and for a picture those that
// it was fitted to, if a file of this kind can have them.
int bits_for(const Drawing& drawing, int wished, const std::string& path);

}  // namespace veldt::app
