// Letter boxes between threads: a message is copied when it is sent.
#include "veldt/dist/in_process.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::dist {

struct InProcess::Hub {
  explicit Hub(int ranks) : size(ranks), silent(static_cast<std::size_t>(ranks), false) {}

  const int size;
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::string>> boxes;  // by sender, receiver and tag
  std::vector<bool> silent;
  std::optional<int> aborted;
};

namespace {

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<InProcess::Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_->size; }
  std::string host() const override { return "localhost"; }

  Ticket send(int to, int tag, const void* data, std::size_t bytes) override {
    const std::lock_guard lock(hub_->mutex);
    if (!hub_->silent[static_cast<std::size_t>(rank_)])
      hub_->boxes[{rank_, to, tag}].emplace_back(static_cast<const char*>(data), bytes);
    return 0;
  }

  Ticket receive(int from, int tag, void* data, std::size_t bytes) override {
    expected_[++last_] = {from, tag, data, bytes};
    return last_;
  }

  bool done(Ticket ticket) override {
    const std::lock_guard lock(hub_->mutex);
    if (hub_->aborted)
      throw Error("the training was ended", str("a rank asked for it, with status ", *hub_->aborted),
                  "see its message");
    if (ticket == 0) return true;
    const Expected& e = expected_.at(ticket);
    // Earlier ones of the same kind get the earlier messages.
    for (const auto& [other, earlier] : expected_)
      if (other < ticket && earlier.from == e.from && earlier.tag == e.tag) return false;
    std::deque<std::string>& box = hub_->boxes[{e.from, rank_, e.tag}];
    if (box.empty()) return false;
    const std::string message = std::move(box.front());
    box.pop_front();
    if (message.size() != e.bytes)
      throw Error(str("a message of rank ", e.from, " has another length"),
                  str("it has ", message.size(), " bytes, and ", e.bytes, " were expected"),
                  "call the same functions with tensors of the same shapes on all ranks");
    if (e.bytes > 0) std::memcpy(e.data, message.data(), e.bytes);
    expected_.erase(ticket);
    return true;
  }

  bool cancel(Ticket ticket) override {
    expected_.erase(ticket);
    return true;
  }

  void close() override {}  // each box waits for whoever comes

  void abort(int status) override {
    const std::lock_guard lock(hub_->mutex);
    if (!hub_->aborted) hub_->aborted = status;
  }

 private:
  struct Expected {
    int from, tag;
    void* data;
    std::size_t bytes;
  };
  std::shared_ptr<InProcess::Hub> hub_;
  int rank_;
  Ticket last_ = 0;
  std::map<Ticket, Expected> expected_;
};

}  // namespace

InProcess::InProcess(int size) {
  if (size < 1)
    throw ConfigError(str("there cannot be ", size, " ranks"), "one computes at least", "give 1 or more");
  hub_ = std::make_shared<Hub>(size);
}

TransportFactory InProcess::transport(int rank) const {
  if (rank < 0 || rank >= hub_->size)
    throw ConfigError(str("there is no rank ", rank), str("they are 0 to ", hub_->size - 1),
                      "give one of them");
  return [hub = hub_, rank] { return std::make_unique<ThreadTransport>(hub, rank); };
}

void InProcess::silence(int rank) const {
  const std::lock_guard lock(hub_->mutex);
  hub_->silent.at(static_cast<std::size_t>(rank)) = true;
}

}  // namespace veldt::dist
