// Makes HEICs with libheif, without loss, for the tests of reading.
#pragma once

#include <libheif/heif.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "tests/codecs/levels.h"

namespace veldt::test {

struct HeifSpec {
  int orientation = 1;
  int pictures = 1;
  int primaries = 1;
  bool multiplied = false;  // its colours by its alpha
};

inline bool heif_is_whole() {
  return heif_have_encoder_for_format(heif_compression_HEVC) != 0 &&
         heif_have_decoder_for_format(heif_compression_HEVC) != 0;
}

inline void must(const heif_error& error) {
  if (error.code != heif_error_Ok) throw std::runtime_error(error.message);
}

// Three or four channels of 8 bits, or more in two bytes.
inline std::string make_heif(const HeifSpec& spec, const Levels& levels) {
  const bool alpha = levels.channels == 4, wide = levels.bits > 8;
  const std::unique_ptr<heif_context, void (*)(heif_context*)> context(heif_context_alloc(),
                                                                       heif_context_free);
  heif_encoder* found = nullptr;
  must(heif_context_get_encoder_for_format(context.get(), heif_compression_HEVC, &found));
  const std::unique_ptr<heif_encoder, void (*)(heif_encoder*)> encoder(found, heif_encoder_release);
  must(heif_encoder_set_lossless(encoder.get(), 1));
  must(heif_encoder_set_parameter_string(encoder.get(), "chroma", "444"));
  heif_image* made = nullptr;
  must(heif_image_create(
      levels.width, levels.height, heif_colorspace_RGB,
      wide ? (alpha ? heif_chroma_interleaved_RRGGBBAA_LE : heif_chroma_interleaved_RRGGBB_LE)
           : (alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB),
      &made));
  const std::unique_ptr<heif_image, void (*)(const heif_image*)> image(made, heif_image_release);
  must(heif_image_add_plane(made, heif_channel_interleaved, levels.width, levels.height, levels.bits));
  int row_bytes = 0;
  std::uint8_t* pixels = heif_image_get_plane(made, heif_channel_interleaved, &row_bytes);
  const int samples = levels.width * levels.channels;
  for (int y = 0; y < levels.height; ++y)
    for (int i = 0; i < samples; ++i) {
      const int value = levels.samples[static_cast<std::size_t>(y * samples + i)];
      std::uint8_t* to = pixels + y * row_bytes + i * (wide ? 2 : 1);
      to[0] = static_cast<std::uint8_t>(value & 255);
      if (wide) to[1] = static_cast<std::uint8_t>(value >> 8);
    }
  const std::unique_ptr<heif_encoding_options, void (*)(heif_encoding_options*)> options(
      heif_encoding_options_alloc(), heif_encoding_options_free);
  const std::unique_ptr<heif_color_profile_nclx, void (*)(heif_color_profile_nclx*)> nclx(
      heif_nclx_color_profile_alloc(), heif_nclx_color_profile_free);
  nclx->color_primaries = static_cast<heif_color_primaries>(spec.primaries);
  nclx->transfer_characteristics = heif_transfer_characteristic_IEC_61966_2_1;
  nclx->matrix_coefficients = heif_matrix_coefficients_RGB_GBR;
  nclx->full_range_flag = 1;
  must(heif_image_set_nclx_color_profile(made, nclx.get()));
  options->output_nclx_profile = nclx.get();
  options->macOS_compatibility_workaround_no_nclx_profile = 0;
  options->image_orientation = static_cast<heif_orientation>(spec.orientation);
  heif_image_set_premultiplied_alpha(made, spec.multiplied ? 1 : 0);
  for (int i = 0; i < spec.pictures; ++i)
    must(heif_context_encode_image(context.get(), made, encoder.get(), options.get(), nullptr));
  const TempDir dir = TempDir::in_memory();
  must(heif_context_write_to_file(context.get(), (dir / "a").c_str()));
  return bytes_of(dir / "a");
}

}  // namespace veldt::test
