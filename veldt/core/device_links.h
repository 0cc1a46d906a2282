// Messages between the memories of devices of several processes: NCCL's, for CUDA. They are put into a queue
// of their own, so that they move while the device computes.
// Tests: tests/cuda/nccl_test.cpp
#pragma once

#include <cstddef>
#include <memory>

namespace veldt {

// One thread uses begin() to end(), as if it were that queue: nothing of them waits for the device. The rest
// is for any thread. All throw LostError or DeviceError.
class DeviceLinks {
 public:
  // A place in a queue; null is none.
  using Mark = std::shared_ptr<void>;

  virtual ~DeviceLinks() = default;
  // The place after all that the device has been given to compute by now.
  virtual Mark computed() = 0;
  // What the device is given to compute from now on comes after this place.
  virtual void compute_after(const Mark& mark) = 0;

  // What follows comes after that place. Until end() what this thread has the device compute is put into this
  // queue as well.
  virtual void begin(const Mark& after) = 0;
  // Memory of the device until end().
  virtual void* take(std::size_t bytes) = 0;
  // Messages; finish() puts all of them into the queue. Both sides give the same number of bytes.
  virtual void send(int to, const void* data, std::size_t bytes) = 0;
  virtual void receive(int from, void* data, std::size_t bytes) = 0;
  virtual void finish() = 0;
  virtual Mark end() = 0;

  // Throws if messages that were put into the queue have failed.
  virtual void check() = 0;
  // After a failure: what is in the queue ends, whatever becomes of it, and reads and writes nothing any
  // more.
  virtual void abandon() = 0;
};

}  // namespace veldt
