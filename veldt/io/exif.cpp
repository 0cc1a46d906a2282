// Finds the orientation in a block of EXIF that may be damaged, and turns a picture by it.
#include "veldt/io/exif.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

// Numbers of a TIFF, of either byte order; those beyond its end are 0.
class Tiff {
 public:
  explicit Tiff(std::span<const unsigned char> bytes)
      : bytes_(bytes), big_endian_(bytes.size() > 1 && bytes[0] == 'M') {}

  std::uint32_t number(std::uint64_t at, int bytes) const {
    std::uint32_t value = 0;
    if (at > bytes_.size() || static_cast<std::uint64_t>(bytes) > bytes_.size() - at) return 0;
    for (int i = 0; i < bytes; ++i) {
      const auto byte = static_cast<std::uint64_t>(big_endian_ ? i : bytes - 1 - i);
      value = (value << 8) | bytes_[at + byte];
    }
    return value;
  }
  bool is_tiff() const {
    return bytes_.size() >= 8 && bytes_[0] == bytes_[1] && (bytes_[0] == 'I' || bytes_[0] == 'M') &&
           number(2, 2) == 42;
  }

 private:
  std::span<const unsigned char> bytes_;
  bool big_endian_;
};

}  // namespace

int exif_orientation(std::span<const unsigned char> segment) {
  constexpr char kExif[6] = {'E', 'x', 'i', 'f', 0, 0};
  if (segment.size() < sizeof kExif || std::memcmp(segment.data(), kExif, sizeof kExif) != 0) return 1;
  const Tiff tiff(segment.subspan(sizeof kExif));
  if (!tiff.is_tiff()) return 1;
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  const std::uint64_t directory = tiff.number(4, 4);
  const std::uint32_t entries = tiff.number(directory, 2);  // at most 65,535
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::uint64_t entry = directory + 2 + std::uint64_t{12} * i;
    if (tiff.number(entry, 2) != kOrientation) continue;
    const std::uint32_t value = tiff.number(entry + 8, 2);
    const bool valid = tiff.number(entry + 2, 2) == kShort && tiff.number(entry + 4, 4) == 1;
    return valid && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Tensor oriented(const Tensor& image, int orientation) {
  if (orientation <= 1) return image;
  const std::int64_t h = image.size(0), w = image.size(1), channels = image.size(2);
  const bool swapped = swaps_sides(orientation);
  const bool rows_flipped = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool columns_flipped = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const Tensor seen = empty({swapped ? w : h, swapped ? h : w, channels}, image.dtype());
  by_sample(image, [&]<class Sample>(const Sample* from, Sample) {
    Sample* to = seen.data<Sample>();
    for (std::int64_t y = 0; y < seen.size(0); ++y)
      for (std::int64_t x = 0; x < seen.size(1); ++x) {
        const std::int64_t row = swapped ? x : y, column = swapped ? y : x;
        const std::int64_t at =
            (rows_flipped ? h - 1 - row : row) * w + (columns_flipped ? w - 1 - column : column);
        to = std::copy_n(from + at * channels, channels, to);
      }
  });
  return seen;
}

}  // namespace veldt::io
