// Writes a picture's body in one of three ways, and reads it.
#include "veldt/codec/coordinate_codec.h"

#include <algorithm>
#include <utility>

#include "veldt/codec/coordinate_models.h"
#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

// The first byte of a body: how it is written, and for two tones whether they are white and black (kPaper) or
// black and white (kPaper and kNight).
enum class Way : std::uint8_t { raw, two_tones, levels };
constexpr unsigned kWays = 3, kWayMask = 7, kPaper = 8, kNight = 16;

using Pixels8 = std::vector<std::uint8_t>;

void check_size(Size size, std::int64_t channels) {
  if (size.width < 1 || size.height < 1 || channels < 1 || channels > 4 ||
      size.width > kMostCoordinatePixels || size.height > kMostCoordinatePixels / size.width)
    throw ConfigError(
        str("a picture of ", size.width, "x", size.height, " with ", channels,
            " channels cannot be packed exactly"),
        str("such a picture may have 1 to ", kMostCoordinatePixels, " pixels of 1 to 4 channels"),
        "pack it as a photograph: --family photograph");
}

// The two colours of a picture, the one of most of its border first; none if there are more.
Tones tones_of(std::span<const std::uint8_t> levels, Size size, std::size_t channels) {
  Tones tones;
  std::size_t count[2] = {0, 0};
  const auto wide = static_cast<std::size_t>(size.width), high = static_cast<std::size_t>(size.height);
  for (std::size_t i = 0; i < wide * high; ++i) {
    const std::uint8_t* const begin = levels.data() + i * channels;
    std::size_t found = 0;
    while (found < tones.size() && !std::equal(tones[found].begin(), tones[found].end(), begin)) ++found;
    if (found == 2) return {};
    if (found == tones.size()) tones.emplace_back(begin, begin + channels);
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

}  // namespace

Drawing drawing_of(std::span<const std::uint8_t> levels, Size size, std::int64_t channels) {
  check_size(size, channels);
  const auto beside = static_cast<std::size_t>(channels);
  Drawing drawing{{}, size, channels, tones_of(levels, size, beside)};
  if (!drawing.has_two_tones()) {
    drawing.numbers.assign(levels.begin(), levels.end());
    return drawing;
  }
  const auto& first = drawing.tones[0];
  drawing.numbers.resize(levels.size() / beside);
  for (std::size_t i = 0; i < drawing.numbers.size(); ++i)
    drawing.numbers[i] = std::equal(first.begin(), first.end(), levels.data() + i * beside) ? 0 : 1;
  return drawing;
}

std::string write_exactly(const Drawing& drawing, FunctionRef<void(double)> heard) {
  const bool tones = drawing.has_two_tones();
  unsigned head = static_cast<unsigned>(tones ? Way::two_tones : Way::levels);
  RangeEncoder out;
  BitCoder coder(out);
  Pixels8 numbers = drawing.numbers;
  if (tones) {
    const unsigned flags = flags_of(drawing.tones);
    if (flags == 0)
      for (const auto& tone : drawing.tones)
        for (const std::uint8_t level : tone) out.bits(level, 8);
    head |= flags;
    code_two_tones(coder, numbers, drawing.size, heard);
  } else {
    code_levels(coder, numbers, drawing.size, drawing.channels, heard);
  }
  std::string body = static_cast<char>(head) + out.finish();
  if (!tones && body.size() > drawing.numbers.size()) {
    body.assign(1, static_cast<char>(Way::raw));
    body.append(drawing.numbers.begin(), drawing.numbers.end());
  }
  return body;
}

CoordinatePicture read_coordinates(std::string_view body, Size size, std::int64_t channels) {
  check_size(size, channels);
  const unsigned head = body.empty() ? 255 : static_cast<unsigned char>(body[0]);
  const auto way = static_cast<Way>(head & kWayMask);
  const bool tones_said = (head & kPaper) != 0;
  if ((head & kWayMask) >= kWays || head >= 2 * kNight || (tones_said && way != Way::two_tones) ||
      (!tones_said && (head & kNight) != 0))
    throw IoError(IoError::Kind::malformed, "the body of this picture cannot be decoded",
                  body.empty() ? str("it is empty") : str("it begins with ", head, ", which means nothing"),
                  "use a file that Veldt wrote, or a newer Veldt");
  CoordinatePicture out;
  out.size = size;
  out.channels = channels;
  const auto pixels = static_cast<std::size_t>(size.width * size.height),
             numbers = pixels * static_cast<std::size_t>(channels);
  if (way == Way::raw && body.size() != numbers + 1)
    throw IoError(IoError::Kind::malformed, "the body of this picture cannot be decoded",
                  str("it has ", body.size() - 1, " levels, and not ", numbers), "copy the file again");
  RangeDecoder in(body.substr(1));
  if (way == Way::two_tones) {
    out.tones.assign(2, std::vector<std::uint8_t>(static_cast<std::size_t>(channels)));
    for (std::size_t i = 0; i < 2; ++i)
      for (std::uint8_t& level : out.tones[i])
        level = tones_said ? ((i == 0) == ((head & kNight) == 0) ? 255 : 0)
                           : static_cast<std::uint8_t>(in.bits(8));
  }
  out.pixels.resize(numbers);
  const std::span<std::uint8_t> put(out.pixels);
  BitCoder coder(in);
  if (way == Way::two_tones) {
    Pixels8 bits(pixels);
    code_two_tones(coder, bits, size, [](double) {});
    for (std::size_t i = 0; i < numbers; ++i)
      put[i] =
          out.tones[bits[i / static_cast<std::size_t>(channels)]][i % static_cast<std::size_t>(channels)];
  } else if (way == Way::raw) {
    std::copy(body.begin() + 1, body.end(), put.begin());
  } else {
    code_levels(coder, put, size, channels, [](double) {});
  }
  return out;
}

}  // namespace veldt::codec
