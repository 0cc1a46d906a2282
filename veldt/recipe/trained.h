// What `veldt train` writes, opened in one call and used: a network with its recipe, what it has to know of
// its data, and its scores.
//   const recipe::Trained digits = recipe::load("runs/mnist");
//   for (const auto& [name, probability] : digits.classify("seven.png")) std::printf("%s %.2f\n",
//   name.c_str(), probability);
// Tests: tests/recipe/trained_test.cpp, tests/app/train_test.cpp, tests/app/train_recipes_test.cpp,
// tests/fuzz/models.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veldt/compress/quantize.h"
#include "veldt/nn/graph.h"
#include "veldt/recipe/facts.h"
#include "veldt/recipe/recipe.h"
#include "veldt/recipe/trained_file.h"
#include "veldt/recipe/writing.h"
#include "veldt/train/metric.h"

namespace veldt::recipe {

// A class, and how likely the network takes it to be: 0..1, over all classes 1.
struct Guess {
  std::string name;
  double probability = 0;
};

// Each kind of network has calls of its own; another one's throws UsageError, which names the right one. They
// record no gradients; what they are given and give back is in host memory, whatever the device, but for
// prepare().
struct Trained {
  Recipe recipe;
  Facts facts;
  nn::Graph model;                     // in evaluation mode
  train::Scores scores = {};           // "test_accuracy", "val_loss"; of best.safetensors there are none
  compress::Scheme quantization = {};  // of a network that veldt quantize wrote

  Device device() const;
  void to(Device device);

  // Of pictures: f32 [height, width, channels] in 0..1, or u8, as io::read_image() gives them. The network's
  // input batch, f32 [1, channels, height, width] on its device: resized, in its colours, and scaled as in
  // training. Throws ShapeError for another form.
  Tensor prepare(const Tensor& picture) const;
  // All classes, the likeliest first. Throws as prepare(), and of a path as io::read_image().
  std::vector<Guess> classify(const Tensor& picture) const;
  std::vector<Guess> classify(const std::string& path) const;

  // Of pictures with noise, in the form of prepare()'s: the picture without it, f32 of the same size in 0..1,
  // without alpha. Throws as prepare().
  // Undefined if `heard` stopped it.
  Tensor denoise(const Tensor& picture, const RowsHeard& heard = {}) const;

  // Of tables: the columns `facts.inputs` of a CSV, f32 [rows, columns]. Throws as io::read_csv().
  Tensor read_rows(const std::string& path) const;
  // The number for each row, in the units of the target. `rows`: f32 [rows, columns] as in the table,
  // unscaled. Throws ShapeError for another form.
  std::vector<double> predict(const Tensor& rows) const;
  // Where the target is a class: all classes for each row, the likeliest first. Throws ShapeError as
  // predict().
  std::vector<std::vector<Guess>> classify_rows(const Tensor& rows) const;

  // Of series: the recipe's column of a CSV. Throws as io::read_csv().
  std::vector<double> read_series(const std::string& path) const;
  // The next `count` values after these, in their units; 0: as many as the network predicts at once. Each is
  // made of those before it, predicted ones too. Throws UsageError for fewer values than the network looks
  // at.
  std::vector<double> forecast(const std::vector<double>& values, std::int64_t count = 0) const;

  // Of pairs of texts: what the network makes of each, always taking the likeliest token. Throws ConfigError
  // for a text longer than all that it was taught, and for one with a character that those did not have.
  std::vector<std::string> translate(const std::vector<std::string>& texts) const;

  // Of texts: the prompt and what follows. Throws ConfigError as written_text().
  std::string write(const WritingOptions& how = {}) const;
};

// From a model.safetensors or best.safetensors, or the folder of a run. Throws IoError missing, malformed for
// a file that is no network of a recipe, and corrupt; DeviceError.
Trained load(const std::string& path, Device device = {});

// The metadata of such a file: those of every TrainedFile, and "facts" (JSON).
std::map<std::string, std::string> metadata_of(const Recipe& recipe, const Facts& facts,
                                               const train::Scores& scores = {});
// Throws IoError unwritable.
void save(const std::string& path, const Recipe& recipe, const Facts& facts, const nn::Module& model,
          const train::Scores& scores);

// The same of all of it, with its quantisation.
void save(const std::string& path, const Trained& trained);

}  // namespace veldt::recipe
