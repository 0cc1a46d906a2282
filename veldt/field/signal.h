// The data that a field is fitted to: samples on a lattice of positions, with one number for each channel. A
// picture is a lattice of rows and columns, a sound one of a single column, a clip (an animated picture) one
// of its frames' rows, frame below frame. The samples keep their dtype, so that a large picture of bytes
// takes only its bytes; they are read as f32. Several ranks can share a picture that is too large for one.
// Tests: tests/field/signal_test.cpp, tests/field/shared_signal_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/io/image.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

struct Survey;

class Signal {
 public:
  // [height, width, channels], f32 in 0..1 or u8, where 255 is 1. Shares its memory, unless some pixels are
  // fully transparent: they get the colour of the nearest visible one. Throws ShapeError for anything else,
  // and for a picture without pixels. Not explicit: a picture is a signal.
  Signal(const Tensor& picture);  // NOLINT

  // f32 [frames, channels], with `rate` frames a second. Its samples are read as shares of the largest one.
  // Throws ShapeError for another shape or dtype and for a sound without frames; Error for a NaN or infinity;
  // ConfigError for a rate below 1.
  static Signal sound(const Tensor& samples, std::int64_t rate);

  // u8 [frames, height, width, channels], each frame shown for so many seconds. Throws ShapeError for another
  // shape or dtype, for a clip without frames and for another number of times; ConfigError for a time that is
  // not above 0.
  static Signal clip(const Tensor& frames, const std::vector<double>& seconds);

  // The picture of a file that can be read row by row (io::ImageInfo::by_rows), the same on every rank: each
  // keeps a share of its rows in memory, and reads the others from the file when read() asks for them. Keeps
  // a reference to `ranks`. None if some pixels are fully transparent: they get colours from far away. Throws
  // as io::read_picture().
  static std::optional<Signal> shared(const std::string& path, const io::ReadOptions& options,
                                      dist::Communicator& ranks);

  bool is_sound() const { return rate_ > 0; }
  bool is_clip() const { return !times_.empty(); }
  std::int64_t rows() const { return rows_; }  // a picture's height, a sound's frames, those of all of a clip
  std::int64_t columns() const { return samples_.size(1); }  // a picture's width; 1
  std::int64_t channels() const { return samples_.size(2); }
  std::int64_t points() const { return rows() * columns(); }
  std::int64_t rate() const { return rate_; }  // frames a second; 0 of a picture
  // Of a clip; of others 1, and their rows.
  std::int64_t frames() const { return is_clip() ? static_cast<std::int64_t>(times_.size()) : 1; }
  std::int64_t rows_a_frame() const { return rows_ / frames(); }
  // The middle of the time that a frame is shown, as a share of the whole; of others 1/2.
  double time_of(std::int64_t frame) const {
    return is_clip() ? times_[static_cast<std::size_t>(frame)] : 0.5;
  }
  // The same between two frames, which are at integers; beyond the first and last it is theirs.
  double time_at(double frame) const;
  double seconds() const { return seconds_; }  // of a clip
  // The largest absolute sample of a sound, the unit of the samples below; 0 for silence. 1 for a picture.
  double peak() const { return peak_; }
  // The bits of a picture's levels: 8 if they are multiples of 1/255, else 16. 0 for a sound.
  int bits() const { return bits_; }
  // The reference of errors in dB: 1 for a picture (PSNR), the mean square of a sound's samples as read below
  // (SNR).
  double power() const { return power_; }

  // Those who share it, or null. Rows that are not here are read from the top: in that order they take the
  // time of one reading.
  dist::Communicator* ranks() const;
  // The rows that this rank answers for: begin .. end - 1. All, if none share it.
  struct Rows {
    std::int64_t begin = 0, end = 0;
    bool has(std::int64_t row) const { return row >= begin && row < end; }
  };
  Rows own() const;

  // What was seen of it while its file was read; null, if none share it.
  const Survey* survey() const;

  // Rows first.. first + count: f32 [count, columns, channels].
  Tensor read(std::int64_t first, std::int64_t count) const;
  // Points by their row-major indices, i64 [n]: f32 [n, channels]. All who share it call it, with the same.
  Tensor at(const Tensor& indices) const;
  // The levels between samples, by cubic convolution (Keys 1981, a = -1/2), which is exact at a sample's
  // centre; positions f64 [n, 2] of (column, row), where centres are at integers plus one half. Beyond the
  // border its sample is repeated. f32 [n, channels]. All who share it call it, with the same.
  // Of a clip rows are those of a frame, and `frames` says which for each position, f64 [n], where each is at
  // an integer: between two there is the mean of both by distance.
  Tensor between(const double* positions, std::int64_t n, const double* frames = nullptr) const;
  // [rows, columns, channels] as stored, u8 or f32: all, or from row first_here() on those that are here,
  // which are the own ones and two more on either side.
  const Tensor& samples() const { return samples_; }
  std::int64_t first_here() const;

 private:
  Signal() = default;
  struct Share;
  bool is_here(std::int64_t first, std::int64_t count) const;
  Tensor from_file(std::int64_t first, std::int64_t count) const;

  Tensor samples_;
  std::int64_t rows_ = 0;
  std::shared_ptr<Share> share_;  // null if none share it
  std::int64_t rate_ = 0;
  std::vector<double> times_;  // of a clip's frames
  double seconds_ = 0;
  double peak_ = 1, power_ = 1;
  int bits_ = 0;
};

// How well a mean squared error reproduces a signal, in dB: infinite for no error, NaN for a NaN.
double decibels(const Signal& signal, double mean_squared_error);

}  // namespace veldt::field
