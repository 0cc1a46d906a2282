// Downloads from a real server, well-mannered and not.
#include "veldt/data/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/http_server.h"
#include "tests/support/python.h"
#include "veldt/core/error.h"
#include "veldt/data/sha256.h"

namespace veldt::data {
namespace {

using test::bytes_of;
using test::error_of;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using testing::HasSubstr;
using Kind = IoError::Kind;

std::string lions() {
  std::string text;
  for (int i = 0; i < 75'000; ++i) text += "lion";
  return text;
}
// By sha256sum.
constexpr const char* kLions = "32719a9cea31419eb08cb8e3c6ce1edfc146861ca3ff3c9b47929682b7e1f300";
constexpr const char* kOther = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::python_has("http.server")) GTEST_SKIP() << "no Python";
    try {
      Sha256 built;
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    ASSERT_TRUE(test::HttpServer::running().is_up());
  }
  FetchOptions options(const std::string& path, const char* hash = kLions) const {
    return {
        .url = test::HttpServer::running().at(path), .sha256 = hash, .name = "lions.txt", .folder = folder};
  }
  // Nothing may be left of it, not even in part.
  void expect_no_file() const { EXPECT_EQ(test::count_entries(folder), 0u); }

  TempDir dir = TempDir::in_memory();
  std::string folder = dir / "cache/veldt";
};

TEST_F(Fetch, BringsAFileIntoItsFolderOnce) {
  std::uint64_t last = 0, of = 0;
  FetchOptions asked = options("/lions");
  asked.on_progress = [&](std::uint64_t bytes, std::uint64_t all) { last = bytes, of = all; };
  EXPECT_EQ(fetch(asked), folder + "/lions.txt");
  EXPECT_EQ(bytes_of(folder + "/lions.txt"), lions());
  EXPECT_EQ(test::count_entries(folder), 1u);
  EXPECT_EQ(last, 300'000u);
  EXPECT_EQ(of, 300'000u);
  // It is not asked for again,
  FetchOptions gone = options("/nothing");
  gone.on_check = [&](std::uint64_t bytes, std::uint64_t all) { last = bytes, of = all + 1; };
  put_bytes(folder + "/lions.txt.tmp-4711", "what a killed process has left");
  EXPECT_EQ(fetch(gone), folder + "/lions.txt");
  EXPECT_EQ(test::count_entries(folder), 1u);
  EXPECT_EQ(last, 300'000u);
  EXPECT_EQ(of, 300'001u);
  gone.on_check = [](std::uint64_t, std::uint64_t) {
    throw ConfigError("enough", "it is planted", "ask for more");
  };
  EXPECT_THAT(error_of<ConfigError>([&] { fetch(gone); }), HasSubstr("enough"));
  gone.on_check = {};
  // unless the file has changed.
  put_bytes(folder + "/lions.txt", "cub");
  EXPECT_THROW(fetch(gone), IoError);
  EXPECT_EQ(bytes_of(folder + "/lions.txt"), "cub");
  fetch(options("/moved"));
  EXPECT_EQ(bytes_of(folder + "/lions.txt"), lions());
}

TEST_F(Fetch, RefusesAnotherHashAndNamesBoth) {
  const IoError error = thrown_by<IoError>([&] { fetch(options("/lions", kOther)); });
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, kLions) && says(error, kOther) && says(error, "300000 bytes")) << error.what();
  expect_no_file();
  fetch(options("/empty", kOther));  // of no bytes
  EXPECT_EQ(bytes_of(folder + "/lions.txt"), "");
}

TEST_F(Fetch, LeavesNothingOfWhatDidNotComeWhole) {
  for (const auto& [path, words] :
       {std::pair("/torn", "299000 bytes "), std::pair("/none", "404"), std::pair("/round", "10")}) {
    const IoError error = thrown_by<IoError>([&, path = path] { fetch(options(path)); });
    EXPECT_EQ(error.kind(), Kind::missing);
    EXPECT_TRUE(says(error, words) && says(error, "by other means to " + folder + "/lions.txt") &&
                says(error, kLions))
        << error.what();
    expect_no_file();
  }
}

TEST_F(Fetch, SaysThatNobodyAnswers) {
  FetchOptions asked = options("/");
  asked.url = "http://127.0.0.1:1/lions";
  EXPECT_TRUE(says(thrown_by<IoError>([&] { fetch(asked); }), "connect"));
  expect_no_file();
}

TEST_F(Fetch, StopsAtALimitAndWhenToldTo) {
  FetchOptions asked = options("/endless");
  asked.max_bytes = 1'000'000;
  const IoError error = thrown_by<IoError>([&] { fetch(asked); });
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "more than the 1000000 bytes")) << error.what();
  asked.max_bytes = UINT64_MAX;
  asked.on_progress = [](std::uint64_t bytes, std::uint64_t of) {
    EXPECT_EQ(of, 0u);
    if (bytes > 2'000'000) throw ConfigError("enough", "it is planted", "ask for more");
  };
  EXPECT_THAT(error_of<ConfigError>([&] { fetch(asked); }), HasSubstr("enough"));
  expect_no_file();
  FetchOptions promised = options("/lions");
  promised.max_bytes = 299'999;
  promised.on_progress = [](std::uint64_t bytes, std::uint64_t) { EXPECT_EQ(bytes, 0u); };
  EXPECT_EQ(thrown_by<IoError>([&] { fetch(promised); }).kind(), Kind::malformed);
  expect_no_file();
}

TEST_F(Fetch, IsLedToTheWebAlone) {
  const IoError error = thrown_by<IoError>([&] { fetch(options("/elsewhere")); });
  EXPECT_EQ(error.kind(), Kind::missing);
  EXPECT_TRUE(says(error, "ftp")) << error.what();
  EXPECT_FALSE(says(error, "connect")) << error.what();
  expect_no_file();
}

TEST_F(Fetch, SurvivesAFullDisk) {
  const test::SmallDisk disk(dir / "disk");
  if (!disk.active()) GTEST_SKIP() << "cannot mount a small disk";
  FetchOptions asked = options("/lions");
  asked.folder = dir / "disk";
  const IoError full = thrown_by<IoError>([&] { fetch(asked); });
  EXPECT_EQ(full.kind(), Kind::unwritable);
  // The reported size is checked before the disk is full, or just after.
  EXPECT_TRUE(says(full, "has 300000 bytes, and the disk") || says(full, "No space left")) << full.what();
  EXPECT_EQ(test::count_entries(asked.folder), 0u);
  asked.url = options("/endless").url;  // which does not say how much will come
  EXPECT_TRUE(says(thrown_by<IoError>([&] { fetch(asked); }), "No space left"));
  EXPECT_EQ(test::count_entries(asked.folder), 0u);
  put_bytes(dir / "file", "");
  asked.folder = dir / "file/within";
  EXPECT_EQ(thrown_by<IoError>([&] { fetch(asked); }).kind(), Kind::unwritable);
  asked.folder = dir / std::string(300, 'a');
  EXPECT_TRUE(says(thrown_by<IoError>([&] { fetch(asked); }), "too long"));
}

TEST_F(Fetch, RefusesWhatIsNoAddressHashOrName) {
  const auto error = [&](auto change) {
    FetchOptions asked = options("/lions");
    change(asked);
    return error_of<ConfigError>([&] { fetch(asked); });
  };
  EXPECT_THAT(error([](FetchOptions& o) { o.url = "file:///etc/passwd"; }), HasSubstr("not a web address"));
  EXPECT_THAT(error([](FetchOptions& o) { o.sha256.pop_back(); }), HasSubstr("64 digits"));
  EXPECT_THAT(error([](FetchOptions& o) { o.sha256[3] = 'x'; }), HasSubstr("64 digits"));
  for (const char* name : {"", ".", "..", "../lions", "/lions"})
    EXPECT_THAT(error([&](FetchOptions& o) { o.name = name; }), HasSubstr("cannot be named"));
  EXPECT_THAT(error([](FetchOptions& o) { o.folder = ""; }), HasSubstr("no folder"));
}

}  // namespace
}  // namespace veldt::data
