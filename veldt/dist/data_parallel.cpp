// Joins an optimizer and the sum of its gradients.
#include "veldt/dist/data_parallel.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/optim/lbfgs.h"
#include "veldt/tensor/graph.h"

namespace veldt::dist {

DataParallel::DataParallel(Communicator& ranks, optim::Optimizer& optimizer, GradientSumOptions options)
    : ranks_(ranks), optimizer_(optimizer), sum_(ranks, optimizer, options) {
  // Its line search asks for losses, and each rank has one of its own.
  if (dynamic_cast<const optim::LBFGS*>(&optimizer) != nullptr)
    throw ConfigError("LBFGS cannot learn in data parallel",
                      "it searches along a line by the losses of one rank, so that ranks would part",
                      "use another optimizer, or LBFGS in one process");
  ranks.broadcast(optimizer.slab().values());
  mark_changed(optimizer.slab().values());
  optimizer.before_use([this] { average(); });
}

DataParallel::~DataParallel() { optimizer_.before_use({}); }

void DataParallel::average() {
  sum_.finish();
  const NoGrad off;
  Tensor gradients = optimizer_.slab().gradients();
  gradients.assign(gradients * (1.0 / ranks_.size()));
}

}  // namespace veldt::dist
