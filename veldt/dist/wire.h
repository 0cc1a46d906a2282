// What one thread does with a transport: messages of one operation after the other, and signs of life in
// between. Only for files of dist/.
// Tests: tests/dist/communicator_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/dist/transport.h"

namespace veldt::dist {

class Wire {
 public:
  // `silence`: seconds without a sign of life after which a rank is lost; 0: no rank ever is.
  Wire(std::unique_ptr<Transport> transport, double silence);

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  Transport& transport() { return *transport_; }

  // Begins an operation, which all ranks have to begin with the same name and number of bytes.
  void begin(const char* name, std::size_t bytes);
  // Begin a message of it; finish() waits for all.
  void send(int to, const void* data, std::size_t bytes);
  void receive(int from, void* data, std::size_t bytes);
  // Throws LostError for a rank that is silent, Error for one that does something else meanwhile.
  void finish();
  // After a failure: gives all messages up. Their memory, which is the callers', is theirs again.
  void cancel();

  // Messages from one rank to another, beside the operations. begin_to() copies the data and does not wait.
  void begin_to(int to, const void* data, std::size_t bytes);
  void receive_from(int from, void* data, std::size_t bytes);

  // Of all messages so far, but for signs of life. Any thread may ask.
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  // Adds bytes that left by another way, a device's links.
  void count_sent(std::size_t bytes) { bytes_sent_ += bytes; }
  // Whether some of begin_to() have not left yet: live() goes on with them.
  bool has_letters() const;

  // Looks for signs of life, and gives them. To be called ten times a second at least; throws as finish().
  void live();
  // Throws LostError 0.3 s after a rank has said that it leaves, and after `start`, when this one began to
  // wait: what it had sent before comes first.
  void check_for_leavers(std::chrono::steady_clock::time_point start = {}) const;
  // Tells the others that this rank ends before its time.
  void leave();
  // The names of the ranks' machines and their processes, for messages: set once, by the communicator.
  void set_places(std::vector<std::string> places) { places_ = std::move(places); }
  // "rank 2 on n3 (process 4711)"
  std::string name_of(int rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  // What a rank does now.
  struct Heart {
    std::uint64_t operation = 0, bytes = 0, left = 0;
    std::array<char, 32> name = {};
  };
  // A part of a message. What is `kept` is the message, if nobody else keeps it.
  struct Piece {
    char* data = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<std::vector<char>> kept;
    Transport::Ticket ticket = 0;
  };
  // The messages of one tag to, or from, one rank. Few pieces are on their way at a time: on a slow network a
  // sign of life would else wait behind all of a long message.
  struct Lane {
    std::deque<Piece> waiting, moving;
    bool empty() const { return waiting.empty() && moving.empty(); }
  };
  struct Peer {
    Heart heard, sent;
    Clock::time_point heard_at, sent_at;
    Transport::Ticket hearing = 0, sending = 0;
    bool is_sending = false;
    Lane out, in, letters_out, letters_in;
  };
  enum class Way { out, in };

  bool is_watched(int rank) const;
  void hear(int rank, Peer& peer);
  LostError lost(int rank) const;
  void beat(int rank, Peer& peer);
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  static void append(Lane& lane, char* data, std::size_t bytes,
                     const std::shared_ptr<std::vector<char>>& kept = nullptr);
  bool move(Lane& lane, Way way, int rank, int tag);
  void move_letters();
  template <class AreDone> void wait_until(const AreDone& are_done);

  std::unique_ptr<Transport> transport_;
  double silence_;
  Heart now_;
  std::vector<Peer> peers_;
  std::vector<std::string> places_;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  bool is_usable_ = true;  // the transport, for more than to abort
  Clock::time_point lived_, left_at_;
  int left_ = -1;  // the first that has said so
};

}  // namespace veldt::dist
