// Lays the frames of an animated picture over each other. Only for the readers of clip.h.
// Tests: tests/io/clip_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/core/size.h"
#include "veldt/io/clip_frames.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::io {

// What becomes of a frame's place before the next frame.
enum class AfterFrame : std::uint8_t { stays, cleared, restored };

struct FramePlace {
  std::int64_t left = 0, top = 0, width = 0, height = 0;  // within the canvas
  AfterFrame after = AfterFrame::stays;
  bool is_over = true;  // laid over what is there by its alpha; or replaces it
  double seconds = 0;
};

class ClipCanvas {
 public:
  // Throws IoError malformed beyond options.max_pixels, and for more pixels than so many bytes can fill.
  ClipCanvas(const InputFile& file, ImageFormat format, std::int64_t frames, Size size,
             const ReadOptions& options, std::uint64_t pixels_a_byte);
  // `rgba`: width * height * 4 bytes of the place.
  void add(const FramePlace& place, const std::uint8_t* rgba);
  // Without alpha if all is opaque, and without colours if all is grey. Once, at the end.
  Clip clip() const;

 private:
  std::int64_t width_, height_;
  std::vector<std::uint8_t> canvas_, all_;  // rgba
  std::vector<double> seconds_;
};

// Each reads one; see read_clip().
Clip read_apng(InputFile& file, const ReadOptions& options);
Clip read_gif_frames(InputFile& file, const ReadOptions& options);

}  // namespace veldt::io
