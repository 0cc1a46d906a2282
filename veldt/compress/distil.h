// Distillation: a network, the student, is taught by another, its teacher, and not by labels alone.
//   compress::Distiller distiller(student, teacher, {.temperature = 4, .weight = 0.9});
//   train::Trainer trainer(student, adam, {.instead = distiller, .metrics = {train::accuracy()}});
// Tests: tests/compress/distil_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/nn/module.h"
#include "veldt/train/step_parts.h"

namespace veldt::compress {

// Outputs of both before softmax, [n, classes, places ..] or [classes], as cross_entropy() has them -> one
// number: T^2 times the mean over all rows and places of the divergence (Kullback & Leibler) of
// softmax(student / T) from softmax(teacher / T) (Hinton et al. 2015). T^2 keeps the size of its gradient
// whatever T is. `counts` [n, places ..], if defined: 1 for those that count, else 0. Throws ShapeError for
// different shapes, and ConfigError for a temperature not above 0.
Tensor soft_target_loss(const Tensor& student, const Tensor& teacher, double temperature,
                        const Tensor& counts = {});

// What a hint compares of two layers' outputs [n, ..].
enum class HintLoss {
  // The mean squared error (FitNets, Romero et al. 2015). Of hint_loss() the shapes are the same. A Distiller
  // with an example maps a student's layer of another width by a regressor, see there.
  features,
  // The squared distance of the maps of [n, channels, places ..]: at each place the sum of the squares of all
  // channels, each example's map of length 1 (Zagoruyko & Komodakis 2017). Channels may differ, places not.
  attention,
  // The squared distance of the [n, n] products of examples, each row of length 1, over n^2 (Tung & Mori
  // 2019). Shapes may differ but for n.
  similarity,
};
// One number. Throws ShapeError for outputs that do not fit each other.
Tensor hint_loss(const Tensor& student, const Tensor& teacher, HintLoss kind);

// The student's layer is to be like the teacher's; by their paths.
struct Hint {
  std::string student, teacher;
};

struct DistilOptions {
  double temperature = 4;
  double weight = 0.7;   // of the teacher's part, 0..1; the rest is the loss without it
  bool numbers = false;  // outputs are numbers: the teacher's part is their mean squared error
  std::vector<Hint> hints = {};
  HintLoss hint_loss = HintLoss::similarity;
  double hint_weight = 1;  // of the hints' mean, which is added
  // A batch, by which both networks show what hints compare: layers that cannot be compared are refused at
  // once, not at the first step, and HintLoss::features learns the regressors of layers of other widths.
  data::Batch example = {};
  std::uint64_t seed = 0;  // of the regressors' first values
  // The teacher's outputs for a batch, as the trainer's forward gives the student's; unless given,
  // teacher(batch[0]).
  train::Forward forward = {};
};

// What a training minimises: TrainerOptions::instead. Copies share the teacher, which is called in evaluation
// mode and without gradients on the same batches, the hooks of the hints, which go with the last copy, and
// the regressors: linear layers along dimension 1, 1 x 1 convolutions of pictures, or along the last one. Of
// [n, a, b] that is dimension 1 for convolutions, and the last one for all other layers, whose second
// dimension is time. They learn with the student, if its optimizer has named_parameters() too, and are in the
// checkpoints of a fit, but in no file of the student.
class Distiller {
 public:
  // Keeps a reference to the student. Throws ConfigError for numbers out of range, and for a hint that names
  // no layer, listing those there are; with an example, ShapeError for layers that the hint loss cannot
  // compare, for features those that differ in more than their widths, and what the calls throw.
  Distiller(const nn::Module& student, std::shared_ptr<nn::Module> teacher, DistilOptions options = {});

  // "hints.0.weight" [teacher's width, student's], "hints.0.bias": the regressors' of the hints that have
  // one.
  NamedTensors named_parameters() const;

  // (1 - weight) loss + weight soft targets + hint_weight hints. `loss`: without the teacher; `outputs`: the
  // student's. Rows and places with a label below 0 are padding, and do not count. Throws ShapeError for
  // outputs of another shape than the teacher's, and for padding that does not fit them.
  Tensor operator()(const Tensor& loss, const TensorList& outputs, const data::Batch& batch) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace veldt::compress
