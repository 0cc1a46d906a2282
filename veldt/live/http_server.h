// A small web server for pages about a run: one thread of the lowest rank, with limits that keep strangers
// from taking memory, files or time of the run. GNU libmicrohttpd speaks HTTP; it is opened when it is first
// used.
// Tests: tests/live/http_server_test.cpp, tests/live/hostile_test.cpp, tests/fuzz/live.cpp
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace veldt::live {

struct Request {
  std::string method = {}, path = {};  // "GET", "/picture"
  std::map<std::string, std::string> query = {};
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Instead of a body: gives what comes next whenever the reader has taken all before, "" if there is nothing
  // yet. Called about ten times a second, until the reader leaves.
  std::function<std::string()> stream = {};
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // a number of IPv4 or IPv6: no name is looked up
  int port = 0;                    // 0: any that is free
  // Limits: connections at a time, whatever they do; bytes of a request's head; seconds until a request has
  // to be there, and after which a reader that takes nothing is left.
  int connections = 128;
  std::size_t head_bytes = std::size_t{32} << 10, body_bytes = std::size_t{4} << 10;
  double seconds_to_ask = 10, seconds_to_read = 30;
  // After the last news the server goes on until nobody has asked for anything for so long: what the news
  // names is asked for afterwards.
  double seconds_after_news = 0.25;
};

// Whether the text is a number of IPv4 or IPv6 that leads to this machine alone: 127.0.0.1, ::1.
bool is_loopback(const std::string& host);

class HttpServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  // Serves until it is destroyed. The handler is called by the server's thread; what it throws is an answer
  // of 500. Throws ConfigError for a host that is no number; Error for an address that cannot be had, and
  // without libmicrohttpd.
  HttpServer(Handler handler, const ServerOptions& options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // "127.0.0.1:34567", "[::1]:80"
  std::string address() const;
  bool is_local() const;  // whether only this machine reaches it

  // For the fuzz target: one client, who sends these bytes and no more, is served by a handler without a
  // socket that listens; returns what it was answered. `head_bytes` and the like are those of the options.
  static std::string answer_to(const std::string& bytes, const Handler& handler,
                               const ServerOptions& options = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace veldt::live
