// Tensor parallel layers: each rank has a part of the weights and computes a part of the layer, for all
// examples (Shoeybi et al. 2019, Megatron-LM). They stand in the place of the plain layers, draw the same
// initial values from an Rng, which is the same on all ranks (give ranks that are threads one each), and give
// the same outputs and gradients up to rounding:
//
//   nn::Sequential net{dist::ColumnParallelLinear(ranks, 64, 4096), nn::GELU(),
//                      dist::RowParallelLinear(ranks, 4096, 64)};
//
// A pair of them, with what works number by number in between, takes one sum over the ranks forward and one
// backward. Every rank is given the same inputs. Parameters of other layers, and the bias of a
// RowParallelLinear, are on every rank and get the same gradients there.
//
// An optimizer changes the parameters of its own rank. Those that look at one number at a time (SGD, Adam)
// take the step of the plain network. For what looks at a norm use clip_gradients() below in the place of the
// option Clip. A network's state is that of the plain one: whole_state().
// Tests: tests/dist/tensor_parallel_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/module.h"
#include "veldt/ops/attention.h"
#include "veldt/optim/optimizer.h"

namespace veldt::dist {

// The base of layers of which each rank has a part. Keeps a reference to the communicator.
class TensorParallel : public nn::Module {
 public:
  // A tensor of the layer that the ranks share out: of each of `blocks` equal blocks along `dim` each rank
  // has as much.
  struct Cut {
    std::string name;
    int dim = 0;
    std::int64_t blocks = 1;
  };
  virtual std::vector<Cut> cuts() const = 0;
  Communicator& ranks() const { return *ranks_; }

 protected:
  // `rng`: what the layer is about to draw from. Throws ConfigError unless it is the same on all ranks.
  TensorParallel(Communicator& ranks, const Rng& rng);
  // This rank's part of `count`. Throws ConfigError unless it can be shared out.
  std::int64_t share_of(std::int64_t count, const char* what) const;

 private:
  Communicator* ranks_;
};

// A Linear whose outputs are shared out: x [.., in], the same on all ranks -> this rank's [.., out / size].
// "weight" [out / size, in], "bias" [out / size]. gather_columns() makes them whole.
class ColumnParallelLinear : public TensorParallel {
 public:
  // Throws what Linear throws, and ConfigError unless the ranks divide `out`.
  ColumnParallelLinear(Communicator& ranks, std::int64_t in, std::int64_t out, nn::LinearOptions options = {},
                       Rng& rng = default_rng());
  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("weight", weight_)("bias", bias_); }
  std::vector<Cut> cuts() const override { return {{"weight", 0}, {"bias", 0}}; }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

 private:
  Tensor weight_, bias_;
};

// A Linear whose inputs are shared out: this rank's x [.., in / size] -> [.., out], the sum over the ranks,
// the same on all. "weight" [out, in / size], "bias" [out]. own_columns() gives each rank its x of a whole
// one.
class RowParallelLinear : public TensorParallel {
 public:
  // Throws what Linear throws, and ConfigError unless the ranks divide `in`.
  RowParallelLinear(Communicator& ranks, std::int64_t in, std::int64_t out, nn::LinearOptions options = {},
                    Rng& rng = default_rng());
  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("weight", weight_)("bias", bias_); }
  std::vector<Cut> cuts() const override { return {{"weight", 1}}; }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

 private:
  Tensor weight_, bias_;
};

struct ParallelAttentionOptions {
  bool bias = true;
  bool batch_first = false;
  bool causal = false;  // step i attends to steps 0 .. i only
  DType dtype = DType::f32;
  Device device = {};
};

// nn::MultiheadAttention, without dropout, whose heads are shared out: the projections before them by
// columns, the one behind them by rows. Inputs and outputs are whole, [time, n, size], or [n, time, size]
// with batch_first. "in_proj_weight" [3 size / ranks, size], "in_proj_bias", "out_proj.weight",
// "out_proj.bias".
class ParallelAttention : public TensorParallel {
 public:
  // Throws what MultiheadAttention throws, and ConfigError unless the ranks divide the heads.
  ParallelAttention(Communicator& ranks, std::int64_t size, std::int64_t heads,
                    ParallelAttentionOptions options = {}, Rng& rng = default_rng())
      : ParallelAttention(ranks, size, heads, options, rng, Rng(0)) {}
  // Self-attention.
  Tensor forward(const Tensor& x) const override;
  // {query, key, value} -> {output}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(nn::Fields& f) override {
    f("in_proj_weight", in_weight_)("in_proj_bias", in_bias_)("out_proj", out_)("dropout", dropout_);
  }
  std::vector<Cut> cuts() const override { return {{"in_proj_weight", 0, 3}, {"in_proj_bias", 0, 3}}; }
  std::string title() const override;

 private:
  // `other`: for values that the plain layer's replace.
  ParallelAttention(Communicator& ranks, std::int64_t size, std::int64_t heads,
                    const ParallelAttentionOptions& o, Rng& rng, Rng other);
  Tensor attended(const Tensor& query, const Tensor& key, const Tensor& value) const;

  std::int64_t size_, heads_;  // of all ranks together
  bool batch_first_;
  AttentionOptions options_;
  Tensor in_weight_, in_bias_;
  RowParallelLinear out_;
  nn::Dropout dropout_;  // drops nothing: a state has the plain layer's, too
};

// The state_dict() of the plain network, with all ranks' parts put together, on every rank, in memory of its
// own where it is put together. All ranks call it.
NamedTensors whole_state(const nn::Module& net);
// Takes this rank's parts of the plain network's state_dict(). Throws, and reports, as load_state_dict()
// does.
nn::LoadReport load_whole_state(nn::Module& net, const NamedTensors& state, bool strict = true);

// Optimizer::clip_gradients() by the norm of the whole network's gradients, on all ranks, before step(): the
// optimizer has the parameters of `net`, and no limit of its own for the norm. Throws as that does.
double clip_gradients(optim::Optimizer& optimizer, const nn::Module& net, Communicator& ranks,
                      double max_norm);

}  // namespace veldt::dist
