// The gradients of an optimizer, added up over the ranks. Parts of them are on their way while backward()
// still computes the others.
// Tests: tests/dist/gradient_sum_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/dist/sum_tree.h"
#include "veldt/optim/optimizer.h"
#include "veldt/tensor/graph.h"

namespace veldt::dist {

// Values of the leaves of a rank's share, added up as far as the tree allows.
class NodeSums {
 public:
  NodeSums(std::int64_t leaves, Leaves share) : leaves_(leaves), next_(share.begin) {}
  // The next leaf's; the tensor is kept and may be changed.
  void push(const Tensor& value);
  // One for each of nodes_within() the share, after its last leaf. Shares memory.
  std::vector<View> views() const;

 private:
  std::int64_t leaves_, next_;
  std::vector<std::pair<Leaves, Tensor>> nodes_;
};

struct GradientSumOptions {
  // Leaves of the tree in whose order gradients are added; 0: as many as ranks. With another number, each
  // rank calls end_leaf() for each of its share, and the sum does not depend on the number of ranks.
  std::int64_t leaves = 0;
  // Gradients are sent together until they have so many bytes; 0: an eighth of all, from 64 KB to 1 MB.
  std::int64_t bucket_bytes = 0;
  // Gradients of f32 are sent as bf16, which halves the bytes and rounds each to eight bits.
  bool halves = false;
};

class GradientSum {
 public:
  // Keeps references. Throws ConfigError for less leaves than ranks.
  GradientSum(Communicator& ranks, optim::Optimizer& optimizer, GradientSumOptions options = {});

  // Waits for what is on its way: it is in the optimizer's memory. A state that is shared out is lost.
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  // While it exists, gradients are sent as soon as backward() has completed them on this thread: for the last
  // backward() before finish(), where the leaves are the ranks.
  class Sending {
   public:
    explicit Sending(GradientSum& sum);

   private:
    std::optional<GradientListener> listener_;
  };

  // By choice, called by all ranks: each keeps a part of the optimizer's state alone, and finish() leaves the
  // sums of that part alone; see Optimizer::share_state(), which throws for some optimizers. Steps have the
  // same bits. unshare_optimizer() gives the state back to rank 0.
  void share_optimizer();
  void unshare_optimizer();

  // The gradients since the last one are those of a leaf. They are put aside and cleared.
  void end_leaf();
  // The gradients become the sum over all ranks. A parameter has one afterwards if any rank had. Within a
  // Plan it is recorded, and the ranks must have agreed before: finish() has to run as it stands once.
  void finish();

 private:
  struct Bucket {
    optim::Slab::Range range;
    std::vector<std::size_t> parameters;
    std::size_t ready = 0;
    Communicator::Pending pending;
  };

  void begin_sending();
  void on_ready(const Tensor& leaf);
  void send(Bucket& bucket);
  SumOptions sum_options() const;
  void wait_for_buckets();
  void note_present();
  void agree_on_present();

  Communicator& ranks_;
  optim::Optimizer& optimizer_;
  GradientSumOptions options_;
  std::vector<Bucket> buckets_;                         // from the last parameters to the first
  std::map<const TensorImpl*, std::size_t> bucket_of_;  // by parameter
  std::size_t next_ = 0;                                // the bucket that is sent next
  std::optional<NodeSums> sums_;                        // of leaves
  std::vector<char> present_;                           // parameters that had a gradient in a leaf
  bool is_shared_ = false;                              // the optimizer
};

}  // namespace veldt::dist
