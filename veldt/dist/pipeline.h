// Pipeline parallel training: each rank has some of the layers, one after the other, and a batch goes through
// them in micro-batches, so that all ranks have work (Huang et al. 2019, GPipe). Of the parameters, their
// gradients and the optimizer's state a rank has those of its layers alone.
//
//   const auto relu = nn::ReLU();
//   dist::Pipeline net(ranks, {nn::Linear(2, 64), relu, nn::Linear(64, 64), relu, nn::Linear(64, 1)});
//   optim::Adam adam(net.stage().named_parameters(), {.lr = 1e-3});
//   for (..) { adam.zero_grad(); net.backward(x, y, loss); adam.step(); }
//
// Gradients are those of the plain network for the whole batch, up to rounding, if each example is computed
// by itself: batch norm sees one micro-batch at a time, and dropout draws for each.
// Tests: tests/dist/pipeline_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/nn/sequential.h"
#include "veldt/optim/optimizer.h"

namespace veldt::dist {

struct PipelineOptions {
  // Parts of a batch. A rank waits about (ranks - 1) / micro_batches of the time that it works.
  std::int64_t micro_batches = 4;
};

class Pipeline {
 public:
  // The mean of a micro-batch's losses, one number.
  using Loss = std::function<Tensor(const Tensor& output, const Tensor& target)>;

  // The layers of the whole network, the same on all ranks: each keeps its neighbours, as many as the others
  // or one more (a Sequential counts as one layer). Keeps a reference to the communicator. Throws ConfigError
  // for less layers than ranks, or less than one micro-batch.
  Pipeline(Communicator& ranks, const std::vector<nn::AnyModule>& layers, PipelineOptions options = {});

  // This rank's layers, under the names that they have in a Sequential of all: "2.weight".
  nn::Sequential& stage() { return stage_; }

  // All ranks call the functions below, with the same arguments, and all get the result. The stages are where
  // x is.

  // The network's output for x, without a graph.
  Tensor forward(const Tensor& x) const;
  // Adds the gradients of the mean loss over the batch x [n, ..] with the targets y [n, ..] to those of the
  // parameters, and returns that loss. The first rank alone reads x, the last one y. Each micro-batch goes
  // back as soon as it can (1F1B, Narayanan et al. 2019), so a rank keeps the graphs of at most as many as
  // there are ranks. Throws ShapeError for a batch of less examples than micro-batches.
  double backward(const Tensor& x, const Tensor& y, const Loss& loss);

  // Optimizer::clip_gradients() by the norm of all ranks' gradients, before step(). The optimizer has the
  // stage's parameters, and no limit of its own for the norm.
  double clip_gradients(optim::Optimizer& optimizer, double max_norm);

  // The state_dict() of a Sequential of all layers.
  NamedTensors whole_state() const;
  // Takes this rank's part of such a state. Throws as load_state_dict() does.
  void load_whole_state(const NamedTensors& state);

 private:
  struct Pass {
    Tensor in, out;
  };
  bool is_first() const { return ranks_.rank() == 0; }
  bool is_last() const { return ranks_.rank() == ranks_.size() - 1; }
  void send_on(const Tensor& t) const;
  Tensor received(Device device) const;
  void go_back(const Pass& pass) const;

  Communicator& ranks_;
  std::int64_t micro_batches_;
  std::int64_t layers_;
  nn::Sequential stage_;
};

}  // namespace veldt::dist
