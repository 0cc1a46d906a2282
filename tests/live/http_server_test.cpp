// The server of pages: answers, streams, and an end that waits for nobody.
#include "veldt/live/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "tests/live/client.h"
#include "veldt/core/error.h"

namespace veldt::live {
namespace {

using test::Client;
using testing::HasSubstr;

Response echo(const Request& r) {
  std::string query;
  for (const auto& [key, value] : r.query) query += key + "=" + value + ";";
  return {.status = r.path == "/lost" ? 404 : 200,
          .body = r.method + " " + r.path + " " + query + " " + r.body,
          .headers = {{"X-Own", "yes"}}};
}

TEST(LiveServer, AnswersWhatTheHandlerSays) {
  HttpServer server(echo);
  EXPECT_TRUE(server.is_local());
  EXPECT_EQ(server.address(), "127.0.0.1:" + std::to_string(server.port()));
  const std::string got = test::answer_to(server.port(), "GET /a%20b?x=1&y=%2f HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(got, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(got, HasSubstr("X-Own: yes"));
  EXPECT_THAT(got, HasSubstr("GET /a b x=1;y=/; "));
  EXPECT_THAT(test::answer_to(server.port(), "GET /lost HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("404"));
  EXPECT_THAT(
      test::answer_to(server.port(), "POST /do HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\npause"),
      HasSubstr("POST /do  pause"));
}

TEST(LiveServer, AHandlerThatThrowsIsAnAnswerOf500) {
  HttpServer server([](const Request&) -> Response { throw Error("a", "b", "c"); });
  EXPECT_THAT(test::answer_to(server.port(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("500"));
}

TEST(LiveServer, AStreamGivesWhatComes) {
  std::atomic<int> events = 1;
  HttpServer server([&](const Request&) {
    return Response{.type = "text/event-stream", .stream = [&events, seen = 0]() mutable {
                      std::string text;
                      for (; seen < events; ++seen) text += "data: " + std::to_string(seen) + "\n\n";
                      return text;
                    }};
  });
  Client one(server.port()), other(server.port());
  for (Client* client : {&one, &other}) client->send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(one.receive("data: 0\n\n"), HasSubstr("text/event-stream"));
  events = 3;
  EXPECT_THAT(one.receive("data: 2\n\n"), HasSubstr("data: 1\n\n"));
  EXPECT_THAT(other.receive("data: 2\n\n"), HasSubstr("data: 0\n\n"));
}

TEST(LiveServer, AStreamThatThrowsEndsAndNothingElse) {
  HttpServer server([](const Request& r) {
    if (r.path != "/bad") return Response{.body = "fine"};
    return Response{.stream = [times = 0]() mutable -> std::string {
      if (++times > 1) throw Error("a", "b", "c");
      return "first";
    }};
  });
  EXPECT_THAT(test::answer_to(server.port(), "GET /bad HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("first"));
  EXPECT_THAT(test::answer_to(server.port(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("fine"));
}

// A page reads in the last news of a picture, and asks for it then.
TEST(LiveServer, WhoeverIsToldTheLastNewsCanAskWhatItNames) {
  auto server = std::make_optional<HttpServer>(
      [](const Request& r) {
        if (r.path != "/events") return Response{.body = "the picture"};
        return Response{.type = "text/event-stream", .stream = [has_begun = false]() mutable {
                          return std::exchange(has_begun, true) ? "" : "data: picture\n\n";
                        }};
      },
      ServerOptions{.seconds_after_news = 1});
  const int port = server->port();
  Client viewer(port);
  viewer.send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  viewer.receive("data: picture\n\n");
  std::thread ends([&] { server.reset(); });
  viewer.receive("", 60'000);  // until it is over
  for (int picture = 0; picture < 2; ++picture) {
    EXPECT_THAT(test::answer_to(port, "GET /picture HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("the picture"));
  }
  ends.join();
}

TEST(LiveServer, EndsWhileOthersRead) {
  std::optional<HttpServer> server;
  server.emplace([](const Request&) { return Response{.stream = [] { return std::string(); }}; });
  Client silent(server->port()), reads(server->port());
  reads.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  reads.receive("\r\n\r\n");
  const auto before = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
  reads.receive();
  EXPECT_TRUE(reads.is_closed());
}

TEST(LiveServer, AddressesThatCannotBeHadSaySo) {
  HttpServer server(echo);
  try {
    HttpServer(echo, {.port = server.port()});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(std::string(e.what()), HasSubstr("another program is there"));
  }
  EXPECT_THROW(HttpServer(echo, {.host = "localhost"}), ConfigError);
  EXPECT_THROW(HttpServer(echo, {.host = "8.8.8.8"}), Error);
  EXPECT_THROW(HttpServer(echo, {.port = 70000}), ConfigError);
}

TEST(LiveServer, NothingListensBeyondLoopbackUnlessAsked) {
  HttpServer local(echo), v6(echo, {.host = "::1"}), all(echo, {.host = "0.0.0.0"});
  EXPECT_TRUE(local.is_local());
  EXPECT_TRUE(v6.is_local());
  EXPECT_FALSE(all.is_local());
}

}  // namespace
}  // namespace veldt::live
