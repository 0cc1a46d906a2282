// Magic, version, family and channels, width, height, the body's length, the body, the digest.
#include "veldt/codec/packed_file.h"

#include <xxhash.h>

#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

constexpr char kVersion = 4;  // also raised with the base networks
constexpr std::size_t kDigestBytes = 4;
constexpr std::int64_t kLongestSide = std::int64_t{1} << 24;

// Of all bytes before it; the lowest four bytes of XXH3, the lowest first.
std::string packed_digest(std::string_view bytes) {
  const XXH64_hash_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string digest;
  for (std::size_t i = 0; i < kDigestBytes; ++i) digest += static_cast<char>(hash >> (8 * i) & 0xff);
  return digest;
}

}  // namespace

void put_integer(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

bool take_integer(std::string_view& bytes, std::int64_t& value) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 9 && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    sum |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      value = static_cast<std::int64_t>(sum);
      return true;
    }
  }
  return false;
}

PackedHeader read_packed(std::string_view bytes, const std::string& name, std::int64_t max_pixels) {
  const auto refuse = [&](const std::string& why, const std::string& fix) -> IoError {
    return {IoError::Kind::malformed, "cannot read " + name, why, fix};
  };
  const std::string again = "pack the picture again, or fetch the file again";
  if (!bytes.starts_with(kPackedMagic))
    throw refuse("it does not begin as a packed picture does", "write one with veldt pack");
  std::string_view rest = bytes.substr(kPackedMagic.size());
  if (rest.size() < 2) throw refuse("the file ends in its header", again);
  if (rest[0] != kVersion)
    throw refuse(str("it is of version ", static_cast<int>(static_cast<unsigned char>(rest[0])),
                     " of the format, and this Veldt reads version ", static_cast<int>(kVersion)),
                 "use the Veldt that wrote it, or a newer one; if this one wrote it, the file is damaged");
  const auto kind = static_cast<unsigned char>(rest[1]);
  rest.remove_prefix(2);
  PackedHeader header;
  header.channels = kind >> 4;
  std::int64_t length = 0;
  if ((kind & 0xf) > static_cast<int>(Family::drawing))
    throw refuse(str("its family ", kind & 0xf, " is not known"),
                 "use the Veldt that wrote it, or a newer one");
  header.family = static_cast<Family>(kind & 0xf);
  if (header.channels < 1 || header.channels > 4)
    throw refuse(str("it says that it has ", header.channels, " channels; a picture has 1 to 4"), again);
  if (!take_integer(rest, header.size.width) || !take_integer(rest, header.size.height) ||
      !take_integer(rest, length))
    throw refuse("the file ends in its header", again);
  if (header.size.width < 1 || header.size.height < 1 || header.size.width > kLongestSide ||
      header.size.height > kLongestSide)
    throw refuse(str("it says that it is ", header.size.width, " x ", header.size.height,
                     " pixels; a side has 1 to ", kLongestSide),
                 again);
  if (header.size.width > max_pixels / header.size.height)
    throw refuse(str("it says that it is ", header.size.width, " x ", header.size.height,
                     " pixels, more than the ", max_pixels, " that are allowed"),
                 "raise --max-pixels, or the reader's max_pixels, if the picture is meant to be so large");
  header.complete = static_cast<std::uint64_t>(length) + kDigestBytes <= rest.size();
  if (!header.complete) {
    header.body = rest.substr(0, static_cast<std::size_t>(length));
    return header;
  }
  header.body = rest.substr(0, static_cast<std::size_t>(length));
  rest.remove_prefix(static_cast<std::size_t>(length));
  if (rest.size() > kDigestBytes)
    throw refuse(str("it has ", rest.size() - kDigestBytes, " bytes too many at its end"), again);
  if (packed_digest(bytes.substr(0, bytes.size() - kDigestBytes)) != rest)
    throw refuse("its digest is not that of its bytes: it is damaged", again);
  return header;
}

std::string write_packed(Family family, Size size, int channels, std::string_view body) {
  std::string bytes(kPackedMagic);
  bytes += kVersion;
  bytes += static_cast<char>(channels << 4 | static_cast<int>(family));
  put_integer(bytes, static_cast<std::uint64_t>(size.width));
  put_integer(bytes, static_cast<std::uint64_t>(size.height));
  put_integer(bytes, body.size());
  bytes += body;
  return bytes + packed_digest(bytes);
}

}  // namespace veldt::codec
