// Makes TIFFs with libtiff, for the tests of reading.
#pragma once

#include <tiffio.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/codecs/levels.h"

namespace veldt::test {

constexpr int kNoKind = -2;

struct TiffSpec {
  int compression = COMPRESSION_NONE;
  int kind = -1;  // grey or RGB unless said; kNoKind: it does not say
  int format = SAMPLEFORMAT_UINT;
  bool planar = false;
  int tile = 0, rows = 3;  // of a strip
  int orientation = 1;
  int alpha = EXTRASAMPLE_UNASSALPHA;
  int pages = 1;
  bool big_endian = false;
  std::vector<std::vector<std::uint16_t>> palette = {};
  std::string profile = {};
};

inline std::string packed(const std::vector<int>& samples, int bits) {
  std::string bytes;
  if (bits > 8) {
    for (const int sample : samples)  // the machine is little-endian
      bytes.append(reinterpret_cast<const char*>(&sample), static_cast<std::size_t>(bits / 8));
    return bytes;
  }
  bytes.resize((samples.size() * static_cast<std::size_t>(bits) + 7) / 8);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t at = i * static_cast<std::size_t>(bits);
    bytes[at / 8] =
        static_cast<char>(bytes[at / 8] | samples[i] << (8 - static_cast<std::size_t>(bits) - at % 8));
  }
  return bytes;
}

// The samples of a plane (or all, -1) of a part that may reach beyond the picture.
inline std::vector<int> part_of(const Levels& levels, int x, int y, int width, int height, int plane) {
  std::vector<int> samples;
  for (int j = y; j < y + height; ++j)
    for (int i = x; i < x + width; ++i)
      for (int c = 0; c < levels.channels; ++c) {
        if (plane >= 0 && c != plane) continue;
        const bool within = i < levels.width && j < levels.height;
        samples.push_back(
            within ? levels.samples[static_cast<std::size_t>((j * levels.width + i) * levels.channels + c)]
                   : 0);
      }
  return samples;
}

inline void write_tiff_pixels(TIFF* tiff, const TiffSpec& spec, const Levels& levels) {
  for (int plane = spec.planar ? 0 : -1; plane < (spec.planar ? levels.channels : 0); ++plane) {
    const auto sample = static_cast<std::uint16_t>(std::max(plane, 0));
    for (int y = 0; y<levels.height; y += spec.tile> 0 ? spec.tile : 1)
      for (int x = 0; x<levels.width; x += spec.tile> 0 ? spec.tile : levels.width) {
        if (spec.tile > 0) {
          std::string bytes = packed(part_of(levels, x, y, spec.tile, spec.tile, plane), levels.bits);
          TIFFWriteTile(tiff, bytes.data(), static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 0,
                        sample);
        } else {
          std::string bytes = packed(part_of(levels, 0, y, levels.width, 1, plane), levels.bits);
          TIFFWriteScanline(tiff, bytes.data(), static_cast<std::uint32_t>(y), sample);
        }
      }
  }
}

inline std::string make_tiff(const TiffSpec& spec, const Levels& levels) {
  const TempDir dir = TempDir::in_memory();
  TIFF* tiff = TIFFOpen((dir / "a.tif").c_str(), spec.big_endian ? "wb" : "wl");
  if (tiff == nullptr) throw std::runtime_error("libtiff does not write");
  for (int page = 0; page < spec.pages; ++page) {
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, levels.width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, levels.height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, levels.bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, levels.channels);
    if (spec.kind != kNoKind)
      TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                   spec.kind >= 0         ? spec.kind
                   : levels.channels >= 3 ? PHOTOMETRIC_RGB
                                          : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, spec.format);
    if (spec.kind == PHOTOMETRIC_YCBCR) TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, 1, 1);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, spec.compression);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, spec.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, spec.orientation);
    const auto alpha = static_cast<std::uint16_t>(spec.alpha);
    if (levels.channels == (spec.kind == PHOTOMETRIC_SEPARATED ? 5 : levels.channels >= 3 ? 4 : 2))
      TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    if (!spec.palette.empty())
      TIFFSetField(tiff, TIFFTAG_COLORMAP, spec.palette[0].data(), spec.palette[1].data(),
                   spec.palette[2].data());
    if (!spec.profile.empty())
      TIFFSetField(tiff, TIFFTAG_ICCPROFILE, static_cast<std::uint32_t>(spec.profile.size()),
                   spec.profile.data());
    if (spec.tile > 0) {
      TIFFSetField(tiff, TIFFTAG_TILEWIDTH, spec.tile);
      TIFFSetField(tiff, TIFFTAG_TILELENGTH, spec.tile);
    } else {
      TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, spec.rows);
    }
    write_tiff_pixels(tiff, spec, levels);
    TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
  return bytes_of(dir / "a.tif");
}

}  // namespace veldt::test
