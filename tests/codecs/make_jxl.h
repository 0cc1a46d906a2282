// Makes JPEG XLs with libjxl, for the tests of reading.
#pragma once

#include <jxl/encode.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "tests/codecs/levels.h"

namespace veldt::test {

struct JxlSpec {
  bool lossless = true;
  int orientation = 1;
  int frames = 1;
  JxlPrimaries primaries = JXL_PRIMARIES_SRGB;
  bool floats = false;  // of 32 bits
  bool depth = false;   // one more channel, of zeros
};

inline void must(JxlEncoderStatus status) {
  if (status != JXL_ENC_SUCCESS) throw std::runtime_error("libjxl does not write");
}

inline JxlBasicInfo jxl_info(const JxlSpec& spec, const Levels& levels) {
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = static_cast<std::uint32_t>(levels.width);
  info.ysize = static_cast<std::uint32_t>(levels.height);
  info.bits_per_sample = spec.floats ? 32 : static_cast<std::uint32_t>(levels.bits);
  info.exponent_bits_per_sample = spec.floats ? 8 : 0;
  info.num_color_channels = levels.channels < 3 ? 1 : 3;
  if (levels.channels % 2 == 0) {
    info.num_extra_channels = 1;
    info.alpha_bits = info.bits_per_sample;
    info.alpha_exponent_bits = info.exponent_bits_per_sample;
  }
  info.num_extra_channels += spec.depth ? 1 : 0;
  info.orientation = static_cast<JxlOrientation>(spec.orientation);
  info.uses_original_profile = spec.lossless ? JXL_TRUE : JXL_FALSE;
  if (spec.frames > 1) {
    info.have_animation = JXL_TRUE;
    info.animation.tps_numerator = info.animation.tps_denominator = 1;
  }
  return info;
}

// Sixteen bits that stand for fewer are all of sixteen.
inline std::string jxl_pixels(const JxlSpec& spec, const Levels& levels) {
  std::string pixels;
  for (const int sample : levels.samples) {
    const auto wide =
        static_cast<std::uint16_t>((sample * 65535LL + levels.largest() / 2) / levels.largest());
    const float part = static_cast<float>(sample) / static_cast<float>(levels.largest());
    if (spec.floats)
      pixels.append(reinterpret_cast<const char*>(&part), sizeof part);
    else if (levels.bits > 8)
      pixels.append(reinterpret_cast<const char*>(&wide), sizeof wide);
    else
      pixels += static_cast<char>(sample);
  }
  return pixels;
}

inline std::string make_jxl(const JxlSpec& spec, const Levels& levels) {
  const std::unique_ptr<JxlEncoder, void (*)(JxlEncoder*)> encoder(JxlEncoderCreate(nullptr),
                                                                   JxlEncoderDestroy);
  JxlBasicInfo info = jxl_info(spec, levels);
  if (levels.bits > 8) JxlEncoderSetCodestreamLevel(encoder.get(), 10);
  must(JxlEncoderSetBasicInfo(encoder.get(), &info));
  if (spec.depth) {
    JxlExtraChannelInfo depth;
    JxlEncoderInitExtraChannelInfo(JXL_CHANNEL_DEPTH, &depth);
    depth.bits_per_sample = info.bits_per_sample;
    must(JxlEncoderSetExtraChannelInfo(encoder.get(), info.num_extra_channels - 1, &depth));
  }
  JxlColorEncoding colours{};
  JxlColorEncodingSetToSRGB(&colours, levels.channels < 3 ? JXL_TRUE : JXL_FALSE);
  if (levels.channels >= 3) colours.primaries = spec.primaries;
  must(JxlEncoderSetColorEncoding(encoder.get(), &colours));
  JxlEncoderFrameSettings* settings = JxlEncoderFrameSettingsCreate(encoder.get(), nullptr);
  if (spec.lossless) must(JxlEncoderSetFrameLossless(settings, JXL_TRUE));
  const JxlDataType type = spec.floats ? JXL_TYPE_FLOAT : levels.bits > 8 ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8;
  const JxlPixelFormat format{static_cast<std::uint32_t>(levels.channels), type, JXL_NATIVE_ENDIAN, 0};
  const std::string pixels = jxl_pixels(spec, levels);
  const std::string depths(pixels.size() / static_cast<std::size_t>(levels.channels), '\0');
  for (int i = 0; i < spec.frames; ++i) {
    if (spec.frames > 1) {
      JxlFrameHeader header;
      JxlEncoderInitFrameHeader(&header);
      header.duration = 1;
      must(JxlEncoderSetFrameHeader(settings, &header));
    }
    must(JxlEncoderAddImageFrame(settings, &format, pixels.data(), pixels.size()));
    if (spec.depth)
      must(JxlEncoderSetExtraChannelBuffer(settings, &format, depths.data(), depths.size(),
                                           info.num_extra_channels - 1));
  }
  JxlEncoderCloseInput(encoder.get());
  std::string bytes(std::size_t{1} << 20, '\0');
  auto* next = reinterpret_cast<std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  must(JxlEncoderProcessOutput(encoder.get(), &next, &left));
  bytes.resize(bytes.size() - left);
  return bytes;
}

}  // namespace veldt::test
