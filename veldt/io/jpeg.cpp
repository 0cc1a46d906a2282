// Reads and writes JPEG, through libjpeg-turbo.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <exception>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <jpeglib.h>
#include <jerror.h>

#include "veldt/core/error.h"
#include "veldt/io/exif.h"
#include "veldt/io/guarded.h"
#include "veldt/io/image_codec.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

constexpr std::size_t kJpegBufferBytes = std::size_t{1} << 16;
// A progressive file refines its picture scan by scan. Encoders write about ten; thousands of empty scans of
// a large picture would keep the decoder busy for hours.
constexpr int kMaxScans = 100;

// The state that libjpeg's callbacks get through client_data.
struct Jpeg {
  jpeg_error_mgr errors{};
  std::jmp_buf back{};
  char message[JMSG_LENGTH_MAX] = "";
  std::exception_ptr thrown;  // by the file, in a callback
  std::array<JOCTET, kJpegBufferBytes> buffer;
};

Jpeg& state_of(j_common_ptr jpeg) { return *static_cast<Jpeg*>(jpeg->client_data); }

[[noreturn]] void give_up(j_common_ptr jpeg, const char* why) {
  Jpeg& state = state_of(jpeg);
  std::snprintf(state.message, sizeof state.message, "%s", why);
  std::longjmp(state.back, 1);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Jpeg& state = state_of(jpeg);
  state.errors.format_message(jpeg, state.message);
  std::longjmp(state.back, 1);
}

// For damaged data libjpeg would only warn, and invent the rest.
void on_warning(j_common_ptr jpeg, int level) {
  if (level < 0) on_error(jpeg);
}

void on_output(j_common_ptr) {}

jpeg_error_mgr* error_callbacks(Jpeg& state) {
  jpeg_std_error(&state.errors);
  state.errors.error_exit = on_error;
  state.errors.emit_message = on_warning;
  state.errors.output_message = on_output;
  return &state.errors;
}

// ---- reading ----

struct ReadState : Jpeg {
  InputFile* file = nullptr;
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
};

void on_start(j_decompress_ptr) {}

boolean on_read(j_decompress_ptr jpeg) {
  auto& state = static_cast<ReadState&>(state_of(reinterpret_cast<j_common_ptr>(jpeg)));
  std::size_t got = 0;
  try {
    got = state.file->read(state.buffer.data(), state.buffer.size());
  } catch (...) {
    state.thrown = std::current_exception();
  }
  if (got == 0) give_up(reinterpret_cast<j_common_ptr>(jpeg), "the file ends too early");
  state.source.next_input_byte = state.buffer.data();
  state.source.bytes_in_buffer = got;
  return TRUE;
}

void on_skip(j_decompress_ptr jpeg, long bytes) {
  auto& source = *jpeg->src;
  while (bytes > static_cast<long>(source.bytes_in_buffer)) {
    bytes -= static_cast<long>(source.bytes_in_buffer);
    on_read(jpeg);
  }
  if (bytes <= 0) return;
  source.next_input_byte += bytes;
  source.bytes_in_buffer -= static_cast<std::size_t>(bytes);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans)
    give_up(jpeg, "it has more scans than any encoder writes");
}

class JpegDecoder final : public ImageDecoder {
 public:
  explicit JpegDecoder(InputFile& file) {
    state_.file = &file;
    state_.source.init_source = on_start;
    state_.source.fill_input_buffer = on_read;
    state_.source.skip_input_data = on_skip;
    state_.source.resync_to_restart = jpeg_resync_to_restart;
    state_.source.term_source = on_start;
    state_.progress.progress_monitor = on_progress;
    jpeg_.err = error_callbacks(state_);
    jpeg_.client_data = static_cast<Jpeg*>(&state_);
    try {
      read_header();
    } catch (...) {
      jpeg_destroy_decompress(&jpeg_);
      throw;
    }
  }
  ~JpegDecoder() override { jpeg_destroy_decompress(&jpeg_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  const ImageInfo& info() const override { return info_; }
  DType dtype() const override { return has_inks() ? DType::f32 : DType::u8; }
  Tensor read() override;
  void begin_rows() override;
  void read_row(void* to) override;

 private:
  bool has_inks() const { return jpeg_.out_color_space == JCS_CMYK; }
  template <class Calls> void call(const Calls& calls) {
    if (!guarded(state_.back, calls)) fail(state_.message);
  }
  [[noreturn]] void fail(const std::string& why) const {
    if (state_.thrown) std::rethrow_exception(state_.thrown);
    throw damaged_picture(state_.file->path(), ImageFormat::jpeg, why);
  }
  void read_header();
  void check_capacity() const;
  void choose_colours();

  jpeg_decompress_struct jpeg_{};
  ReadState state_;
  ImageInfo info_;
  int orientation_ = 1;
  std::vector<JSAMPLE> row_;  // of inks
};

void JpegDecoder::read_header() {
  auto* jpeg = &jpeg_;
  auto* state = &state_;
  call([jpeg, state] {
    jpeg_create_decompress(jpeg);
    jpeg->src = &state->source;
    jpeg->progress = &state->progress;
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);  // EXIF
    jpeg_save_markers(jpeg, JPEG_APP0 + 2, 0xffff);  // a colour profile
    jpeg_read_header(jpeg, TRUE);
  });
  choose_colours();
  std::string profile;
  for (const jpeg_marker_struct* m = jpeg_.marker_list; m != nullptr; m = m->next) {
    if (orientation_ == 1) orientation_ = exif_orientation({m->data, m->data_length});
    const std::string_view text(reinterpret_cast<const char*>(m->data), m->data_length);
    if (text.starts_with("ICC_PROFILE")) profile += text.substr(std::min<std::size_t>(14, text.size()));
  }
  info_ = {.format = ImageFormat::jpeg, .width = jpeg_.image_width, .height = jpeg_.image_height};
  if (swaps_sides(orientation_)) std::swap(info_.width, info_.height);
  info_.channels = jpeg_.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  info_.bit_depth = 8;
  info_.interlaced = jpeg_.progressive_mode != FALSE;
  // Of several scans libjpeg keeps the whole picture.
  info_.by_rows = orientation_ == 1 && jpeg_has_multiple_scans(&jpeg_) == FALSE;
  info_.other_profile = !profile.empty() && !is_srgb(profile);
}

void JpegDecoder::choose_colours() {
  switch (jpeg_.jpeg_color_space) {
    case JCS_GRAYSCALE: jpeg_.out_color_space = JCS_GRAYSCALE; return;
    case JCS_RGB:
    case JCS_YCbCr: jpeg_.out_color_space = JCS_RGB; return;
    case JCS_CMYK:
    case JCS_YCCK: jpeg_.out_color_space = JCS_CMYK; return;
    default: fail(str("its ", jpeg_.num_components, " components are not colours that Veldt knows"));
  }
}

// A Huffman code takes at least one bit per block of 64 samples, and at most 10 blocks make up the 512 pixels
// of the largest unit. That limits the pixels that a file of this size can hold. Arithmetic codes have no
// such limit.
void JpegDecoder::check_capacity() const {
  const double pixels = static_cast<double>(info_.width) * static_cast<double>(info_.height);
  if (jpeg_.arith_code == FALSE && pixels > 1024.0 * static_cast<double>(state_.file->size()))
    fail("the file ends too early");
}

// CMYK: r = (1 - c)(1 - k), which is not a byte. Adobe's programs store 255 - ink, and say so by a marker.
void unpack_inks(const JSAMPLE* row, std::int64_t width, bool inverted, float* out) {
  const auto paper = [inverted](int sample) { return inverted ? sample : 255 - sample; };
  for (std::int64_t x = 0; x < width; ++x, row += 4)
    for (int c = 0; c < 3; ++c) *out++ = static_cast<float>(paper(row[c]) * paper(row[3])) / 65025.0f;
}

void JpegDecoder::begin_rows() {
  check_capacity();
  auto* jpeg = &jpeg_;
  call([jpeg] { jpeg_start_decompress(jpeg); });
  if (has_inks())
    row_.resize(std::size_t{jpeg_.output_width} * static_cast<std::size_t>(jpeg_.output_components));
}

// As it is stored, not turned.
void JpegDecoder::read_row(void* to) {
  auto* jpeg = &jpeg_;
  JSAMPROW row = has_inks() ? row_.data() : static_cast<JSAMPLE*>(to);
  call([jpeg, &row] { jpeg_read_scanlines(jpeg, &row, 1); });
  if (has_inks())
    unpack_inks(row, jpeg_.output_width, jpeg_.saw_Adobe_marker != FALSE, static_cast<float*>(to));
  if (jpeg_.output_scanline == jpeg_.output_height) call([jpeg] { jpeg_finish_decompress(jpeg); });
}

Tensor JpegDecoder::read() {
  begin_rows();
  const std::int64_t width = jpeg_.output_width, height = jpeg_.output_height;
  const Tensor image = empty({height, width, info_.channels}, dtype());
  for (std::int64_t y = 0; y < height; ++y) read_row(row_of(image, y));
  return oriented(image, orientation_);
}

// ---- writing ----

using ByteSink = std::function<void(const void* bytes, std::size_t count)>;

struct WriteState : Jpeg {
  ByteSink sink;
  jpeg_destination_mgr destination{};
};

void write_buffer(j_compress_ptr jpeg, std::size_t bytes) {
  auto& state = static_cast<WriteState&>(state_of(reinterpret_cast<j_common_ptr>(jpeg)));
  bool written = false;
  try {
    state.sink(state.buffer.data(), bytes);
    written = true;
  } catch (...) {
    state.thrown = std::current_exception();
  }
  if (!written) give_up(reinterpret_cast<j_common_ptr>(jpeg), "writing failed");
  state.destination.next_output_byte = state.buffer.data();
  state.destination.free_in_buffer = state.buffer.size();
}

void on_begin(j_compress_ptr jpeg) { write_buffer(jpeg, 0); }

boolean on_full(j_compress_ptr jpeg) {
  write_buffer(jpeg, kJpegBufferBytes);
  return TRUE;
}

void on_end(j_compress_ptr jpeg) { write_buffer(jpeg, kJpegBufferBytes - jpeg->dest->free_in_buffer); }

class JpegEncoder final : public ImageEncoder {
 public:
  JpegEncoder(ByteSink sink, const ImageLayout& layout, int quality) {
    state_.sink = std::move(sink);
    state_.destination.init_destination = on_begin;
    state_.destination.empty_output_buffer = on_full;
    state_.destination.term_destination = on_end;
    jpeg_.err = error_callbacks(state_);
    jpeg_.client_data = static_cast<Jpeg*>(&state_);
    try {
      begin(layout, quality);
    } catch (...) {
      jpeg_destroy_compress(&jpeg_);
      throw;
    }
  }
  ~JpegEncoder() override { jpeg_destroy_compress(&jpeg_); }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  void write_row(const unsigned char* row) override {
    auto* from = const_cast<JSAMPROW>(row);  // libjpeg only reads it
    call([jpeg = &jpeg_, &from] { jpeg_write_scanlines(jpeg, &from, 1); });
  }
  void finish() override {
    call([jpeg = &jpeg_] { jpeg_finish_compress(jpeg); });
  }

 private:
  template <class Calls> void call(const Calls& calls) {
    if (guarded(state_.back, calls)) return;
    if (state_.thrown) std::rethrow_exception(state_.thrown);
    throw Error("cannot encode a JPEG", state_.message, "report this as a bug of Veldt");
  }
  void begin(const ImageLayout& layout, int quality);

  jpeg_compress_struct jpeg_{};
  WriteState state_;
};

void JpegEncoder::begin(const ImageLayout& layout, int quality) {
  call([jpeg = &jpeg_, state = &state_, &layout, quality] {
    jpeg_create_compress(jpeg);
    jpeg->dest = &state->destination;
    jpeg->image_width = static_cast<JDIMENSION>(layout.width);
    jpeg->image_height = static_cast<JDIMENSION>(layout.height);
    jpeg->input_components = static_cast<int>(layout.channels);
    jpeg->in_color_space = layout.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, quality, TRUE);
    // At high quality, colours keep the full resolution.
    if (quality >= 90) jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(jpeg, TRUE);
  });
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_jpeg(InputFile& file) { return std::make_unique<JpegDecoder>(file); }

void check_jpeg(const ImageLayout& layout, const WriteOptions&) {
  if (layout.channels % 2 == 0)
    throw ShapeError(str("cannot write a JPEG of ", layout.channels, " channels"), "a JPEG has no alpha",
                     "put the picture on a background colour, or write a PNG or WebP");
  if (layout.width > JPEG_MAX_DIMENSION || layout.height > JPEG_MAX_DIMENSION)
    throw ShapeError(str("cannot write a JPEG of ", layout.width, " x ", layout.height),
                     str("each side may have ", JPEG_MAX_DIMENSION, " pixels"), "write a PNG");
}

std::unique_ptr<ImageEncoder> encode_jpeg(AtomicFile& file, const ImageLayout& layout,
                                          const WriteOptions& o) {
  return std::make_unique<JpegEncoder>([&file](const void* bytes, std::size_t n) { file.write(bytes, n); },
                                       layout, o.quality == 0 ? 95 : o.quality);
}

std::string jpeg_bytes(const Tensor& image, int quality) {
  if (image.dtype() != DType::u8 || image.rank() != 3 || image.numel() == 0)
    throw ShapeError(str("cannot encode ", image.dtype(), ' ', image.shape(), " as a JPEG"),
                     "a picture is u8 [height, width, channels]", "permute() it, and convert it with to()");
  if (quality < 1 || quality > 100)
    throw ConfigError(str("a JPEG's quality cannot be ", quality), "it is from 1 to 100", "75 is usual");
  const ImageLayout layout{image.size(1), image.size(0), image.size(2)};
  check_jpeg(layout, {});
  const Tensor rows = contiguous(image);
  std::string bytes;
  JpegEncoder encoder(
      [&bytes](const void* from, std::size_t n) { bytes.append(static_cast<const char*>(from), n); }, layout,
      quality);
  for (std::int64_t y = 0; y < layout.height; ++y)
    encoder.write_row(rows.data<std::uint8_t>() + y * layout.width * layout.channels);
  encoder.finish();
  return bytes;
}

}  // namespace veldt::io
