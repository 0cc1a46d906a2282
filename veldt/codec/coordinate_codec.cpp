// Chooses between the ways to write a picture's body, and reads it.
#include "veldt/codec/coordinate_codec.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "veldt/codec/coordinate_models.h"
#include "veldt/codec/coordinate_training.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::codec {
namespace {

// The first byte of a body: how it is written, and for two tones whether they are white and black (kPaper) or
// black and white (kPaper and kNight).
enum class Way : std::uint8_t {
  raw,
  two_tones,
  levels,
  two_tones_network,
  levels_network,
  lossy_tones,
  lossy_levels
};
constexpr unsigned kWays = 7, kWayMask = 7, kPaper = 8, kNight = 16;
// The most products of networks in a picture: half a minute's work.
constexpr double kMostProducts = 0x1p35;

bool has_two_tones(Way way) {
  return way == Way::two_tones || way == Way::two_tones_network || way == Way::lossy_tones;
}
bool is_lossy(Way way) { return way == Way::lossy_tones || way == Way::lossy_levels; }
bool has_network(Way way) {
  return way == Way::two_tones_network || way == Way::levels_network || is_lossy(way);
}

using Tones = std::vector<std::vector<std::uint8_t>>;
using Pixels8 = std::vector<std::uint8_t>;

void check_size(Size size, std::int64_t channels) {
  if (size.width < 1 || size.height < 1 || channels < 1 || channels > 4 ||
      size.width > kMostCoordinatePixels || size.height > kMostCoordinatePixels / size.width)
    throw ConfigError(str("a picture of ", size.width, "x", size.height, " with ", channels,
                          " channels cannot be packed as coordinates"),
                      str("it has 1 to ", kMostCoordinatePixels, " pixels of 1 to 4 channels"),
                      "pack it as a photograph");
}

void check_work(const CoordinateNetwork& network, Size size) {
  const double products =
      static_cast<double>(network.products()) * static_cast<double>(size.width * size.height);
  if (products > kMostProducts)
    throw IoError(IoError::Kind::malformed, "the body of this picture cannot be decoded",
                  str("its network would take ", products, " products, more than 2^35"),
                  "use a file that Veldt wrote");
}

// The two colours of a picture, the one of most of its border first; none if there are more.
Tones tones_of(const Pixels8& pixels, Size size, std::size_t channels) {
  Tones tones;
  std::size_t count[2] = {0, 0};
  const auto wide = static_cast<std::size_t>(size.width), high = static_cast<std::size_t>(size.height);
  for (std::size_t i = 0; i < wide * high; ++i) {
    const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(i * channels);
    std::size_t found = 0;
    while (found < tones.size() && !std::equal(tones[found].begin(), tones[found].end(), begin)) ++found;
    if (found == 2) return {};
    if (found == tones.size()) tones.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(channels));
    const std::size_t x = i % wide, y = i / wide;
    if (x == 0 || y == 0 || x + 1 == wide || y + 1 == high) ++count[found];
  }
  if (tones.size() == 1) tones.push_back(tones[0]);
  if (count[1] > count[0]) std::swap(tones[0], tones[1]);
  return tones;
}

unsigned flags_of(const Tones& tones) {
  const auto is_all = [](const std::vector<std::uint8_t>& tone, std::uint8_t level) {
    return std::all_of(tone.begin(), tone.end(), [level](std::uint8_t l) { return l == level; });
  };
  if (is_all(tones[0], 255) && is_all(tones[1], 0)) return kPaper;
  if (is_all(tones[0], 0) && is_all(tones[1], 255)) return kPaper | kNight;
  return 0;
}

// A picture while it is packed.
struct Work {
  Pixels8 pixels;  // [height, width, channels], or 0 and 1 [height, width]
  Size size;
  std::int64_t channels;
  Tones tones;  // none: there are more colours

  bool two_tones() const { return !tones.empty(); }
  std::int64_t numbers() const { return two_tones() ? 1 : channels; }  // of a pixel
};

std::string body_of(const Work& work, Way way, const CoordinateNetwork* network) {
  RangeEncoder out;
  unsigned flags = 0;
  if (work.two_tones()) {
    flags = flags_of(work.tones);
    if (flags == 0)
      for (const auto& tone : work.tones)
        for (const std::uint8_t level : tone) out.bits(level, 8);
  }
  std::vector<std::int32_t> expected;
  if (network != nullptr) {
    encode(out, *network);
    if (!is_lossy(way)) expected = network->draw(work.size);
  }
  if (!is_lossy(way)) {
    Pixels8 pixels = work.pixels;
    BitCoder coder(out);
    if (work.two_tones())
      code_two_tones(coder, pixels, work.size, expected);
    else
      code_levels(coder, pixels, work.size, work.channels, expected);
  }
  return std::string(1, static_cast<char>(static_cast<unsigned>(way) | flags)) + out.finish();
}

CoordinateNetwork trained(const Work& work, const CoordinateTraining& how, FunctionRef<bool(double)> heard) {
  return train_coordinates(work.pixels, work.size, work.numbers(), work.two_tones(), how, heard);
}

// Exact: without a network, and with it if that is wanted or may be smaller.
std::string pack_exactly(const Work& work, const CoordinateOptions& options,
                         FunctionRef<bool(double)> heard) {
  const bool tones = work.two_tones();
  std::string best = body_of(work, tones ? Way::two_tones : Way::levels, nullptr);
  if (!work.two_tones() && best.size() > work.pixels.size())
    best = std::string(1, static_cast<char>(Way::raw)) + std::string(work.pixels.begin(), work.pixels.end());
  if (options.network == WithNetwork::never) return best;
  // A network is worth it if it says more than it costs, which a small one does at best.
  const std::int64_t width = options.network == WithNetwork::always ? 20 : 12;
  const CoordinateNetwork network =
      trained(work, {.widths = {width, width}, .steps = options.steps, .seed = options.seed}, heard);
  std::string with = body_of(work, tones ? Way::two_tones_network : Way::levels_network, &network);
  if (options.network == WithNetwork::always || with.size() < best.size()) return with;
  return best;
}

std::int64_t weights_of(std::int64_t width, std::int64_t hidden, std::int64_t channels) {
  return 3 * width + (hidden - 1) * width * (width + 1) + (width + 1) * channels;
}

// A network alone: as many weights as fit, by what those of a first try took.
std::string pack_closely(const Work& work, const CoordinateOptions& options,
                         FunctionRef<bool(double)> heard) {
  const std::int64_t limit = *options.max_bytes, hidden = limit < 1500 ? 2 : 3;
  const Way way = work.two_tones() ? Way::lossy_tones : Way::lossy_levels;
  std::string best;
  double bits_a_weight = 6.5;
  std::int64_t before = 0, least = kMostWidth + 1;
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::int64_t width = 1;
    while (width < std::min(kMostWidth, least - 1) &&
           static_cast<double>(weights_of(width + 1, hidden, work.numbers())) * bits_a_weight + 100 <
               8.0 * static_cast<double>(limit))
      ++width;
    if (width == before) break;
    before = width;
    const CoordinateTraining how{.widths = std::vector<std::int64_t>(static_cast<std::size_t>(hidden), width),
                                 .steps = options.steps,
                                 .seed = options.seed};
    const CoordinateNetwork network =
        trained(work, how, [&](double part) { return heard((attempt + part) / kTries); });
    std::string body = body_of(work, way, &network);
    bits_a_weight = 8.0 * static_cast<double>(body.size()) /
                    static_cast<double>(weights_of(width, hidden, work.numbers()));
    const bool fits = std::ssize(body) <= limit;
    if (!fits) least = std::min(least, width);
    if (fits && body.size() > best.size()) best = std::move(body);
    if (fits && std::ssize(best) * 100 > limit * 93) break;
  }
  if (best.empty())
    throw ConfigError(str("this picture cannot be packed into ", limit, " bytes"),
                      "the smallest network takes more", "allow some 100 bytes or more");
  return best;
}

}  // namespace

std::string pack_coordinates(const Tensor& picture, const CoordinateOptions& options,
                             FunctionRef<bool(double)> heard) {
  if (picture.rank() != 3 || picture.dtype() != DType::u8)
    throw ShapeError(str("cannot pack a tensor of shape ", picture.shape()),
                     "a picture is u8 [height, width, channels]", "read it with keep_bytes");
  const Size size{picture.size(1), picture.size(0)};
  check_size(size, picture.size(2));
  const Tensor host = contiguous(picture);
  const std::span<const std::uint8_t> levels(host.data<std::uint8_t>(),
                                             static_cast<std::size_t>(host.numel()));
  Work work{{levels.begin(), levels.end()}, size, picture.size(2), {}};
  const auto channels = static_cast<std::size_t>(work.channels);
  work.tones = tones_of(work.pixels, size, channels);
  if (work.two_tones()) {
    Pixels8 bits(work.pixels.size() / channels);
    for (std::size_t i = 0; i < bits.size(); ++i)
      bits[i] = std::equal(work.tones[0].begin(), work.tones[0].end(),
                           work.pixels.begin() + static_cast<std::ptrdiff_t>(i * channels))
                    ? 0
                    : 1;
    work.pixels = std::move(bits);
  }
  return options.max_bytes ? pack_closely(work, options, heard) : pack_exactly(work, options, heard);
}

CoordinatePicture read_coordinates(std::string_view body, Size size, std::int64_t channels) {
  check_size(size, channels);
  const unsigned head = body.empty() ? 255 : static_cast<unsigned char>(body[0]);
  const auto way = static_cast<Way>(head & kWayMask);
  const bool tones_said = (head & kPaper) != 0;
  if ((head & kWayMask) >= kWays || head >= 2 * kNight || (tones_said && !has_two_tones(way)) ||
      (!tones_said && (head & kNight) != 0))
    throw IoError(IoError::Kind::malformed, "the body of this picture cannot be decoded",
                  body.empty() ? str("it is empty") : str("it begins with ", head, ", which means nothing"),
                  "use a file that Veldt wrote, or a newer Veldt");
  CoordinatePicture out;
  out.is_exact = !is_lossy(way);
  const auto pixels = static_cast<std::size_t>(size.width * size.height),
             numbers = pixels * static_cast<std::size_t>(channels);
  if (way == Way::raw && body.size() != numbers + 1)
    throw IoError(IoError::Kind::malformed, "the body of this picture cannot be decoded",
                  str("it has ", body.size() - 1, " levels, and not ", numbers), "copy the file again");
  RangeDecoder in(body.substr(1));
  if (has_two_tones(way)) {
    out.tones.assign(2, std::vector<std::uint8_t>(static_cast<std::size_t>(channels)));
    for (std::size_t i = 0; i < 2; ++i)
      for (std::uint8_t& level : out.tones[i])
        level = tones_said ? ((i == 0) == ((head & kNight) == 0) ? 255 : 0)
                           : static_cast<std::uint8_t>(in.bits(8));
  }
  std::vector<std::int32_t> expected;
  if (has_network(way)) {
    out.network = decode_network(in, has_two_tones(way) ? 1 : channels);
    check_work(*out.network, size);
    expected = out.network->draw(size);
  }
  out.pixels = empty({size.height, size.width, channels}, DType::u8);
  const std::span<std::uint8_t> put(out.pixels.data<std::uint8_t>(), numbers);
  BitCoder coder(in);
  if (has_two_tones(way)) {
    Pixels8 bits(pixels);
    if (is_lossy(way))
      for (std::size_t i = 0; i < pixels; ++i) bits[i] = expected[i] > 0 ? 1 : 0;
    else
      code_two_tones(coder, bits, size, expected);
    for (std::size_t i = 0; i < numbers; ++i)
      put[i] =
          out.tones[bits[i / static_cast<std::size_t>(channels)]][i % static_cast<std::size_t>(channels)];
  } else if (is_lossy(way)) {
    for (std::size_t i = 0; i < numbers; ++i) put[i] = level_of_output(expected[i]);
  } else if (way == Way::raw) {
    std::copy(body.begin() + 1, body.end(), put.begin());
  } else {
    code_levels(coder, put, size, channels, expected);
  }
  return out;
}

Tensor unpack_coordinates(std::string_view body, Size size, std::int64_t channels) {
  return read_coordinates(body, size, channels).pixels;
}

}  // namespace veldt::codec
