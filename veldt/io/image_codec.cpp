// The table of picture formats: how each is recognised, read and written.
#include "veldt/io/file.h"
#include "veldt/io/image_codec.h"

#include <algorithm>

#include "veldt/codec/packed_file.h"
#include "veldt/core/error.h"

namespace veldt::io {
namespace {

using namespace std::string_view_literals;  // some contain a zero byte
using Head = std::string_view;

bool is_png(Head head) { return head.starts_with("\x89PNG\r\n\x1a\n"sv); }
bool is_jpeg(Head head) { return head.starts_with("\xff\xd8\xff"sv); }
bool is_webp(Head head) { return head.size() >= 12 && head.substr(8, 4) == "WEBP"sv; }
bool is_gif(Head head) { return head.starts_with("GIF87a"sv) || head.starts_with("GIF89a"sv); }

// Words may begin with BM too, so the header's size must be a known one.
bool is_bmp(Head head) {
  constexpr unsigned char kSizes[] = {12, 40, 52, 56, 64, 108, 124};
  return head.starts_with("BM"sv) && head.size() >= 18 && head.substr(15, 3) == "\0\0\0"sv &&
         std::find(std::begin(kSizes), std::end(kSizes), static_cast<unsigned char>(head[14])) !=
             std::end(kSizes);
}

bool is_pnm(Head head) {
  if (head.size() < 3 || head[0] != 'P' || head[1] < '1' || head[1] > '7') return false;
  return head[1] == '7' ? head[2] == '\n' : " \t\r\n#"sv.find(head[2]) != head.npos;
}

bool is_tiff(Head head) {
  for (const Head begin : {"II*\0"sv, "MM\0*"sv, "II+\0\x08\0"sv, "MM\0+\0\x08"sv})
    if (head.starts_with(begin)) return true;
  return false;
}

// Whether a file of ISO/IEC 14496-12 names one of these brands, as its major or a compatible one.
bool has_brand(Head head, std::initializer_list<Head> brands) {
  if (head.size() < 12 || head.substr(4, 4) != "ftyp"sv) return false;
  const auto length = static_cast<unsigned char>(head[3]);
  for (std::size_t at = 8; at + 4 <= std::min<std::size_t>(length, head.size()); at += 4)
    if (at != 12 && std::find(brands.begin(), brands.end(), head.substr(at, 4)) != brands.end()) return true;
  return false;
}

bool is_avif(Head head) { return has_brand(head, {"avif"sv, "avis"sv}); }
bool is_heif(Head head) {
  return has_brand(head, {"heic"sv, "heix"sv, "hevc"sv, "hevx"sv, "heim"sv, "heis"sv, "mif1"sv, "msf1"sv});
}
bool is_jxl(Head head) {
  return head.starts_with("\xff\x0a"sv) || head.starts_with("\0\0\0\x0cJXL \r\n\x87\n"sv);
}
bool is_packed(Head head) { return head.starts_with(codec::kPackedMagic); }

constexpr PictureCodec kCodecs[] = {
    {ImageFormat::png, "a PNG", ".png .apng", is_png, decode_png, check_png, encode_png},
    {ImageFormat::jpeg, "a JPEG", ".jpg .jpeg", is_jpeg, decode_jpeg, check_jpeg, encode_jpeg},
    {ImageFormat::webp, "a WebP", ".webp", is_webp, decode_webp, check_webp, encode_webp},
    {ImageFormat::gif, "a GIF", ".gif", is_gif, decode_gif},
    {ImageFormat::bmp, "a BMP", ".bmp .dib", is_bmp, decode_bmp},
    {ImageFormat::pnm, "a PNM", ".pnm .ppm .pgm .pbm .pam", is_pnm, decode_pnm},
    {ImageFormat::tiff, "a TIFF", ".tif .tiff", is_tiff, decode_tiff},
    {ImageFormat::avif, "an AVIF", ".avif", is_avif, decode_avif},
    {ImageFormat::heif, "a HEIC", ".heic .heif", is_heif, decode_heif},
    {ImageFormat::jxl, "a JPEG XL", ".jxl", is_jxl, decode_jxl},
    {ImageFormat::packed, "a VP", ".vp", is_packed, decode_packed},
};

bool has_ending(std::string_view endings, std::string_view ending) {
  while (!endings.empty()) {
    const std::size_t length = std::min(endings.find(' '), endings.size());
    if (endings.substr(0, length) == ending) return true;
    endings.remove_prefix(std::min(length + 1, endings.size()));
  }
  return false;
}

}  // namespace

std::span<const PictureCodec> picture_codecs() { return kCodecs; }

const PictureCodec& codec_of(ImageFormat format) { return kCodecs[static_cast<std::size_t>(format)]; }

const PictureCodec* codec_for_bytes(std::string_view first_bytes) {
  const auto* found = std::find_if(std::begin(kCodecs), std::end(kCodecs),
                                   [&](const PictureCodec& codec) { return codec.begins(first_bytes); });
  return found != std::end(kCodecs) ? found : nullptr;
}

const PictureCodec* codec_for_name(const std::string& path) {
  const std::string ending = ending_of(path);
  const auto* found = std::find_if(std::begin(kCodecs), std::end(kCodecs), [&](const PictureCodec& codec) {
    return has_ending(codec.endings, ending);
  });
  return found != std::end(kCodecs) ? found : nullptr;
}

const char* name_of(ImageFormat format) {
  const std::string_view what = codec_of(format).what;
  return what.data() + what.find(' ') + 1;  // without its article
}

bool holds_alpha(ImageFormat format) { return format != ImageFormat::jpeg; }

bool is_picture_name(const std::string& path) { return codec_for_name(path) != nullptr; }

Error without_library(const std::string& path, const std::string& format, const std::string& package) {
  return {"cannot read " + path, str("this build of Veldt has no ", format),
          str("install ", package, " and build again, or convert it to ", kWrittenPictures)};
}

std::vector<unsigned char> whole_picture(InputFile& file, ImageFormat format) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  if (file.size() > kMaxBytes)
    throw damaged_picture(file.path(), format,
                          str("it has ", file.size(), " bytes, more than any such file needs"));
  std::vector<unsigned char> bytes(file.size());
  file.read_exactly(bytes.data(), bytes.size());
  return bytes;
}

void check_canvas(const InputFile& file, const ImageInfo& canvas, std::uint64_t pixels_a_byte) {
  constexpr std::uint64_t kUsual = 1 << 24;
  const auto pixels = static_cast<std::uint64_t>(canvas.width) * static_cast<std::uint64_t>(canvas.height);
  if (pixels > kUsual && pixels / pixels_a_byte > file.size())
    throw damaged_picture(file.path(), canvas.format,
                          str("its canvas of ", canvas.width, " x ", canvas.height, " is more than its ",
                              file.size(), " bytes can fill"));
}

bool is_srgb(std::string_view profile) {
  return profile.find("sRGB"sv) != profile.npos || profile.find("s\0R\0G\0B"sv) != profile.npos;
}

bool is_srgb(int primaries, int transfer) {
  const bool levels = transfer == 1 || transfer == 2 || transfer == 6 || transfer == 13;
  return levels && (primaries == 1 || primaries == 2 || primaries == 6);
}

std::string left_out(const ImageInfo& info) {
  std::string text;
  const auto say = [&text](const std::string& more) { text += (text.empty() ? "has " : "; it has ") + more; };
  if (info.pictures > 1) say(str(info.pictures, " pictures; the first is taken"));
  if (info.other_channels == 1) say("1 extra channel, which is left out");
  if (info.other_channels > 1) say(str(info.other_channels, " extra channels, which are left out"));
  if (info.other_profile) say("a colour profile other than sRGB, which is left out");
  return text;
}

void* row_of(const Tensor& picture, std::int64_t y) {
  const std::int64_t bytes =
      picture.size(1) * picture.size(2) * static_cast<std::int64_t>(size_of(picture.dtype()));
  return static_cast<std::byte*>(picture.view().data) + y * bytes;
}

Tensor all_rows(ImageDecoder& decoder) {
  const ImageInfo& info = decoder.info();
  decoder.begin_rows();
  const Tensor image = empty({info.height, info.width, info.channels}, decoder.dtype());
  for (std::int64_t y = 0; y < info.height; ++y) decoder.read_row(row_of(image, y));
  return image;
}

void ImageDecoder::read_row(void*) {
  throw Error(str("a ", info().format, " cannot be read row by row"), "its decoder gives whole pictures",
              "read the whole picture");
}

IoError damaged_picture(const std::string& path, ImageFormat format, const std::string& why) {
  return {IoError::Kind::malformed, "cannot decode " + path, why,
          str("the ", format, " is damaged; copy or make it again")};
}

}  // namespace veldt::io
