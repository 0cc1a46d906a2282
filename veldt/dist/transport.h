// How bytes get from one process of a training to another: what a communicator is built on. A process is a
// rank, 0 to size() - 1.
// Tests: tests/dist/transport_test.cpp
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace veldt::dist {

// Used by one thread, the one that made it.
class Transport {
 public:
  using Ticket = std::size_t;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // of a message

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The name of this process' machine.
  virtual std::string host() const = 0;

  // Begin a message to, or from, another rank. The bytes must stay until done(), and both sides give the same
  // number, kMostBytes at most. Messages of one tag (0 to 32767) between two ranks arrive in the order in
  // which they were sent.
  virtual Ticket send(int to, int tag, const void* data, std::size_t bytes) = 0;
  virtual Ticket receive(int from, int tag, void* data, std::size_t bytes) = 0;
  // Whether it is over; then the ticket is no longer valid. Throws Error for a message of another length.
  virtual bool done(Ticket ticket) = 0;
  // Gives a message up; the ticket is no longer valid. Whether its bytes are free: if not, the message may
  // still be on its way, and nothing but abort() may be called any more.
  virtual bool cancel(Ticket ticket) = 0;

  // Says that no more is to come: all ranks call it, and wait for each other. What was not received is lost.
  virtual void close() = 0;
  // Ends all processes of the training, this one too, with that status.
  virtual void abort(int status) = 0;
};

// Makes the transport of this process; called on the thread that is to use it.
using TransportFactory = std::function<std::unique_ptr<Transport>()>;

}  // namespace veldt::dist
