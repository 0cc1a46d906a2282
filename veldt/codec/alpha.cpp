// Lengths, then bodies of coordinate_codec.h.
#include "veldt/codec/alpha.h"

#include <algorithm>

#include "veldt/codec/coordinate_codec.h"
#include "veldt/codec/latents.h"
#include "veldt/codec/packed_file.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"

namespace veldt::codec {
namespace {

constexpr int kSquareLog2 = 10;
constexpr std::uint8_t kOpaque = 255;

IoError no_alpha(const std::string& name, const std::string& why) {
  return {IoError::Kind::malformed, "cannot read " + name, why,
          "pack the picture again, or fetch the file again"};
}

}  // namespace

std::string write_alpha(std::span<const std::uint8_t> alpha, Size picture) {
  const Tiles squares{picture, kSquareLog2};
  std::vector<std::string> bodies(static_cast<std::size_t>(squares.count()));
  parallel_for(squares.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const Region square = squares[s];
      std::vector<std::uint8_t> levels;
      for (std::int64_t y = square.y0; y < square.y1; ++y) {
        const std::uint8_t* const row = alpha.data() + y * picture.width;
        levels.insert(levels.end(), row + square.x0, row + square.x1);
      }
      if (std::any_of(levels.begin(), levels.end(), [](std::uint8_t level) { return level != kOpaque; }))
        bodies[static_cast<std::size_t>(s)] =
            write_exactly(drawing_of(levels, {square.width(), square.height()}, 1));
    }
  });
  std::string section;
  for (const std::string& body : bodies) put_integer(section, body.size());
  for (const std::string& body : bodies) section += body;
  return section;
}

std::vector<std::uint8_t> read_alpha(std::string_view section, Size picture, const Region& part,
                                     const std::string& name) {
  const Tiles squares{picture, kSquareLog2};
  if (squares.count() > std::ssize(section))
    throw no_alpha(name, str("its alpha has ", section.size(), " bytes, fewer than squares"));
  std::vector<std::uint64_t> lengths;
  for (std::int64_t s = 0; s < squares.count(); ++s) {
    std::int64_t length = 0;
    if (!take_integer(section, length)) throw no_alpha(name, "its alpha ends in the lengths of its squares");
    lengths.push_back(static_cast<std::uint64_t>(length));
  }
  std::vector<std::string_view> bodies;
  for (const std::uint64_t length : lengths) {
    if (length > section.size()) throw no_alpha(name, "its alpha ends before its squares do");
    bodies.push_back(section.substr(0, static_cast<std::size_t>(length)));
    section.remove_prefix(static_cast<std::size_t>(length));
  }
  if (!section.empty()) throw no_alpha(name, str("its alpha has ", section.size(), " bytes too many"));
  std::vector<std::uint8_t> levels(static_cast<std::size_t>(part.width() * part.height()), kOpaque);
  parallel_for(squares.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::string_view body = bodies[static_cast<std::size_t>(s)];
      const Region square = squares[s];
      const Region shared{std::max(square.x0, part.x0), std::max(square.y0, part.y0),
                          std::min(square.x1, part.x1), std::min(square.y1, part.y1)};
      if (body.empty() || shared.x0 >= shared.x1 || shared.y0 >= shared.y1) continue;
      const std::vector<std::uint8_t> own =
          read_coordinates(body, {square.width(), square.height()}, 1).pixels;
      for (std::int64_t y = shared.y0; y < shared.y1; ++y)
        std::copy_n(own.begin() + (y - square.y0) * square.width() + shared.x0 - square.x0, shared.width(),
                    levels.begin() + (y - part.y0) * part.width() + shared.x0 - part.x0);
    }
  });
  return levels;
}

std::string join_alpha(std::string_view section, std::string_view photograph) {
  std::string body;
  put_integer(body, section.size());
  body += section;
  return body += photograph;
}

BodyWithAlpha split_alpha(std::string_view body, const std::string& name) {
  std::int64_t length = 0;
  if (!take_integer(body, length) || static_cast<std::uint64_t>(length) > body.size())
    throw no_alpha(name, "it ends before its alpha does");
  const auto at = static_cast<std::size_t>(length);
  return {body.substr(0, at), body.substr(at)};
}

}  // namespace veldt::codec
