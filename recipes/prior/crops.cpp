// Reads the pictures, shrinks them, and cuts crops that chance turns, mirrors and varies.
#include "recipes/prior/crops.h"

#include <algorithm>
#include <filesystem>

#include "veldt/core/error.h"
#include "veldt/data/resample.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::prior {
namespace {

Tensor as_bytes(const Tensor& levels) { return to(floor(clamp(levels, 0, 1) * 255 + 0.5), DType::u8); }

Tensor shrunk(const Tensor& picture, std::int64_t by) {
  return data::resample(picture, {picture.size(1) / by, picture.size(0) / by}, data::Filter::area);
}

double spread(std::span<const float> values) {
  double sum = 0, squares = 0;
  for (const float v : values) sum += double{v}, squares += double{v} * double{v};
  return squares - sum * sum / static_cast<double>(values.size());
}

// Every second time each: inverted, mirrored along either side, and its sides exchanged.
void vary(Rng& rng, std::int64_t size, std::span<float> crop) {
  const std::uint32_t bits = rng.next_u32();
  const auto at = [&](std::int64_t y, std::int64_t x) -> float& {
    return crop[static_cast<std::size_t>(y * size + x)];
  };
  if (bits & 1u)
    for (float& v : crop) v = 1 - v;
  if (bits & 2u)
    for (std::int64_t y = 0; y < size; ++y) std::reverse(&at(y, 0), &at(y, 0) + size);
  if (bits & 4u)
    for (std::int64_t y = 0; y < size / 2; ++y)
      std::swap_ranges(&at(y, 0), &at(y, 0) + size, &at(size - 1 - y, 0));
  if (bits & 8u)
    for (std::int64_t y = 0; y < size; ++y)
      for (std::int64_t x = 0; x < y; ++x) std::swap(at(y, x), at(x, y));
}

const Tensor& one_of(Rng& rng, const std::vector<Tensor>& pictures) {
  return pictures[rng.next_below(pictures.size())];
}

}  // namespace

std::vector<std::string> pictures_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code problem;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, problem);
       !problem && entry != std::filesystem::recursive_directory_iterator(); entry.increment(problem))
    if (io::is_picture_name(entry->path().string())) found.push_back(entry->path().string());
  if (problem || found.empty())
    throw IoError(IoError::Kind::missing, str("there are no pictures in ", folder),
                  problem ? problem.message() : "it holds no file with the name of a picture",
                  "give another folder");
  std::sort(found.begin(), found.end());
  return found;
}

Crops::Crops(const std::vector<std::string>& photographs, const std::vector<std::string>& drawings,
             std::int64_t least) {
  const auto add = [least](std::vector<Tensor>& list, const std::string& path, const Tensor& picture) {
    if (std::min(picture.size(0), picture.size(1)) < least)
      throw ConfigError(str(path, " is too small to learn from"),
                        str("it is ", picture.size(1), " x ", picture.size(0), " pixels, and a crop has ",
                            least, " x ", least),
                        "leave it out");
    list.push_back(as_bytes(picture));
  };
  for (const std::string& path : photographs) {
    const Tensor picture = io::read_image(path);
    add(photographs_, path, picture);
    for (const std::int64_t by : {2, 3, 4, 6})
      if (std::min(picture.size(0), picture.size(1)) >= by * least)
        add(photographs_, path, shrunk(picture, by));
  }
  for (const std::string& path : drawings) add(drawings_, path, io::read_image(path));
}

void Crops::cut(Rng& rng, const Tensor& picture, std::int64_t size, std::span<float> crop) const {
  const std::int64_t width = picture.size(1), channels = picture.size(2);
  const auto top =
      static_cast<std::int64_t>(rng.next_below(static_cast<std::uint64_t>(picture.size(0) - size + 1)));
  const auto left = static_cast<std::int64_t>(rng.next_below(static_cast<std::uint64_t>(width - size + 1)));
  const bool luma = channels >= 3 && rng.next_uniform() < 0.5f;
  const auto channel = static_cast<std::int64_t>(rng.next_below(channels >= 3 ? 3 : 1));
  float* to = crop.data();
  for (std::int64_t y = top; y < top + size; ++y) {
    const std::uint8_t* from = picture.data<std::uint8_t>() + (y * width + left) * channels;
    for (std::int64_t x = 0; x < size; ++x, from += channels) {
      const auto level = [from](std::int64_t c) { return static_cast<float>(from[c]); };
      *to++ = (luma ? 0.299f * level(0) + 0.587f * level(1) + 0.114f * level(2) : level(channel)) / 255;
    }
  }
}

void Crops::draw(Rng& rng, double drawings, std::int64_t size, std::span<float> crop) const {
  if (rng.next_uniform() < static_cast<float>(drawings)) {
    cut(rng, one_of(rng, drawings_), size, crop);
  } else {
    cut(rng, one_of(rng, photographs_), size, crop);
    std::vector<float> other(crop.size());
    cut(rng, one_of(rng, photographs_), size, other);
    if (spread(other) > spread(crop)) std::copy(other.begin(), other.end(), crop.begin());
  }
  vary(rng, size, crop);
}

}  // namespace veldt::prior
