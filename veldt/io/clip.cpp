// Recognises animated pictures, and chooses their reader.
#include "veldt/io/clip.h"

#include "veldt/core/error.h"
#include "veldt/io/clip_canvas.h"
#include "veldt/io/image_codec.h"
#include "veldt/io/magic.h"

namespace veldt::io {
bool is_clip(const std::string& path) {
  const ImageInfo info = image_info(path);
  return info.pictures > 1 && (info.format == ImageFormat::png || info.format == ImageFormat::gif);
}

Clip read_clip(const std::string& path, const ReadOptions& options) {
  InputFile file(path);
  std::string head(kMagicBytes, '\0');
  head.resize(file.read(head.data(), head.size()));
  file.seek(0);
  const PictureCodec* codec = codec_for_bytes(head);
  if (codec != nullptr && codec->format == ImageFormat::png) return read_apng(file, options);
  if (codec != nullptr && codec->format == ImageFormat::gif) return read_gif_frames(file, options);
  throw IoError(IoError::Kind::malformed, file.path() + " is not an animated picture that Veldt reads",
                codec != nullptr ? str("it is ", codec->what) : seems_to_be(head),
                "convert it to an animated PNG or a GIF");
}

}  // namespace veldt::io
