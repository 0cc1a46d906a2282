// What strangers send to a live page, and records of runs.
#include <algorithm>
#include <cctype>
#include <memory>

#include "tests/fuzz/target.h"
#include "veldt/live/record.h"
#include "veldt/live/page.h"
#include "veldt/live/site.h"

namespace veldt::fuzz {
namespace {

// The bytes as a connection to the page of a run: the real server and what it is asked about. Only whoever
// writes the token, "t", into the right place is answered with more than a refusal.
void serve_request(const std::string& bytes) {
  const auto board = std::make_shared<live::Board>();
  live::Control control;
  live::Site site(true, "t");
  site.add("run", board, &control);
  const std::string answer = live::HttpServer::answer_to(bytes, [&](const live::Request& request) {
    live::Response response = site.answer(request);
    if (response.stream) {
      response.body = response.stream();
      response.stream = nullptr;
    }
    return response;
  });
  const bool was_asked = control.is_paused() || control.should_stop() || control.take_save();
  std::string lower = bytes;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  require(!was_asked || lower.find("x-veldt-token") != std::string::npos, "only the token changes a run");
  require(answer.empty() || answer.starts_with("HTTP/1."), "an answer is HTTP");
}

std::vector<std::string> request_seeds() {
  return {
      "GET /?token=t HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
      "GET /events?token=t HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n\r\n",
      "GET /picture?run=0&number=1&token=t HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: http://[::1]:80\r\n\r\n",
      "POST /control?run=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Veldt-Token: t\r\nContent-Length: 5\r\n\r\npause",
      "POST /control?run=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n4\r\nstop\r\n0\r\n\r\n"};
}

std::vector<std::string> request_words() {
  return {"Host: ",
          "X-Veldt-Token: t",
          "Origin: ",
          "Content-Length: ",
          "Transfer-Encoding: chunked",
          "%2e",
          "\r\n\r\n",
          "Expect: 100-continue",
          "HTTP/1.0",
          "go on"};
}

void read_record(const std::string& bytes) {
  const live::Record record = live::record_from_json(bytes);
  const std::string text = live::to_json(record);
  require(live::to_json(live::record_from_json(text)) == text,
          "a record that is written and read is the same");
  live::report_page({{"run", record}});
}

std::vector<std::string> record_seeds() {
  live::Record r{.title = "cub", .state = "done"};
  live::Series loss{.name = "loss", .group = "loss"};
  for (std::int64_t step = 1; step < 5; ++step) loss.add(step, 1, 0.5);
  r.series = {loss};
  r.facts = {{"run", "command", "veldt"}};
  r.notes = {{1, 1, "note", true}};
  r.texts = {{"sample", 1, "text"}};
  r.layers = {{"0", "Linear", "[1]", 3}};
  r.confusion = {{"a"}, {1}};
  r.worst = {{"0", "a", "a", 0.5, ""}};
  return {live::to_json(r), live::to_json({})};
}

}  // namespace

std::vector<Target> live_targets() {
  return {{"live_request", serve_request, request_seeds, request_words},
          {"live_record", read_record, record_seeds}};
}

}  // namespace veldt::fuzz
