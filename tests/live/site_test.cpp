// What is served of runs: to those who know the token, and to nobody else.
#include "veldt/live/site.h"

#include <gtest/gtest.h>

#include "tests/live/client.h"
#include "veldt/io/png_bytes.h"

namespace veldt::live {
namespace {

using testing::HasSubstr;

struct Served {
  Served() {
    board->add_picture({"picture", 3, 0, io::png_bytes(std::vector<std::uint8_t>(3), {1, 1}, 3)});
    site.add("cub", board, &control);
    site.add("other", std::make_shared<Board>());
  }
  Response get(const std::string& path, std::map<std::string, std::string> query,
               std::map<std::string, std::string> headers = {}) {
    headers.insert({"host", "127.0.0.1:80"});
    return site.answer(
        {.method = "GET", .path = path, .query = std::move(query), .headers = std::move(headers)});
  }
  Response post(const std::string& body, std::map<std::string, std::string> headers, const char* run = "0") {
    headers.insert({"host", "127.0.0.1:80"});
    return site.answer({.method = "POST",
                        .path = "/control",
                        .query = {{"run", run}},
                        .headers = std::move(headers),
                        .body = body});
  }

  std::shared_ptr<Board> board = std::make_shared<Board>();
  Control control;
  Site site{true, "secret"};
};

TEST(LiveSite, ThePageIsForThoseWhoKnowTheToken) {
  Served s;
  const Response page = s.get("/", {{"token", "secret"}});
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<!doctype html>"));
  for (const auto& query : {std::map<std::string, std::string>{},
                            {{"token", ""}},
                            {{"token", "secre"}},
                            {{"token", "secret "}},
                            {{"token", "Secret"}}})
    for (const char* path : {"/", "/events", "/picture", "/nowhere"})
      EXPECT_EQ(s.get(path, query).status, 403) << path;
}

TEST(LiveSite, ItsPolicyAllowsNoScriptButItsOwn) {
  Served s;
  const Response one = s.get("/", {{"token", "secret"}}), two = s.get("/", {{"token", "secret"}});
  std::string policy;
  for (const auto& [name, value] : one.headers)
    if (name == "Content-Security-Policy") policy = value;
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'nonce-"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_NE(one.body, two.body);  // a nonce is used once
  EXPECT_EQ(one.body.find("http://"), one.body.find("http://www.w3.org/2000/svg"));
  EXPECT_EQ(one.body.find("https://"), std::string::npos);
}

TEST(LiveSite, OtherSitesAndNamesAreRefused) {
  Served s;
  const std::map<std::string, std::string> query{{"token", "secret"}, {"run", "0"}, {"number", "1"}};
  EXPECT_EQ(s.get("/picture", query).status, 200);
  for (const char* host :
       {"evil.example", "evil.example:80", "127.0.0.1.evil.example", "128.0.0.1", "", "[::2]:80"})
    EXPECT_EQ(
        s.site.answer({.method = "GET", .path = "/picture", .query = query, .headers = {{"host", host}}})
            .status,
        403)
        << host;
  for (const char* host : {"localhost:9000", "127.0.0.1", "[::1]:80"})
    EXPECT_EQ(
        s.site.answer({.method = "GET", .path = "/picture", .query = query, .headers = {{"host", host}}})
            .status,
        200)
        << host;
  EXPECT_EQ(s.get("/picture", query, {{"origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(s.get("/picture", query, {{"origin", "null"}}).status, 403);
  EXPECT_EQ(s.get("/picture", query, {{"origin", "http://127.0.0.1:80"}}).status, 200);
  EXPECT_EQ(s.get("/events", query, {{"sec-fetch-site", "cross-site"}}).status, 403);
  EXPECT_EQ(s.get("/", query, {{"sec-fetch-site", "cross-site"}}).status, 200);  // a link in a mail
}

TEST(LiveSite, WithoutTheTokenInItsHeaderARequestChangesNothing) {
  Served s;
  for (const auto& headers : {std::map<std::string, std::string>{},
                              {{"x-veldt-token", "wrong"}},
                              {{"x-veldt-token", "secret"}, {"origin", "http://evil.example"}},
                              {{"x-veldt-token", "secret"}, {"sec-fetch-site", "cross-site"}}}) {
    EXPECT_EQ(s.post("pause", headers).status, 403);
    EXPECT_EQ(s.post("stop", headers).status, 403);
  }
  Request in_address{.method = "POST",
                     .path = "/control",
                     .query = {{"run", "0"}, {"token", "secret"}},
                     .headers = {{"host", "127.0.0.1"}},
                     .body = "stop"};
  EXPECT_EQ(s.site.answer(in_address).status, 403);
  EXPECT_EQ(s.get("/control", {{"token", "secret"}, {"run", "0"}}).status, 404);
  EXPECT_FALSE(s.control.is_paused() || s.control.should_stop() || s.control.take_save());
}

TEST(LiveSite, AskingWithTheTokenReachesTheRun) {
  Served s;
  const std::map<std::string, std::string> headers{{"x-veldt-token", "secret"}};
  EXPECT_EQ(s.post("pause", headers).status, 200);
  EXPECT_TRUE(s.control.is_paused());
  EXPECT_EQ(s.post("go on", headers).status, 200);
  EXPECT_FALSE(s.control.is_paused());
  EXPECT_EQ(s.post("save", headers).status, 200);
  EXPECT_TRUE(s.control.take_save());
  EXPECT_FALSE(s.control.take_save());
  EXPECT_EQ(s.post("stop", headers).status, 200);
  EXPECT_TRUE(s.control.should_stop());
  EXPECT_EQ(s.post("erase", headers).status, 400);
  for (const char* run : {"1", "2", "-1", "x", "18446744073709551616"})
    EXPECT_EQ(s.post("pause", headers, run).status, 404) << run;
}

TEST(LiveSite, PicturesAreFoundByNumber) {
  Served s;
  const Response png = s.get("/picture", {{"token", "secret"}, {"run", "0"}, {"number", "1"}});
  EXPECT_EQ(png.type, "image/png");
  EXPECT_TRUE(png.body.starts_with("\x89PNG"));
  for (const char* number : {"2", "0", "-1", "1x", ""})
    EXPECT_EQ(s.get("/picture", {{"token", "secret"}, {"run", "0"}, {"number", number}}).status, 404)
        << number;
}

TEST(LiveSite, EventsBeginWithAllRuns) {
  Served s;
  HttpServer server([&](const Request& r) { return s.site.answer(r); });
  EXPECT_EQ(s.site.url(server), "http://127.0.0.1:" + std::to_string(server.port()) + "/?token=secret");
  test::Client client(server.port());
  client.send("GET /events?token=secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  const std::string begin = client.receive("\"run\":1");
  EXPECT_THAT(begin, HasSubstr(R"(event: runs
data: [{"name":"cub","control":true},{"name":"other","control":false}])"));
  EXPECT_THAT(begin, HasSubstr(R"(data: {"run":0,"news":{"status":)"));
  s.board->add_note({1, 2, "a note"});
  EXPECT_THAT(client.receive("a note"), HasSubstr(R"({"run":0,)"));
}

TEST(LiveSite, TokensDiffer) {
  const Site one, two;
  EXPECT_EQ(one.token().size(), 32);
  EXPECT_NE(one.token(), two.token());
}

}  // namespace
}  // namespace veldt::live
