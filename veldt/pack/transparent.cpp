// Means of squares from fine to coarse, and back to the pixels that have none.
#include "veldt/pack/transparent.h"

#include <algorithm>

namespace veldt::pack {
namespace {

// A level: the mean of what is seen below each place, and whether there is any.
struct Means {
  Size size;
  std::vector<float> rgb;
  std::vector<std::uint8_t> seen;
};

Means halved(const Means& fine) {
  Means out{{(fine.size.width + 1) / 2, (fine.size.height + 1) / 2}, {}, {}};
  const auto count = static_cast<std::size_t>(out.size.width * out.size.height);
  out.rgb.assign(3 * count, 0);
  out.seen.assign(count, 0);
  for (std::int64_t y = 0; y < fine.size.height; ++y)
    for (std::int64_t x = 0; x < fine.size.width; ++x) {
      const auto from = static_cast<std::size_t>(y * fine.size.width + x),
                 to = static_cast<std::size_t>(y / 2 * out.size.width + x / 2);
      if (fine.seen[from] == 0) continue;
      ++out.seen[to];
      for (std::size_t c = 0; c < 3; ++c) out.rgb[3 * to + c] += fine.rgb[3 * from + c];
    }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < 3; ++c) out.rgb[3 * i + c] /= std::max<float>(out.seen[i], 1);
  return out;
}

// Places without a mean get the one above them.
void fill_from(Means& fine, const Means& coarse) {
  for (std::int64_t y = 0; y < fine.size.height; ++y)
    for (std::int64_t x = 0; x < fine.size.width; ++x) {
      const auto to = static_cast<std::size_t>(y * fine.size.width + x),
                 from = static_cast<std::size_t>(y / 2 * coarse.size.width + x / 2);
      if (fine.seen[to] == 0) std::copy_n(coarse.rgb.begin() + 3 * from, 3, fine.rgb.begin() + 3 * to);
    }
}

}  // namespace

std::vector<std::uint8_t> clear_filled(std::vector<std::uint8_t> rgb, std::span<const std::uint8_t> alpha,
                                       Size size) {
  std::vector<Means> levels{{size, {rgb.begin(), rgb.end()}, {alpha.begin(), alpha.end()}}};
  for (std::uint8_t& seen : levels[0].seen) seen = seen > 0 ? 1 : 0;
  while (levels.back().size.width > 1 || levels.back().size.height > 1) {
    if (std::find(levels.back().seen.begin(), levels.back().seen.end(), 0) == levels.back().seen.end()) break;
    levels.push_back(halved(levels.back()));
  }
  for (std::size_t l = levels.size() - 1; l > 0; --l) fill_from(levels[l - 1], levels[l]);
  for (std::size_t i = 0; i < alpha.size(); ++i)
    for (std::size_t c = 0; alpha[i] == 0 && c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>(levels[0].rgb[3 * i + c] + 0.5f);
  return rgb;
}

}  // namespace veldt::pack
