// Reads and writes WebP, through libwebp.
#include <webp/decode.h>
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;  // the largest picture, unpacked, has as many

// ---- reading ----

class WebpDecoder final : public ImageDecoder {
 public:
  explicit WebpDecoder(InputFile& file) : path_(file.path()) {
    read_bytes(file);
    WebPBitstreamFeatures features{};
    const VP8StatusCode status = WebPGetFeatures(bytes_.data(), bytes_.size(), &features);
    if (status != VP8_STATUS_OK) fail(status);
    if (features.has_animation != 0)
      throw IoError(IoError::Kind::malformed, "cannot read " + path_, "it is an animation, not one picture",
                    "write the frame that you want to a file of its own");
    info_ = {.format = ImageFormat::webp, .width = features.width, .height = features.height};
    info_.channels = features.has_alpha != 0 ? 4 : 3;
    info_.bit_depth = 8;
    info_.other_profile = has_other_profile();
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  void read_bytes(InputFile& file);
  bool has_other_profile() const;
  [[noreturn]] void fail(VP8StatusCode status) const;

  std::string path_;
  std::vector<unsigned char> bytes_;  // the whole file: chunks before the picture may be of any length
  ImageInfo info_;
};

void WebpDecoder::fail(VP8StatusCode status) const {
  // libwebp 1.5 says that it has no memory where a table of a damaged file cannot be built, too.
  const char* why =
      status == VP8_STATUS_OUT_OF_MEMORY ? "libwebp got no memory for it, or its data break the format"
      : status == VP8_STATUS_UNSUPPORTED_FEATURE ? "it uses a feature that libwebp does not know"
      : status == VP8_STATUS_NOT_ENOUGH_DATA     ? "the file ends too early"
                                                 : "its data break the format";
  throw damaged_picture(path_, ImageFormat::webp, why);
}

// Reads what the RIFF header says is there. libwebp would not miss the end of the last chunk.
void WebpDecoder::read_bytes(InputFile& file) {
  std::array<unsigned char, 8> head{};
  file.read_exactly(head.data(), head.size());
  std::uint64_t length = head.size();
  for (int i = 0; i < 4; ++i) length += std::uint64_t{head[static_cast<std::size_t>(4 + i)]} << (8 * i);
  if (length > file.size()) fail(VP8_STATUS_NOT_ENOUGH_DATA);
  if (length > kMaxBytes)
    throw damaged_picture(path_, ImageFormat::webp, str("it has ", length, " bytes, which none needs"));
  bytes_.resize(length);
  std::memcpy(bytes_.data(), head.data(), std::min(head.size(), bytes_.size()));
  file.read_exactly(bytes_.data() + head.size(), bytes_.size() - head.size());
}

// A profile is the first chunk after the header, where there is one.
bool WebpDecoder::has_other_profile() const {
  const std::string_view file(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  constexpr std::size_t kChunk = 30;  // after RIFF, its size, WEBP, and VP8X of 18 bytes
  return file.size() > kChunk && file.substr(12, 4) == "VP8X" && file.substr(kChunk, 4) == "ICCP" &&
         !is_srgb(file.substr(kChunk));
}

Tensor WebpDecoder::read() {
  const bool alpha = info_.channels == 4;
  const int stride = static_cast<int>(info_.width) * info_.channels;
  const Tensor image = empty({info_.height, info_.width, info_.channels}, DType::u8);
  WebPDecoderConfig config;
  WebPInitDecoderConfig(&config);
  config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image.data<std::uint8_t>(), stride, static_cast<std::size_t>(image.numel())};
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
