// Base64: the vectors of RFC 4648, and texts that are none.
#include "veldt/core/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace veldt {
namespace {

TEST(Base64, VectorsOfTheRfcGoBothWays) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, EveryByteSurvives) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
}

TEST(Base64, OtherTextsAreRefused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg==Zg==", "====", "=Zg=", "Zm9\n", "Zm9-", "Zm9v\xff\xff\xff\xff"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace veldt
