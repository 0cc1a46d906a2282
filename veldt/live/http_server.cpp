// One thread waits for clients and for news to give them. Every answer ends its connection, so that each is
// in one of two states: it has to ask soon, or it is given an answer.
#include "veldt/live/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace veldt::live {

bool is_loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace veldt::live

#ifdef VELDT_MICROHTTPD_SONAME

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <system_error>
#include <thread>

#include "veldt/core/error.h"
#include "veldt/live/microhttpd.h"

namespace veldt::live {
namespace {

using ServerClock = std::chrono::steady_clock;
constexpr int kTick = 100;                             // milliseconds between two looks for news
constexpr std::size_t kBlock = std::size_t{16} << 10;  // bytes of a stream that are asked for at a time

const Microhttpd& mhd() {
  static const Microhttpd found;
  return found;
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  bool is_v6 = false, is_local = false;
};

SocketAddress address_of(const ServerOptions& o) {
  SocketAddress a;
  a.is_local = is_loopback(o.host);
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (o.port < 0 || o.port > 65535)
    throw ConfigError(str("there is no port ", o.port), "ports are 0 to 65535", "give another, or none");
  if (::inet_pton(AF_INET, o.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(o.port));
    std::memcpy(&a.bytes, &v4, a.size = sizeof v4);
  } else if (::inet_pton(AF_INET6, o.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(o.port));
    a.is_v6 = true;
    std::memcpy(&a.bytes, &v6, a.size = sizeof v6);
  } else {
    throw ConfigError("cannot serve at " + o.host, "it is no number of IPv4 or IPv6",
                      "give 127.0.0.1, or 0.0.0.0 for all networks of this machine");
  }
  return a;
}

int listening_socket(const ServerOptions& o, const SocketAddress& a) {
  Descriptor socket(::socket(a.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket.get() >= 0) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket.get() < 0 || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&a.bytes), a.size) != 0 ||
      ::listen(socket.get(), 128) != 0) {
    const int error = errno;
    throw Error(str("cannot serve at ", o.host, ':', o.port), std::generic_category().message(error),
                error == EADDRINUSE
                    ? "another program is there: give another port, or none for any that is free"
                    : "give another address or port");
  }
  return socket.release();
}

std::string lower(const char* text) {
  std::string out = text;
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

// What MHD's callbacks share. Only the server's thread touches it.
class HttpServer::Impl {
 public:
  Impl(Handler handler, const ServerOptions& options, bool listens)
      : handler_(std::move(handler)), options_(options) {
    if (listens) {
      const SocketAddress address = address_of(options);
      is_local_ = address.is_local;
      is_v6_ = address.is_v6;
      mhd();  // before there is a socket
      start(listening_socket(options, address));
      wake_ = Wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      thread_ = std::thread([this] { serve(); });
    } else {
      start(-1);
    }
  }

  ~Impl() {
    stopping_ = true;
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(wake_.fd, &one, sizeof one);
      thread_.join();
    } else {
      let_all_go();
    }
    mhd().stop(daemon_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int port() const { return port_; }
  bool is_local() const { return is_local_; }
  std::string address() const {
    return is_v6_ ? str('[', options_.host, "]:", port_) : str(options_.host, ':', port_);
  }

  std::string answer_to(const std::string& bytes);

 private:
  struct Wake {
    explicit Wake(int f = -1) : fd(f) {}
    Wake(const Wake&) = delete;
    Wake& operator=(Wake&& other) noexcept {
      std::swap(fd, other.fd);
      return *this;
    }
    ~Wake() {
      if (fd >= 0) ::close(fd);
    }
    int fd;
  };
  struct Client {
    MHD_Connection* connection = nullptr;
    ServerClock::time_point since;
    bool has_asked = false;
  };
  struct Asked {
    Request request;
    bool too_long = false, has_begun = false;
  };
  struct Stream {
    Impl* server = nullptr;
    MHD_Connection* connection = nullptr;
    std::function<std::string()> next;
    std::string waiting = {};
    std::size_t given = 0;
    bool is_suspended = false, is_over = false;
    ServerClock::time_point spoke = ServerClock::now();
  };

  void start(int listening);
  void serve();
  void tell_the_last();
  bool turn(int milliseconds);
  static std::string next_of(Stream& stream);
  void look_for_news();
  void leave_the_silent();
  void let_all_go();
  MHD_Result answer(MHD_Connection* connection, const Response& response);
  MHD_Result on_request(MHD_Connection* connection, const char* path, const char* method, const char* body,
                        std::size_t* bytes, void** asked);
  ssize_t on_read(Stream& stream, char* to, std::size_t most);

  Handler handler_;
  ServerOptions options_;
  MHD_Daemon* daemon_ = nullptr;
  int port_ = 0;
  bool is_local_ = true, is_v6_ = false;
  Wake wake_;
  std::list<Client> clients_;
  std::list<Stream> streams_;
  std::int64_t requests_ = 0;  // whole ones that came
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

void HttpServer::Impl::start(int listening) {
  rlimit files{};
  int most = options_.connections;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
    most = std::min(most, static_cast<int>(std::min<rlim_t>(files.rlim_cur / 4, 1 << 16)));
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
  if (listening < 0) flags |= MHD_USE_NO_LISTEN_SOCKET;
  const auto on_connection = [](void* self, MHD_Connection* connection, void** own,
                                MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<Impl*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      server.clients_.push_back({connection, ServerClock::now(), false});
      *own = &server.clients_.back();
    } else {
      server.clients_.remove_if([own](const Client& c) { return &c == *own; });
    }
  };
  const auto on_done = [](void*, MHD_Connection*, void** asked, MHD_RequestTerminationCode) {
    delete static_cast<Asked*>(*asked);
    *asked = nullptr;
  };
  const auto on_request = [](void* self, MHD_Connection* connection, const char* path, const char* method,
                             const char*, const char* body, std::size_t* bytes, void** asked) {
    try {
      return static_cast<Impl*>(self)->on_request(connection, path, method, body, bytes, asked);
    } catch (const std::exception&) {  // there is no memory: the connection ends
      return MHD_NO;
    }
  };
  daemon_ =
      mhd().start(flags, 0, nullptr, nullptr, static_cast<MHD_AccessHandlerCallback>(on_request), this,
                  MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(most),
                  MHD_OPTION_CONNECTION_MEMORY_LIMIT, options_.head_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
                  static_cast<unsigned>(options_.seconds_to_read), MHD_OPTION_NOTIFY_CONNECTION,
                  static_cast<MHD_NotifyConnectionCallback>(on_connection), this, MHD_OPTION_NOTIFY_COMPLETED,
                  static_cast<MHD_RequestCompletedCallback>(on_done), this, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                  listening < 0 ? MHD_OPTION_END : MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_END);
  if (daemon_ == nullptr) {
    if (listening >= 0) ::close(listening);
    throw Error("cannot serve a page", "libmicrohttpd does not start",
                "close other programs, or leave the page out");
  }
  if (listening < 0) return;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(is_v6_ ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                       : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

void HttpServer::Impl::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the run's own threads
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);  // on Linux of this thread alone
  bool is_watched = false;
  while (!stopping_) {
    is_watched = !streams_.empty();  // the last turn may end the streams already
    turn(kTick);
  }
  if (is_watched || !streams_.empty()) tell_the_last();
  let_all_go();
}

// The last news is the viewers' too, and so are the pictures that it names: a page asks for those afterwards.
void HttpServer::Impl::tell_the_last() {
  constexpr int kTurn = 20;  // milliseconds
  constexpr auto kLongest = std::chrono::seconds(2);
  std::uint64_t woken = 0;
  [[maybe_unused]] const auto taken =
      ::read(wake_.fd, &woken, sizeof woken);  // or each turn would end at once
  const auto patience = static_cast<std::int64_t>(options_.seconds_after_news * 1000 / kTurn) + 1;
  const auto end = ServerClock::now();
  // In turns and not in time alone: at the lowest rank this thread may wake late, with requests that wait.
  for (std::int64_t turns = 0, quiet = 0;
       quiet < patience && (turns < patience || ServerClock::now() - end < kLongest); ++turns) {
    const std::int64_t before = requests_;
    const bool was_busy = turn(kTurn);
    quiet = was_busy || requests_ != before ? 0 : quiet + 1;
  }
}

// Waits for clients, and gives those who can take it what there is. Whether there was anything to do at once.
bool HttpServer::Impl::turn(int milliseconds) {
  MHD_UNSIGNED_LONG_LONG soon = 0;
  if (mhd().timeout(daemon_, &soon) == MHD_YES)
    milliseconds =
        static_cast<int>(std::min<MHD_UNSIGNED_LONG_LONG>(soon, static_cast<unsigned>(milliseconds)));
  pollfd wait[2] = {{mhd().daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN, 0},
                    {wake_.fd, POLLIN, 0}};
  const bool was_busy = ::poll(wait, wake_.fd >= 0 ? 2 : 1, milliseconds) > 0 || milliseconds == 0;
  look_for_news();
  mhd().run(daemon_);
  leave_the_silent();
  return was_busy;
}

// A stream whose maker fails ends: nothing that a page asks for may end the run.
std::string HttpServer::Impl::next_of(Stream& stream) {
  try {
    return stream.next();
  } catch (const std::exception&) {
    stream.is_over = true;
    return "";
  }
}

void HttpServer::Impl::look_for_news() {
  constexpr auto kSignOfLife = std::chrono::seconds(5);
  const auto now = ServerClock::now();
  for (Stream& stream : streams_) {
    if (!stream.is_suspended) continue;
    stream.waiting = next_of(stream);
    stream.given = 0;
    if (stream.waiting.empty() && now - stream.spoke > kSignOfLife) stream.waiting = ":\n\n";
    if (stream.waiting.empty() && !stopping_ && !stream.is_over) continue;
    stream.is_suspended = false;
    mhd().resume(stream.connection);
  }
}

// Those who have not asked for anything in time: MHD's own limit begins anew with every byte.
void HttpServer::Impl::leave_the_silent() {
  const auto now = ServerClock::now();
  for (Client& client : clients_) {
    if (client.has_asked ||
        std::chrono::duration<double>(now - client.since).count() < options_.seconds_to_ask)
      continue;
    ::shutdown(mhd().connection_info(client.connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
               SHUT_RDWR);
    client.has_asked = true;
  }
}

// MHD wants no connection suspended when it stops.
void HttpServer::Impl::let_all_go() {
  for (Stream& stream : streams_) {
    if (!stream.is_suspended) continue;
    stream.is_suspended = false;
    mhd().resume(stream.connection);
  }
  mhd().run(daemon_);
}

MHD_Result HttpServer::Impl::on_request(MHD_Connection* connection, const char* path, const char* method,
                                        const char* body, std::size_t* bytes, void** own) {
  if (*own == nullptr) {
    auto* asked = new Asked;
    *own = asked;
    asked->request.method = method;
    asked->request.path = path;
    const auto take = [](void* into, MHD_ValueKind, const char* key, const char* value) {
      static_cast<std::map<std::string, std::string>*>(into)->insert_or_assign(lower(key),
                                                                               value == nullptr ? "" : value);
      return MHD_YES;
    };
    mhd().values(connection, MHD_HEADER_KIND, static_cast<MHD_KeyValueIterator>(take),
                 &asked->request.headers);
    mhd().values(connection, MHD_GET_ARGUMENT_KIND, static_cast<MHD_KeyValueIterator>(take),
                 &asked->request.query);
    return MHD_YES;
  }
  auto& asked = *static_cast<Asked*>(*own);
  if (*bytes > 0) {
    asked.too_long = asked.too_long || asked.request.body.size() + *bytes > options_.body_bytes;
    if (!asked.too_long) asked.request.body.append(body, *bytes);
    *bytes = 0;
    return MHD_YES;
  }
  for (Client& client : clients_)
    if (client.connection == connection) client.has_asked = true;
  ++requests_;
  if (asked.too_long)
    return answer(connection, {.status = MHD_HTTP_CONTENT_TOO_LARGE, .body = "the body is too long\n"});
  Response response;
  try {
    response = handler_(asked.request);
  } catch (const std::exception&) {
    response = {.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .body = "the server failed\n"};
  }
  return answer(connection, response);
}

ssize_t HttpServer::Impl::on_read(Stream& stream, char* to, std::size_t most) {
  if (stream.given == stream.waiting.size()) {
    if (stopping_ || stream.is_over) return MHD_CONTENT_READER_END_OF_STREAM;
    stream.waiting.clear();
    stream.waiting.shrink_to_fit();
    stream.given = 0;
    stream.is_suspended = true;
    mhd().suspend(stream.connection);
    return 0;
  }
  const std::size_t count = std::min(most, stream.waiting.size() - stream.given);
  std::memcpy(to, stream.waiting.data() + stream.given, count);
  stream.given += count;
  stream.spoke = ServerClock::now();
  return static_cast<ssize_t>(count);
}

MHD_Result HttpServer::Impl::answer(MHD_Connection* connection, const Response& response) {
  MHD_Response* out = nullptr;
  if (response.stream) {
    streams_.push_back({.server = this, .connection = connection, .next = response.stream});
    streams_.back().waiting = next_of(streams_.back());
    const auto read = [](void* stream, std::uint64_t, char* to, std::size_t most) {
      auto& s = *static_cast<Stream*>(stream);
      return s.server->on_read(s, to, most);
    };
    const auto done = [](void* stream) {
      auto& list = static_cast<Stream*>(stream)->server->streams_;
      list.remove_if([stream](const Stream& s) { return &s == stream; });
    };
    out = mhd().from_callback(MHD_SIZE_UNKNOWN, kBlock, static_cast<MHD_ContentReaderCallback>(read),
                              &streams_.back(), static_cast<MHD_ContentReaderFreeCallback>(done));
    if (out == nullptr) streams_.pop_back();
  } else {
    out = mhd().from_buffer(response.body.size(), const_cast<char*>(response.body.data()),
                            MHD_RESPMEM_MUST_COPY);
  }
  if (out == nullptr) return MHD_NO;
  mhd().add_header(out, "Content-Type", response.type.c_str());
  mhd().add_header(out, "Connection", "close");
  for (const auto& [name, value] : response.headers) mhd().add_header(out, name.c_str(), value.c_str());
  const MHD_Result queued = mhd().queue(connection, static_cast<unsigned>(response.status), out);
  mhd().destroy(out);  // it lives as long as it is being sent
  return queued;
}

std::string HttpServer::Impl::answer_to(const std::string& bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return "";
  const Descriptor mine(ends[0]);
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  if (mhd().add_connection(daemon_, ends[1], reinterpret_cast<const sockaddr*>(&peer), sizeof peer) !=
      MHD_YES)
    return "";  // and has closed it
  std::string answer;
  std::size_t sent = 0;
  for (int turns = 0; turns < 1000; ++turns) {
    if (sent < bytes.size()) {
      const ssize_t now = ::send(mine.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now > 0) sent += static_cast<std::size_t>(now);
      if (sent == bytes.size() || (now < 0 && errno != EAGAIN)) {
        sent = bytes.size();
        ::shutdown(mine.get(), SHUT_WR);
      }
    } else if (turns == 0) {
      ::shutdown(mine.get(), SHUT_WR);
    }
    turn(0);
    char block[4096];
    const ssize_t got = ::recv(mine.get(), block, sizeof block, 0);
    if (got > 0) answer.append(block, static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return answer;
}

HttpServer::HttpServer(Handler handler, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(std::move(handler), options, true)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }
std::string HttpServer::address() const { return impl_->address(); }
bool HttpServer::is_local() const { return impl_->is_local(); }

std::string HttpServer::answer_to(const std::string& bytes, const Handler& handler,
                                  const ServerOptions& options) {
  return Impl(handler, options, false).answer_to(bytes);
}

}  // namespace veldt::live

#else

#include "veldt/core/error.h"

namespace veldt::live {

class HttpServer::Impl {};

namespace {

[[noreturn]] void refuse_to_serve() {
  throw Error("cannot serve a page", "Veldt was built without libmicrohttpd",
              "install libmicrohttpd-dev and build Veldt again");
}

}  // namespace

HttpServer::HttpServer(Handler, const ServerOptions&) { refuse_to_serve(); }
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return 0; }
std::string HttpServer::address() const { return ""; }
bool HttpServer::is_local() const { return true; }
std::string HttpServer::answer_to(const std::string&, const Handler&, const ServerOptions&) {
  refuse_to_serve();
}

}  // namespace veldt::live

#endif
