// The ranks of one training, the processes that learn together, and what they tell each other. Every rank
// calls the same functions in the same order, with tensors of the same shapes; each returns when this rank is
// done with it. A sum is added in an order that depends on the number of ranks alone, so the same number of
// ranks gives the same bits each time, and all ranks get the same.
//
//   dist::Communicator ranks(dist::mpi(launch.kind));  // see find_launch()
//   Tensor x = full({3}, ranks.rank());
//   ranks.all_reduce(x);                      // 0 + 1 + .. on every rank
//
// The work is done by a thread of the communicator, which also gives and expects signs of life.
// Tests: tests/dist/communicator_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veldt/core/device_links.h"
#include "veldt/core/error.h"
#include "veldt/dist/sum_tree.h"
#include "veldt/dist/timeline.h"
#include "veldt/dist/transport.h"
#include "veldt/tensor/tensor.h"

namespace veldt::dist {

class DeviceSums;

struct CommunicatorOptions {
  // Seconds without a sign of life after which a rank counts as lost; 0: never.
  double silence = 5;
  // Called, on the communicator's thread, when it has failed while nobody waits for it: a rank is lost, say.
  // Without one, the next call throws what this is given.
  std::function<void(const Error&)> on_failure = {};
  // If given, what the communicator does is written there; kept as a reference.
  Timeline* timeline = nullptr;
};

class Communicator {
 public:
  // The only rank.
  Communicator();
  // Throws what `make` throws, and LostError.
  explicit Communicator(const TransportFactory& make, CommunicatorOptions options = {});
  // Waits for the others to come as far, unless an exception is on its way or the communicator has failed.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }
  // "rank 2 on n3 (process 4711)"
  std::string name_of(int rank) const;
  // How many ranks on this machine have lower numbers.
  int local_rank() const { return local_rank_; }

  // All functions below throw LostError for a rank that is silent, and Error if ranks call different
  // functions; afterwards the communicator is of no more use.

  // t becomes the sum over all ranks. Throws ConfigError for truth values.
  void all_reduce(const Tensor& t);
  // t becomes that of `root`. Throws ConfigError for a rank that does not exist.
  void broadcast(const Tensor& t, int root = 0);
  // [size, ..]: t of every rank.
  Tensor all_gather(const Tensor& t);
  // t [size n, ..]: the sum over all ranks of the n rows that are this rank's, [n, ..]. Throws ShapeError for
  // rows that cannot be shared out.
  Tensor reduce_scatter(const Tensor& t);
  // The same of text, of any length on each rank.
  std::vector<std::string> all_gather(const std::string& text);
  std::string broadcast(const std::string& text, int root = 0);
  // Of bytes, as many on each rank; `all` has room for size() times as many.
  void all_gather(const void* own, void* all, std::size_t bytes);
  // Returns when all ranks have called it.
  void barrier();

  // From one rank to another, which calls receive() with a tensor like it. send() does not wait for that.
  void send(const Tensor& t, int to);
  void receive(const Tensor& t, int from);

  // The bytes that have left this rank, but for signs of life. Those of a device count when they are queued.
  std::uint64_t bytes_sent() const;

  // Work that was begun and may go on by itself. Its tensors must not be touched before wait().
  class Pending {
   public:
    Pending() = default;
    // Throws what the work threw. Sums on a device may still be in its queue, and fail there: who has read a
    // result of them, and is to save it, calls barrier() before.
    void wait();

   private:
    friend class Communicator;
    struct Job;
    std::shared_ptr<Job> job_;
  };
  // The sum over the leaves of a tree (sum_tree.h), of which each rank has its share_of_leaves(): `nodes` has
  // a list of numbers for each of nodes_within() that share, and `out`, which may be one of them, becomes the
  // sum. Whatever the number of ranks is, the bits are the same. All are contiguous, on the device of the
  // options, and of one length. Throws ConfigError for another number of nodes, ShapeError for other forms.
  Pending begin_sum(const std::vector<View>& nodes, const View& out, std::int64_t leaves,
                    const SumOptions& options = {});
  // Of each list every rank has its share_of_numbers(), and gets those of the others. Contiguous, on
  // `device`.
  Pending begin_gather(const std::vector<View>& lists, Device device = {});

  // Lists from and to other ranks, which go without a copy: those for a rank in the order in which it takes
  // them. Every rank calls it. Contiguous, on the CPU.
  struct Message {
    int rank;
    View list;
  };
  void deliver(const std::vector<Message>& out, const std::vector<Message>& in);

  // How those of a device other than the CPU get to other ranks: "NCCL 2.27.7", or "the memory of the host
  // (rank 1 on n3: there is no libnccl.so.2)". All ranks call it. Empty if there is one rank.
  std::string way_between(Device device);
  // Whether they go over a library of the device, such as NCCL. All ranks call it.
  bool has_links(Device device);

  Timeline* timeline() const;

  // Ends all processes of the training, this one too, even after a failure. Alone, it does nothing.
  void abort(int status);

 private:
  struct Worker;
  Pending submit(const char* name, std::uint64_t bytes, std::function<void()> work, bool always = false);
  void check_rank(int rank) const;
  using DeviceWork = std::function<DeviceLinks::Mark(DeviceSums&, const DeviceLinks::Mark& after)>;
  Pending submit_on(Device device, const char* name, std::uint64_t bytes, const DeviceWork& work);
  DeviceSums& sums_on(Device device);

  int rank_ = 0, size_ = 1, local_rank_ = 0;
  int exceptions_ = 0;  // that were on their way when it was made
  std::unique_ptr<Worker> worker_;
};

}  // namespace veldt::dist
