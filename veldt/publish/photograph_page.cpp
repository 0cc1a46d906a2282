// Fills the template with the file, the networks that it begins with, and the decoder (photograph.js).
#include "veldt/publish/photograph_page.h"

#include <fmt/format.h>

#include <limits>

#include "veldt/codec/alpha.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/networks_code.h"
#include "veldt/codec/packed_file.h"
#include "veldt/codec/unpack.h"
#include "veldt/core/base64.h"
#include "veldt/core/error.h"
#include "veldt/io/png_bytes.h"
#include "veldt/publish/html.h"
#include "veldt/publish/texts.h"

namespace veldt::publish {
namespace {

constexpr std::int64_t kLongestSide = 16384, kMostPixels = std::int64_t{1} << 26;

// As the decoder reads them: what differs from zeros.
std::string base_in_bytes(int base) {
  codec::RangeEncoder out;
  encode_networks(out, codec::Networks<std::int32_t>{}, codec::base_networks(base), codec::Shifts{});
  return out.finish();
}

// The PNG of a picture that is as clear as the photograph, or nothing.
std::string alpha_of(const codec::Unpacked& picture) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  if (channels % 2 == 1) return {};
  std::vector<std::uint8_t> mask;
  for (std::size_t i = channels - 1; i < picture.pixels.size(); i += channels) {
    mask.push_back(0);
    mask.push_back(picture.pixels[i]);
  }
  return io::png_bytes(mask, picture.size, 2);
}

}  // namespace

std::string photograph_page(std::string_view packed, const std::string& name, const PageOptions& options) {
  const codec::PackedHeader header =
      codec::read_packed(packed, name, std::numeric_limits<std::int64_t>::max());
  if (header.family != codec::Family::photograph)
    throw IoError(IoError::Kind::malformed, "cannot make a page of " + name, "it is a packed drawing",
                  "make a page of its field: pack/packed_field.h");
  const auto [width, height] = header.size;
  if (width > kLongestSide || height > kLongestSide || width * height > kMostPixels)
    throw ConfigError(str("cannot make a page of ", name),
                      str("it is ", width, " x ", height, " pixels; browsers draw ", kLongestSide,
                          " along a side, and ", kMostPixels, " in all"),
                      "take a part with veldt unpack --crop, or pack a smaller picture");
  const codec::Unpacked picture = codec::unpack(packed, name);  // refuses what the page could not decode
  const auto body = header.channels % 2 == 0 ? codec::split_alpha(header.body, name).photograph : header.body;
  const int base = static_cast<unsigned char>(body[0]) & 0xf;
  const std::string line = fmt::format("{} × {} pixels in {} bytes, decoded by this page", grouped(width),
                                       grouped(height), grouped(std::ssize(packed)));
  return filled(photograph_html, {{"title", in_html(options.title)},
                                  {"css", stripped(page_css)},
                                  {"line", line},
                                  {"controls", picture_controls},
                                  {"unpacker", stripped(photograph_js)},
                                  {"viewer", stripped(viewer_js)},
                                  {"file", to_base64(packed)},
                                  {"alpha", to_base64(alpha_of(picture))},
                                  {"base", to_base64(base_in_bytes(base))}});
}

}  // namespace veldt::publish
