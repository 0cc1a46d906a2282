// Downloads through libcurl into a temporary file, and gives it its name once size and hash are right.
#include "veldt/data/fetch.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/data/sha256.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/shared_library.h"

#if VELDT_HAVE_CURL
#include <curl/curl.h>
#endif

namespace veldt::data {
namespace {

void check(const FetchOptions& o) {
  if (!o.url.starts_with("http://") && !o.url.starts_with("https://"))
    throw ConfigError(str("cannot download ", o.url), "it is not a web address",
                      "give one that begins with https:// or http://");
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (o.sha256.size() != 64 || !std::all_of(o.sha256.begin(), o.sha256.end(), is_digit))
    throw ConfigError(str("\"", o.sha256, "\" is not a SHA-256"), "that has 64 digits of 0-9 and a-f",
                      "give the hash that sha256sum prints for the file");
  if (o.name.empty() || o.name == "." || o.name == ".." || o.name.find('/') != std::string::npos)
    throw ConfigError(str("a download cannot be named \"", o.name, "\""),
                      "it must be a file directly in the folder", "give a name without /");
  if (o.folder.empty())
    throw ConfigError(str("there is no folder for ", o.name), "none was given", "set FetchOptions::folder");
}

std::string by_hand(const FetchOptions& o, const std::string& path) {
  return str("download ", o.url, " by other means to ", path, "; its SHA-256 is ", o.sha256);
}

#if VELDT_HAVE_CURL
struct Curl {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_setopt) setopt = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_strerror) strerror = nullptr;

  Curl() {
    const io::SharedLibrary file("libcurl.so.4", "download", "libcurl4");
    file.find(global_init, "curl_global_init");
    file.find(init, "curl_easy_init");
    file.find(setopt, "curl_easy_setopt");
    file.find(perform, "curl_easy_perform");
    file.find(cleanup, "curl_easy_cleanup");
    file.find(strerror, "curl_easy_strerror");
    global_init(CURL_GLOBAL_DEFAULT);  // here, because two threads must not call it at once
  }
};

const Curl& curl() {
  static const Curl found;
  return found;
}

const Curl& curl_for(const FetchOptions& o, const std::string& path) {
  try {
    return curl();
  } catch (const Error& e) {
    throw Error(e.summary(), e.why(), str(e.fix(), ", or ", by_hand(o, path)));
  }
}

// The bytes received, and an error if there was one: exceptions must not pass through libcurl, which is C.
struct Download {
  const FetchOptions& options;
  io::AtomicFile file;
  Sha256 hash = {};
  std::uint64_t bytes = 0, promised = 0;
  std::exception_ptr thrown = nullptr;

  template <class Work> bool without_throwing(const Work& work) {
    try {
      work();
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }
};

void check_size(const FetchOptions& o, std::uint64_t bytes) {
  if (bytes > o.max_bytes)
    throw IoError(IoError::Kind::malformed, str("cannot download ", o.url),
                  str("it has more than the ", o.max_bytes, " bytes that are allowed"),
                  "check the address, or set FetchOptions::max_bytes");
}

// Checks the size as soon as the server reports it, so that a full disk is detected before the download.
void check_promise(Download& download, std::uint64_t of) {
  if (of == 0 || std::exchange(download.promised, of) == of) return;
  const FetchOptions& o = download.options;
  check_size(o, of);
  const std::optional<std::uint64_t> free = io::free_bytes(o.folder);
  if (free && of > *free + download.bytes)
    throw IoError(IoError::Kind::unwritable, str("cannot download ", o.url),
                  str("it has ", of, " bytes, and the disk of ", o.folder, " has room for ", *free),
                  "free some space there, or download into a folder of another disk");
}

std::size_t on_bytes(char* data, std::size_t, std::size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const bool fine = download.without_throwing([&] {
    download.bytes += count;
    check_size(download.options, download.bytes);
    download.hash.update(data, count);
    download.file.write(data, count);
  });
  return fine ? count : 0;
}

int on_news(void* user, curl_off_t of, curl_off_t bytes, curl_off_t, curl_off_t) {
  auto& download = *static_cast<Download*>(user);
  const auto count = [](curl_off_t x) { return static_cast<std::uint64_t>(std::max<curl_off_t>(x, 0)); };
  return download.without_throwing([&] {
    check_promise(download, count(of));
    if (download.options.on_progress) download.options.on_progress(count(bytes), count(of));
  })
             ? 0
             : 1;
}

void download_to(const std::string& path, const FetchOptions& o) {
  const Curl& c = curl_for(o, path);
  const std::unique_ptr<CURL, decltype(c.cleanup)> handle(c.init(), c.cleanup);
  if (!handle)
    throw OutOfMemory(str("cannot download ", o.url), "libcurl got no memory", "close other programs");
  Download download{.options = o, .file = io::AtomicFile(path)};
  char words[CURL_ERROR_SIZE] = "";
  const auto set = [&](CURLoption option, auto value) { c.setopt(handle.get(), option, value); };
  set(CURLOPT_URL, o.url.c_str());
  set(CURLOPT_USERAGENT, "veldt");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_FOLLOWLOCATION, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");  // and no files of this machine
#else
  set(CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  set(CURLOPT_MAXREDIRS, 10L);
  set(CURLOPT_CONNECTTIMEOUT, 30L);
  set(CURLOPT_LOW_SPEED_LIMIT, 1000L);
  set(CURLOPT_LOW_SPEED_TIME, 30L);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(words));
  set(CURLOPT_WRITEFUNCTION, &on_bytes);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&download));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_news);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&download));
  const CURLcode code = c.perform(handle.get());
  if (download.thrown) std::rethrow_exception(download.thrown);
  if (code != CURLE_OK)
    throw IoError(IoError::Kind::missing, str("cannot download ", o.url),
                  str("libcurl says: ", *words ? words : c.strerror(code)),
                  str("try again, or ", by_hand(o, path)));
  if (const std::string found = download.hash.text(); found != o.sha256)
    throw IoError(
        IoError::Kind::malformed, str("cannot use the file from ", o.url),
        str("the SHA-256 of its ", download.bytes, " bytes is ", found, ", and should be ", o.sha256),
        "it was changed there or on its way: check the address and the hash");
  download.file.commit();
}
#else
void download_to(const std::string& path, const FetchOptions& o) {
  throw Error(str("this Veldt cannot download ", o.url), "it was built without libcurl", by_hand(o, path));
}
#endif

}  // namespace

std::string fetch(const FetchOptions& options) {
  check(options);
  const std::string path = (std::filesystem::path(options.folder) / options.name).string();
  io::sweep_leftovers(path);
  if (io::exists(path) && sha256_of_file(path, options.on_check) == options.sha256) return path;
  io::make_directories(options.folder);
  download_to(path, options);
  return path;
}

}  // namespace veldt::data
