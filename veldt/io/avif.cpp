// Reads AVIF through libavif, which is opened when the first AVIF is read.
#include "veldt/io/image_codec.h"

#ifdef VELDT_AVIF_SONAME

#include <avif/avif.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/exif.h"
#include "veldt/io/samples.h"
#include "veldt/io/shared_library.h"

namespace veldt::io {
namespace {

struct AvifLibrary {
  decltype(&::avifDecoderCreate) create = nullptr;
  decltype(&::avifDecoderDestroy) destroy = nullptr;
  decltype(&::avifDecoderSetIOMemory) set_memory = nullptr;
  decltype(&::avifDecoderParse) parse = nullptr;
  decltype(&::avifDecoderReset) reset = nullptr;
  decltype(&::avifDecoderNextImage) next_image = nullptr;
  decltype(&::avifRGBImageSetDefaults) rgb_defaults = nullptr;
  decltype(&::avifImageYUVToRGB) to_rgb = nullptr;
  decltype(&::avifCropRectConvertCleanApertureBox) crop_of = nullptr;
  decltype(&::avifResultToString) text_of = nullptr;

  AvifLibrary() {
    const SharedLibrary file(VELDT_AVIF_SONAME, "read an AVIF", VELDT_AVIF_PACKAGE);
    file.find(create, "avifDecoderCreate");
    file.find(destroy, "avifDecoderDestroy");
    file.find(set_memory, "avifDecoderSetIOMemory");
    file.find(parse, "avifDecoderParse");
    file.find(reset, "avifDecoderReset");
    file.find(next_image, "avifDecoderNextImage");
    file.find(rgb_defaults, "avifRGBImageSetDefaults");
    file.find(to_rgb, "avifImageYUVToRGB");
    file.find(crop_of, "avifCropRectConvertCleanApertureBox");
    file.find(text_of, "avifResultToString");
  }
};

const AvifLibrary& avif() {
  static const AvifLibrary found;
  return found;
}

// 0: top and bottom are swapped, 1: left and right are. libavif 1.0 renamed it.
template <class Mirror> int mirror_axis(const Mirror& mirror) {
  if constexpr (requires { mirror.axis; })
    return mirror.axis;
  else
    return mirror.mode;
}

// A rotation to the left by quarters and then a mirror, as one of EXIF's orientations.
int orientation_of(const avifImage& image) {
  constexpr int kTurned[4] = {1, 8, 3, 6}, kMirrored[4][2] = {{4, 2}, {5, 7}, {2, 4}, {7, 5}};
  const int quarters = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3 : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) return kTurned[quarters];
  return kMirrored[quarters][mirror_axis(image.imir) & 1];
}

// A file without a profile is sRGB.
bool has_other_profile(const avifImage& image) {
  if (image.icc.size > 0) return !is_srgb({reinterpret_cast<const char*>(image.icc.data), image.icc.size});
  return !is_srgb(static_cast<int>(image.colorPrimaries), static_cast<int>(image.transferCharacteristics));
}

class AvifDecoder final : public ImageDecoder {
 public:
  explicit AvifDecoder(InputFile& file)
      : path_(file.path()), bytes_(whole_picture(file, ImageFormat::avif)), decoder_(avif().create()) {
    if (decoder_ == nullptr)
      throw OutOfMemory("cannot read " + path_, "no memory for libavif", "free some memory");
    try {
      read_header();
    } catch (...) {
      avif().destroy(decoder_);
      throw;
    }
  }
  ~AvifDecoder() override { avif().destroy(decoder_); }
  AvifDecoder(const AvifDecoder&) = delete;
  AvifDecoder& operator=(const AvifDecoder&) = delete;

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  void check(avifResult result) const {
    if (result == AVIF_RESULT_OUT_OF_MEMORY)
      throw OutOfMemory("cannot read " + path_, "libavif got no memory for it", "free some memory");
    if (result != AVIF_RESULT_OK)
      throw damaged_picture(path_, ImageFormat::avif, str("libavif says: ", avif().text_of(result)));
  }
  void read_header();
  void read_crop();

  std::string path_;
  std::vector<unsigned char> bytes_;
  avifDecoder* decoder_;
  ImageInfo info_;
  avifCropRect crop_{};
  std::uint32_t width_ = 0, height_ = 0;  // as stored
  int orientation_ = 1;
};

void AvifDecoder::read_header() {
  // Lenient, as browsers are: some programs leave out parts that the standard requires.
  decoder_->strictFlags &= ~static_cast<avifStrictFlags>(AVIF_STRICT_PIXI_REQUIRED | AVIF_STRICT_CLAP_VALID);
  decoder_->ignoreExif = decoder_->ignoreXMP = AVIF_TRUE;
  check(avif().set_memory(decoder_, bytes_.data(), bytes_.size()));
  check(avif().parse(decoder_));
  const avifImage& image = *decoder_->image;
  width_ = image.width;
  height_ = image.height;
  read_crop();
  orientation_ = orientation_of(image);
  info_ = {.format = ImageFormat::avif, .width = crop_.width, .height = crop_.height};
  if (swaps_sides(orientation_)) std::swap(info_.width, info_.height);
  info_.channels =
      (image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400 ? 1 : 3) + (decoder_->alphaPresent != AVIF_FALSE ? 1 : 0);
  info_.bit_depth = static_cast<int>(image.depth);
  info_.pictures = std::max(decoder_->imageCount, 1);
  info_.other_profile = has_other_profile(image);
}

void AvifDecoder::read_crop() {
  const avifImage& image = *decoder_->image;
  crop_ = {0, 0, width_, height_};
  if ((image.transformFlags & AVIF_TRANSFORM_CLAP) == 0) return;
  avifCropRect crop{};
  avifDiagnostics said{};
  if (avif().crop_of(&crop, &image.clap, width_, height_, image.yuvFormat, &said) != AVIF_FALSE) crop_ = crop;
}

Tensor AvifDecoder::read() {
  // Decodes no more pixels than the header says, plus the padding of the last cells of a grid.
  const std::uint64_t most = std::max<std::uint64_t>(std::uint64_t{4} * width_ * height_, 1 << 20);
  decoder_->imageSizeLimit =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(most, AVIF_DEFAULT_IMAGE_SIZE_LIMIT));
  check(avif().reset(decoder_));
  check(avif().next_image(decoder_));
  const avifImage& image = *decoder_->image;
  if (image.width != width_ || image.height != height_ || static_cast<int>(image.depth) != info_.bit_depth)
    throw damaged_picture(path_, ImageFormat::avif, "the decoded size differs from the header's");
  const bool alpha = info_.channels % 2 == 0;
  avifRGBImage rgb{};
  avif().rgb_defaults(&rgb, &image);
  rgb.format = alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  const int channels = alpha ? 4 : 3;
  const std::size_t sample = image.depth > 8 ? 2 : 1;
  rgb.rowBytes = static_cast<std::uint32_t>(width_ * static_cast<std::size_t>(channels) * sample);
  std::vector<unsigned char> pixels(std::size_t{rgb.rowBytes} * height_);
  rgb.pixels = pixels.data();
  check(avif().to_rgb(&image, &rgb));
  const std::size_t first =
      std::size_t{crop_.y} * rgb.rowBytes + crop_.x * static_cast<std::size_t>(channels) * sample;
  return oriented(picture_from({.data = pixels.data() + first,
                                .row_bytes = rgb.rowBytes,
                                .width = crop_.width,
                                .height = crop_.height,
                                .channels = channels,
                                .bits = info_.bit_depth},
                               info_.channels),
                  orientation_);
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_avif(InputFile& file) { return std::make_unique<AvifDecoder>(file); }

}  // namespace veldt::io

#else

namespace veldt::io {

std::unique_ptr<ImageDecoder> decode_avif(InputFile& file) {
  throw without_library(file.path(), "AVIF", "libavif-dev");
}

}  // namespace veldt::io

#endif
