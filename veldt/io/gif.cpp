// Reads the first frame of a GIF, placed on its canvas.
#include <algorithm>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/gif_file.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

class GifDecoder final : public ImageDecoder {
 public:
  explicit GifDecoder(InputFile& file) : file_(file), gif_(file) {
    info_ = {.format = ImageFormat::gif};
    if (!gif_.next(first_)) gif_.fail("there is no picture in it");
    // Some programs leave the canvas without a size.
    info_.width = std::max(gif_.width(), first_.left + first_.width);
    info_.height = std::max(gif_.height(), first_.top + first_.height);
    info_.palette = true;
    info_.bit_depth = first_.palette.bits;
    info_.interlaced = first_.interlaced;
    const bool covered = first_.width == info_.width && first_.height == info_.height;
    info_.channels = (first_.palette.is_grey() ? 1 : 3) + (first_.transparent >= 0 || !covered ? 1 : 0);
    count_frames();
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  void count_frames();
  std::vector<std::uint8_t> colours() const;

  InputFile& file_;
  GifFile gif_;
  GifFrame first_;
  ImageInfo info_;
};

// Counts complete frames. Damage after the first one does not matter, because only that is read.
void GifDecoder::count_frames() try {
  for (GifFrame frame; gif_.next(frame);) ++info_.pictures;
} catch (const IoError& error) {
  if (error.kind() != IoError::Kind::malformed) throw;
}

// The palette, `channels` values a colour.
std::vector<std::uint8_t> GifDecoder::colours() const {
  std::vector<std::uint8_t> levels;
  for (std::size_t i = 0; i < first_.palette.rgb.size(); i += 3) {
    const auto* rgb = first_.palette.rgb.data() + i;
    levels.insert(levels.end(), rgb, rgb + (info_.channels > 2 ? 3 : 1));
    if (info_.channels % 2 == 0) levels.push_back(static_cast<int>(i / 3) == first_.transparent ? 0 : 255);
  }
  return levels;
}

// Outside the frame the canvas is transparent.
Tensor GifDecoder::read() {
  gif_.check_size(first_);
  check_canvas(file_, info_, GifFile::kPixelsAByte);
  const std::int64_t channels = info_.channels;
  const std::vector<std::uint8_t> levels = colours();
  const Tensor image = empty({info_.height, info_.width, channels}, DType::u8);
  std::fill_n(image.data<std::uint8_t>(), image.numel(), std::uint8_t{0});
  gif_.read_rows(first_, [&](std::int64_t y, const std::uint8_t* numbers) {
    std::uint8_t* to = image.data<std::uint8_t>() + ((first_.top + y) * info_.width + first_.left) * channels;
    for (std::int64_t x = 0; x < first_.width; ++x)
      to = std::copy_n(levels.data() + numbers[x] * channels, channels, to);
  });
  return image;
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_gif(InputFile& file) { return std::make_unique<GifDecoder>(file); }

}  // namespace veldt::io
