// Packed pictures (.vp), which `veldt pack` writes: veldt/codec decodes them, docs/formats.md has the format.
#include <cstring>
#include <limits>

#include "veldt/codec/unpack.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

class PackedDecoder final : public ImageDecoder {
 public:
  explicit PackedDecoder(InputFile& file) : file_(file) {
    // Magic, version, kind and three integers of at most nine bytes.
    std::string head(64, '\0');
    head.resize(file.read(head.data(), head.size()));
    file.seek(0);
    const codec::PackedHeader header =
        codec::read_packed(head, file.path(), std::numeric_limits<std::int64_t>::max());
    info_ = {.format = ImageFormat::packed,
             .width = header.size.width,
             .height = header.size.height,
             .channels = header.channels,
             .bit_depth = 8};
  }

  const ImageInfo& info() const override { return info_; }

  Tensor read() override {
    const std::vector<unsigned char> bytes = whole_picture(file_, ImageFormat::packed);
    const codec::Unpacked picture = codec::unpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                                  file_.path(), {.max_pixels = info_.width * info_.height});
    return Tensor::from<std::uint8_t>({info_.height, info_.width, info_.channels}, picture.pixels);
  }

 private:
  InputFile& file_;
  ImageInfo info_;
};

}  // namespace

std::unique_ptr<ImageDecoder> decode_packed(InputFile& file) { return std::make_unique<PackedDecoder>(file); }

}  // namespace veldt::io
