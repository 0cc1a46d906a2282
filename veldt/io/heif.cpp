// Reads HEIC through libheif, which is opened when the first HEIC is read.
#include "veldt/io/image_codec.h"

#ifdef VELDT_HEIF_SONAME

#include <libheif/heif.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/samples.h"
#include "veldt/io/shared_library.h"

namespace veldt::io {
namespace {

constexpr int kMaxHeifSide = 1 << 15;

struct HeifLibrary {
  decltype(&::heif_get_version_number) version = nullptr;
  decltype(&::heif_context_alloc) alloc = nullptr;
  decltype(&::heif_context_free) free = nullptr;
  decltype(&::heif_context_set_maximum_image_size_limit) set_max_side = nullptr;
  decltype(&::heif_context_read_from_memory_without_copy) read = nullptr;
  decltype(&::heif_context_get_number_of_top_level_images) count = nullptr;
  decltype(&::heif_context_get_primary_image_handle) primary = nullptr;
  decltype(&::heif_image_handle_release) release_handle = nullptr;
  decltype(&::heif_image_handle_get_width) width = nullptr;
  decltype(&::heif_image_handle_get_height) height = nullptr;
  decltype(&::heif_image_handle_has_alpha_channel) has_alpha = nullptr;
  decltype(&::heif_image_handle_is_premultiplied_alpha) is_multiplied = nullptr;
  decltype(&::heif_image_handle_get_luma_bits_per_pixel) bits = nullptr;
  decltype(&::heif_image_handle_get_raw_color_profile_size) profile_size = nullptr;
  decltype(&::heif_image_handle_get_raw_color_profile) profile = nullptr;
  decltype(&::heif_image_handle_get_nclx_color_profile) nclx = nullptr;
  decltype(&::heif_nclx_color_profile_free) free_nclx = nullptr;
  decltype(&::heif_decoding_options_alloc) options_alloc = nullptr;
  decltype(&::heif_decoding_options_free) options_free = nullptr;
  decltype(&::heif_decode_image) decode = nullptr;
  decltype(&::heif_image_release) release_image = nullptr;
  decltype(&::heif_image_get_width) plane_width = nullptr;
  decltype(&::heif_image_get_height) plane_height = nullptr;
  decltype(&::heif_image_get_bits_per_pixel_range) plane_bits = nullptr;
  decltype(&::heif_image_get_plane_readonly) plane = nullptr;

  HeifLibrary() {
    const SharedLibrary file(VELDT_HEIF_SONAME, "read a HEIC", VELDT_HEIF_PACKAGE);
    file.find(version, "heif_get_version_number");
    file.find(alloc, "heif_context_alloc");
    file.find(free, "heif_context_free");
    file.find(set_max_side, "heif_context_set_maximum_image_size_limit");
    file.find(read, "heif_context_read_from_memory_without_copy");
    file.find(count, "heif_context_get_number_of_top_level_images");
    file.find(primary, "heif_context_get_primary_image_handle");
    file.find(release_handle, "heif_image_handle_release");
    file.find(width, "heif_image_handle_get_width");
    file.find(height, "heif_image_handle_get_height");
    file.find(has_alpha, "heif_image_handle_has_alpha_channel");
    file.find(is_multiplied, "heif_image_handle_is_premultiplied_alpha");
    file.find(bits, "heif_image_handle_get_luma_bits_per_pixel");
    file.find(profile_size, "heif_image_handle_get_raw_color_profile_size");
    file.find(profile, "heif_image_handle_get_raw_color_profile");
    file.find(nclx, "heif_image_handle_get_nclx_color_profile");
    file.find(free_nclx, "heif_nclx_color_profile_free");
    file.find(options_alloc, "heif_decoding_options_alloc");
    file.find(options_free, "heif_decoding_options_free");
    file.find(decode, "heif_decode_image");
    file.find(release_image, "heif_image_release");
    file.find(plane_width, "heif_image_get_width");
    file.find(plane_height, "heif_image_get_height");
    file.find(plane_bits, "heif_image_get_bits_per_pixel_range");
    file.find(plane, "heif_image_get_plane_readonly");
  }
};

const HeifLibrary& heif() {
  static const HeifLibrary found;
  return found;
}

using Context = std::unique_ptr<heif_context, void (*)(heif_context*)>;
using Handle = std::unique_ptr<const heif_image_handle, void (*)(const heif_image_handle*)>;
using Image = std::unique_ptr<const heif_image, void (*)(const heif_image*)>;
using Nclx = std::unique_ptr<heif_color_profile_nclx, void (*)(heif_color_profile_nclx*)>;
using Options = std::unique_ptr<heif_decoding_options, void (*)(heif_decoding_options*)>;

class HeifDecoder final : public ImageDecoder {
 public:
  explicit HeifDecoder(InputFile& file)
      : path_(file.path()),
        bytes_(whole_picture(file, ImageFormat::heif)),
        context_(heif().alloc(), heif().free),
        handle_(nullptr, heif().release_handle) {
    if (!context_) throw no_memory();
    guarded([&] { read_header(); });
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  OutOfMemory no_memory() const {
    return {"cannot read " + path_, "libheif got no memory for it", "free some memory"};
  }
  // libheif is C++ with a C interface, and its exceptions can escape.
  template <class Calls> void guarded(const Calls& calls) const {
    try {
      calls();
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw no_memory();
    } catch (const std::exception& thrown) {
      throw damaged_picture(path_, ImageFormat::heif, str("libheif says: ", thrown.what()));
    }
  }
  // Since 1.16 distributions package the decoders separately.
  Error no_decoder() const {
    const bool has_packages = heif().version() >= 0x01100000;
    return {"cannot read " + path_, "this machine's libheif has no decoder for it",
            str("convert it to ", kWrittenPictures,
                has_packages ? ", or install the decoder (for HEVC: apt-get install libheif-plugin-libde265)"
                             : "")};
  }
  void check(const heif_error& error) const;
  void read_header();
  bool has_other_profile() const;

  std::string path_;
  std::vector<unsigned char> bytes_;
  Context context_;
  Handle handle_;
  ImageInfo info_;
};

void HeifDecoder::check(const heif_error& error) const {
  if (error.code == heif_error_Ok) return;
  if (error.code == heif_error_Memory_allocation_error &&
      error.subcode != heif_suberror_Security_limit_exceeded)
    throw no_memory();
  if (error.subcode == heif_suberror_Unsupported_codec) throw no_decoder();
  throw IoError(
      IoError::Kind::malformed, "cannot decode " + path_, str("libheif says: ", error.message),
      str("the HEIC is damaged, or of a kind that this libheif does not know; make it again, or as ",
          kWrittenPictures));
}

void HeifDecoder::read_header() {
  heif().set_max_side(context_.get(), kMaxHeifSide);
  check(heif().read(context_.get(), bytes_.data(), bytes_.size(), nullptr));
  heif_image_handle* handle = nullptr;
  check(heif().primary(context_.get(), &handle));
  handle_.reset(handle);
  info_ = {.format = ImageFormat::heif, .width = heif().width(handle), .height = heif().height(handle)};
  info_.channels = heif().has_alpha(handle) != 0 ? 4 : 3;  // grey comes as three equal colours
  info_.bit_depth = heif().bits(handle);
  if (info_.bit_depth < 0) throw no_decoder();
  if (info_.width < 1 || info_.height < 1 || info_.bit_depth < 8 || info_.bit_depth > 16)
    throw damaged_picture(
        path_, ImageFormat::heif,
        str("it has ", info_.width, " x ", info_.height, " pixels of ", info_.bit_depth, " bits"));
  info_.pictures = std::max(heif().count(context_.get()), 1);
  info_.other_profile = has_other_profile();
}

// A file without a profile is sRGB.
bool HeifDecoder::has_other_profile() const {
  const std::size_t bytes = heif().profile_size(handle_.get());
  if (bytes > bytes_.size()) return true;
  std::string profile(bytes, '\0');
  if (bytes > 0 && heif().profile(handle_.get(), profile.data()).code == heif_error_Ok)
    return !is_srgb(profile);
  heif_color_profile_nclx* found = nullptr;
  const heif_error error = heif().nclx(handle_.get(), &found);
  const Nclx nclx(found, heif().free_nclx);  // also if parts of it are unknown, which is an error
  if (!nclx) return false;
  if (error.code != heif_error_Ok) return true;
  return !is_srgb(nclx->color_primaries, nclx->transfer_characteristics);
}

Tensor HeifDecoder::read() {
  const bool alpha = info_.channels == 4, wide = info_.bit_depth > 8;
  const heif_chroma chroma =
      wide ? (alpha ? heif_chroma_interleaved_RRGGBBAA_LE : heif_chroma_interleaved_RRGGBB_LE)
           : (alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB);
  Tensor image;
  guarded([&] {
    const Options options(heif().options_alloc(), heif().options_free);
    if (!options) throw no_memory();
    options->strict_decoding = 1;
    heif_image* decoded = nullptr;
    check(heif().decode(handle_.get(), &decoded, heif_colorspace_RGB, chroma, options.get()));
    const Image owner(decoded, heif().release_image);
    int row_bytes = 0;
    const std::uint8_t* pixels = heif().plane(decoded, heif_channel_interleaved, &row_bytes);
    const int bits = heif().plane_bits(decoded, heif_channel_interleaved);
    if (pixels == nullptr || heif().plane_width(decoded, heif_channel_interleaved) != info_.width ||
        heif().plane_height(decoded, heif_channel_interleaved) != info_.height || (bits > 8) != wide)
      throw damaged_picture(path_, ImageFormat::heif, "the decoded size differs from the header's");
    image = picture_from({.data = pixels,
                          .row_bytes = static_cast<std::size_t>(row_bytes),
                          .width = info_.width,
                          .height = info_.height,
                          .channels = info_.channels,
                          .bits = bits},
                         info_.channels);
    if (alpha && heif().is_multiplied(handle_.get()) != 0) unmultiply(image);
  });
  return image;
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_heif(InputFile& file) { return std::make_unique<HeifDecoder>(file); }

}  // namespace veldt::io

#else

namespace veldt::io {

std::unique_ptr<ImageDecoder> decode_heif(InputFile& file) {
  throw without_library(file.path(), "HEIC", "libheif-dev");
}

}  // namespace veldt::io

#endif
