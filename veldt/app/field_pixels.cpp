// Draws a field as RGB bytes.
#include "veldt/app/field_pixels.h"

#include <algorithm>
#include <cmath>

#include "veldt/tensor/graph.h"

namespace veldt::app {

std::vector<std::uint8_t> rgb_pixels(const field::Field& field, Size size, const field::RenderOptions& how) {
  NoGrad off;
  std::vector<std::uint8_t> out;
  out.reserve(static_cast<std::size_t>(3 * size.width * size.height));
  const std::int64_t channels = field.options().channels;
  field.render_bands(size, how, [&](const Tensor& rows, std::int64_t) {
    const float* from = rows.data<float>();
    for (std::int64_t i = 0; i < rows.size(0) * rows.size(1); ++i, from += channels) {
      const float alpha = channels % 2 == 0 ? std::clamp(from[channels - 1], 0.0f, 1.0f) : 1;
      for (std::int64_t c = 0; c < 3; ++c) {
        const float level = from[channels > 2 ? c : 0], lit = std::clamp(level, 0.0f, 1.0f) * alpha;
        // A network that has diverged draws black.
        out.push_back(std::isfinite(lit) ? static_cast<std::uint8_t>(lit * 255 + 0.5f) : 0);
      }
    }
    return true;
  });
  return out;
}

Size fitted_into(Size box, std::int64_t width, std::int64_t height) {
  const double scale = std::min(static_cast<double>(box.width) / static_cast<double>(width),
                                static_cast<double>(box.height) / static_cast<double>(height));
  const auto side = [scale](std::int64_t pixels, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(scale * static_cast<double>(pixels)), 1, most);
  };
  return {side(width, box.width), side(height, box.height)};
}

}  // namespace veldt::app
