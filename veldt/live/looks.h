// What of a network is shown: the norms of its gradients, its layers, and what it takes for what.
// Tests: tests/live/looks_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "veldt/data/dataset.h"
#include "veldt/data/loader.h"
#include "veldt/live/record.h"
#include "veldt/nn/module.h"

namespace veldt::live {

// The L2 norm of the last gradient of each layer that has one, by its name; of at most `most` layers, evenly
// chosen, the first and the last among them.
std::vector<std::pair<std::string, double>> gradient_norms(const nn::Module& model, std::size_t most = 16);

// The layers without layers inside, in the order in which they are called on `input`.
std::vector<LayerLine> layers_of(const nn::Module& model, const Tensor& input);
// The same without a call, so without shapes: modules with parameters of their own, in the order of fields().
std::vector<LayerLine> layers_of(const nn::Module& model);

// Looks at an evaluation (train::Trainer::Look): counts what is taken for what, and finds the examples whose
// true class is given the least probability. For outputs [n, classes] (logits) and labels i64 [n].
// Labels that are no class and outputs that are no numbers are not counted. Throws ShapeError for other
// shapes, ConfigError for less than 1 or more than 10,000 classes.
class Confusions {
 public:
  explicit Confusions(std::int64_t classes, std::size_t worst = 24);
  void look(const TensorList& outputs, const data::Batch& batch);
  // Names of classes may be empty: then they are numbered.
  ConfusionTable table(const std::vector<std::string>& names) const;
  // Worst first; their pictures are read from `set`, whose order was that of the evaluation. An example that
  // is no picture has none.
  std::vector<WorstExample> worst(const data::Dataset& set, const std::vector<std::string>& names) const;

 private:
  struct Bad {
    std::int64_t number = 0, label = 0, taken_for = 0;
    double probability = 0;
  };

  std::int64_t classes_, seen_ = 0;
  std::size_t most_;
  std::vector<std::int64_t> counts_;
  std::vector<Bad> bad_;  // a heap, the least bad first
};

}  // namespace veldt::live
