// Sums over ranks, in the order of a tree (sum_tree.h). Only for files of dist/.
// Tests: tests/dist/communicator_test.cpp, tests/cuda/nccl_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/core/device.h"
#include "veldt/core/view.h"
#include "veldt/dist/sum_tree.h"

namespace veldt::dist {

// What carries the numbers of a sum to other ranks, and where they lie.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Device device() const = 0;
  // A list that lasts as long as the sum.
  virtual View take(std::int64_t count, DType dtype) = 0;
  // Begin a message; finish() ends all.
  virtual void send(int to, const View& list) = 0;
  virtual void receive(int from, const View& list) = 0;
  virtual void finish() = 0;
};

// `mine`: a list of numbers for each node of this rank's share of `leaves` leaves, all as long as `out`,
// which may be one of them; contiguous, on the carrier's device. What is in `out` afterwards is the sum over
// all leaves, on every rank the same bits. Each rank adds up a part of the list and gives it to all: 2 (n -
// 1) / n of its bytes leave a rank of n that has one node, the least that is possible. A short list is added
// up by every rank.
void sum_over_ranks(Carrier& carrier, const std::vector<View>& mine, const View& out, std::int64_t leaves,
                    const SumOptions& options);
// Each rank's share_of_numbers() of each list goes to all.
void gather_shares(Carrier& carrier, const std::vector<View>& lists);

}  // namespace veldt::dist
