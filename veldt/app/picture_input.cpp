#include "veldt/app/picture_input.h"

#include "veldt/io/image.h"
#include "veldt/io/pixel_csv.h"

namespace veldt::app {

Tensor read_picture(const std::string& path, std::int64_t max_pixels) {
  if (path.ends_with(".csv")) return io::read_pixel_csv(path, {.max_pixels = max_pixels});
  return io::read_image(path, {.max_pixels = max_pixels});
}

}  // namespace veldt::app
