// Reads and writes WebP, through libwebp.
#include <webp/decode.h>
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

constexpr std::uint64_t kMaxWebpBytes = std::uint64_t{1} << 30;  // the size of the largest picture, unpacked

// ---- reading ----

class WebpDecoder final : public ImageDecoder {
 public:
  explicit WebpDecoder(InputFile& file) : file_(file), path_(file.path()) {
    read_bytes();
    WebPBitstreamFeatures features = features_of(bytes_);
    info_ = {.format = ImageFormat::webp, .width = features.width, .height = features.height};
    info_.other_profile = has_other_profile();
    if (features.has_animation != 0) {
      keep_first_frame();
      features = features_of(bytes_);
    }
    frame_width_ = features.width;
    frame_height_ = features.height;
    if (left_ + frame_width_ > info_.width || top_ + frame_height_ > info_.height)
      fail(VP8_STATUS_BITSTREAM_ERROR);
    info_.channels = features.has_alpha != 0 || !covers_canvas() ? 4 : 3;
    info_.bit_depth = 8;
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  void read_bytes();
  bool has_other_profile() const;
  bool covers_canvas() const { return frame_width_ == info_.width && frame_height_ == info_.height; }
  WebPBitstreamFeatures features_of(const std::vector<unsigned char>& bytes) const;
  std::size_t number_at(std::size_t at, std::size_t bytes) const;
  void keep_first_frame();
  [[noreturn]] void fail(VP8StatusCode status) const;

  InputFile& file_;
  std::string path_;
  std::vector<unsigned char> bytes_;  // the whole file: chunks before the picture may be of any length
  ImageInfo info_;
  std::int64_t left_ = 0, top_ = 0, frame_width_ = 0, frame_height_ = 0;  // on the canvas of an animation
};

WebPBitstreamFeatures WebpDecoder::features_of(const std::vector<unsigned char>& bytes) const {
  WebPBitstreamFeatures features{};
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status != VP8_STATUS_OK) fail(status);
  return features;
}

void WebpDecoder::fail(VP8StatusCode status) const {
  // libwebp 1.5 also reports a lack of memory when it cannot build a table of a damaged file.
  const char* why =
      status == VP8_STATUS_OUT_OF_MEMORY ? "libwebp got no memory for it, or its data break the format"
      : status == VP8_STATUS_UNSUPPORTED_FEATURE ? "it uses a feature that libwebp does not know"
      : status == VP8_STATUS_NOT_ENOUGH_DATA     ? "the file ends too early"
                                                 : "its data break the format";
  throw damaged_picture(path_, ImageFormat::webp, why);
}

// Reads as many bytes as the RIFF header says. libwebp would not notice a truncated last chunk.
void WebpDecoder::read_bytes() {
  std::array<unsigned char, 8> head{};
  file_.read_exactly(head.data(), head.size());
  std::uint64_t length = head.size();
  for (int i = 0; i < 4; ++i) length += std::uint64_t{head[static_cast<std::size_t>(4 + i)]} << (8 * i);
  if (length > file_.size()) fail(VP8_STATUS_NOT_ENOUGH_DATA);
  if (length > kMaxWebpBytes)
    throw damaged_picture(path_, ImageFormat::webp,
                          str("it has ", length, " bytes, more than any such file needs"));
  bytes_.resize(length);
  std::memcpy(bytes_.data(), head.data(), std::min(head.size(), bytes_.size()));
  file_.read_exactly(bytes_.data() + head.size(), bytes_.size() - head.size());
}

// A profile, if there is one, is the first chunk after the header.
bool WebpDecoder::has_other_profile() const {
  const std::string_view file(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  constexpr std::size_t kChunk = 30;  // after RIFF, its size, WEBP, and VP8X of 18 bytes
  if (file.size() < kChunk + 8 || file.substr(12, 4) != "VP8X" || file.substr(kChunk, 4) != "ICCP")
    return false;
  return !is_srgb(file.substr(kChunk + 8, number_at(kChunk + 4, 4)));
}

std::size_t WebpDecoder::number_at(std::size_t at, std::size_t bytes) const {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::size_t{bytes_[at + i]} << (8 * i);
  return value;
}

// A frame of an animation (ANMF) has its position, and the chunks of a file of its own: bytes_ becomes that
// file. Source: WebP Container Specification (Google).
void WebpDecoder::keep_first_frame() {
  constexpr std::size_t kHead = 12, kChunk = 8, kFrame = 16;
  std::int64_t frames = 0;
  std::vector<unsigned char> first;
  for (std::size_t at = kHead; at + kChunk <= bytes_.size();) {
    const std::size_t length = number_at(at + 4, 4), begin = at + kChunk;
    if (length > bytes_.size() - begin) fail(VP8_STATUS_NOT_ENOUGH_DATA);
    if (std::memcmp(bytes_.data() + at, "ANMF", 4) == 0 && frames++ == 0) {
      if (length < kFrame + kChunk) fail(VP8_STATUS_BITSTREAM_ERROR);
      left_ = static_cast<std::int64_t>(2 * number_at(begin, 3));
      top_ = static_cast<std::int64_t>(2 * number_at(begin + 3, 3));
      const unsigned char* chunks = bytes_.data() + begin + kFrame;
      constexpr unsigned char kName[] = {'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P'};
      first.assign(std::begin(kName), std::end(kName));
      if (std::memcmp(chunks, "ALPH", 4) == 0) {  // needs a header that says so, with its size
        constexpr unsigned char kExtended[] = {'V', 'P', '8', 'X', 10, 0, 0, 0, 0x10, 0, 0, 0};
        first.insert(first.end(), std::begin(kExtended), std::end(kExtended));
        first.insert(first.end(), bytes_.data() + begin + 6, bytes_.data() + begin + 12);
      }
      first.insert(first.end(), chunks, chunks + (length - kFrame));
    }
    at = begin + length + length % 2;
  }
  if (frames == 0) fail(VP8_STATUS_BITSTREAM_ERROR);
  for (std::size_t i = 0; i < 4; ++i)
    first[4 + i] = static_cast<unsigned char>((first.size() - kChunk) >> (8 * i));
  bytes_ = std::move(first);
  info_.pictures = frames;
}

// Outside the first frame of an animation the picture is transparent.
Tensor WebpDecoder::read() {
  constexpr std::uint64_t kPixelsAByte = 4096;  // more than any picture has
  if (!covers_canvas()) check_canvas(file_, info_, kPixelsAByte);
  const bool alpha = info_.channels == 4;
  const int stride = static_cast<int>(info_.width) * info_.channels;
  const Tensor image = empty({info_.height, info_.width, info_.channels}, DType::u8);
  std::fill_n(image.data<std::uint8_t>(), image.numel(), std::uint8_t{0});
  const std::int64_t first = (top_ * info_.width + left_) * info_.channels;
  WebPDecoderConfig config;
  WebPInitDecoderConfig(&config);
  config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image.data<std::uint8_t>() + first, stride,
                          static_cast<std::size_t>(image.numel() - first)};
  const VP8StatusCode status = WebPDecode(bytes_.data(), bytes_.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) fail(status);
  return image;
}

// ---- writing ----

class WebpEncoder final : public ImageEncoder {
 public:
  WebpEncoder(AtomicFile& file, const ImageLayout& layout, int quality)
      : file_(file), channels_(layout.channels) {
    WebPConfigInit(&config_);
    if (quality == 0) {
      WebPConfigLosslessPreset(&config_, 6);
      config_.exact = 1;  // colours under full transparency are numbers too
    } else {
      config_.quality = static_cast<float>(quality);
    }
    WebPPictureInit(&picture_);
    picture_.use_argb = 1;
    picture_.width = static_cast<int>(layout.width);
    picture_.height = static_cast<int>(layout.height);
    picture_.writer = on_write;
    picture_.custom_ptr = this;
    if (WebPPictureAlloc(&picture_) == 0)
      throw OutOfMemory(str("cannot write a WebP of ", layout.width, " x ", layout.height),
                        str("it takes ", 4 * layout.width * layout.height, " bytes"), "write a PNG");
  }
  ~WebpEncoder() override { WebPPictureFree(&picture_); }
  WebpEncoder(const WebpEncoder&) = delete;
  WebpEncoder& operator=(const WebpEncoder&) = delete;

  void write_row(const unsigned char* row) override;
  void finish() override;

 private:
  static int on_write(const std::uint8_t* data, std::size_t bytes, const WebPPicture* picture);

  AtomicFile& file_;
  std::int64_t channels_;
  std::int64_t row_ = 0;
  WebPConfig config_;
  WebPPicture picture_;
  std::exception_ptr thrown_;
};

int WebpEncoder::on_write(const std::uint8_t* data, std::size_t bytes, const WebPPicture* picture) {
  auto* self = static_cast<WebpEncoder*>(picture->custom_ptr);
  try {
    self->file_.write(data, bytes);
    return 1;
  } catch (...) {
    self->thrown_ = std::current_exception();
    return 0;
  }
}

void WebpEncoder::write_row(const unsigned char* row) {
  const bool alpha = channels_ % 2 == 0;
  const std::int64_t green = channels_ > 2 ? 1 : 0, blue = channels_ > 2 ? 2 : 0;
  std::uint32_t* out = picture_.argb + row_ * picture_.argb_stride;
  for (int x = 0; x < picture_.width; ++x, row += channels_) {
    const std::uint32_t a = alpha ? row[channels_ - 1] : 255u;
    *out++ = (a << 24) | (std::uint32_t{row[0]} << 16) | (std::uint32_t{row[green]} << 8) | row[blue];
  }
  ++row_;
}

void WebpEncoder::finish() {
  if (WebPEncode(&config_, &picture_) != 0) return;
  if (thrown_) std::rethrow_exception(thrown_);
  if (picture_.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
      picture_.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
    throw OutOfMemory("cannot write a WebP", "no memory for libwebp", "free some memory, or write a PNG");
  throw Error("cannot encode a WebP",
              str("libwebp gave up with code ", static_cast<int>(picture_.error_code)),
              "write a PNG; a lossy WebP has limits on its details that depend on the picture");
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_webp(InputFile& file) { return std::make_unique<WebpDecoder>(file); }

void check_webp(const ImageLayout& layout, const WriteOptions&) {
  if (layout.width > WEBP_MAX_DIMENSION || layout.height > WEBP_MAX_DIMENSION)
    throw ShapeError(str("cannot write a WebP of ", layout.width, " x ", layout.height),
                     str("each side may have ", WEBP_MAX_DIMENSION, " pixels"), "write a PNG");
}

std::unique_ptr<ImageEncoder> encode_webp(AtomicFile& file, const ImageLayout& layout,
                                          const WriteOptions& o) {
  return std::make_unique<WebpEncoder>(file, layout, o.quality);
}

}  // namespace veldt::io
