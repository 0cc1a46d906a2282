#include "veldt/io/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/io/faults.h"

namespace veldt::io {
namespace {

using nlohmann::json;
using test::io_error_of;
using test::says;

TEST(ParseJson, ReadsWhatIsWithinItsLimits) {
  EXPECT_EQ(parse_json<json>(R"({"a":[1,{"b":"]]]\"[[["}]})", 3).at("a")[1].at("b"), "]]]\"[[[");
  EXPECT_EQ(parse_json<nlohmann::ordered_json>(R"({"b":1,"a":2})").begin().key(), "b");
  EXPECT_EQ(parse_json<json>(std::string(16, '[') + std::string(16, ']')).size(), 1u);
}

TEST(ParseJson, RefusesTheRestAtOnce) {
  const std::pair<std::string, const char*> cases[] = {
      {std::string(400'000, '['), "more than 16 levels"},
      {std::string(17, '[') + std::string(17, ']'), "more than 16 levels"},
      {R"(["\\",)" + std::string(16, '{'), "more than 16 levels"},
      {std::string(40'000'000, '['), "40000000 bytes"},
      {"", "not JSON"},
      {"{a}", "not JSON"},
      {"[1] ]", "not JSON"},
      {"\"\xff\"", "UTF-8"}};
  for (const auto& [text, why] : cases) {
    const IoError error = io_error_of([&] { parse_json<json>(text); });
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(says(error, why)) << error.what();
  }
}

}  // namespace
}  // namespace veldt::io
