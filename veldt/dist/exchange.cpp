// Each op's gradient is another one of them, so that it can be differentiated again.
#include "veldt/dist/exchange.h"

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::dist {
namespace {

// Contiguous, on the host, and nobody else's.
Tensor host_copy(const Tensor& x) {
  if (x.device() != Device{}) return contiguous(to(x.detach(), Device{}));
  const Tensor copy = empty(x.shape(), x);
  kernels(copy).copy(x.view(), copy.view());
  return copy;
}

Tensor summed(const Tensor& x, Communicator& ranks) {
  const Tensor sum = host_copy(x);
  host_work("sum of ranks", {sum.view()}, [&ranks](std::span<const View> views) {
    const Timeline::Waiting now(ranks.timeline(), "a sum of ranks");
    ranks.begin_sum({views[0]}, views[0], ranks.size()).wait();
  });
  return to(sum, x.device());
}

Tensor gathered(const Tensor& x, Communicator& ranks) {
  const Tensor own = host_copy(x);
  const Tensor all = empty(x.shape().with_inserted(0, ranks.size()), x.dtype());
  host_work("columns of ranks", {own.view(), all.view()}, [&ranks](std::span<const View> views) {
    ranks.all_gather(views[0].data, views[1].data,
                     static_cast<std::size_t>(numel(views[0].shape)) * size_of(views[0].dtype));
  });
  Shape shape = x.shape();
  shape[x.rank() - 1] *= ranks.size();
  return to(contiguous(reshape(movedim(all, 0, -2), shape)), x.device());
}

}  // namespace

Tensor copy_to_ranks(const Tensor& x, Communicator& ranks) {
  if (ranks.alone()) return x;
  return record(
      "copy_to_ranks", x.detach(), {x},
      [&ranks](const Tensor& g) -> Grads { return {sum_of_ranks(g, ranks)}; }, false);
}

Tensor sum_of_ranks(const Tensor& x, Communicator& ranks) {
  if (ranks.alone()) return x;
  return record(
      "sum_of_ranks", summed(x, ranks), {x},
      [&ranks](const Tensor& g) -> Grads { return {copy_to_ranks(g, ranks)}; }, false);
}

Tensor gather_columns(const Tensor& x, Communicator& ranks) {
  if (x.rank() == 0)
    throw ShapeError("cannot put [] side by side", "a single number has no columns", "give a list of one");
  if (ranks.alone()) return x;
  return record(
      "gather_columns", gathered(x, ranks), {x},
      [&ranks](const Tensor& g) -> Grads { return {own_columns(g, ranks)}; }, false);
}

Tensor own_columns(const Tensor& x, Communicator& ranks) {
  if (x.rank() == 0 || x.size(-1) % ranks.size() != 0)
    throw ShapeError(str("cannot share out the columns of ", x.shape(), " among ", ranks.size(), " ranks"),
                     "each gets as many", "give a number of columns that the ranks divide");
  if (ranks.alone()) return x;
  const std::int64_t n = x.size(-1) / ranks.size();
  return record(
      "own_columns", narrow(x.detach(), -1, ranks.rank() * n, n), {x},
      [&ranks](const Tensor& g) -> Grads { return {gather_columns(g, ranks)}; }, false);
}

}  // namespace veldt::dist
