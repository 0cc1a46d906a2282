// Data parallel training: every rank has the whole network and learns from its own share of the data. One
// line beside the optimizer:
//
//   dist::Communicator ranks(dist::mpi(launch.kind));  // see find_launch()
//   optim::Adam adam(model.named_parameters(), {.lr = 1e-3});
//   dist::DataParallel parallel(ranks, adam);
//   for (..) { adam.zero_grad(); loss_of(my_share).backward(); adam.step(); }
//
// A step then takes the mean of all ranks' gradients, so all keep the same parameters (torch's
// DistributedDataParallel). train::Trainer does more by itself: see FitOptions::ranks.
// Tests: tests/dist/gradient_sum_test.cpp
#pragma once

#include "veldt/dist/communicator.h"
#include "veldt/dist/gradient_sum.h"
#include "veldt/optim/optimizer.h"

namespace veldt::dist {

class DataParallel {
 public:
  // Keeps references. Every rank gets the parameters of rank 0. From then on gradients are averaged once a
  // step, before step(), clipping or gradient_norm() look at them: several backward() calls add up first.
  // Throws ConfigError for LBFGS.
  DataParallel(Communicator& ranks, optim::Optimizer& optimizer, GradientSumOptions options = {});
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // While the result exists, gradients leave as soon as backward() has them: for the last backward() of a
  // step. Throws Error if those of a backward() before have left and no step has followed.
  //   { const auto now = parallel.sending(); loss.backward(); }
  GradientSum::Sending sending() { return GradientSum::Sending(sum_); }

  // By choice, called by all ranks: each keeps the optimizer's state of a part of the parameters alone, takes
  // the step there, and sends the others what has changed. Steps have the same bits and send as many bytes;
  // where gradients are clipped by their norm, or looked at, half as many again. Every rank then has rank 0's
  // state, and calls step() and what reads gradients or state_dict(), which gives rank 0 all of it. Throws
  // ConfigError for Muon.
  void share_optimizer() { sum_.share_optimizer(); }

 private:
  void average();

  Communicator& ranks_;
  optim::Optimizer& optimizer_;
  GradientSum sum_;
};

}  // namespace veldt::dist
