// A client of a server, by plain sockets: what a browser sends, and what it never would.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace veldt::test {

class Client {
 public:
  explicit Client(int port, int receive_bytes = 0) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return is_connected_; }
  // False once the server has closed the connection.
  bool send(const std::string& text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t now = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += static_cast<std::size_t>(now);
    }
    return true;
  }
  // All that comes until the server closes, or until it holds `until`, or nothing comes for so long.
  std::string receive(const std::string& until = "", int milliseconds = 5000) {
    std::string text;
    while (until.empty() || text.find(until) == std::string::npos) {
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, milliseconds) <= 0) break;
      char block[4096];
      const ssize_t got = ::recv(fd_, block, sizeof block, 0);
      if (got <= 0) {
        is_closed_ = true;
        break;
      }
      text.append(block, static_cast<std::size_t>(got));
    }
    return text;
  }
  bool is_closed() const { return is_closed_; }

 private:
  int fd_;
  bool is_connected_ = false, is_closed_ = false;
};

// The whole answer to a request without a body.
inline std::string answer_to(int port, const std::string& request) {
  Client client(port);
  client.send(request);
  return client.receive("", 60'000);
}

}  // namespace veldt::test
