// Waits by asking, in growing pauses, so that a rank that waits leaves its core to those that compute.
#include "veldt/dist/wire.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::dist {
namespace {

constexpr int kHeart = 0, kOperation = 1, kLetter = 2;  // tags
// Of a message; with so many on their way, a sign of life to each of three ranks waits for 2.5 seconds at
// most where 10 Mbit/s leave a machine.
constexpr std::size_t kPiece = Transport::kMostBytes, kMoving = 4;
constexpr double kBeat = 0.5;  // seconds

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

void Wire::append(Lane& lane, char* data, std::size_t bytes, const std::shared_ptr<std::vector<char>>& kept) {
  for (std::size_t at = 0; at < bytes; at += kPiece)
    lane.waiting.push_back({data + at, std::min(kPiece, bytes - at), kept});
}

// Begins the next pieces in the place of those that are done. Whether any are left.
bool Wire::move(Lane& lane, Way way, int rank, int tag) {
  if (lane.empty()) return false;
  const std::size_t before = lane.moving.size();
  for (std::size_t i = 0; i < lane.moving.size();)  // one that throws leaves the others as they are
    if (transport_->done(lane.moving[i].ticket))
      lane.moving.erase(lane.moving.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  if (way == Way::in && lane.moving.size() < before) peer(rank).heard_at = Clock::now();
  for (; lane.moving.size() < kMoving && !lane.waiting.empty(); lane.waiting.pop_front()) {
    Piece& piece = lane.waiting.front();
    piece.ticket = way == Way::out ? transport_->send(rank, tag, piece.data, piece.bytes)
                                   : transport_->receive(rank, tag, piece.data, piece.bytes);
    lane.moving.push_back(std::move(piece));
  }
  return !lane.empty();
}

void Wire::send(int to, const void* data, std::size_t bytes) {
  bytes_sent_ += bytes;
  append(peer(to).out, static_cast<char*>(const_cast<void*>(data)), bytes);
  move(peer(to).out, Way::out, to, kOperation);
}

void Wire::receive(int from, void* data, std::size_t bytes) {
  append(peer(from).in, static_cast<char*>(data), bytes);
  move(peer(from).in, Way::in, from, kOperation);
}

void Wire::finish() {
  wait_until([this] {
    bool are_left = false;
    for (int r = 0; r < size(); ++r) {
      are_left |= move(peer(r).out, Way::out, r, kOperation);
      are_left |= move(peer(r).in, Way::in, r, kOperation);
    }
    return !are_left;
  });
}

void Wire::cancel() {
  for (Peer& peer : peers_)
    for (Lane* const lane : {&peer.out, &peer.in, &peer.letters_out, &peer.letters_in}) {
      lane->waiting.clear();
      for (; is_usable_ && !lane->moving.empty(); lane->moving.pop_back())
        is_usable_ = transport_->cancel(lane->moving.back().ticket);
    }
}

template <class AreDone> void Wire::wait_until(const AreDone& are_done) {
  const auto start = Clock::now();
  for (Patience patience; !are_done(); patience.pause()) {
    move_letters();
    if (seconds_since(lived_) > 0.05) live();
    check_for_leavers(start);
  }
}

// What it had sent before comes first.
void Wire::check_for_leavers(Clock::time_point start) const {
  if (left_ >= 0 && seconds_since(std::max(left_at_, start)) > 0.3)
    throw LostError(str(name_of(left_), " has left"), "it has met an error of its own",
                    "see its message; then launch again");
}

void Wire::begin_to(int to, const void* data, std::size_t bytes) {
  bytes_sent_ += bytes;
  const char* const from = static_cast<const char*>(data);
  const auto kept = std::make_shared<std::vector<char>>(from, from + bytes);
  append(peer(to).letters_out, kept->data(), bytes, kept);
  move_letters();
}

void Wire::receive_from(int from, void* data, std::size_t bytes) {
  Lane& lane = peer(from).letters_in;
  append(lane, static_cast<char*>(data), bytes);
  wait_until([&] { return !move(lane, Way::in, from, kLetter); });
}

void Wire::move_letters() {
  for (int r = 0; r < size(); ++r) move(peer(r).letters_out, Way::out, r, kLetter);
}

bool Wire::has_letters() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const Peer& p) { return !p.letters_out.empty(); });
}

// Each watches all others, or, of many, its two neighbours.
bool Wire::is_watched(int rank) const {
  constexpr int kMany = 32;
  const int distance = (rank - this->rank() + size()) % size();
  return distance != 0 && (size() <= kMany || distance == 1 || distance == size() - 1);
}

void Wire::live() {
  lived_ = Clock::now();
  move_letters();
  for (int r = 0; r < size(); ++r) {
    if (!is_watched(r)) continue;
    hear(r, peer(r));
    beat(r, peer(r));
  }
}

void Wire::hear(int rank, Peer& peer) {
  if (transport_->done(peer.hearing)) {
    peer.heard_at = Clock::now();
    const Heart heard = peer.heard;
    peer.hearing = transport_->receive(rank, kHeart, &peer.heard, sizeof(Heart));
    if (heard.left != 0) {
      if (left_ < 0) left_ = rank, left_at_ = Clock::now();
      return;
    }
    if (heard.operation == now_.operation && (heard.bytes != now_.bytes || heard.name != now_.name))
      throw Error(str(name_of(rank), " does something else than rank ", this->rank()),
                  str("its operation ", now_.operation, " is ", heard.name.data(), " of ", heard.bytes,
                      " bytes, here it is ", now_.name.data(), " of ", now_.bytes),
                  "call the same functions, in the same order, with tensors of the same shapes on all ranks");
  }
  if (peer.heard.left == 0 && silence_ > 0 && seconds_since(peer.heard_at) > silence_) throw lost(rank);
}

LostError Wire::lost(int rank) const {
  const auto is_silent = [this](int r) {
    return seconds_since(peers_[static_cast<std::size_t>(r)].heard_at) > 0.75 * silence_;
  };
  bool all_are = size() > 2;
  for (int r = 0; r < size(); ++r) all_are &= !is_watched(r) || is_silent(r);
  if (all_are)
    return {str(name_of(this->rank()), " is cut off from ", name_of(rank), " and all others"),
            str("nothing has been heard of any for ", silence_, " seconds"),
            "look at this machine's network; then launch again"};
  return {str(name_of(rank), " is lost"), str("nothing has been heard of it for ", silence_, " seconds"),
          "look at that machine, and at the network between; then launch again"};
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
  if (!is_usable_) return;
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
