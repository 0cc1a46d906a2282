// Packed pictures are pictures to every reader, and hostile ones are refused before memory is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/codec/drawing_codec.h"
#include "veldt/codec/packed_file.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::io {
namespace {

using testing::HasSubstr;

std::string packed_levels(const std::vector<std::uint8_t>& levels, Size size, int channels) {
  const std::string body = encode_drawing(codec::drawing_of(levels, size, channels));
  return write_packed(codec::Family::drawing, size, channels, body);
}

TEST(PackedPicture, IsAPictureToEveryReader) {
  const test::TempDir dir;
  std::vector<std::uint8_t> levels;
  for (int i = 0; i < 5 * 4 * 3; ++i) levels.push_back(static_cast<std::uint8_t>(i * 4));
  write_file(dir / "a", packed_levels(levels, {4, 5}, 3));  // by its first bytes, not by its name
  const ImageInfo info = image_info(dir / "a");
  EXPECT_EQ(info.format, ImageFormat::packed);
  EXPECT_EQ(info.width, 4);
  EXPECT_EQ(info.height, 5);
  EXPECT_EQ(info.bit_depth, 8);
  const Tensor kept = read_image(dir / "a", {.keep_bytes = true});
  EXPECT_EQ(kept.shape(), (Shape{5, 4, 3}));
  EXPECT_EQ(kept.values<std::uint8_t>(), levels);
  EXPECT_FLOAT_EQ(read_image(dir / "a").values<float>()[1], 4 / 255.0f);
  EXPECT_TRUE(is_picture_name("photos/b.VP"));
}

TEST(PackedPicture, LosesAnAlphaThatIsOpaqueEverywhere) {
  const test::TempDir dir;
  write_file(dir / "a.vp", packed_levels({10, 255, 30, 255}, {2, 1}, 2));
  EXPECT_EQ(read_image(dir / "a.vp", {.keep_bytes = true}).values<std::uint8_t>(),
            (std::vector<std::uint8_t>{10, 30}));
}

TEST(PackedPicture, DamageIsAnError) {
  const test::TempDir dir;
  const std::string whole = packed_levels(std::vector<std::uint8_t>(100 * 100, 7), {100, 100}, 1);
  const auto refusal = [&](const std::string& bytes) {
    write_file(dir / "a.vp", bytes);
    return test::error_of<IoError>([&] { read_image(dir / "a.vp", {.max_pixels = 10000}); });
  };
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 1)), HasSubstr("ends too early"));
  EXPECT_THAT(refusal(whole.substr(0, 5)), HasSubstr("ends in its header"));
  std::string other = whole;
  other[whole.size() - 6] ^= 1;
  EXPECT_THAT(refusal(other), HasSubstr("digest"));
  EXPECT_THAT(refusal(write_packed(codec::Family::photograph, {1 << 16, 1 << 15}, 3, "")),
              HasSubstr("2147483648 pixels"));
}

}  // namespace
}  // namespace veldt::io
