// JSON within its limits of depth and length, and beyond them.
#include "veldt/io/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/io/faults.h"

namespace veldt::io {
namespace {

using nlohmann::json;
using test::says;
using test::thrown_by;

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
  for (const auto& item : cases) {  // clang 14 does not let a lambda take names of a structured binding
    const IoError error = thrown_by<IoError>([&] { parse_json<json>(item.first); });
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(says(error, item.second)) << error.what();
  }
}

TEST(WholeNumber, IsOneOfItsType) {
  const auto is = [](const char* text) { return whole_number<std::int64_t>(json::parse(text)); };
  EXPECT_EQ(is("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(is("7"), 7);
  for (const char* text : {"9223372036854775808", "1.5", "7.0", "1e300", "true", "null", "\"7\"", "[7]"})
    EXPECT_EQ(is(text), std::nullopt) << text;
  EXPECT_EQ(whole_number<int>(json::parse("2147483648")), std::nullopt);
  EXPECT_EQ(whole_number<std::uint64_t>(json::parse("18446744073709551615")),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(whole_number<std::uint64_t>(json::parse("-1")), std::nullopt);
}

}  // namespace
}  // namespace veldt::io
