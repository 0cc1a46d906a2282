// Cutting whole channels, hidden features and units, and attention heads, after which a network is smaller
// and faster without any other code: which of its numbers go together, which are worth least, and the cut
// itself.
//   const std::vector<compress::ChannelGroup> groups = compress::channel_groups(net, example);
//   const compress::Kept kept = compress::choose(groups, net.state_dict(), {.share = 0.5});
//   compress::cut(net, groups, kept);      // half of the channels; then it is trained again
// Tests: tests/compress/channels_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/compress/prune.h"
#include "veldt/nn/module.h"

namespace veldt::compress {

// The place of a group's units in a tensor of the network: unit i is `repeat` indices of dimension `dim` from
// offset + i repeat on. A linear layer behind a Flatten has height times width of them for each channel.
struct ChannelPart {
  enum class Role { made, read, scaled, other };  // by this weight; a norm's weight; a bias or statistics

  std::string tensor;
  int dim = 0;
  std::int64_t offset = 0, repeat = 1;
  Role role = Role::other;
};

// An argument of a layer that says how many units there are: "out" of "3", "groups" of a depthwise
// convolution, "heads" of "2"; "channels" of a norm without tensors, which only a new layer can have changed.
struct SizedLayer {
  std::string layer, argument;
};

// Units that only go all together: the channels that one convolution makes, that a batch norm scales and the
// next layer reads; of a residual sum those of all its branches.
struct ChannelGroup {
  enum class Unit { channel, head };

  Unit unit = Unit::channel;
  std::int64_t size = 0;
  std::vector<ChannelPart> parts;
  std::vector<SizedLayer> layers;  // those that make them
  std::string fixed;               // why none can go; empty if they can
};

// The groups of a network, in the order of its layers, by a call with `example` in evaluation mode, without
// gradients. It follows Conv, ConvTranspose, Linear, RNN, LSTM, GRU, LastStep, batch and instance norms,
// PReLU, Flatten, Sum, Product, Cat, what treats each channel by itself (activations, pooling, dropout, which
// it tries out), and TransformerEncoderLayer and TransformerDecoderLayer inside, through Graph, Sequential
// and Residual. What another layer reads or makes is fixed, as are input and output. Throws what the call
// throws.
std::vector<ChannelGroup> channel_groups(const nn::Module& network, const TensorList& example);

struct CutOptions {
  double share = 0;  // of the channels and features that go, 0..1; one of each group stays
  double heads = 0;  // of the heads
  PruneScope scope =
      PruneScope::layer;  // network: of all groups together, each score beside its group's mean
  std::vector<std::string> except = {};  // beginnings of the names of tensors whose groups stay
};

// The units that stay, in rising order, of each group.
using Kept = std::vector<std::vector<std::int64_t>>;

// How much each unit counts: the norm of the weights that make it, or of a norm's weight behind them, times
// that of those that read it. So it is the same however a network shares out its scale between layers.
std::vector<double> unit_scores(const ChannelGroup& group, const NamedTensors& state);
// Throws ConfigError for shares outside 0..1, an `except` that means no tensor, and scores that are NaN.
Kept choose(const std::vector<ChannelGroup>& groups, const NamedTensors& state, const CutOptions& options);

// The state of the smaller network. Throws ConfigError for units that do not exist or are not in order.
NamedTensors cut_state(const NamedTensors& state, const std::vector<ChannelGroup>& groups, const Kept& kept);
// Gives the network's own tensors these sizes. Optimizers that have its parameters are to be built anew. Also
// throws ConfigError for a group with a norm without tensors, which keeps a number of channels of its own:
// build the smaller network instead, and load cut_state().
void cut(nn::Module& network, const std::vector<ChannelGroup>& groups, const Kept& kept);

}  // namespace veldt::compress
