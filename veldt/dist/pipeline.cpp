// Activations go from rank to rank, and their gradients back.
#include "veldt/dist/pipeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/dist/clip.h"
#include "veldt/dist/sum_tree.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::dist {
namespace {

// What tells another rank the form of the tensor that follows: dtype, rank, sizes.
Tensor header_of(const Tensor& t) {
  std::array<std::int64_t, kMaxRank + 2> numbers{};
  numbers[0] = static_cast<std::int64_t>(t.dtype());
  numbers[1] = t.rank();
  std::copy(t.shape().begin(), t.shape().end(), numbers.begin() + 2);
  return Tensor::from<std::int64_t>({kMaxRank + 2}, numbers);
}

Tensor like_header(const Tensor& header) {
  const std::vector<std::int64_t> numbers = header.values<std::int64_t>();
  return empty(Shape(std::span(numbers).subspan(2, static_cast<std::size_t>(numbers[1]))),
               static_cast<DType>(numbers[0]));
}

// t of `root`, on every rank; others need not know its form.
Tensor broadcast_any(const Tensor& t, Communicator& ranks, int root) {
  const bool own = ranks.rank() == root;
  const Tensor header = own ? header_of(t) : zeros({kMaxRank + 2}, DType::i64);
  ranks.broadcast(header, root);
  const Tensor out = own ? t.detach() : like_header(header);
  ranks.broadcast(out, root);
  return out;
}

// Whether a name is that of one of the layers `begin` .. `end` - 1.
bool is_of_layers(std::string_view name, std::int64_t begin, std::int64_t end) {
  std::int64_t layer = -1;
  const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  return error == std::errc() && layer >= begin && layer < end && at != name.data() + name.size() &&
         *at == '.';
}

}  // namespace

Pipeline::Pipeline(Communicator& ranks, const std::vector<nn::AnyModule>& layers, PipelineOptions options)
    : ranks_(ranks),
      micro_batches_(options.micro_batches),
      layers_(static_cast<std::int64_t>(layers.size())) {
  if (layers_ < ranks.size())
    throw ConfigError(str("cannot share out ", layers_, " layers among ", ranks.size(), " ranks"),
                      "each has one or more", "use fewer ranks, or a deeper network");
  if (micro_batches_ < 1)
    throw ConfigError(str("a batch cannot have ", micro_batches_, " parts"), "it has one or more",
                      "give as many as there are ranks, or more");
  const Leaves own = share_of_leaves(layers_, ranks.rank(), ranks.size());
  for (std::int64_t i = own.begin; i < own.end; ++i)
    stage_.add(std::to_string(i), layers[static_cast<std::size_t>(i)]);
}

void Pipeline::send_on(const Tensor& t) const {
  ranks_.send(header_of(t), ranks_.rank() + 1);
  ranks_.send(t, ranks_.rank() + 1);
}

Tensor Pipeline::received(Device device) const {
  const Tensor header = zeros({kMaxRank + 2}, DType::i64);
  ranks_.receive(header, ranks_.rank() - 1);
  const Tensor t = like_header(header);
  ranks_.receive(t, ranks_.rank() - 1);
  return to(t, device);
}

Tensor Pipeline::forward(const Tensor& x) const {
  const NoGrad off;
  const Tensor y = stage_(is_first() ? x : received(x.device()));
  if (!is_last()) send_on(y);
  return to(broadcast_any(y, ranks_, ranks_.size() - 1), x.device());
}

double Pipeline::backward(const Tensor& x, const Tensor& y, const Loss& loss) {
  const std::int64_t examples = x.rank() == 0 ? 0 : x.size(0);
  if (examples < micro_batches_)
    throw ShapeError(str("cannot cut ", x.shape(), " into ", micro_batches_, " micro-batches"),
                     "each has one example or more", "give a larger batch, or use less micro-batches");
  double total = 0;
  std::deque<Pass> passes;
  const auto go_on = [&](std::int64_t i) {
    const Leaves part = share_of_leaves(examples, static_cast<int>(i), static_cast<int>(micro_batches_));
    const auto of = [&](const Tensor& t) { return narrow(t, 0, part.begin, part.size()); };
    Pass pass;
    pass.in = is_first() ? of(x) : received(x.device());
    if (!is_first()) pass.in.set_requires_grad();
    pass.out = stage_(pass.in);
    if (is_last()) {
      pass.out = loss(pass.out, of(y)) * (static_cast<double>(part.size()) / static_cast<double>(examples));
      total += pass.out.item();
    } else {
      send_on(pass.out.detach());
    }
    passes.push_back(std::move(pass));
  };
  const auto go_back_one = [&] {
    go_back(passes.front());
    passes.pop_front();
  };
  const std::int64_t ahead = std::min<std::int64_t>(ranks_.size() - 1 - ranks_.rank(), micro_batches_);
  for (std::int64_t i = 0; i < ahead; ++i) go_on(i);
  for (std::int64_t i = ahead; i < micro_batches_; ++i) {
    go_on(i);
    go_back_one();
  }
  while (!passes.empty()) go_back_one();
  const Tensor mean = full({}, total, DType::f64);
  ranks_.broadcast(mean, ranks_.size() - 1);
  return mean.item();
}

void Pipeline::go_back(const Pass& pass) const {
  if (is_last()) {
    pass.out.backward();
  } else {
    const Tensor g = empty(pass.out.shape(), pass.out);
    ranks_.receive(g, ranks_.rank() + 1);
    // The walk begins with the gradient that has come.
    if (pass.out.requires_grad())
      record(
          "gradient of the next rank", zeros({}, g.dtype(), g.device()), {pass.out},
          [g](const Tensor&) -> Grads { return {g}; }, false)
          .backward();
  }
  if (is_first()) return;
  const Tensor g = pass.in.grad();
  ranks_.send(g.defined() ? g : zeros_like(pass.in), ranks_.rank() - 1);
}

double Pipeline::clip_gradients(optim::Optimizer& optimizer, double max_norm) {
  const double own = optimizer.gradient_norm();
  return clip_to_norm(optimizer, own * own, ranks_, max_norm);
}

NamedTensors Pipeline::whole_state() const {
  const NamedTensors own = stage_.state_dict();
  NamedTensors all;
  for (int root = 0; root < ranks_.size(); ++root) {
    std::string names;  // each in a line
    if (root == ranks_.rank())
      for (const auto& [name, tensor] : own) names += name + '\n';
    names = ranks_.broadcast(names, root);
    for (std::size_t at = 0, i = 0; at < names.size(); ++i) {
      const std::size_t end = names.find('\n', at);
      const Tensor t = broadcast_any(root == ranks_.rank() ? own[i].tensor : Tensor(), ranks_, root);
      all.push_back({names.substr(at, end - at), t});
      at = end + 1;
    }
  }
  return all;
}

void Pipeline::load_whole_state(const NamedTensors& state) {
  const Leaves own = share_of_leaves(layers_, ranks_.rank(), ranks_.size());
  NamedTensors part;  // without what is another rank's
  for (const NamedTensor& t : state)
    if (is_of_layers(t.name, own.begin, own.end) || !is_of_layers(t.name, 0, layers_)) part.push_back(t);
  stage_.load_state_dict(part);
}

}  // namespace veldt::dist
