// The file of a packed picture: what comes back, and files that are not one.
#include "veldt/codec/packed_file.h"

#include <gtest/gtest.h>

#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 28;

std::string reason(std::string_view bytes, std::int64_t max_pixels = kMany) {
  try {
    read_packed(bytes, "a.vp", max_pixels);
  } catch (const IoError& e) {
    EXPECT_EQ(e.kind(), IoError::Kind::malformed);
    return e.why();
  }
  return "";
}

TEST(PackedFile, WhatItSaysComesBack) {
  const std::string bytes = write_packed(Family::drawing, {768, 3}, 4, "the body");
  EXPECT_EQ(bytes.size(), 8u + 4 + 1 + 1 + 2 + 1 + 1 + 4);
  const PackedHeader header = read_packed(bytes, "a.vp", kMany);
  EXPECT_EQ(header.family, Family::drawing);
  EXPECT_EQ(header.size.width, 768);
  EXPECT_EQ(header.size.height, 3);
  EXPECT_EQ(header.channels, 4);
  EXPECT_EQ(header.body, "the body");
  EXPECT_TRUE(header.complete);
}

TEST(PackedFile, AFileThatEndsTooEarlyIsNotComplete) {
  const std::string bytes = write_packed(Family::photograph, {7, 9}, 3, "the body");
  for (std::size_t left = 9; left < bytes.size(); ++left) {
    const PackedHeader header = read_packed(std::string_view(bytes).substr(0, left), "a.vp", kMany);
    EXPECT_FALSE(header.complete);
    EXPECT_EQ(header.body, std::string_view("the body").substr(0, left - 9));
  }
  for (std::size_t left = 4; left < 9; ++left)
    EXPECT_EQ(reason(std::string_view(bytes).substr(0, left)), "the file ends in its header");
}

TEST(PackedFile, EveryChangedByteIsSeen) {
  const std::string bytes = write_packed(Family::photograph, {7, 9}, 3, "the body");
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int bit : {1, 128}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ bit);
      if (i == 8) {  // the length of the body: the file seems cut
        if (bit == 128) continue;
      }
      bool refused = false;
      try {
        refused = !read_packed(damaged, "a.vp", kMany).complete;
      } catch (const IoError&) {
        refused = true;
      }
      EXPECT_TRUE(refused) << i << " " << bit;
    }
}

TEST(PackedFile, SaysWhyAnotherFileIsNone) {
  const std::string good = write_packed(Family::photograph, {7, 9}, 3, "body");
  EXPECT_EQ(reason(""), "it does not begin as a packed picture does");
  EXPECT_EQ(reason("\x89PNG\r\n\x1a\n"), "it does not begin as a packed picture does");
  EXPECT_EQ(reason("\x89VPK\x01\x30"), "it is of version 1 of the format, and this Veldt reads version 3");
  EXPECT_EQ(reason("\x89VPK\x03\x3f"), "its family 15 is not known");
  EXPECT_EQ(reason("\x89VPK\x03\x50"), "it says that it has 5 channels; a picture has 1 to 4");
  EXPECT_EQ(reason(write_packed(Family::photograph, {0, 9}, 3, "body")),
            "it says that it is 0 x 9 pixels; a side has 1 to 16777216");
  EXPECT_EQ(reason(write_packed(Family::photograph, {1 << 16, 1 << 15}, 3, "body")),
            "it says that it is 65536 x 32768 pixels, more than the 268435456 that are allowed");
  EXPECT_EQ(reason(good, 62), "it says that it is 7 x 9 pixels, more than the 62 that are allowed");
  EXPECT_EQ(reason(good, 63), "");
  EXPECT_EQ(reason(good + "x"), "it has 1 bytes too many at its end");
  EXPECT_EQ(reason(good.substr(0, 6) + std::string(9, '\xff')), "the file ends in its header");
}

}  // namespace
}  // namespace veldt::codec
