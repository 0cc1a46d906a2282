// Waits by asking, in growing pauses, so that a rank that waits leaves its core to those that compute.
#include "veldt/dist/wire.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/dist/lost_rank.h"

namespace veldt::dist {
namespace {

constexpr int kHeart = 0, kOperation = 1, kLetter = 2;  // tags
constexpr std::size_t kPiece = std::size_t{1} << 28;    // MPI counts bytes of a message in an int
constexpr double kBeat = 0.5;                           // seconds

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A pause that grows: at once at first, since most answers are on their way, then up to a tenth of a
// millisecond.
class Patience {
 public:
  void pause() {
    ++asked_;
    if (asked_ < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(asked_ / 10, 100)));
  }

 private:
  int asked_ = 0;
};

}  // namespace

Wire::Wire(std::unique_ptr<Transport> transport, double silence)
    : transport_(std::move(transport)), silence_(silence), peers_(static_cast<std::size_t>(size())) {
  for (int r = 0; r < size(); ++r) {
    Peer& peer = peers_[static_cast<std::size_t>(r)];
    peer.heard_at = Clock::now();
    if (is_watched(r)) peer.hearing = transport_->receive(r, kHeart, &peer.heard, sizeof(Heart));
  }
}

void Wire::begin(const char* name, std::size_t bytes) {
  ++now_.operation;
  now_.bytes = bytes;
  now_.name = {};
  std::strncpy(now_.name.data(), name, now_.name.size() - 1);
}

template <class Begin> void Wire::in_pieces(std::size_t bytes, const Begin& begin) {
  for (std::size_t at = 0; at < bytes; at += kPiece) begin(at, std::min(kPiece, bytes - at));
}

void Wire::send(int to, const void* data, std::size_t bytes) {
  bytes_sent_ += bytes;
  in_pieces(bytes, [&](std::size_t at, std::size_t count) {
    begun_.push_back(transport_->send(to, kOperation, static_cast<const char*>(data) + at, count));
  });
}

void Wire::receive(int from, void* data, std::size_t bytes) {
  in_pieces(bytes, [&](std::size_t at, std::size_t count) {
    begun_.push_back(transport_->receive(from, kOperation, static_cast<char*>(data) + at, count));
  });
}

void Wire::finish() { wait_for(begun_); }

void Wire::wait_for(std::vector<Transport::Ticket>& tickets) {
  Patience patience;
  for (;;) {
    std::erase_if(tickets, [&](Transport::Ticket t) { return transport_->done(t); });
    if (tickets.empty()) return;
    if (seconds_since(lived_) > 0.05) live();
    patience.pause();
  }
}

void Wire::begin_to(int to, const void* data, std::size_t bytes) {
  bytes_sent_ += bytes;
  in_pieces(bytes, [&](std::size_t at, std::size_t count) {
    auto letter = std::make_unique<Letter>();
    const char* const from = static_cast<const char*>(data) + at;
    letter->data.assign(from, from + count);
    letter->ticket = transport_->send(to, kLetter, letter->data.data(), count);
    letters_.push_back(std::move(letter));
  });
}

void Wire::receive_from(int from, void* data, std::size_t bytes) {
  std::vector<Transport::Ticket> tickets;
  in_pieces(bytes, [&](std::size_t at, std::size_t count) {
    tickets.push_back(transport_->receive(from, kLetter, static_cast<char*>(data) + at, count));
  });
  wait_for(tickets);
}

// Each watches all others, or, of many, its two neighbours.
bool Wire::is_watched(int rank) const {
  constexpr int kMany = 32;
  const int distance = (rank - this->rank() + size()) % size();
  return distance != 0 && (size() <= kMany || distance == 1 || distance == size() - 1);
}

void Wire::live() {
  lived_ = Clock::now();
  std::erase_if(letters_, [&](const auto& letter) { return transport_->done(letter->ticket); });
  for (int r = 0; r < size(); ++r) {
    if (!is_watched(r)) continue;
    hear(r, peers_[static_cast<std::size_t>(r)]);
    beat(r, peers_[static_cast<std::size_t>(r)]);
  }
}

void Wire::hear(int rank, Peer& peer) {
  if (transport_->done(peer.hearing)) {
    peer.heard_at = Clock::now();
    const Heart heard = peer.heard;
    peer.hearing = transport_->receive(rank, kHeart, &peer.heard, sizeof(Heart));
    if (heard.left != 0)
      throw LostRank(rank, str(name_of(rank), " has left"), "it has met an error of its own",
                     "see its message; then resume");
    if (heard.operation == now_.operation && (heard.bytes != now_.bytes || heard.name != now_.name))
      throw Error(str(name_of(rank), " does something else than rank ", this->rank()),
                  str("its operation ", now_.operation, " is ", heard.name.data(), " of ", heard.bytes,
                      " bytes, here it is ", now_.name.data(), " of ", now_.bytes),
                  "call the same functions, in the same order, with tensors of the same shapes on all ranks");
  }
  if (silence_ > 0 && seconds_since(peer.heard_at) > silence_)
    throw LostRank(rank, str(name_of(rank), " is lost"),
                   str("nothing has been heard of it for ", silence_, " seconds"),
                   "look at that machine, and at the network between; then resume");
}

void Wire::beat(int rank, Peer& peer) {
  if (seconds_since(peer.sent_at) < kBeat) return;
  if (peer.is_sending && !transport_->done(peer.sending)) return;
  peer.sent = now_;
  peer.sent_at = Clock::now();
  peer.sending = transport_->send(rank, kHeart, &peer.sent, sizeof(Heart));
  peer.is_sending = true;
}

void Wire::leave() {
  now_.left = 1;
  std::vector<Transport::Ticket> tickets;
  for (int r = 0; r < size(); ++r)
    if (is_watched(r)) tickets.push_back(transport_->send(r, kHeart, &now_, sizeof(Heart)));
  Patience patience;
  for (const auto start = Clock::now(); !tickets.empty() && seconds_since(start) < 0.5; patience.pause())
    std::erase_if(tickets, [&](Transport::Ticket t) { return transport_->done(t); });
}

std::string Wire::name_of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < places_.size() ? str("rank ", rank, " on ", places_[at]) : str("rank ", rank);
}

}  // namespace veldt::dist
