// Clients of bad manners: the server stays up, within its limits, and serves those of good ones.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "tests/live/client.h"
#include "tests/support/sanitizers.h"
#include "veldt/live/http_server.h"
#include "veldt/live/site.h"

namespace veldt::live {
namespace {

using test::Client;
using testing::HasSubstr;

const std::string kAsk = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

Response fine(const Request& r) { return {.body = "fine " + r.path}; }

// ASan keeps what was freed, also by the clients of these tests.
std::int64_t resident_bytes() {
  if (test::kAddressSanitizer) return 0;
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

TEST(LiveHostile, AHeadOfTenMegabytesIsRefused) {
  HttpServer server(fine);
  const std::int64_t before = resident_bytes();
  {
    Client client(server.port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0;
         i < 10'000 && client.send("X-Long-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n");
         ++i) {
    }
  }
  {
    Client client(server.port());  // and one header alone
    client.send("GET / HTTP/1.1\r\nX: " + std::string(10'000'000, 'x'));
  }
  {
    Client client(server.port());
    client.send("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  EXPECT_THAT(test::answer_to(server.port(), kAsk), HasSubstr("fine"));
  EXPECT_LT(resident_bytes() - before, std::int64_t{8} << 20);
}

TEST(LiveHostile, ABodyBeyondTheLimitIsRefused) {
  bool was_asked = false;
  HttpServer server([&](const Request& r) {
    was_asked = was_asked || r.method == "POST";
    return fine(r);
  });
  Client client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_THAT(client.receive(), HasSubstr("413"));
  Client lies(server.port());
  lies.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\nx");
  EXPECT_THAT(test::answer_to(server.port(), kAsk), HasSubstr("fine"));
  EXPECT_FALSE(was_asked);
}

// A byte now and then keeps no connection for ever, nor do those who say nothing.
TEST(LiveHostile, WhoAsksSlowlyIsLeft) {
  HttpServer server(fine, {.connections = 4, .seconds_to_ask = 0.5});
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(std::make_unique<Client>(server.port()));
    slow.back()->send("GET / HTTP/1.1\r\nHost:");
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int left = 0;
  while (left == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (auto& client : slow)
      if (!client->send("x")) ++left;
  }
  EXPECT_GT(left, 0);
  EXPECT_THAT(test::answer_to(server.port(), kAsk), HasSubstr("fine"));
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// Of a site, by one who knows its token.
TEST(LiveHostile, PathsLeadNowhere) {
  Site site(true, "secret");
  site.add("run", std::make_shared<Board>());
  HttpServer server([&site](const Request& r) { return site.answer(r); });
  const std::ptrdiff_t before = open_files();
  for (const char* path : {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd",
                           "//etc/passwd", "/\\..\\..", "http://other/", "/picture", "/page.js",
                           "/picture/../../../etc/passwd", "/events/..", "/record.json"}) {
    const std::string got =
        test::answer_to(server.port(), std::string("GET ") + path +
                                           "?token=secret&run=../../etc&number=/etc/passwd HTTP/1.1\r\n"
                                           "Host: 127.0.0.1\r\n\r\n");
    EXPECT_THAT(got, HasSubstr("HTTP/1.1 4")) << path;
    EXPECT_EQ(got.find("root:"), std::string::npos);
    EXPECT_EQ(got.find("200 OK"), std::string::npos) << got;
  }
  // The server closes what its clients have left a moment later.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (open_files() > before && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(open_files(), before);
}

TEST(SlowLiveHostile, AThousandConnectionsTakeFewFilesAndOthersAreServedAgain) {
  HttpServer server(fine, {.connections = 16, .seconds_to_ask = 0.5});
  const std::int64_t before = resident_bytes();
  const std::ptrdiff_t files = open_files();
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<Client>> many;
    for (int i = 0; i < 100; ++i) many.push_back(std::make_unique<Client>(server.port()));
    EXPECT_LE(open_files(), files + 100 + 17);  // theirs, and the server's
  }
  EXPECT_THAT(test::answer_to(server.port(), kAsk), HasSubstr("fine"));
  EXPECT_LT(resident_bytes() - before, std::int64_t{16} << 20);
}

// Readers that are gone, in the middle of what they asked for.
TEST(LiveHostile, BrokenPipesEndNothing) {
  HttpServer server([](const Request& r) {
    if (r.path == "/stream") return Response{.stream = [] { return std::string(100'000, 's'); }};
    return Response{.body = std::string(5'000'000, 'b')};
  });
  for (int i = 0; i < 20; ++i) {
    Client client(server.port());
    client.send(i % 2 == 0 ? "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n" : kAsk);
    if (i % 4 < 2) client.receive("\r\n\r\n");
  }
  EXPECT_THAT(test::answer_to(server.port(), kAsk), HasSubstr("bbbb"));
}

// It is asked for the next only when it has taken what there was: so it costs one event, however long it is.
TEST(SlowLiveHostile, AReaderThatNeverReadsIsGivenNoMore) {
  std::atomic<std::int64_t> asked = 0;
  HttpServer server([&](const Request&) {
    return Response{.stream = [&asked] {
      ++asked;
      return std::string(std::size_t{1} << 20, 'e');
    }};
  });
  const std::int64_t before = resident_bytes();
  std::vector<std::unique_ptr<Client>> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(std::make_unique<Client>(server.port(), 4096));
    readers.back()->send(kAsk);
  }
  // Until what the system keeps for them is full, which takes a while on a busy machine.
  std::int64_t before_last = -1;
  for (int second = 0; second < 60 && asked != before_last; ++second) {
    before_last = asked;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(asked, before_last);
  EXPECT_LT(asked, 8 * 16);  // a server that goes on would have given each 10 a second
  EXPECT_LT(resident_bytes() - before, std::int64_t{40} << 20);
}

}  // namespace
}  // namespace veldt::live
