// A web server for tests of downloads: tests/support/http_server.py describes its content.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {

// One for all tests of a program; it ends when its standard input does.
class HttpServer {
 public:
  static const HttpServer& running() {
    static const HttpServer server;
    return server;
  }
  std::string at(const std::string& path) const { return "http://127.0.0.1:" + port_ + path; }
  bool is_up() const { return !port_.empty(); }

 private:
  HttpServer() {
    const std::string command =
        "exec " + python() + " " VELDT_SOURCE "/tests/support/http_server.py " + (dir_ / "port");
    process_ = ::popen(command.c_str(), "w");
    for (int tries = 0; tries < 3000 && port_.empty(); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      port_ = bytes_of(dir_ / "port");
    }
  }
  ~HttpServer() {
    if (process_) ::pclose(process_);
  }

  TempDir dir_;
  FILE* process_ = nullptr;
  std::string port_;
};

}  // namespace veldt::test
