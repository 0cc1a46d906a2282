// Reads JPEG XL through libjxl, which is opened when the first JPEG XL is read.
#include "veldt/io/image_codec.h"

#ifdef VELDT_JXL_SONAME

#include <jxl/decode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/samples.h"
#include "veldt/io/shared_library.h"

namespace veldt::io {
namespace {

struct JxlLibrary {
  decltype(&::JxlDecoderCreate) create = nullptr;
  decltype(&::JxlDecoderDestroy) destroy = nullptr;
  decltype(&::JxlDecoderSubscribeEvents) subscribe = nullptr;
  decltype(&::JxlDecoderSetInput) set_input = nullptr;
  decltype(&::JxlDecoderProcessInput) process = nullptr;
  decltype(&::JxlDecoderGetBasicInfo) basic_info = nullptr;
  decltype(&::JxlDecoderGetExtraChannelInfo) extra_channel = nullptr;
  decltype(&::JxlDecoderGetColorAsEncodedProfile) profile = nullptr;
  decltype(&::JxlDecoderImageOutBufferSize) buffer_size = nullptr;
  decltype(&::JxlDecoderSetImageOutBuffer) set_buffer = nullptr;

  JxlLibrary() {
    const SharedLibrary file(VELDT_JXL_SONAME, "read a JPEG XL", VELDT_JXL_PACKAGE);
    file.find(create, "JxlDecoderCreate");
    file.find(destroy, "JxlDecoderDestroy");
    file.find(subscribe, "JxlDecoderSubscribeEvents");
    file.find(set_input, "JxlDecoderSetInput");
    file.find(process, "JxlDecoderProcessInput");
    file.find(basic_info, "JxlDecoderGetBasicInfo");
    file.find(extra_channel, "JxlDecoderGetExtraChannelInfo");
    file.find(profile, "JxlDecoderGetColorAsEncodedProfile");
    file.find(buffer_size, "JxlDecoderImageOutBufferSize");
    file.find(set_buffer, "JxlDecoderSetImageOutBuffer");
  }
};

const JxlLibrary& jxl() {
  static const JxlLibrary found;
  return found;
}

// Memory for libjxl, limited to what a picture of this size needs. Each block begins with its size.
struct Memory {
  static constexpr std::size_t kHead = alignof(std::max_align_t);
  std::size_t used = 0, most = std::size_t{1} << 28;

  static void* take(void* self, std::size_t bytes) {
    auto& memory = *static_cast<Memory*>(self);
    if (bytes > memory.most - memory.used || memory.most < memory.used) return nullptr;
    void* block = std::malloc(kHead + bytes);
    if (block == nullptr) return nullptr;
    *static_cast<std::size_t*>(block) = bytes;
    memory.used += bytes;
    return static_cast<char*>(block) + kHead;
  }
  static void give_back(void* self, void* address) {
    if (address == nullptr) return;
    void* block = static_cast<char*>(address) - kHead;
    static_cast<Memory*>(self)->used -= *static_cast<std::size_t*>(block);
    std::free(block);
  }
};

using Decoder = std::unique_ptr<JxlDecoder, void (*)(JxlDecoder*)>;

// Before libjxl 0.9 there was an unused argument.
template <class Get> bool is_other_profile(Get* get, const JxlDecoder* decoder) {
  JxlColorEncoding encoding{};
  JxlDecoderStatus status = JXL_DEC_ERROR;
  if constexpr (std::is_invocable_v<Get*, const JxlDecoder*, JxlColorProfileTarget, JxlColorEncoding*>)
    status = get(decoder, JXL_COLOR_PROFILE_TARGET_DATA, &encoding);
  else
    status = get(decoder, nullptr, JXL_COLOR_PROFILE_TARGET_DATA, &encoding);
  if (status != JXL_DEC_SUCCESS) return true;  // an ICC profile that is not a standard one
  const bool grey = encoding.color_space == JXL_COLOR_SPACE_GRAY;
  return encoding.transfer_function != JXL_TRANSFER_FUNCTION_SRGB ||
         encoding.white_point != JXL_WHITE_POINT_D65 || (!grey && encoding.primaries != JXL_PRIMARIES_SRGB);
}

class JxlFileDecoder final : public ImageDecoder {
 public:
  explicit JxlFileDecoder(InputFile& file)
      : path_(file.path()), bytes_(whole_picture(file, ImageFormat::jxl)) {
    const Decoder decoder = begin(JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING);
    expect(decoder, JXL_DEC_BASIC_INFO);
    read_header(decoder);
    expect(decoder, JXL_DEC_COLOR_ENCODING);
    info_.other_profile = is_other_profile(jxl().profile, decoder.get());
    if (basic_.have_animation != JXL_FALSE) count_frames();
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw damaged_picture(path_, ImageFormat::jxl, why);
  }
  Decoder begin(int events);
  void expect(const Decoder& decoder, JxlDecoderStatus event) const;
  void read_header(const Decoder& decoder);
  void count_frames();

  std::string path_;
  std::vector<unsigned char> bytes_;
  Memory memory_;
  JxlBasicInfo basic_{};
  ImageInfo info_;
};

Decoder JxlFileDecoder::begin(int events) {
  const JxlMemoryManager manager{&memory_, Memory::take, Memory::give_back};
  Decoder decoder(jxl().create(&manager), jxl().destroy);
  if (!decoder) throw OutOfMemory("cannot read " + path_, "libjxl got no memory for it", "free some memory");
  if (jxl().subscribe(decoder.get(), events) != JXL_DEC_SUCCESS ||
      jxl().set_input(decoder.get(), bytes_.data(), bytes_.size()) != JXL_DEC_SUCCESS)
    fail("libjxl does not accept it");
  return decoder;
}

void JxlFileDecoder::expect(const Decoder& decoder, JxlDecoderStatus event) const {
  const JxlDecoderStatus status = jxl().process(decoder.get());
  if (status != event)
    fail(status == JXL_DEC_NEED_MORE_INPUT ? "the file ends too early"
                                           : "the file ends too early, or its data break the format");
}

void JxlFileDecoder::read_header(const Decoder& decoder) {
  if (jxl().basic_info(decoder.get(), &basic_) != JXL_DEC_SUCCESS) fail("its header breaks the format");
  if (basic_.xsize > INT32_MAX || basic_.ysize > INT32_MAX || basic_.xsize == 0 || basic_.ysize == 0)
    fail(str("its size of ", basic_.xsize, " x ", basic_.ysize, " is impossible"));
  info_ = {.format = ImageFormat::jxl, .width = basic_.xsize, .height = basic_.ysize};
  info_.channels = static_cast<int>(basic_.num_color_channels) + (basic_.alpha_bits > 0 ? 1 : 0);
  info_.other_channels =
      static_cast<int>(std::min(basic_.num_extra_channels, 1u << 16)) - (basic_.alpha_bits > 0 ? 1 : 0);
  // Floating point counts as 16 bits.
  info_.bit_depth =
      basic_.exponent_bits_per_sample > 0 ? 16 : static_cast<int>(std::min(basic_.bits_per_sample, 16u));
  for (std::uint32_t i = 0; i < basic_.num_extra_channels; ++i) {
    JxlExtraChannelInfo extra{};
    if (jxl().extra_channel(decoder.get(), i, &extra) == JXL_DEC_SUCCESS && extra.type == JXL_CHANNEL_BLACK)
      throw IoError(IoError::Kind::malformed, "cannot read " + path_, "its colours are inks",
                    "convert it to red, green and blue");
  }
  // A few floats per sample, in blocks; the rest is for tables.
  const std::uint64_t samples = std::uint64_t{basic_.xsize} * basic_.ysize * (3u + basic_.num_extra_channels);
  memory_.most += std::min<std::uint64_t>(samples, std::uint64_t{1} << 32) * 16;
}

void JxlFileDecoder::count_frames() {
  const Decoder decoder = begin(JXL_DEC_FRAME);
  std::int64_t frames = 0;
  while (jxl().process(decoder.get()) == JXL_DEC_FRAME) ++frames;
  info_.pictures = std::max<std::int64_t>(frames, 1);
}

Tensor JxlFileDecoder::read() {
  const bool wide = info_.bit_depth > 8;
  const JxlPixelFormat format{static_cast<std::uint32_t>(info_.channels),
                              wide ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  const Decoder decoder = begin(JXL_DEC_FULL_IMAGE);
  expect(decoder, JXL_DEC_NEED_IMAGE_OUT_BUFFER);
  const std::size_t row = static_cast<std::size_t>(info_.width * info_.channels) * (wide ? 2 : 1);
  std::size_t bytes = 0;
  if (jxl().buffer_size(decoder.get(), &format, &bytes) != JXL_DEC_SUCCESS ||
      bytes != row * static_cast<std::size_t>(info_.height))
    fail("the decoded size differs from the header's");
  std::vector<unsigned char> pixels(bytes);
  if (jxl().set_buffer(decoder.get(), &format, pixels.data(), bytes) != JXL_DEC_SUCCESS)
    fail("libjxl cannot decode it");
  expect(decoder, JXL_DEC_FULL_IMAGE);
  const Tensor image = picture_from({.data = pixels.data(),
                                     .row_bytes = row,
                                     .width = info_.width,
                                     .height = info_.height,
                                     .channels = info_.channels,
                                     .bits = wide ? 16 : 8},
                                    info_.channels);
  // The 16 bits are scaled up from fewer: rounding to the nearest of those levels restores the stored value.
  if (wide && info_.bit_depth < 16) {
    const auto levels = static_cast<float>((1 << info_.bit_depth) - 1);
    float* values = image.data<float>();
    for (std::int64_t i = 0; i < image.numel(); ++i) values[i] = std::round(values[i] * levels) / levels;
  }
  if (basic_.alpha_premultiplied != JXL_FALSE && info_.channels % 2 == 0) unmultiply(image);
  return image;
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_jxl(InputFile& file) { return std::make_unique<JxlFileDecoder>(file); }

}  // namespace veldt::io

#else

namespace veldt::io {

std::unique_ptr<ImageDecoder> decode_jxl(InputFile& file) {
  throw without_library(file.path(), "JPEG XL", "libjxl-dev");
}

}  // namespace veldt::io

#endif
