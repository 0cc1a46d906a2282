// A signal as a function of position: a network and the facts needed to draw it, in one safetensors file.
// image_field.h and sound_field.h draw it as a picture or a sound.
// Tests: tests/field/image_field_test.cpp, tests/field/golden_fields_test.cpp,
// tests/field/sound_field_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "veldt/core/size.h"
#include "veldt/field/closing.h"
#include "veldt/field/network.h"
#include "veldt/field/options.h"
#include "veldt/io/safetensors.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// A part of a picture in its own unit: the whole is x 0..1 from left to right, y 0..1 from top to bottom. For
// a sound only y counts, from its start to its end.
struct Region {
  double x = 0, y = 0, width = 1, height = 1;
};

// Of the bands of a drawing every `of`-th, from number `first` on: what one of several ranks draws. All,
// unless it is set.
struct BandShare {
  int first = 0, of = 1;
  bool has(std::int64_t band) const { return band % of == first; }
};

struct RenderOptions {
  Region region = {};
  double time = 0.5;  // of a clip, 0 at its start and 1 at its end: what is drawn is one picture
  // Samples along each side of an output pixel, averaged; 0: automatic, which is 1 when enlarging. When
  // shrinking, each pixel is the mean over its area of the picture drawn at its fitted size.
  int supersample = 0;
  BandShare share = {};
};

class Field {
 public:
  // Gets rows [rows, width, channels], f32, and the index of the first; returns false to stop.
  using Band = std::function<bool(const Tensor& rows, std::int64_t first)>;

  // Freshly initialised. Throws ConfigError through check(options).
  Field(const FieldOptions& options, std::uint64_t seed);

  // Throws IoError: missing, malformed, or corrupt for a newer format version.
  static Field load(const std::string& path);
  void save(const std::string& path) const;

  const FieldOptions& options() const { return options_; }
  Network& network() { return network_; }
  const Network& network() const { return network_; }
  // The correction that makes the pixels exact; may be none.
  const Closing& closing() const { return closing_; }
  void set_closing(const Closing& closing);
  // The drawing without the closing, at samples x samples even places of each fitted pixel (or square):
  // [samples height, samples width, channels].
  Tensor open_levels(int samples, const Heard& heard) const;
  std::int64_t parameter_count() const;

  // The device that computes; drawings are always in host memory.
  Device device() const;
  void to(Device device);

  // The levels from top to bottom in bands of a few rows, in memory that does not depend on the height: 0..1
  // for a picture or a moment of a clip, shares of the peak for a sound, whose rows are frames. Which rows a
  // band has depends on the field, the size and the device alone. Throws ConfigError for an invalid size or
  // region.
  void render_bands(Size size, const RenderOptions& how, const Band& band) const;

  // Evaluations of the network per pixel of such a drawing, on average. Throws as render_bands().
  double samples_a_pixel(Size size, const RenderOptions& how = {}) const;

  // How it was trained, as a JSON object for people and `veldt info`; kept in the file.
  const std::string& training() const { return training_; }
  void set_training(std::string json) { training_ = std::move(json); }

  // The content of save() and load(); checkpoints store their model this way too.
  NamedTensors tensors() const;
  std::map<std::string, std::string> metadata() const;
  static Field from_tensors(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata,
                            const std::string& path);

 private:
  FieldOptions options_;
  Network network_;
  Closing closing_;
  std::string training_;
};

// "image_field" or "sound_field" if the metadata of a safetensors file says that it holds one; else "".
std::string field_kind(const std::map<std::string, std::string>& metadata);

}  // namespace veldt::field
