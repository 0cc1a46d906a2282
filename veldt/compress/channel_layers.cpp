// The layers whose channels can be followed, one by one.
#include "veldt/compress/channel_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/gated.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/ops/close.h"
#include "veldt/ops/gather.h"

namespace veldt::compress {
namespace {

using Role = ChannelPart::Role;
using Unit = ChannelGroup::Unit;

Tensor tensor_of(const nn::Module& m, const std::string& name) {
  for (const auto& [own, tensor] : m.state_dict())
    if (own == name) return tensor;
  return {};
}

template <class... Kinds> bool is_one_of(const nn::Module& m) {
  return (... || (dynamic_cast<const Kinds*>(&m) != nullptr));
}

Layout joined(const LayerCall& call, const Layouts& in) {
  const std::int64_t size = call.outputs[0].size(in[0].axis);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (call.inputs[i].rank() != call.outputs[0].rank() || call.groups.size_of(in[i]) != size)
      return not_followed(call, in);
    if (i > 0)
      call.groups.join(
          in[0], in[i],
          fmt::format("{} ({}) joins channels that lie in different ways", call.path, call.module.title()));
  }
  return in[0];
}

Layout concatenated(const LayerCall& call, const Layouts& in) {
  Layout all{in[0].axis, {}};
  const std::string why =
      fmt::format("{} (Cat) puts channels together that lie in different ways", call.path);
  if (call.groups.size_of(in[0]) == call.outputs[0].size(all.axis)) {  // along another dimension
    for (std::size_t i = 1; i < in.size(); ++i) call.groups.join(in[0], in[i], why);
    return in[0];
  }
  bool fits = true;
  for (const Layout& one : in) {
    fits = fits && one.axis == all.axis && !one.segments.empty();
    all.segments.insert(all.segments.end(), one.segments.begin(), one.segments.end());
  }
  if (fits && call.groups.size_of(all) == call.outputs[0].size(all.axis)) return all;
  for (const Layout& one : in) call.groups.fix(one, why);
  return unmade(call.groups, call.outputs[0], why);
}

Layout flat(const LayerCall& call, Layout x) {
  const Tensor& before = call.inputs[0];
  if (before.rank() == 2 && x.axis == 1) return x;
  const std::int64_t each = before.numel() / std::max<std::int64_t>(before.size(0) * before.size(1), 1);
  if (x.axis != 1 || x.segments.empty()) {
    const std::string why = fmt::format("{} (Flatten) does not have its channels first", call.path);
    call.groups.fix(x, why);
    return unmade(call.groups, call.outputs[0], why);
  }
  for (Segment& segment : x.segments) segment.repeat *= each;
  return x;
}

bool reads(const LayerCall& call, const Layout& x, int axis) {
  return x.axis == axis && !x.segments.empty() && call.groups.size_of(x) == call.inputs[0].size(axis);
}

// The units of x along `axis` of a layer's input are read along `dim` of its weight.
void read(const LayerCall& call, const Layout& x, int axis, int dim) {
  if (reads(call, x, axis))
    call.groups.add_parts(x, in_path(call.path, "weight"), dim, Role::read);
  else
    call.groups.fix(x, fmt::format("{} ({}) reads along another dimension", call.path, call.module.title()));
}

// The channels that a layer makes, along dimension `dim` of its weight.
Layout made(const LayerCall& call, int axis, int dim, std::int64_t size, bool bias) {
  const std::size_t group = call.groups.add(size);
  const Layout out{axis, {{group}}};
  call.groups.add_parts(out, in_path(call.path, "weight"), dim, Role::made);
  if (bias) call.groups.add_parts(out, in_path(call.path, "bias"), 0, Role::other);
  call.groups.add_layer(group, {call.path, "out"});
  return out;
}

Layout conv(const LayerCall& call, const Layout& x) {
  const Tensor weight = tensor_of(call.module, "weight"), &input = call.inputs[0];
  const bool has_bias = tensor_of(call.module, "bias").defined();
  if (input.rank() != weight.rank()) return not_followed(call, {x});
  const std::int64_t in = input.size(1), out = weight.size(0), groups = in / weight.size(1);
  if (groups > 1 && !reads(call, x, 1)) return not_followed(call, {x});
  if (groups == 1) {
    read(call, x, 1, 1);
    return made(call, 1, 0, out, has_bias);
  }
  if (groups != in || out != in) return not_followed(call, {x});
  call.groups.add_parts(x, in_path(call.path, "weight"), 0, Role::made);  // each channel by itself
  if (has_bias) call.groups.add_parts(x, in_path(call.path, "bias"), 0, Role::other);
  if (x.segments.size() != 1) {
    call.groups.fix(x, fmt::format("{} takes channels of several layers one by one", call.path));
    return x;
  }
  call.groups.add_layer(x.segments[0].group, {call.path, "out"});
  call.groups.add_layer(x.segments[0].group, {call.path, "groups"});
  return x;
}

Layout conv_transpose(const LayerCall& call, const Layout& x) {
  const Tensor weight = tensor_of(call.module, "weight"), &input = call.inputs[0];
  const bool is_whole = call.outputs[0].size(1) == weight.size(1);
  if (input.rank() != weight.rank() || !is_whole) return not_followed(call, {x});
  read(call, x, 1, 0);
  return made(call, 1, 1, weight.size(1), tensor_of(call.module, "bias").defined());
}

Layout linear(const LayerCall& call, const Layout& x) {
  const int last = call.inputs[0].rank() - 1;
  if (dynamic_cast<const nn::Linear&>(call.module).has_lora()) return not_followed(call, {x});
  read(call, x, last, 1);
  return made(call, last, 0, tensor_of(call.module, "weight").size(0),
              tensor_of(call.module, "bias").defined());
}

Layout norm(const LayerCall& call, const Layout& x) {
  if (!reads(call, x, 1)) return not_followed(call, {x});
  if (call.module.state_dict().empty())
    for (const Segment& segment : x.segments) call.groups.add_layer(segment.group, {call.path, "channels"});
  for (const auto& [name, tensor] : call.module.state_dict())
    if (tensor.rank() == 1)
      call.groups.add_parts(x, in_path(call.path, name), 0, name == "weight" ? Role::scaled : Role::other);
  return x;
}

Layout prelu(const LayerCall& call, const Layout& x) {
  const std::int64_t slopes = tensor_of(call.module, "weight").size(0);
  if (slopes == 1) return x;
  if (!reads(call, x, 1)) return not_followed(call, {x});
  call.groups.add_parts(x, in_path(call.path, "weight"), 0, Role::other);
  return x;
}

// The hidden units of a recurrent layer: those of all its layers and directions go together, which keeps its
// one size. Each has a row in every gate of both weights, and a column of those that read the state.
Layout recurrent(const LayerCall& call, const Layout& x) {
  const auto& layer = dynamic_cast<const nn::Recurrent&>(call.module);
  const std::int64_t hidden = layer.hidden();
  const NamedTensors state = layer.state_dict();
  for (const auto& [name, tensor] : state)
    if (!is_float(tensor.dtype()) || tensor.rank() > 2 || tensor.size(0) % hidden != 0)
      return not_followed(call, {x});
  const int last = call.inputs[0].rank() - 1;
  const std::size_t group = call.groups.add(hidden);
  Layout out{last, {{group}}};
  if (layer.is_bidirectional()) out.segments.push_back({group});
  for (const auto& [name, tensor] : state) {
    const std::string path = in_path(call.path, name);
    for (std::int64_t gate = 0; gate < tensor.size(0); gate += hidden)
      call.groups.add_part(group, {path, 0, gate, 1, tensor.rank() == 2 ? Role::made : Role::other});
    if (tensor.rank() == 1) continue;
    if (name.starts_with("weight_hh"))
      call.groups.add_part(group, {path, 1, 0, 1, Role::read});
    else if (name != "weight_ih_l0" && name != "weight_ih_l0_reverse")
      call.groups.add_parts(out, path, 1, Role::read);
    else if (reads(call, x, last))
      call.groups.add_parts(x, path, 1, Role::read);
    else
      call.groups.fix(x, fmt::format("{} ({}) reads along another dimension", call.path, layer.title()));
  }
  call.groups.add_layer(group, {call.path, "hidden"});
  return out;
}

// What passes a layer of a transformer stays; its hidden features and heads may go.
void inside_transformer(const LayerCall& call) {
  const Tensor weight = tensor_of(call.module, "linear1.weight");
  const std::size_t hidden = call.groups.add(weight.size(0));
  call.groups.add_part(hidden, {in_path(call.path, "linear1.weight"), 0, 0, 1, Role::made});
  call.groups.add_part(hidden, {in_path(call.path, "linear1.bias"), 0, 0, 1, Role::other});
  call.groups.add_part(hidden, {in_path(call.path, "linear2.weight"), 1, 0, 1, Role::read});
  call.groups.add_layer(hidden, {call.path, "dim_feedforward"});
  std::vector<std::pair<std::string, const nn::MultiheadAttention*>> attentions;
  for (const auto& [name, child] : call.module.children())
    if (const auto* attention = dynamic_cast<const nn::MultiheadAttention*>(child))
      attentions.emplace_back(in_path(call.path, name), attention);
  std::size_t group = 0;
  for (const auto& [own, attention] : attentions) {
    const std::int64_t heads = attention->heads(), each = attention->head_dim();
    if (own == attentions.front().first) {  // a decoder's two have as many
      group = call.groups.add(heads, Unit::head);
      call.groups.add_layer(group, {call.path, "heads"});
    }
    for (int third = 0; third < 3; ++third)
      for (const char* tensor : {"in_proj_weight", "in_proj_bias"})
        call.groups.add_part(group, {in_path(own, tensor), 0, third * heads * each, each,
                                     std::string(tensor) == "in_proj_weight" ? Role::made : Role::other});
    call.groups.add_part(group, {in_path(own, "out_proj.weight"), 1, 0, each, Role::read});
    if (attention->has_lora()) call.groups.fix_group(group, fmt::format("{} has an adapter", own));
  }
}

// Whether a layer without tensors makes of some of its channels what it makes of them among all.
bool treats_each_by_itself(const LayerCall& call, const Layout& x) {
  if (!call.module.named_parameters().empty()) return false;
  const Tensor &before = call.inputs[0], &after = call.outputs[0];
  if (x.segments.empty() || call.inputs.size() != 1 || after.rank() != before.rank()) return false;
  const std::int64_t size = before.size(x.axis);
  if (after.size(x.axis) != size || size < 2) return false;
  std::vector<std::int64_t> some;
  for (std::int64_t i = 0; i < size; ++i)
    if (i % 3 != 1) some.push_back(i);
  const Tensor index =
      Tensor::from<std::int64_t>({static_cast<std::int64_t>(some.size())}, some, before.device());
  try {
    const Tensor of_some = call.module.forward_list({index_select(before, x.axis, index)}).at(0);
    const Tensor some_of_all = index_select(after, x.axis, index);
    return of_some.shape() == some_of_all.shape() && allclose(of_some, some_of_all);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Layout unmade(Groups& groups, const Tensor& value, const std::string& why) {
  if (!is_float(value.dtype()) || value.rank() < 2) return {};
  const int axis = value.rank() == 3 ? 2 : 1;
  Layout layout{axis, {{groups.add(value.size(axis))}}};
  groups.fix(layout, why);
  return layout;
}

Layout not_followed(const LayerCall& call, const Layouts& in) {
  const std::string why = fmt::format("{} ({}) cannot be followed",
                                      call.path.empty() ? "the network" : call.path, call.module.title());
  for (const Layout& layout : in) call.groups.fix(layout, why);
  return call.outputs.empty() ? Layout() : unmade(call.groups, call.outputs[0], why);
}

Layout through_layer(const LayerCall& call, const Layouts& in) {
  const nn::Module& m = call.module;
  if (is_one_of<nn::Sum, nn::Product>(m)) return joined(call, in);
  if (is_one_of<nn::Cat>(m)) return concatenated(call, in);
  if (in.size() == 1) {
    if (is_one_of<nn::Flatten>(m)) return flat(call, in[0]);
    if (is_one_of<nn::Conv1d, nn::Conv2d, nn::Conv3d>(m)) return conv(call, in[0]);
    if (is_one_of<nn::ConvTranspose1d, nn::ConvTranspose2d, nn::ConvTranspose3d>(m))
      return conv_transpose(call, in[0]);
    if (is_one_of<nn::Linear>(m)) return linear(call, in[0]);
    if (is_one_of<nn::ChannelNorm>(m)) return norm(call, in[0]);
    if (is_one_of<nn::PReLU>(m)) return prelu(call, in[0]);
    if (is_one_of<nn::Recurrent>(m) && call.outputs.size() == 1) return recurrent(call, in[0]);
    if (is_one_of<nn::LastStep>(m) && in[0].axis > 1) return {in[0].axis - 1, in[0].segments};
  }
  if (is_one_of<nn::TransformerEncoderLayer, nn::TransformerDecoderLayer>(m))
    inside_transformer(call);
  else if (in.size() == 1 && treats_each_by_itself(call, in[0]))
    return in[0];
  return not_followed(call, in);
}

}  // namespace veldt::compress
