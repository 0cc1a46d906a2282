// Answers requests about runs, and refuses those of strangers.
#include "veldt/live/site.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/live/page.h"
#include "veldt/live/record_json.h"

namespace veldt::live {
namespace {

std::string random_text() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error("cannot make a token for a page", "the system gives no random numbers", "try again");
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string value_of(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto at = values.find(key);
  return at == values.end() ? "" : at->second;
}

// In a time that does not tell how much is right.
bool is_same(const std::string& given, const std::string& token) {
  unsigned differs = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i)
    differs |=
        static_cast<unsigned char>(i < given.size() ? given[i] : 0) ^ static_cast<unsigned char>(token[i]);
  return differs == 0;
}

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Of "localhost:9000" or "[::1]:80"; a port may be that of a tunnel.
std::string name_of_host(const std::string& host) {
  if (host.starts_with("[") && host.find(']') != std::string::npos) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

Response plain(int status, const std::string& text) {
  Response response{.status = status, .body = text + "\n"};
  return response;
}

// What every answer says: nothing of it is kept, framed, guessed at or used by other sites.
Response guarded_from_others(Response response) {
  for (const auto& [name, value] : {std::pair{"Cache-Control", "no-store"},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"X-Frame-Options", "DENY"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"},
                                    {"Cross-Origin-Opener-Policy", "same-origin"}})
    response.headers.emplace_back(name, value);
  return response;
}

Response page_answer() {
  const std::string nonce = random_text();
  Response response{.type = "text/html; charset=utf-8", .body = live_page(nonce)};
  response.headers.emplace_back(
      "Content-Security-Policy",
      str("default-src 'none'; script-src 'nonce-", nonce, "'; style-src 'nonce-", nonce,
          "'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'"));
  return response;
}

}  // namespace

Site::Site(bool only_local, std::string token) : only_local_(only_local), token_(std::move(token)) {
  if (token_.empty()) token_ = random_text();
}

void Site::add(std::string name, std::shared_ptr<const Board> board, Control* control) {
  runs_.push_back({std::move(name), std::move(board), control});
}

std::string Site::url(const HttpServer& server) const {
  std::string address = server.address();
  if (address.starts_with("0.0.0.0:") || address.starts_with("[::]:")) {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0')
      address = str(static_cast<const char*>(name), ':', server.port());
  }
  return str("http://", address, "/?token=", token_);
}

// Why a request is refused; "" if it is not.
std::string Site::refusal(const Request& request) const {
  const std::string host = value_of(request.headers, "host"), name = name_of_host(host);
  if (only_local_ && name != "localhost" && !is_loopback(name))
    return "this page is for this machine alone; open it at the address that veldt printed";
  const std::string origin = value_of(request.headers, "origin");
  if (!origin.empty() && origin != "http://" + host) return "another site may not ask for this";
  const std::string site = value_of(request.headers, "sec-fetch-site");
  const bool is_opened = request.method == "GET" && request.path == "/";
  if ((site == "cross-site" || site == "same-site") && !is_opened) return "another site may not ask for this";
  // What changes something takes it from a header, which no form or link of another site can send.
  const std::string token =
      request.method == "GET" ? value_of(request.query, "token") : value_of(request.headers, "x-veldt-token");
  if (!is_same(token, token_))
    return "the token is missing or wrong; open the whole address that veldt printed, with ?token=";
  return "";
}

const Site::Run* Site::run_of(const Request& request) const {
  const auto number = number_in(value_of(request.query, "run"));
  return number && *number < runs_.size() ? &runs_[*number] : nullptr;
}

Response Site::picture(const Request& request) const {
  const Run* run = run_of(request);
  const auto number = number_in(value_of(request.query, "number"));
  const SharedBytes png = run != nullptr && number ? run->board->png(*number) : SharedBytes();
  if (png.empty()) return plain(404, "there is no such picture, or no longer");
  return {.type = "image/png", .body = png.text()};
}

Response Site::control(const Request& request) const {
  const Run* run = run_of(request);
  if (run == nullptr || run->control == nullptr) return plain(404, "there is no run that can be asked");
  if (request.body == "pause")
    run->control->pause();
  else if (request.body == "go on")
    run->control->go_on();
  else if (request.body == "save")
    run->control->save();
  else if (request.body == "stop")
    run->control->stop();
  else
    return plain(400, "ask for pause, go on, save or stop");
  return plain(200, "asked");
}

// Server-sent events (WHATWG HTML, 9.2): first all, then what is new. Each reader takes what there is when it
// has read what it was sent, so a slow one gets fewer and larger events.
Response Site::events() const {
  struct Reader {
    std::vector<Seen> seen;
    bool has_begun = false;
  };
  auto reader = std::make_shared<Reader>();
  reader->seen.resize(runs_.size());
  return {.type = "text/event-stream", .stream = [this, reader] {
            std::string events;
            if (!std::exchange(reader->has_begun, true)) {
              for (const Run& run : runs_)
                events += str(events.empty() ? "" : ",", "{\"name\":", text_json(run.name),
                              ",\"control\":", run.control != nullptr ? "true" : "false", "}");
              events = str("event: runs\ndata: [", events, "]\n\n");
            }
            for (std::size_t i = 0; i < runs_.size(); ++i)
              if (const std::string news = runs_[i].board->news(reader->seen[i]); !news.empty())
                events += str("data: {\"run\":", i, ",\"news\":", news, "}\n\n");
            return events;
          }};
}

Response Site::answer(const Request& request) const {
  if (const std::string why = refusal(request); !why.empty()) return guarded_from_others(plain(403, why));
  const bool is_get = request.method == "GET";
  Response response = plain(404, "there is no such page");
  if (request.path == "/" && is_get)
    response = page_answer();
  else if (request.path == "/events" && is_get)
    response = events();
  else if (request.path == "/picture" && is_get)
    response = picture(request);
  else if (request.path == "/control" && request.method == "POST")
    response = control(request);
  else if (!is_get && request.method != "POST")
    response = plain(405, "only GET and POST are answered");
  return guarded_from_others(std::move(response));
}

}  // namespace veldt::live
