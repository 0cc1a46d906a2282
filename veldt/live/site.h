// What is served of runs: the page, its events, pictures, and what a viewer asks of a run. Only to those who
// know the token.
//   live::Site site;
//   site.add("cub", board, &control);
//   live::HttpServer server([&](const live::Request& r) { return site.answer(r); });
//   std::puts(site.url(server).c_str());
// Tests: tests/live/site_test.cpp, tests/app/pages_test.py, tests/fuzz/live.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veldt/live/board.h"
#include "veldt/live/http_server.h"

namespace veldt::live {

class Site {
 public:
  // A token of 128 random bits, unless one is given. `only_local`: a Host that is not this machine's is
  // refused, so that no page of another name leads here (DNS rebinding).
  explicit Site(bool only_local = true, std::string token = "");

  // `control` may be null: then viewers only look. It must live as long. Runs are added before the first
  // request.
  void add(std::string name, std::shared_ptr<const Board> board, Control* control = nullptr);

  Response answer(const Request& request) const;

  const std::string& token() const { return token_; }
  // "http://127.0.0.1:34567/?token=.."; of a server for other machines with this one's name.
  std::string url(const HttpServer& server) const;

 private:
  struct Run {
    std::string name;
    std::shared_ptr<const Board> board;
    Control* control = nullptr;
  };
  std::string refusal(const Request& request) const;
  const Run* run_of(const Request& request) const;
  Response picture(const Request& request) const;
  Response control(const Request& request) const;
  Response events() const;

  bool only_local_;
  std::string token_;
  std::vector<Run> runs_;
};

}  // namespace veldt::live
