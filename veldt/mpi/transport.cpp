// A transport over MPI (the MPI Forum's standard 3.1), compiled against Open MPI and against MPICH, into a
// library each. All calls of MPI come from one thread, the communicator's (MPI_THREAD_FUNNELED).
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/dist/mpi_plugin.h"

namespace veldt::dist {
namespace {

std::string text_of(int status) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

void check_connection(int status, int peer) {
  if (status == MPI_SUCCESS) return;
  throw LostError(str("the connection to rank ", peer, " has failed"), text_of(status),
                  "look at that machine, and at the network between; then launch again");
}

// Messages of a rank that lives end well within it.
constexpr std::chrono::milliseconds kToCancel(500);

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int begun = 0, provided = MPI_THREAD_SINGLE;
    MPI_Initialized(&begun);
    if (begun != 0)
      throw DeviceError("cannot begin MPI twice",
                        "this process has a communicator already, or MPI of its own",
                        "make one communicator, and let Veldt begin MPI");
    if (const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        status != MPI_SUCCESS)
      throw DeviceError("MPI did not begin", text_of(status), "start the program by mpirun");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    return {name.data(), static_cast<std::size_t>(length)};
  }

  Ticket send(int to, int tag, const void* data, std::size_t bytes) override {
    const Ticket ticket = free_place();
    check_connection(
        MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &open_[ticket].request),
        to);
    open_[ticket].expected = -1, open_[ticket].peer = to;
    return ticket;
  }

  Ticket receive(int from, int tag, void* data, std::size_t bytes) override {
    const Ticket ticket = free_place();
    Open& open = open_[ticket];
    open.data = data, open.expected = static_cast<int>(bytes), open.peer = from;
    void* room = data;
    if (bytes < kMostBytes) {
      if (!open.room) open.room = std::make_unique_for_overwrite<char[]>(kMostBytes);
      room = open.room.get();
    }
    check_connection(MPI_Irecv(room, kMostBytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &open.request), from);
    return ticket;
  }

  bool done(Ticket ticket) override {
    Open& open = open_[ticket];
    int is_done = 0, count = 0;
    MPI_Status status;
    const int result = MPI_Test(&open.request, &is_done, &status);
    check_connection(result, open.peer);
    if (is_done == 0) return false;
    if (open.expected >= 0) {
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count != open.expected)
        throw Error(
            str("a message of rank ", open.peer, " did not come as it should"),
            str("it has ", count, " bytes, and ", open.expected, " were expected"),
            "call the same functions, as often, with tensors of the same shapes and dtypes on all ranks");
      if (static_cast<std::size_t>(count) < kMostBytes)
        std::memcpy(open.data, open.room.get(), static_cast<std::size_t>(count));
    }
    free_.push_back(ticket);
    return true;
  }

  // A message that is sent cannot be taken back, nor one that has begun to arrive.
  bool cancel(Ticket ticket) override {
    Open& open = open_[ticket];
    int is_over = open.request == MPI_REQUEST_NULL ? 1 : 0;  // over, with an error that was told
    if (is_over == 0 && open.expected >= 0) MPI_Cancel(&open.request);
    for (const auto end = std::chrono::steady_clock::now() + kToCancel;
         is_over == 0 && MPI_Test(&open.request, &is_over, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         is_over == 0 && std::chrono::steady_clock::now() < end;)
      std::this_thread::yield();
    if (is_over != 0) free_.push_back(ticket);
    return is_over != 0;
  }

  void close() override {
    for (Open& open : open_)
      if (open.request != MPI_REQUEST_NULL) {
        MPI_Cancel(&open.request);
        MPI_Request_free(&open.request);
      }
    MPI_Finalize();
  }

  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  struct Open {
    MPI_Request request = MPI_REQUEST_NULL;
    void* data = nullptr;  // where what is received is to be
    // Any message fits in here: Open MPI 4.1 writes past the end of a place that is too short for one.
    std::unique_ptr<char[]> room;
    int expected = -1;  // bytes; -1: of a message that is sent
    int peer = 0;
  };

  Ticket free_place() {
    if (free_.empty()) {
      open_.emplace_back();
      return open_.size() - 1;
    }
    const Ticket place = free_.back();
    free_.pop_back();
    return place;
  }

  int rank_ = 0, size_ = 1;
  std::vector<Open> open_;
  std::vector<Ticket> free_;
};

std::string library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string all(text.data());
  std::replace(all.begin(), all.end(), '\t', ' ');
  return all.substr(0, all.find_first_of(",\n"));
}

constexpr MpiPlugin kPlugin{VELDT_VERSION, kMpiWaist, library,
                            []() -> std::unique_ptr<Transport> { return std::make_unique<MpiTransport>(); }};

}  // namespace
}  // namespace veldt::dist

extern "C" const veldt::dist::MpiPlugin* veldt_mpi_plugin() { return &veldt::dist::kPlugin; }
