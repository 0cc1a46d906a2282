// Parts of plain layers: each rank draws the whole layer and keeps its own.
#include "veldt/dist/tensor_parallel.h"

#include <array>
#include <map>
#include <set>

#include "veldt/core/error.h"
#include "veldt/dist/clip.h"
#include "veldt/dist/exchange.h"
#include "veldt/nn/attention.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::dist {
namespace {

struct PlacedCut {
  TensorParallel::Cut cut;
  Communicator* ranks;
};

// The tensors of a tree of modules that ranks share out, by path.
class CutWalk final : public nn::Fields {
 public:
  explicit CutWalk(const nn::Module& net) {
    nn::Module& root = const_cast<nn::Module&>(net);  // fields() returns references; it is only read
    on_module("", 0, root);
    root.fields(*this);
  }
  std::map<std::string, PlacedCut> cuts;
  std::set<const TensorImpl*> tensors;

 private:
  void on_tensor(const std::string& path, Tensor& t) override {
    if (cuts.contains(path)) tensors.insert(t.impl());
  }
  void on_module(const std::string& path, int, nn::Module& module) override {
    const auto* const layer = dynamic_cast<const TensorParallel*>(&module);
    if (!layer) return;
    for (const TensorParallel::Cut& cut : layer->cuts())
      cuts.emplace(path.empty() ? cut.name : path + '.' + cut.name, PlacedCut{cut, &layer->ranks()});
  }
};

Shape with_size(Shape shape, int dim, std::int64_t size) {
  shape[dim] = size;
  return shape;
}

// A rank's part of a whole tensor, with memory of its own.
Tensor part_of(const Tensor& whole, const PlacedCut& at) {
  const auto& [name, dim, blocks] = at.cut;
  const std::int64_t size = whole.size(dim), own = size / blocks / at.ranks->size();
  const Tensor split = unflatten(whole, dim, {blocks, size / blocks});
  const Tensor part = narrow(split, dim + 1, at.ranks->rank() * own, own);
  return clone(reshape(part, with_size(whole.shape(), dim, blocks * own)));
}

Tensor whole_of(const Tensor& part, const PlacedCut& at) {
  const auto& [name, dim, blocks] = at.cut;
  const std::int64_t own = part.size(dim);
  const Tensor all = at.ranks->all_gather(part);
  std::vector<Tensor> parts;
  for (int r = 0; r < at.ranks->size(); ++r)
    parts.push_back(unflatten(select(all, 0, r), dim, {blocks, own / blocks}));
  return reshape(cat(parts, dim + 1), with_size(part.shape(), dim, own * at.ranks->size()));
}

}  // namespace

// Otherwise parts would not be those of one layer, and what every rank has would not be the same.
TensorParallel::TensorParallel(Communicator& ranks, const Rng& rng) : ranks_(&ranks) {
  const std::array<std::uint64_t, 3> own{rng.seed(), rng.stream(), rng.position()};
  std::vector<std::array<std::uint64_t, 3>> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(own.data(), all.data(), sizeof own);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] != own)
      throw ConfigError(str("rank ", r, " draws other weights than rank ", ranks.rank()),
                        str("its Rng has the seed ", all[r][0], " and has drawn ", all[r][2],
                            " numbers, this one ", own[0], " and ", own[2]),
                        "build the network from an Rng of the same seed on all ranks, in the same order");
}

std::int64_t TensorParallel::share_of(std::int64_t count, const char* what) const {
  if (count % ranks_->size() != 0)
    throw ConfigError(str("cannot share out ", count, ' ', what, " among ", ranks_->size(), " ranks"),
                      "each gets as many",
                      "give a number that the ranks divide, or use another number of ranks");
  return count / ranks_->size();
}

ColumnParallelLinear::ColumnParallelLinear(Communicator& ranks, std::int64_t in, std::int64_t out,
                                           nn::LinearOptions o, Rng& rng)
    : TensorParallel(ranks, rng) {
  const nn::Linear plain(in, out, o, rng);
  const std::int64_t own = share_of(out, "outputs");
  weight_ = nn::parameter(empty({own, in}, o.dtype, o.device));
  if (o.bias) bias_ = nn::parameter(empty({own}, o.dtype, o.device));
  load_whole_state(*this, plain.named_parameters());
}

Tensor ColumnParallelLinear::forward(const Tensor& x) const {
  return linear(copy_to_ranks(x, ranks()), weight_, bias_);
}

std::string ColumnParallelLinear::title() const {
  return str("ColumnParallelLinear(", weight_.size(1), ", ", weight_.size(0) * ranks().size(),
             bias_.defined() ? ")" : ", no bias)");
}

double ColumnParallelLinear::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(weight_.size(1)) * static_cast<double>(numel(output));
}

RowParallelLinear::RowParallelLinear(Communicator& ranks, std::int64_t in, std::int64_t out,
                                     nn::LinearOptions o, Rng& rng)
    : TensorParallel(ranks, rng) {
  const nn::Linear plain(in, out, o, rng);
  weight_ = nn::parameter(empty({out, share_of(in, "inputs")}, o.dtype, o.device));
  if (o.bias) bias_ = nn::parameter(empty({out}, o.dtype, o.device));
  load_whole_state(*this, plain.named_parameters());
}

// The bias is added behind the sum, so it counts once, and its gradient is there on every rank.
Tensor RowParallelLinear::forward(const Tensor& x) const {
  const Tensor y = sum_of_ranks(linear(x, weight_), ranks());
  return bias_.defined() ? y + bias_ : y;
}

std::string RowParallelLinear::title() const {
  return str("RowParallelLinear(", weight_.size(1) * ranks().size(), ", ", weight_.size(0),
             bias_.defined() ? ")" : ", no bias)");
}

double RowParallelLinear::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(weight_.size(1)) * static_cast<double>(numel(output));
}

ParallelAttention::ParallelAttention(Communicator& ranks, std::int64_t size, std::int64_t heads,
                                     const ParallelAttentionOptions& o, Rng& rng, Rng other)
    : TensorParallel(ranks, rng),
      size_(size),
      heads_(heads),
      batch_first_(o.batch_first),
      options_{.causal = o.causal},
      out_(ranks, size, size, {.bias = o.bias, .dtype = o.dtype, .device = o.device}, other),
      dropout_(0, other) {
  const nn::MultiheadAttention plain(size, heads, {.bias = o.bias, .dtype = o.dtype, .device = o.device},
                                     rng);
  const std::int64_t own = size / heads * share_of(heads, "heads");
  in_weight_ = nn::parameter(empty({3 * own, size}, o.dtype, o.device));
  if (o.bias) in_bias_ = nn::parameter(empty({3 * own}, o.dtype, o.device));
  load_whole_state(*this, plain.state_dict());
}

std::string ParallelAttention::title() const { return str("ParallelAttention(", size_, ", ", heads_, ')'); }

Tensor ParallelAttention::forward(const Tensor& x) const { return attended(x, x, x); }

TensorList ParallelAttention::forward_list(const TensorList& inputs) const {
  if (inputs.size() != 3)
    throw Error(str(title(), " cannot take ", inputs.size(), " inputs"), "it takes query, key and value",
                "give 3 tensors");
  return {attended(inputs[0], inputs[1], inputs[2])};
}

Tensor ParallelAttention::attended(const Tensor& query, const Tensor& key, const Tensor& value) const {
  for (const Tensor* x : {&query, &key, &value})
    if (x->rank() != 3 || x->size(2) != size_)
      throw ShapeError(str(title(), " cannot take ", x->shape()),
                       str("sequences are ", batch_first_ ? "[n, time, " : "[time, n, ", size_, ']'),
                       "unsqueeze() a single one, or build the layer for its last size");
  const auto in_order = [&](const Tensor& x) { return batch_first_ ? x : transpose(x, 0, 1); };
  const std::int64_t heads = heads_ / ranks().size(), own = size_ / ranks().size();
  if (query.impl() == key.impl() && key.impl() == value.impl()) {
    const Tensor all = linear(copy_to_ranks(in_order(query), ranks()), in_weight_, in_bias_);
    return in_order(out_(self_attention(all, heads, options_)));
  }
  const auto projected = [&](const Tensor& given, std::int64_t part) {
    const Tensor x = copy_to_ranks(in_order(given), ranks());
    const Tensor y = linear(x, narrow(in_weight_, 0, part * own, own),
                            in_bias_.defined() ? narrow(in_bias_, 0, part * own, own) : Tensor());
    return transpose(reshape(y, {x.size(0), x.size(1), heads, own / heads}), 1, 2);
  };
  const std::array<Tensor, 3> parts = {projected(query, 0), projected(key, 1), projected(value, 2)};
  const Tensor y = transpose(scaled_dot_product_attention(parts[0], parts[1], parts[2], options_), 1, 2);
  return in_order(out_(reshape(y, {y.size(0), y.size(1), own})));
}

NamedTensors whole_state(const nn::Module& net) {
  const NoGrad off;
  const CutWalk walk(net);
  NamedTensors state = net.state_dict();
  for (auto& [name, tensor] : state)
    if (const auto found = walk.cuts.find(name); found != walk.cuts.end())
      tensor = whole_of(tensor, found->second);
  return state;
}

// What has not the size of all parts together is left as it is, for load_state_dict() to name.
nn::LoadReport load_whole_state(nn::Module& net, const NamedTensors& state, bool strict) {
  const NoGrad off;
  const CutWalk walk(net);
  std::map<std::string, Tensor> own;
  for (const auto& [name, tensor] : net.state_dict()) own.emplace(name, tensor);
  NamedTensors parts = state;
  for (auto& [name, tensor] : parts) {
    const auto found = walk.cuts.find(name);
    const auto part = own.find(name);
    if (found == walk.cuts.end() || part == own.end() || !tensor.defined()) continue;
    const int dim = found->second.cut.dim;
    const Shape& shape = part->second.shape();
    if (tensor.shape() == with_size(shape, dim, shape[dim] * found->second.ranks->size()))
      tensor = part_of(tensor, found->second);
  }
  return net.load_state_dict(parts, strict);
}

// What all ranks have counts once.
double clip_gradients(optim::Optimizer& optimizer, const nn::Module& net, Communicator& ranks,
                      double max_norm) {
  optimizer.gradient_norm();  // has the gradients collected, and summed by who shares out the data
  const CutWalk walk(net);
  const optim::Slab& slab = optimizer.slab();
  double squares = 0;
  for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
    const Tensor g = slab.part(slab.gradients(), i);
    const double own = kernels(g).dot(g.view(), g.view());
    squares += walk.tensors.contains(slab.parameters()[i].impl()) ? own : own / ranks.size();
  }
  return clip_to_norm(optimizer, squares, ranks, max_norm);
}

}  // namespace veldt::dist
