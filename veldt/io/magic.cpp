// The table of first bytes by which files are recognised.
#include "veldt/io/magic.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

// Files other than pictures that Veldt reads.
struct Magic {
  std::string_view bytes;
  std::size_t position;
  std::string_view name;
  bool sound = false;
};

using namespace std::string_view_literals;  // some contain a zero byte

constexpr Magic kMagics[] = {
    {"\x89PNG\n"sv, 0, "a PNG whose line ends were changed in transfer"},
    {"\x89PNG\r\r\n"sv, 0, "a PNG whose line ends were changed in transfer"},
    {"\x89PNG\r\n\x1a\r\n"sv, 0, "a PNG whose line ends were changed in transfer"},
    {"\x89PNG"sv, 0, "a PNG whose first eight bytes are damaged"},
    {"PNG\r\n\x1a\n"sv, 1, "a PNG whose first eight bytes are damaged"},
    {"WAVE"sv, 8, "a WAV", true},
    {"fLaC"sv, 0, "a FLAC", true},
    {"OggS"sv, 0, "an Ogg", true},
    {"AIFF"sv, 8, "an AIFF", true},
    {"AIFC"sv, 8, "an AIFF", true},
    {".snd"sv, 0, "an AU", true},
    {"caff"sv, 0, "a CAF", true},
    {"ID3"sv, 0, "an MP3", true},
    {"RIFF"sv, 0, "a RIFF file"},
    {"%PDF"sv, 0, "a PDF"},
    {"<svg"sv, 0, "an SVG"},
    {"<?xml"sv, 0, "XML or SVG"},
    {"PK\x03\x04"sv, 0, "a zip archive"},
    {"\x1f\x8b"sv, 0, "gzip data"},
    {"\x93NUMPY"sv, 0, "an npy array"},
    {"\x89HDF\r\n"sv, 0, "an HDF5 file"},
};

const Magic* find_magic(std::string_view head) {
  for (const Magic& magic : kMagics)
    if (head.size() >= magic.position && head.substr(magic.position).starts_with(magic.bytes)) return &magic;
  return nullptr;
}

// A header's length in eight bytes, then JSON.
bool is_safetensors(std::string_view head) { return head.size() > 8 && head.substr(5, 4) == "\0\0\0{"sv; }

}  // namespace

std::string_view known_content(std::string_view first_bytes) {
  if (const PictureCodec* codec = codec_for_bytes(first_bytes)) return codec->what;
  const Magic* magic = find_magic(first_bytes);
  if (magic == nullptr && is_onnx(first_bytes)) return "an ONNX graph, which veldt run and onnx::load take";
  if (magic == nullptr && is_safetensors(first_bytes)) return "a safetensors file";
  return magic != nullptr ? magic->name : std::string_view();
}

std::optional<ImageFormat> picture_format(std::string_view first_bytes) {
  const PictureCodec* codec = codec_for_bytes(first_bytes);
  return codec != nullptr ? std::optional(codec->format) : std::nullopt;
}

bool is_sound(std::string_view first_bytes) {
  const Magic* magic = find_magic(first_bytes);
  return magic != nullptr && magic->sound;
}

bool is_onnx(std::string_view first_bytes) {
  return first_bytes.size() > 2 && first_bytes[0] == 8 && first_bytes[1] > 0 && first_bytes[1] < 32 &&
         (first_bytes[2] == 0x12 || first_bytes[2] == 0x3a);
}

std::string seems_to_be(std::string_view first_bytes) {
  if (first_bytes.empty()) return "the file is empty";
  if (const std::string_view name = known_content(first_bytes); !name.empty())
    return str("it seems to be ", name);
  const auto is_text = [](char c) { return (c >= 32 && c < 127) || (c >= 9 && c <= 13); };
  if (std::all_of(first_bytes.begin(), first_bytes.end(), is_text)) return "it seems to be text";
  return "its first bytes are of no known kind";
}

}  // namespace veldt::io
