// A picture as a function of position: a network from (x, y) to a level per channel, kept in one safetensors
// file and drawn at any size.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "veldt/field/network.h"
#include "veldt/field/options.h"
#include "veldt/io/safetensors.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// A part of the picture in its own unit: the whole picture is x 0..1 from left to right, y 0..1 from top to
// bottom.
struct Region {
  double x = 0, y = 0, width = 1, height = 1;
};

struct RenderOptions {
  Region region;
  // Samples along each side of an output pixel, averaged; 0 chooses: 1 when enlarging, more when shrinking,
  // so that detail finer than a pixel does not alias.
  int supersample = 0;
};

class ImageField {
 public:
  // Freshly initialised. Throws ConfigError through check(options).
  ImageField(const FieldOptions& options, std::uint64_t seed);

  // Throws IoError: missing, malformed, or corrupt for a newer format version.
  static ImageField load(const std::string& path);
  void save(const std::string& path) const;

  const FieldOptions& options() const { return options_; }
  Network& network() { return network_; }
  const Network& network() const { return network_; }
  std::int64_t parameter_count() const;

  // [height, width, channels] in 0..1, f32.
  Tensor render(std::int64_t width, std::int64_t height, const RenderOptions& how = {}) const;
  // The same from top to bottom in bands of a few rows, in memory that does not depend on the height. `band`
  // gets rows [rows, width, channels] and the index of the first; it returns false to stop.
  void render_bands(std::int64_t width, std::int64_t height, const RenderOptions& how,
                    const std::function<bool(const Tensor& rows, std::int64_t first)>& band) const;

  // Samples along each side of a pixel that drawing at this size takes.
  int samples_a_side(std::int64_t width, std::int64_t height, const RenderOptions& how = {}) const;

  // How it was trained, as a JSON object for people and `veldt info`; kept in the file.
  const std::string& training() const { return training_; }
  void set_training(std::string json) { training_ = std::move(json); }

  // What save() writes and load() reads; checkpoints keep their model this way too.
  NamedTensors tensors() const;
  std::map<std::string, std::string> metadata() const;
  static ImageField from_tensors(const NamedTensors& tensors,
                                 const std::map<std::string, std::string>& metadata, const std::string& path);

 private:
  FieldOptions options_;
  Network network_;
  std::string training_;
};

// True if the metadata of a safetensors file says that it holds an image field.
bool is_image_field(const std::map<std::string, std::string>& metadata);

}  // namespace veldt::field
