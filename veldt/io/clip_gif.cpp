// Reads all frames of a GIF.
#include <algorithm>
#include <optional>

#include "veldt/io/clip_canvas.h"
#include "veldt/io/gif_file.h"

namespace veldt::io {
namespace {

// A hundredth or less means as fast as browsers will, which is ten frames a second.
double seconds_of(const GifFrame& frame) { return frame.hundredths > 1 ? frame.hundredths / 100.0 : 0; }

AfterFrame after(const GifFrame& frame) {
  return frame.disposal == GifDisposal::cleared    ? AfterFrame::cleared
         : frame.disposal == GifDisposal::restored ? AfterFrame::restored
                                                   : AfterFrame::stays;
}

}  // namespace

Clip read_gif_frames(InputFile& file, const ReadOptions& options) {
  Size size;
  std::int64_t count = 0;
  {
    GifFile gif(file);
    size = {gif.width(), gif.height()};
    for (GifFrame frame; gif.next(frame); ++count) {
      gif.check_size(frame);
      // Some programs leave the canvas without a size.
      size = {std::max(size.width, frame.left + frame.width),
              std::max(size.height, frame.top + frame.height)};
    }
    if (count == 0) gif.fail("there is no picture in it");
  }
  file.seek(0);
  GifFile gif(file);
  ClipCanvas canvas(file, ImageFormat::gif, count, size, options, GifFile::kPixelsAByte);
  std::vector<std::uint8_t> rgba;
  for (GifFrame frame; gif.next(frame);) {
    rgba.resize(static_cast<std::size_t>(4 * frame.width * frame.height));
    gif.read_rows(frame, [&](std::int64_t y, const std::uint8_t* numbers) {
      std::uint8_t* to = rgba.data() + 4 * y * frame.width;
      for (std::int64_t x = 0; x < frame.width; ++x, to += 4) {
        std::copy_n(frame.palette.rgb.data() + 3 * std::size_t{numbers[x]}, 3, to);
        to[3] = numbers[x] == frame.transparent ? 0 : 255;
      }
    });
    canvas.add({frame.left, frame.top, frame.width, frame.height, after(frame), true, seconds_of(frame)},
               rgba.data());
  }
  return canvas.clip();
}

}  // namespace veldt::io
