// A known network with all that is needed to use it: saved to one safetensors file, and made again from it.
// Tests: tests/models/model_file_test.cpp, tests/models/prepare_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "veldt/io/loaded_state.h"
#include "veldt/models/registry.h"

namespace veldt::models {

struct Model {
  std::string architecture;
  Options options;
  Preprocessing preprocessing;
  std::unique_ptr<nn::Module> network = {};
};

// A new network with its options and preprocessing. Throws as make().
Model make_model(const std::string& architecture, const Options& options = {}, Rng& rng = nn::default_rng());

// The network's tensors under their own names; the metadata say the rest: "kind" (kModelKind),
// "architecture", "options" and "preprocessing", the last two as JSON. Throws IoError unwritable, and
// ConfigError for what load() could not make again: a network with adapters (nn::merge_lora()), or of other
// sizes than its options say.
inline constexpr const char* kModelKind = "veldt.model";
void save(const std::string& path, const Model& model);
// From such a file, which is untrusted, in evaluation. Throws IoError missing, malformed for another file,
// and corrupt.
Model load(const std::string& path);
// What such a file, read by io::load_state(), says of its pictures; nothing for a file of another kind.
// Throws IoError malformed.
std::optional<Preprocessing> saved_preprocessing(const io::LoadedState& file, const std::string& path);

// Gives the network a new last layer, with `outputs` outputs and initial values of its own; all else stays.
// It is trained even where the one before was frozen. Throws ConfigError below 1.
void replace_head(Model& model, std::int64_t outputs, Rng& rng = nn::default_rng());
// The same for a layer by name, a Linear or a Conv2d of kernel 1: about(..).head, or one of your own
// network's. Throws ConfigError for another, or none of that name.
void replace_head(nn::Module& network, const std::string& head, std::int64_t outputs,
                  Rng& rng = nn::default_rng());

// The same for another number of channels: the mean of all means, and of all deviations, for each.
Preprocessing with_channels(Preprocessing preprocessing, std::int64_t channels);
// A picture as a network's input, f32 [1, channels, height, width]: its shorter side resized (bilinear), the
// middle taken, each channel normalised. `picture`: f32 [height, width, channels] in 0..1 or u8, as
// io::read_image() gives it. Throws ShapeError for another form.
Tensor prepare(const Preprocessing& preprocessing, const Tensor& picture);
// The same of a picture that is read already, f32 [channels, height, width] in 0..1 as data::picture_folder()
// has them, for data::Transform and Loader: f32 [channels, height, width].
Tensor prepare_planes(const Preprocessing& preprocessing, const Tensor& planes);

}  // namespace veldt::models
