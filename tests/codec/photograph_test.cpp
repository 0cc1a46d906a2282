// A packed photograph's body: what comes back, parts of it, a cut file, and bodies that are none.
#include "veldt/codec/photograph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/codec/some_networks.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/synthesis.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"

namespace veldt::codec {
namespace {

struct Packed {
  Size size;
  Pyramid pyramid;
  Networks<std::int32_t> networks;
  std::string body;
};

Packed packed(Size size, int tile_log2) {
  Packed p{size, some_latents(size, 11), {}, {}};
  Networks<std::int32_t> near = base_networks(0);
  for (std::size_t i = 0; i < kNumbers; i += 7) near.numbers()[i] += 40;
  Shifts shifts;
  shifts.fill(3);
  p.networks = rounded(base_networks(0), near, shifts);
  p.body = write_photograph(p.pyramid, p.networks, shifts, {0, tile_log2, kSomeAxes});
  return p;
}

TEST(PackedPhotograph, ComesBackWholeAndInParts) {
  for (const int tile_log2 : {4, 5, 9}) {
    const Packed p = packed({101, 75}, tile_log2);
    const PhotographReader reader(p.body, p.size, "a.vp", false);
    EXPECT_EQ(reader.share(), 1);
    const std::vector<std::uint8_t> whole = reader.pixels({0, 0, 101, 75});
    ASSERT_EQ(whole, synthesise(p.pyramid, {0, 0, 101, 75}, p.networks.synthesis, kSomeAxes)) << tile_log2;
    for (const Region part :
         {Region{0, 0, 1, 1}, Region{100, 74, 101, 75}, Region{15, 16, 17, 49}, Region{40, 20, 90, 22}}) {
      const std::vector<std::uint8_t> bytes = reader.pixels(part);
      for (std::int64_t y = part.y0; y < part.y1; ++y)
        for (std::int64_t i = 0; i < 3 * part.width(); ++i)
          ASSERT_EQ(bytes[static_cast<std::size_t>((y - part.y0) * part.width() * 3 + i)],
                    whole[static_cast<std::size_t>((y * 101 + part.x0) * 3 + i)])
              << tile_log2;
    }
  }
}

TEST(PackedPhotograph, PartsOfALongPictureAreRightToo) {
  const Packed p = packed({2000, 20}, 4);  // two tiles of the coarsest level
  const PhotographReader reader(p.body, p.size, "a.vp", false);
  const std::vector<std::uint8_t> whole = reader.pixels({0, 0, 2000, 20});
  ASSERT_EQ(whole, synthesise(p.pyramid, {0, 0, 2000, 20}, p.networks.synthesis, kSomeAxes));
  for (const std::int64_t x : {0, 1000, 1999}) {
    const std::vector<std::uint8_t> bytes = reader.pixels({x, 3, x + 1, 5});
    for (std::size_t i = 0; i < 6; ++i)
      ASSERT_EQ(
          bytes[i],
          whole[static_cast<std::size_t>(((3 + static_cast<std::int64_t>(i) / 3) * 2000 + x) * 3) + i % 3])
          << x;
  }
}

TEST(PackedPhotograph, APartDecodesFewTiles) {
  const Packed p = packed({600, 500}, 5);
  const PhotographReader reader(p.body, p.size, "a.vp", false);
  const Pyramid some = reader.latents({300, 300, 301, 301});
  EXPECT_LE(some[0].region().width() * some[0].region().height(), 2 * 2 * 32 * 32);
  EXPECT_LE(some[1].region().width() * some[1].region().height(), 3 * 3 * 32 * 32);
}

TEST(PackedPhotograph, IsTheSameOnAnyNumberOfThreads) {
  const Packed p = packed({300, 200}, 5);
  const int before = num_threads();
  std::vector<std::uint8_t> pixels[2];
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Shifts shifts;
    shifts.fill(3);
    EXPECT_EQ(write_photograph(p.pyramid, p.networks, shifts, {0, 5, kSomeAxes}), p.body);
    pixels[threads / 2] = PhotographReader(p.body, p.size, "a.vp", false).pixels({0, 0, 300, 200});
  }
  set_num_threads(before);
  EXPECT_EQ(pixels[0], pixels[1]);
}

TEST(PackedPhotograph, ACutBodyIsBlurredAndNotWrong) {
  const Packed p = packed({128, 128}, 5);
  const std::vector<std::uint8_t> whole =
      PhotographReader(p.body, p.size, "a.vp", false).pixels({0, 0, 128, 128});
  double last = 1e9, there = 0;
  for (const double share : {0.55, 0.8, 1.0}) {
    const std::string cut =
        p.body.substr(0, static_cast<std::size_t>(share * static_cast<double>(p.body.size())));
    if (share < 1) {
      EXPECT_THROW(PhotographReader(cut, p.size, "a.vp", false), IoError);
    }
    const PhotographReader reader(cut, p.size, "a.vp", true);
    const std::vector<std::uint8_t> pixels = reader.pixels({0, 0, 128, 128});
    double error = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) error += std::abs(pixels[i] - whole[i]);
    EXPECT_LT(error, last);
    last = error;
    EXPECT_GT(reader.share(), there);
    there = reader.share();
  }
  EXPECT_EQ(last, 0);
}

TEST(PackedPhotograph, APieceThatIsCutIsRightAsFarAsItGoes) {
  const Packed p = packed({96, 128}, 9);  // a piece a level; the last holds most of the bytes
  const std::vector<std::uint8_t> whole =
      PhotographReader(p.body, p.size, "a.vp", false).pixels({0, 0, 96, 128});
  const auto right = [&](double share) {
    const auto bytes = static_cast<std::size_t>(share * static_cast<double>(p.body.size()));
    const std::vector<std::uint8_t> cut =
        PhotographReader(p.body.substr(0, bytes), p.size, "a.vp", true).pixels({0, 0, 96, 128});
    return (std::mismatch(whole.begin(), whole.end(), cut.begin()).first - whole.begin()) / (3 * 96);
  };
  std::int64_t last = 0;
  for (const double share : {0.5, 0.6, 0.7, 0.8, 0.9}) {
    const std::int64_t rows = right(share);  // that are right, from the top
    EXPECT_GT(rows, last + 5) << share;
    EXPECT_LT(rows, 128);
    last = rows;
  }
  EXPECT_GT(last, 90);
}

std::string why_not(const std::string& body, Size size) {
  try {
    PhotographReader(body, size, "a.vp", false);
  } catch (const IoError& e) {
    EXPECT_EQ(e.kind(), IoError::Kind::malformed);
    return e.why();
  }
  return "";
}

TEST(PackedPhotograph, SaysWhatIsWrong) {
  const Packed p = packed({40, 40}, 4);
  EXPECT_EQ(why_not("", p.size), "it ends before its networks");
  EXPECT_EQ(why_not(std::string(12, 0), p.size), "it ends before its networks");
  EXPECT_EQ(why_not(std::string("\x0f") + std::string(12, 0), p.size),
            str("it begins with networks 15, and this Veldt has ", kBaseNetworks));
  EXPECT_EQ(why_not(std::string(13, 0) + "\x05", p.size), "it ends before its networks do");
  EXPECT_EQ(why_not(std::string(14, 0) + "\x01", p.size), "it ends before the lengths of its 18 pieces do");
  EXPECT_EQ(why_not(p.body.substr(0, p.body.size() - 1), p.size), "it ends in piece 18 of 18");
  EXPECT_EQ(why_not(p.body, {1 << 14, 1 << 14}),
            str("it is ", p.body.size(), " bytes, and a picture of its size takes 4096 or more"));
  EXPECT_EQ(why_not(p.body + "xy", p.size), "it has 2 bytes more than its pieces");
}

// They belong to the format: where they change, kVersion of packed_file.cpp has to change too.
TEST(BaseNetworks, AreThoseOfTheFormat) {
  std::vector<std::uint32_t> digests;
  for (int i = 0; i < kBaseNetworks; ++i) {
    std::uint32_t digest = 2166136261u;  // FNV-1a
    for (const std::int32_t n : base_networks(i).numbers())
      for (int byte = 0; byte < 4; ++byte)
        digest = (digest ^ (static_cast<std::uint32_t>(n) >> (8 * byte) & 0xff)) * 16777619u;
    digests.push_back(digest);
  }
  EXPECT_EQ(digests,
            (std::vector<std::uint32_t>{4034833961u, 4008641701u, 1358410535u, 24530813u, 594430248u}));
}

}  // namespace
}  // namespace veldt::codec
