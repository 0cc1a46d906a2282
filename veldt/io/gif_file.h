// The frames of a GIF, one after the other: their descriptions, palettes, and the numbers of their pixels.
// Source: Graphics Interchange Format, version 89a (CompuServe, 1990). Only for the files of io.
// Tests: tests/io/gif_test.cpp, tests/io/clip_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "veldt/io/byte_reader.h"

namespace veldt::io {

struct GifPalette {
  std::vector<std::uint8_t> rgb;
  int bits = 0;

  bool is_grey() const;
};

// What becomes of a frame before the next one: it stays, its place becomes transparent, or is again what it
// was before.
enum class GifDisposal : std::uint8_t { stays, cleared, restored };

struct GifFrame {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  GifPalette palette;    // its own, or the file's
  int transparent = -1;  // number of a colour; -1: none
  GifDisposal disposal = GifDisposal::stays;
  int hundredths = 0;  // of a second that it is shown
  int number_bits = 0;
  std::uint64_t data_begin = 0;
};

class GifFile {
 public:
  // Reads the header. Keeps a reference to the file. Throws IoError malformed, as all of it.
  explicit GifFile(InputFile& file);

  // Of the canvas, as the header has it: some programs leave it at 0.
  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  // The next frame, whose data are skipped; false after the last.
  bool next(GifFrame& frame);
  // Gives the rows of a frame as they come, each with its place from the frame's top: width numbers of
  // colours of its palette. Afterwards next() goes on where it was.
  void read_rows(const GifFrame& frame, const std::function<void(std::int64_t, const std::uint8_t*)>& row);
  // Throws if the file is too short for the pixels of such a frame.
  void check_size(const GifFrame& frame) const;
  [[noreturn]] void fail(const std::string& why) const { bytes_.fail(why); }

  static constexpr std::uint64_t kPixelsAByte = 4096;  // those of a code of 12 bits

 private:
  GifPalette read_palette(unsigned flags);
  void skip_data();
  bool to_next_frame(GifFrame& frame);

  ByteReader bytes_;
  std::int64_t width_ = 0, height_ = 0;
  GifPalette palette_;
};

}  // namespace veldt::io
